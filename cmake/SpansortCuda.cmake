# SPDX-License-Identifier: Apache-2.0
# The GPU backend: SPANSORT_HAS_CUDA says whether it is built. One binary serves both kinds of machine: the runtime is
# linked statically, and without a driver everything runs on the CPU.
set(SPANSORT_CUDA AUTO CACHE STRING "Build the GPU backend: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE SPANSORT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SPANSORT_HAS_CUDA OFF)
if(SPANSORT_CUDA STREQUAL "OFF")
  return()
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(SPANSORT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SPANSORT_CUDA=ON, but no CUDA compiler was found; put nvcc on the PATH or set CMAKE_CUDA_COMPILER")
  endif()
  message(STATUS "No CUDA compiler found: the GPU backend is left out")
  return()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  # Code for the data-centre chips of today, and intermediate code that the driver compiles for all others from Turing on.
  set(CMAKE_CUDA_ARCHITECTURES 75-virtual 80-real 90)
endif()
if(SPANSORT_CCACHE AND NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${SPANSORT_CCACHE}")
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(SPANSORT_HAS_CUDA ON)
