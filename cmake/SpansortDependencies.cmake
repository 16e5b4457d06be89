# SPDX-License-Identifier: Apache-2.0
# External libraries, all from the distribution's packages. Those that only the command, the tests or the benchmarks
# need are looked for in their own folders.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(TBB REQUIRED CONFIG)
find_package(fmt REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)
find_package(Highway REQUIRED)
find_package(Hwloc REQUIRED)

# A shared library compiles fmt in, so that one build of it serves systems whose packages of fmt differ.
set(SPANSORT_FMT fmt::fmt)
if(BUILD_SHARED_LIBS)
  set(SPANSORT_FMT fmt::fmt-header-only)
endif()

# xxHash is compiled in: its header is all that is needed, and nobody who links Spansort needs it.
find_path(SPANSORT_XXHASH_INCLUDE_DIR xxhash.h)
mark_as_advanced(SPANSORT_XXHASH_INCLUDE_DIR)
if(NOT SPANSORT_XXHASH_INCLUDE_DIR)
  message(FATAL_ERROR "xxhash.h was not found: install libxxhash-dev (Debian, Ubuntu)")
endif()
