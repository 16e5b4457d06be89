# SPDX-License-Identifier: Apache-2.0
# Installs the build into a prefix of its own, then configures, builds and runs tests/package/consumer against it.
# Given: BUILD_DIR SOURCE_DIR GENERATOR COMPILER FLAGS CONFIG VERSION HAS_MPI NVCC.
cmake_minimum_required(VERSION 3.25)

set(work "${BUILD_DIR}/package_test")
file(REMOVE_RECURSE "${work}")

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
endfunction()

run("install" "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${work}/prefix" --config "${CONFIG}")
run("configuring the consumer" "${CMAKE_COMMAND}" -S "${SOURCE_DIR}/tests/package/consumer" -B "${work}/consumer"
  -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}"
  "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_BUILD_TYPE=${CONFIG}" "-DEXPECTED_VERSION=${VERSION}"
  "-DEXPECTS_MPI=${HAS_MPI}" "-DCMAKE_CUDA_COMPILER=${NVCC}" "-DCMAKE_CUDA_ARCHITECTURES=90")
run("building the consumer" "${CMAKE_COMMAND}" --build "${work}/consumer" --config "${CONFIG}")
run("running the consumer" "${work}/consumer/bin/consumer")
find_program(pkg_config NAMES pkg-config pkgconf)
if(pkg_config)
  # The consumer is compiled as a makefile would: by the words that pkg-config prints, and nothing of CMake.
  file(GLOB_RECURSE pc_file "${work}/prefix/*/spansort.pc")
  cmake_path(GET pc_file PARENT_PATH pc_dir)
  set(ENV{PKG_CONFIG_PATH} "${pc_dir}")
  run("compiling by pkg-config" sh -c "exec '${COMPILER}' ${FLAGS} -std=c++20 '${SOURCE_DIR}/tests/package/consumer/main.cpp' \
    -o '${work}/by_pkg_config' $('${pkg_config}' --cflags --libs spansort) -Wl,-rpath,'${pc_dir}/..'")
  run("running what pkg-config helped to compile" "${work}/by_pkg_config")
  execute_process(COMMAND "${pkg_config}" --modversion spansort OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT version STREQUAL VERSION)
    message(FATAL_ERROR "pkg-config says that Spansort's version is '${version}'")
  endif()
else()
  message(STATUS "left out: there is no pkg-config")
endif()
if(NVCC)
  run("running the consumer with a CUDA source" "${work}/consumer/bin/cuda_consumer")
endif()
if(HAS_MPI)
  # Without mpirun a program is one rank.
  run("running the consumer of MPI" "${work}/consumer/bin/cluster")
endif()
file(GLOB programs RELATIVE "${work}/prefix/bin" "${work}/prefix/bin/*")
if("spansort" IN_LIST programs)
  # --mpi finds the program beside the command, or says that it is not there.
  execute_process(COMMAND "${work}/prefix/bin/spansort" sort --mpi --help RESULT_VARIABLE status
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(HAS_MPI AND NOT (status EQUAL 0 AND output MATCHES "--heartbeat-timeout"))
    message(FATAL_ERROR "the installed spansort does not sort over MPI (${status}):\n${output}")
  elseif(NOT HAS_MPI AND NOT (status EQUAL 2 AND output MATCHES "SPANSORT_MPI=ON"))
    message(FATAL_ERROR "the installed spansort does not say that it cannot sort over MPI (${status}):\n${output}")
  endif()
endif()
if("spansort" IN_LIST programs AND EXISTS "${BUILD_DIR}/reference/man1")
  foreach(page IN ITEMS man/man1/spansort.1 man/man1/spansort-sort.1 bash-completion/completions/spansort
      zsh/site-functions/_spansort fish/vendor_completions.d/spansort.fish)
    if(NOT EXISTS "${work}/prefix/share/${page}")
      message(FATAL_ERROR "${page} is not installed")
    endif()
  endforeach()
endif()
if(NOT HAS_MPI AND EXISTS "${work}/prefix/include/spansort/mpi.hpp")
  message(FATAL_ERROR "the header of the cluster library is installed without the library")
endif()

# Nothing of the build tree may be needed: an installed header or package file that names it would break elsewhere.
file(GLOB_RECURSE installed_text "${work}/prefix/*.hpp" "${work}/prefix/*.cmake" "${work}/prefix/*.pc")
if(NOT installed_text)
  message(FATAL_ERROR "no headers or package files under ${work}/prefix")
endif()
foreach(file IN LISTS installed_text)
  file(READ "${file}" text)
  string(FIND "${text}" "${SOURCE_DIR}" position)
  if(NOT position EQUAL -1)
    message(FATAL_ERROR "${file} names the source tree ${SOURCE_DIR}")
  endif()
endforeach()
file(REMOVE_RECURSE "${work}")
