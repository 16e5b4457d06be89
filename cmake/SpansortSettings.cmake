# SPDX-License-Identifier: Apache-2.0
# Build type, compiler cache, the usage requirements that all own code shares.

get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT is_multi_config)
  if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  else()
    # The build type of a project around this one is not ours to set, and a sort without optimisation is of no use.
    # These are seen in the folders of this project alone.
    string(PREPEND CMAKE_CXX_FLAGS "-O2 ")
    string(PREPEND CMAKE_CUDA_FLAGS "-O2 ")
  endif()
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(SPANSORT_CCACHE ccache)
    mark_as_advanced(SPANSORT_CCACHE)
    if(SPANSORT_CCACHE)
      # Paths below the checkout count as relative ones, so that another checkout finds the objects of this one.
      set(SPANSORT_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
        CCACHE_NOHASHDIR=true CCACHE_DEPEND=true "${SPANSORT_CCACHE}")
      set(CMAKE_CXX_COMPILER_LAUNCHER "${SPANSORT_COMPILER_LAUNCHER}")
    endif()
  endif()
endif()

# The objects of a shared library, and of a static one that others link into theirs.
set(spansort_is_shared OFF)
if(BUILD_SHARED_LIBS OR CMAKE_POSITION_INDEPENDENT_CODE)
  set(spansort_is_shared ON)
endif()

# C++20 without extensions and the warnings, for own code only: not part of what a consumer inherits.
add_library(spansort_settings INTERFACE)
target_compile_features(spansort_settings INTERFACE cxx_std_20)
target_compile_options(spansort_settings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Wshadow>"
  # Clang counts sign conversions to -Wconversion, GCC does not; both are to warn about the same.
  "$<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wno-sign-conversion>"
  "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${SPANSORT_WERROR}>>:-Werror>"
  # Nobody replaces functions of the shared library by those of another one, and the possibility would forbid inlining.
  "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>,$<BOOL:${spansort_is_shared}>>:-fno-semantic-interposition>"
  # constexpr functions of keys/ are device code too.
  "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr;-Xcompiler=-Wall>"
  "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${SPANSORT_WERROR}>>:-Werror=all-warnings>")

# spansort_compile_together(<target>): a sanitizer build reads the same headers for eight sources at once, which is most
# of a small source's time. The other builds compile each source alone, and see that it includes what it needs. Sources
# with options of their own stay alone. A local name may hide one of another source's anonymous namespace.
function(spansort_compile_together target)
  if(CMAKE_BUILD_TYPE STREQUAL "Sanitize")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8
      UNITY_BUILD_CODE_BEFORE_INCLUDE "#pragma GCC diagnostic ignored \"-Wshadow\"")
  endif()
endfunction()

# version.hpp is configured; everything else in include/ is used where it lies.
set(spansort_generated_include_dir "${PROJECT_BINARY_DIR}/include")
configure_file("${PROJECT_SOURCE_DIR}/include/spansort/version.hpp.in"
  "${spansort_generated_include_dir}/spansort/version.hpp" @ONLY)

# What every own program needs: settings, where it lands below the build folder, and oneTBB's order under the sanitizer.
function(spansort_program target directory)
  target_link_libraries(${target} PRIVATE spansort_settings)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${directory}")
  if(SPANSORT_TSAN)
    if(NOT TARGET spansort_tsan_tbb)
      add_library(spansort_tsan_tbb OBJECT "${PROJECT_SOURCE_DIR}/cmake/tsan/tbb.cpp")
      target_link_libraries(spansort_tsan_tbb PRIVATE spansort_settings TBB::tbb)
      set_target_properties(spansort_tsan_tbb PROPERTIES CXX_EXTENSIONS OFF)
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:spansort_tsan_tbb>)
    target_link_options(${target} PRIVATE "-Wl,@${PROJECT_SOURCE_DIR}/cmake/tsan/wrap.txt")
    target_link_libraries(${target} PRIVATE TBB::tbb)
  endif()
endfunction()
