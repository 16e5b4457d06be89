# SPDX-License-Identifier: Apache-2.0
# The cluster library Spansort::mpi: SPANSORT_HAS_MPI says whether it is built. Within another project it is left out
# unless it is asked for.
if(PROJECT_IS_TOP_LEVEL)
  set(mpi_default AUTO)
else()
  set(mpi_default OFF)
endif()
set(SPANSORT_MPI ${mpi_default} CACHE STRING "Build the cluster library: AUTO (where MPI is found), ON or OFF")
set_property(CACHE SPANSORT_MPI PROPERTY STRINGS AUTO ON OFF)
set(SPANSORT_HAS_MPI OFF)
if(SPANSORT_MPI STREQUAL "OFF")
  return()
endif()

# The C interface is what is used; the old C++ one is not even declared.
set(MPI_CXX_SKIP_MPICXX TRUE)
# libsodium has the keyed hash by which node ranks know each other.
if(SPANSORT_MPI STREQUAL "ON")
  find_package(MPI 3.1 REQUIRED COMPONENTS CXX)
  find_package(Sodium REQUIRED)
else()
  find_package(MPI 3.1 QUIET COMPONENTS CXX)
  find_package(Sodium QUIET)
endif()
if(MPI_CXX_FOUND AND Sodium_FOUND)
  set(SPANSORT_HAS_MPI ON)
elseif(MPI_CXX_FOUND)
  message(STATUS "no libsodium was found (Debian, Ubuntu: libsodium-dev): the cluster library is left out")
else()
  message(STATUS "no MPI was found (Debian, Ubuntu: libopenmpi-dev): the cluster library is left out")
endif()
