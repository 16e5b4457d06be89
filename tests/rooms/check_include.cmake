# SPDX-License-Identifier: Apache-2.0
# Compiles one #include with the include directories of a room, given as COMPILER, DIRECTORIES (joined with |), HEADER
# and PERMISSION: MAY must compile, MAY_NOT must fail because the header is not found and for no other reason.

string(REPLACE "|" ";" directories "${DIRECTORIES}")
list(FILTER directories EXCLUDE REGEX "^$")
list(TRANSFORM directories PREPEND -I)

string(RANDOM LENGTH 12 suffix)
set(source "${CMAKE_CURRENT_BINARY_DIR}/include_test_${suffix}.cpp")
file(WRITE "${source}" "#include \"${HEADER}\"\n")
execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only ${directories} "${source}"
  RESULT_VARIABLE status ERROR_VARIABLE messages)
file(REMOVE "${source}")

set(not_found FALSE)
if(messages MATCHES "(${HEADER}: No such file or directory|'${HEADER}' file not found)")
  set(not_found TRUE)
endif()
if(PERMISSION STREQUAL "MAY" AND NOT status EQUAL 0)
  message(FATAL_ERROR "${HEADER} should compile here, but does not:\n${messages}")
elseif(PERMISSION STREQUAL "MAY_NOT" AND status EQUAL 0)
  message(FATAL_ERROR "${HEADER} must not be visible here, but compiles")
elseif(PERMISSION STREQUAL "MAY_NOT" AND NOT not_found)
  message(FATAL_ERROR "${HEADER} fails for another reason than not being found:\n${messages}")
endif()
