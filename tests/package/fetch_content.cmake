# SPDX-License-Identifier: Apache-2.0
# Configures tests/package/fetched, which takes Spansort by FetchContent. It must find nothing changed that is its own,
# install nothing and test nothing. The library itself is not compiled again.
# Given: BUILD_DIR SOURCE_DIR COMPILER.
cmake_minimum_required(VERSION 3.25)

set(work "${BUILD_DIR}/fetch_content_test")
file(REMOVE_RECURSE "${work}")

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
endfunction()

set(common -S "${SOURCE_DIR}/tests/package/fetched" -G Ninja "-DCMAKE_CXX_COMPILER=${COMPILER}"
  "-DSPANSORT_SOURCE_DIR=${SOURCE_DIR}" -DSPANSORT_CUDA=OFF)
run("configuring" "${CMAKE_COMMAND}" ${common} -B "${work}/static")
run("configuring shared libraries" "${CMAKE_COMMAND}" ${common} -B "${work}/shared" -DBUILD_SHARED_LIBS=ON)
if(EXISTS "${work}/static/CTestTestfile.cmake")
  message(FATAL_ERROR "tests were added to a project that has none")
endif()
run("installing" "${CMAKE_COMMAND}" --install "${work}/static" --prefix "${work}/prefix")
file(GLOB_RECURSE installed "${work}/prefix/*")
if(installed)
  message(FATAL_ERROR "was installed, which nobody asked for: ${installed}")
endif()

run("configuring with install rules" "${CMAKE_COMMAND}" ${common} -B "${work}/static" -DSPANSORT_INSTALL=ON)
file(READ "${work}/static/_deps/spansort-build/cmake_install.cmake" rules)
if(NOT rules MATCHES "SpansortConfig.cmake")
  message(FATAL_ERROR "SPANSORT_INSTALL=ON adds no install rules")
endif()
file(REMOVE_RECURSE "${work}")
