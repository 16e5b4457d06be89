# SPDX-License-Identifier: Apache-2.0
# CPack runs this when what is installed lies in its folder and nothing is packed yet. Debian's packages get what its
# policy asks for; the archive gets notes; both get the licences of the headers that are compiled in.
set(source_dir "${CPACK_SPANSORT_SOURCE_DIR}")
set(compiled_in libfmt-dev libhwy-dev libxxhash-dev libcli11-dev nlohmann-json3-dev)

# The licences of other projects ask that their texts come with what was compiled from them.
function(add_licences folder)
  foreach(package IN LISTS compiled_in)
    if(EXISTS "/usr/share/doc/${package}/copyright")
      configure_file("/usr/share/doc/${package}/copyright" "${folder}/licences/${package}.txt" COPYONLY)
    endif()
  endforeach()
endfunction()

# The date is that of the commit, so that the same sources make the same packages.
function(write_debian_changelog file package)
  execute_process(COMMAND git -C "${source_dir}" log -1 --format=%cD OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
  if(NOT date)
    execute_process(COMMAND date --rfc-email --reference "${source_dir}/CHANGELOG.md" OUTPUT_VARIABLE date
      OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  file(WRITE "${file}" "spansort (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Packages of the project itself. What changed is in CHANGELOG.md of
    ${CPACK_DEBIAN_PACKAGE_HOMEPAGE}

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  execute_process(COMMAND gzip -9 --no-name "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Adds the packages of the shared libraries that the component needs to its dependencies. What its modules need besides
# is recommended, and so can be left out: without it the command says what it cannot do.
function(find_dependencies name folder)
  set(work "${CPACK_TEMPORARY_DIRECTORY}/shlibdeps")
  file(WRITE "${work}/debian/control" "Source: spansort\n\nPackage: spansort\nArchitecture: any\n")
  file(GLOB needed "${folder}/usr/bin/*" "${folder}/usr/${CPACK_SPANSORT_LIBDIR}/*.so.*.*.*")
  file(GLOB modules "${folder}/usr/${CPACK_SPANSORT_LIBDIR}/spansort/*.so")
  list(TRANSFORM needed PREPEND "-e")
  list(TRANSFORM modules PREPEND "-e")
  execute_process(COMMAND dpkg-shlibdeps -O --ignore-missing-info "-l${CPACK_SPANSORT_BUILD_DIR}/src"
    -dDepends ${needed} -dRecommends ${modules} WORKING_DIRECTORY "${work}" OUTPUT_VARIABLE output ERROR_QUIET
    COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE "${work}")
  foreach(field IN ITEMS Depends Recommends)
    if(output MATCHES "shlibs:${field}=([^\n]*)")
      string(TOUPPER "${field}" kind)
      set(packages ${CPACK_DEBIAN_${name}_PACKAGE_${kind}} "${CMAKE_MATCH_1}")
      list(JOIN packages ", " packages)
      set(CPACK_DEBIAN_${name}_PACKAGE_${kind} "${packages}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Programs in the folders where the system looks need no path of their own to the libraries.
function(remove_rpaths folder)
  file(GLOB programs "${folder}/usr/bin/*" "${folder}/usr/${CPACK_SPANSORT_LIBDIR}/*.so*")
  foreach(program IN LISTS programs)
    if(NOT IS_SYMLINK "${program}")
      file(RPATH_REMOVE FILE "${program}")
    endif()
  endforeach()
endfunction()

# Debian's man pages are compressed, and its zsh looks elsewhere than zsh itself.
function(put_pages_where_debian_has_them share)
  file(GLOB_RECURSE pages "${share}/man/*.1")
  foreach(page IN LISTS pages)
    execute_process(COMMAND gzip -9 --no-name "${page}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  if(EXISTS "${share}/zsh/site-functions")
    file(RENAME "${share}/zsh/site-functions" "${share}/zsh/vendor-completions")
  endif()
endfunction()

function(stage_debian_package component)
  string(TOUPPER "${component}" name)
  set(package "${CPACK_DEBIAN_${name}_PACKAGE_NAME}")
  set(folder "${CPACK_TEMPORARY_DIRECTORY}/${component}")
  set(documents "${folder}/usr/share/doc/${package}")
  configure_file("${source_dir}/cmake/packages/copyright" "${documents}/copyright" COPYONLY)
  write_debian_changelog("${documents}/changelog.Debian" "${package}")
  if(NOT component STREQUAL "development")
    add_licences("${documents}")
    remove_rpaths("${folder}")
  endif()
  file(READ "${source_dir}/cmake/packages/overrides/all" overrides)
  if(EXISTS "${source_dir}/cmake/packages/overrides/${component}")
    file(READ "${source_dir}/cmake/packages/overrides/${component}" own_overrides)
    string(APPEND overrides "${own_overrides}")
  endif()
  file(WRITE "${folder}/usr/share/lintian/overrides/${package}" "${overrides}")
  put_pages_where_debian_has_them("${folder}/usr/share")
  file(GLOB pc_files "${folder}/usr/${CPACK_SPANSORT_LIBDIR}/pkgconfig/*.pc")
  foreach(file IN LISTS pc_files)
    file(READ "${file}" text)
    string(REGEX REPLACE "^# [^\n]*\nprefix=[^\n]*" "prefix=/usr" text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()

if(CPACK_GENERATOR STREQUAL "DEB")
  foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    stage_debian_package("${component}")
    if(NOT component STREQUAL "development")
      string(TOUPPER "${component}" name)
      find_dependencies("${name}" "${CPACK_TEMPORARY_DIRECTORY}/${component}")
    endif()
  endforeach()
else()
  add_licences("${CPACK_TEMPORARY_DIRECTORY}/share/doc/spansort")
  configure_file("${source_dir}/README.md" "${CPACK_TEMPORARY_DIRECTORY}/README.md" COPYONLY)
  configure_file("${source_dir}/CHANGELOG.md" "${CPACK_TEMPORARY_DIRECTORY}/CHANGELOG.md" COPYONLY)
  configure_file("${source_dir}/docs/install.md" "${CPACK_TEMPORARY_DIRECTORY}/INSTALL.md" COPYONLY)
endif()
