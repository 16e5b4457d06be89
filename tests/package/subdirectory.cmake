# SPDX-License-Identifier: Apache-2.0
# Configures tests/package/consumer with Spansort as a subdirectory. Generating resolves every target that is linked;
# the library itself is not compiled again. Tests, command and install rules must be off there.
# Given: BUILD_DIR SOURCE_DIR COMPILER VERSION.

set(work "${BUILD_DIR}/subdirectory_test")
file(REMOVE_RECURSE "${work}")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE_DIR}/tests/package/consumer" -B "${work}" -G Ninja
  "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DSPANSORT_SOURCE_DIR=${SOURCE_DIR}" "-DEXPECTED_VERSION=${VERSION}"
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "configuring with Spansort as a subdirectory failed:\n${output}")
endif()

file(READ "${work}/build.ninja" rules)
if(NOT rules MATCHES "libspansort")
  message(FATAL_ERROR "the consumer does not link libspansort")
endif()
foreach(own IN ITEMS test_plan bin/spansort example_sort spansort_bench_cpu)
  if(rules MATCHES "build [^\n]*${own}[^\n]*:")
    message(FATAL_ERROR "${own} would be built although Spansort is not the top-level project")
  endif()
endforeach()
file(REMOVE_RECURSE "${work}")
