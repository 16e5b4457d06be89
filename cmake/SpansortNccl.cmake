# SPDX-License-Identifier: Apache-2.0
# NCCL, by which the GPUs of different processes reach each other: SPANSORT_HAS_NCCL says whether it is built in. Only
# its header is needed: the library is loaded when a session of several GPUs begins, and without it messages go through
# the host.
set(SPANSORT_NCCL AUTO CACHE STRING "Let GPUs of a cluster exchange by NCCL: AUTO (where its header is found), ON or OFF")
set_property(CACHE SPANSORT_NCCL PROPERTY STRINGS AUTO ON OFF)
set(SPANSORT_HAS_NCCL OFF)
if(SPANSORT_NCCL STREQUAL "OFF" OR NOT SPANSORT_HAS_CUDA OR NOT SPANSORT_HAS_MPI)
  if(SPANSORT_NCCL STREQUAL "ON")
    message(FATAL_ERROR "SPANSORT_NCCL=ON needs the GPU backend and MPI (SPANSORT_CUDA, SPANSORT_MPI)")
  endif()
  return()
endif()
find_path(SPANSORT_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
mark_as_advanced(SPANSORT_NCCL_INCLUDE_DIR)
if(SPANSORT_NCCL_INCLUDE_DIR)
  set(SPANSORT_HAS_NCCL ON)
elseif(SPANSORT_NCCL STREQUAL "ON")
  message(FATAL_ERROR "SPANSORT_NCCL=ON, but nccl.h was not found (set SPANSORT_NCCL_INCLUDE_DIR)")
else()
  message(STATUS "no nccl.h was found: GPUs of a cluster exchange through host memory")
endif()
