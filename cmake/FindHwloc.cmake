# SPDX-License-Identifier: Apache-2.0
# Finds hwloc (which ships no CMake files) and defines Hwloc::hwloc.
# Installed with Spansort, because consumers of the static library link hwloc too.

find_path(Hwloc_INCLUDE_DIR hwloc.h)
find_library(Hwloc_LIBRARY hwloc)
mark_as_advanced(Hwloc_INCLUDE_DIR Hwloc_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hwloc REQUIRED_VARS Hwloc_LIBRARY Hwloc_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Install libhwloc-dev (Debian, Ubuntu) or set CMAKE_PREFIX_PATH to where hwloc is.")

if(Hwloc_FOUND AND NOT TARGET Hwloc::hwloc)
  add_library(Hwloc::hwloc UNKNOWN IMPORTED)
  set_target_properties(Hwloc::hwloc PROPERTIES
    IMPORTED_LOCATION "${Hwloc_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Hwloc_INCLUDE_DIR}")
endif()
