# SPDX-License-Identifier: Apache-2.0
# Compiles section SECTION of SOURCE with COMPILER and DIRECTORIES (joined with |). Section 0 holds what must compile;
# any other must not, and the compiler must show the reason that stands behind `#if SECTION == N  //` in the source.
string(REPLACE "|" ";" directories "${DIRECTORIES}")
list(TRANSFORM directories PREPEND -I)
execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only -DSECTION=${SECTION} ${directories} "${SOURCE}"
  RESULT_VARIABLE status ERROR_VARIABLE messages)

if(SECTION EQUAL 0)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "what is allowed does not compile:\n${messages}")
  endif()
  return()
endif()

file(STRINGS "${SOURCE}" line REGEX "^#(el)?if SECTION == ${SECTION} ")
string(REGEX REPLACE "^.*//[ ]*" "" reason "${line}")
if(reason STREQUAL "")
  message(FATAL_ERROR "section ${SECTION} names no reason")
endif()
if(status EQUAL 0)
  message(FATAL_ERROR "section ${SECTION} compiles, but should be refused: ${reason}")
endif()
string(FIND "${messages}" "${reason}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "section ${SECTION} is refused, but not with the reason \"${reason}\":\n${messages}")
endif()
