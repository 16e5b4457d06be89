# SPDX-License-Identifier: Apache-2.0
# Install rules, the CMake package `Spansort` and the files of pkg-config, by components, of which
# SpansortPackages.cmake makes packages: `library`, `development`, `command`, `mpi`. `cmake --install` takes them all.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Spansort")
set(development_only INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" ARCHIVE COMPONENT development)
install(TARGETS spansort EXPORT SpansortTargets LIBRARY COMPONENT library NAMELINK_COMPONENT development
  ${development_only})
if(TARGET spansort_cli)
  install(TARGETS spansort_cli RUNTIME COMPONENT command)
endif()
# A build for tests alone makes it too, and does not install it.
if(TARGET spansort_suites AND SPANSORT_BUILD_BENCH)
  install(TARGETS spansort_suites RUNTIME COMPONENT bench)
endif()
if(TARGET spansort_png)
  install(TARGETS spansort_png LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/spansort" COMPONENT command)
endif()
if(TARGET spansort_mpi_cli)
  install(TARGETS spansort_mpi_cli RUNTIME COMPONENT mpi)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/spansort" "${spansort_generated_include_dir}/spansort"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh" PATTERN "mpi.hpp" EXCLUDE)
# An export set of its own: find_package(Spansort) asks for MPI only where the component mpi is asked for.
if(SPANSORT_HAS_MPI)
  install(TARGETS spansort_mpi EXPORT SpansortMpiTargets LIBRARY COMPONENT mpi NAMELINK_COMPONENT development
    ${development_only})
  install(FILES "${PROJECT_SOURCE_DIR}/include/spansort/mpi.hpp" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/spansort"
    COMPONENT development)
  install(EXPORT SpansortMpiTargets NAMESPACE Spansort:: DESTINATION "${package_dir}" COMPONENT development)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/spansort"
  COMPONENT archive)

install(EXPORT SpansortTargets NAMESPACE Spansort:: DESTINATION "${package_dir}" COMPONENT development)
set(mpi_library "${CMAKE_INSTALL_LIBDIR}/libspansort_mpi.a")
if(BUILD_SHARED_LIBS)
  set(mpi_library "${CMAKE_INSTALL_LIBDIR}/libspansort_mpi.so.${PROJECT_VERSION}")
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/SpansortConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/SpansortConfig.cmake" INSTALL_DESTINATION "${package_dir}" PATH_VARS mpi_library)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/SpansortConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/SpansortConfig.cmake" "${PROJECT_BINARY_DIR}/SpansortConfigVersion.cmake"
  DESTINATION "${package_dir}" COMPONENT development)
if(NOT BUILD_SHARED_LIBS)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/FindHwloc.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindSodium.cmake" DESTINATION "${package_dir}" COMPONENT development)
endif()

# Whoever links the static library links what it uses, too; a shared one brings that along.
set(pc_requires "")
set(pc_libs "")
set(pc_requires_mpi "")
if(NOT BUILD_SHARED_LIBS)
  set(pc_requires "tbb hwloc fmt")
  set(pc_requires_mpi "libsodium")
  set(pc_libs "-pthread -ldl")
  if(SPANSORT_HAS_CUDA)
    string(APPEND pc_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt")
  endif()
endif()
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
foreach(library IN ITEMS spansort spansort-mpi)
  if(library STREQUAL "spansort" OR SPANSORT_HAS_MPI)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/${library}.pc.in" "${PROJECT_BINARY_DIR}/${library}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${library}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
      COMPONENT development)
  endif()
endforeach()

# Packages are made of this project alone; one around it has packages of its own.
if(PROJECT_IS_TOP_LEVEL)
  include(SpansortPackages)
endif()
