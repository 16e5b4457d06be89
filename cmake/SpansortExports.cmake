# SPDX-License-Identifier: Apache-2.0
# What the shared libraries export: names of the installed headers in the version SPANSORT_<major>.<minor>, those of
# the rooms that Spansort's own programs and libraries share in SPANSORT_PRIVATE_<full version>, and nothing else.
# Programs of the same version alone may use the second, as with GLIBC_PRIVATE.

# spansort_export_symbols(<target>): applies cmake/exports/<target>.map.in where the target is a shared library.
function(spansort_export_symbols target)
  if(NOT BUILD_SHARED_LIBS)
    return()
  endif()
  set(map "${PROJECT_BINARY_DIR}/exports/${target}.map")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/exports/${target}.map.in" "${map}" @ONLY)
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}" LINKER:--no-undefined)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
endfunction()
