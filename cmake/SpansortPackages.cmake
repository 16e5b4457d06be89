# SPDX-License-Identifier: Apache-2.0
# What CPack makes: an archive of all that is installed, and packages for Debian and Ubuntu, a component each.
# `./dev package` builds preset `package` for it. What packages hold besides is put in by cmake/packages/stage.cmake.
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME spansort)
set(CPACK_PACKAGE_VENDOR Spansort)
set(CPACK_PACKAGE_CONTACT "Spansort maintainers <spansort@users.noreply.github.com>")
set(CPACK_PACKAGE_FILE_NAME "spansort-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_THREADS 0)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/packages/stage.cmake")
# The script is told these.
set(CPACK_SPANSORT_SOURCE_DIR "${PROJECT_SOURCE_DIR}")
set(CPACK_SPANSORT_BUILD_DIR "${PROJECT_BINARY_DIR}")
set(CPACK_SPANSORT_LIBDIR "${CMAKE_INSTALL_LIBDIR}")

# ---- packages for Debian and Ubuntu: the shared library's package is named by its SONAME, so that programs built for
# ---- one minor version keep theirs when the next, whose interface may differ, is installed

set(abi "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(CPACK_COMPONENTS_ALL library development command)
if(SPANSORT_HAS_MPI)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE spansort)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "${PROJECT_HOMEPAGE_URL}")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# The script finds the packages of shared libraries: CPack would not tell those that are recommended from the others,
# and calls ldconfig by scripts.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
set(exactly "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

set(backends "CPUs")
if(SPANSORT_HAS_CUDA)
  set(backends "CPUs and GPUs")
endif()
set(about "Spansort sorts arrays, key-value pairs, records and files, also files that
are larger than memory, and finds quantiles and outliers without sorting.
The order is that of NumPy, also for floating-point numbers with NaN.\n\n")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME "libspansort${abi}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_MULTIARCH same)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "sorting of arrays and files on ${backends} (library)
${about}This is the shared library.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libspansort-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libspansort${abi} ${exactly}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "spansort-mpi ${exactly}, libopenmpi-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "sorting of arrays and files on ${backends} (development files)
${about}This package has the headers, the CMake package Spansort and the files of
pkg-config. Programs that sort over MPI need the package spansort-mpi, too.")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME spansort)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "libspansort${abi} ${exactly}")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "spansort-mpi ${exactly}")
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "sorting of arrays and files on ${backends} (command)
${about}This package has the command, which takes .npy and raw binary files.")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME spansort-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION science)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "libspansort${abi} ${exactly}, spansort ${exactly}")
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_DEBIAN_MPI_DESCRIPTION "sorting of arrays and files on ${backends} (over MPI)
${about}This package has the library and the program that sort over the processes
of MPI: mpirun spansort sort --mpi.")

set(control "${PROJECT_BINARY_DIR}/packages")
file(WRITE "${control}/triggers" "activate-noawait ldconfig\n")
file(WRITE "${control}/library/shlibs" "libspansort ${abi} libspansort${abi} (>= ${PROJECT_VERSION})\n")
file(WRITE "${control}/mpi/shlibs" "libspansort_mpi ${abi} spansort-mpi (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${control}/triggers;${control}/library/shlibs")
set(CPACK_DEBIAN_MPI_PACKAGE_CONTROL_EXTRA "${control}/triggers;${control}/mpi/shlibs")

# The project's own summary would stand before the descriptions of the packages.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
include(CPack)
