# SPDX-License-Identifier: Apache-2.0
# Runs PROGRAM, which must end with an exit status other than 0 and print MESSAGE.
execute_process(COMMAND "${PROGRAM}" RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} has a fault, yet it ended with status 0:\n${output}")
endif()
string(FIND "${output}" "${MESSAGE}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${PROGRAM} failed (${status}) without saying '${MESSAGE}':\n${output}")
endif()
