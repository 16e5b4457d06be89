# SPDX-License-Identifier: Apache-2.0
# Finds Google Highway and defines Highway::hwy and Highway::contrib (the latter holds the compiled vqsort).
# The package's own CMake files are used where it ships them; otherwise headers and libraries are searched for.
# Installed with Spansort, because consumers of the static library link Highway too.

find_package(hwy CONFIG QUIET)
if(NOT hwy_FOUND)
  find_path(Highway_INCLUDE_DIR hwy/highway.h)
  find_library(Highway_LIBRARY hwy)
  find_library(Highway_CONTRIB_LIBRARY hwy_contrib)
  mark_as_advanced(Highway_INCLUDE_DIR Highway_LIBRARY Highway_CONTRIB_LIBRARY)
endif()

include(FindPackageHandleStandardArgs)
if(hwy_FOUND)
  set(Highway_VERSION "${hwy_VERSION}")
  find_package_handle_standard_args(Highway REQUIRED_VARS hwy_DIR VERSION_VAR Highway_VERSION)
else()
  find_package_handle_standard_args(Highway
    REQUIRED_VARS Highway_LIBRARY Highway_CONTRIB_LIBRARY Highway_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "Install libhwy-dev (Debian, Ubuntu) or set CMAKE_PREFIX_PATH to where Highway is.")
endif()

if(Highway_FOUND AND NOT TARGET Highway::hwy)
  add_library(Highway::hwy INTERFACE IMPORTED)
  add_library(Highway::contrib INTERFACE IMPORTED)
  if(hwy_FOUND)
    target_link_libraries(Highway::hwy INTERFACE hwy::hwy)
    target_link_libraries(Highway::contrib INTERFACE hwy::hwy_contrib)
  else()
    target_include_directories(Highway::hwy INTERFACE "${Highway_INCLUDE_DIR}")
    target_link_libraries(Highway::hwy INTERFACE "${Highway_LIBRARY}")
    target_link_libraries(Highway::contrib INTERFACE "${Highway_CONTRIB_LIBRARY}" Highway::hwy)
  endif()
endif()
