# SPDX-License-Identifier: Apache-2.0
# Finds libsodium (which ships no CMake files) and defines Sodium::sodium.
# Installed with Spansort, because consumers of the static cluster library link libsodium too.

find_path(Sodium_INCLUDE_DIR sodium.h)
find_library(Sodium_LIBRARY sodium)
mark_as_advanced(Sodium_INCLUDE_DIR Sodium_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Sodium REQUIRED_VARS Sodium_LIBRARY Sodium_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Install libsodium-dev (Debian, Ubuntu) or set CMAKE_PREFIX_PATH to where libsodium is.")

if(Sodium_FOUND AND NOT TARGET Sodium::sodium)
  add_library(Sodium::sodium UNKNOWN IMPORTED)
  set_target_properties(Sodium::sodium PROPERTIES
    IMPORTED_LOCATION "${Sodium_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Sodium_INCLUDE_DIR}")
endif()
