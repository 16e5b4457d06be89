# SPDX-License-Identifier: Apache-2.0
# Install rules, the CMake package `Spansort`, and the archive made by CPack.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Spansort")
install(TARGETS spansort EXPORT SpansortTargets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET spansort_cli)
  install(TARGETS spansort_cli)
endif()
# A build for tests alone makes it too, and does not install it.
if(TARGET spansort_suites AND SPANSORT_BUILD_BENCH)
  install(TARGETS spansort_suites)
endif()
if(TARGET spansort_png)
  install(TARGETS spansort_png LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/spansort")
endif()
if(TARGET spansort_mpi_cli)
  install(TARGETS spansort_mpi_cli)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/spansort" "${spansort_generated_include_dir}/spansort"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh" PATTERN "mpi.hpp" EXCLUDE)
# An export set of its own: find_package(Spansort) asks for MPI only where the component mpi is asked for.
if(SPANSORT_HAS_MPI)
  install(TARGETS spansort_mpi EXPORT SpansortMpiTargets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(FILES "${PROJECT_SOURCE_DIR}/include/spansort/mpi.hpp" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/spansort"
    OPTIONAL)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

install(EXPORT SpansortTargets NAMESPACE Spansort:: DESTINATION "${package_dir}")
if(SPANSORT_HAS_MPI)
  install(EXPORT SpansortMpiTargets NAMESPACE Spansort:: DESTINATION "${package_dir}")
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/SpansortConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/SpansortConfig.cmake" INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/SpansortConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/SpansortConfig.cmake" "${PROJECT_BINARY_DIR}/SpansortConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindHwloc.cmake"
  DESTINATION "${package_dir}")

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME spansort)
set(CPACK_PACKAGE_VENDOR Spansort)
set(CPACK_PACKAGE_FILE_NAME "spansort-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
