# SPDX-License-Identifier: Apache-2.0
# Configures tests/package/consumer with Spansort as a subdirectory. Generating resolves every target that is linked;
# the library itself is not compiled again. Tests, command and install rules must be off there.
# Given: BUILD_DIR SOURCE_DIR COMPILER VERSION HAS_MPI.
cmake_minimum_required(VERSION 3.25)

set(work "${BUILD_DIR}/subdirectory_test")
file(REMOVE_RECURSE "${work}")

# configure(<argument>...): sets `rules` to what would be built.
function(configure)
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE_DIR}/tests/package/consumer" -B "${work}" -G Ninja
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DSPANSORT_SOURCE_DIR=${SOURCE_DIR}" "-DEXPECTED_VERSION=${VERSION}"
    -DSPANSORT_CUDA=OFF ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "configuring with Spansort as a subdirectory failed:\n${output}")
  endif()
  file(READ "${work}/build.ninja" text)
  set(rules "${text}" PARENT_SCOPE)
endfunction()

# require_optimised(<object> <TRUE or FALSE>): whether the object file is compiled with -O2.
function(require_optimised object expected)
  string(REGEX MATCH "build [^\n]*${object}\\.o:[^\n]*\n(  [^\n]*\n)+" rule "${rules}")
  if(NOT rule)
    message(FATAL_ERROR "${object} would not be built")
  endif()
  string(REGEX MATCH "  FLAGS = [^\n]*" flags "${rule}")
  string(FIND "${flags} " " -O2 " position)
  if(expected AND position EQUAL -1)
    message(FATAL_ERROR "${object} would not be optimised:${flags}")
  elseif(NOT expected AND NOT position EQUAL -1)
    message(FATAL_ERROR "${object} would be optimised, which nobody asked for:${flags}")
  endif()
endfunction()

# The library is optimised without a build type, too; the project around it is left alone. MPI is on the
# machine or not, and is not asked for.
configure()
if(NOT rules MATCHES "libspansort")
  message(FATAL_ERROR "the consumer does not link libspansort")
endif()
foreach(own IN ITEMS test_plan bin/spansort example_sort spansort_bench_select libspansort_mpi)
  if(rules MATCHES "build [^\n]*${own}[^\n]*:")
    message(FATAL_ERROR "${own} would be built although Spansort is not the top-level project")
  endif()
endforeach()
require_optimised(planner.cpp TRUE)
require_optimised(consumer.dir/main.cpp FALSE)

configure(-DCMAKE_BUILD_TYPE=Debug)
require_optimised(planner.cpp FALSE)

if(HAS_MPI)
  configure(-DSPANSORT_MPI=ON)
  if(NOT rules MATCHES "libspansort_mpi")
    message(FATAL_ERROR "the cluster library is left out, though it is asked for")
  endif()
endif()
file(REMOVE_RECURSE "${work}")
