# SPDX-License-Identifier: Apache-2.0
# Finds Google Highway and defines Highway::headers, which is all that the library uses, and, for the benchmarks,
# Highway::contrib (the compiled vqsort) where its libraries are.

find_path(Highway_INCLUDE_DIR hwy/highway.h)
find_library(Highway_LIBRARY hwy)
find_library(Highway_CONTRIB_LIBRARY hwy_contrib)
mark_as_advanced(Highway_INCLUDE_DIR Highway_LIBRARY Highway_CONTRIB_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Highway REQUIRED_VARS Highway_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Install libhwy-dev (Debian, Ubuntu) or set CMAKE_PREFIX_PATH to where Highway is.")

if(Highway_FOUND AND NOT TARGET Highway::headers)
  add_library(Highway::headers INTERFACE IMPORTED)
  target_include_directories(Highway::headers INTERFACE "${Highway_INCLUDE_DIR}")
  if(Highway_LIBRARY AND Highway_CONTRIB_LIBRARY)
    add_library(Highway::contrib INTERFACE IMPORTED)
    target_link_libraries(Highway::contrib INTERFACE
      "${Highway_CONTRIB_LIBRARY}" "${Highway_LIBRARY}" Highway::headers)
  endif()
endif()
