# SPDX-License-Identifier: Apache-2.0
# A path with ".." would walk around the rooms' include directories; fails when any own source has one.
# Given: SOURCE_DIR.
file(GLOB_RECURSE sources "${SOURCE_DIR}/src/*pp" "${SOURCE_DIR}/include/*pp" "${SOURCE_DIR}/cli/*pp")
if(NOT sources)
  message(FATAL_ERROR "no sources under ${SOURCE_DIR}: nothing was checked")
endif()
foreach(source IN LISTS sources)
  file(STRINGS "${source}" includes REGEX "^[ \t]*#[ \t]*include[ \t]*\"[^\"]*\\.\\./")
  if(includes)
    message(SEND_ERROR "${source}: ${includes}\nInclude by room instead, as \"keys/codec.hpp\".")
  endif()
endforeach()
