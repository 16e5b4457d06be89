# SPDX-License-Identifier: Apache-2.0
# Functions that turn the folders of tests/ into test programs and ctest entries.

# Sets <out> to an nvcc that compiles C++20 with this machine's C++ compiler, or to nothing. The GPU backend need not be
# built: consumers of the library may have CUDA sources all the same.
function(spansort_find_nvcc out)
  if(NOT DEFINED SPANSORT_TEST_NVCC)
    find_program(nvcc NAMES "${CMAKE_CUDA_COMPILER}" nvcc HINTS /usr/local/cuda/bin NO_CACHE)
    if(nvcc)
      spansort_try_nvcc(failure "${nvcc}")
    endif()
    if(NOT nvcc OR failure)
      set(nvcc "")
    endif()
    set(SPANSORT_TEST_NVCC "${nvcc}" CACHE INTERNAL "nvcc for the tests of headers and package")
  endif()
  set(${out} "${SPANSORT_TEST_NVCC}" PARENT_SCOPE)
endfunction()

# tests/support/: oracle, distributions and the like, shared by all test programs as "support/<name>.hpp".
function(spansort_add_test_support)
  # Without those of MPI: tests/mpi adds them to its own programs.
  get_property(rooms GLOBAL PROPERTY SPANSORT_LIBRARY_ROOMS)
  list(TRANSFORM rooms PREPEND spansort_room_)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cpp")
  add_library(spansort_test_usage INTERFACE)
  target_include_directories(spansort_test_usage INTERFACE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(spansort_test_usage INTERFACE ${rooms} spansort_settings)
  # Sanitizer builds take their time to compile; the tests' own code is not what is to be fast in them.
  target_compile_options(spansort_test_usage INTERFACE $<$<CONFIG:Sanitize>:-O0>)
  if(sources)
    add_library(spansort_test_support STATIC ${sources})
    target_link_libraries(spansort_test_support PUBLIC spansort_test_usage GTest::gtest)
    set_target_properties(spansort_test_support PROPERTIES CXX_EXTENSIONS OFF)
    if(SPANSORT_HAS_CUDA)
      target_compile_definitions(spansort_test_support PRIVATE SPANSORT_HAS_CUDA)
      target_link_libraries(spansort_test_support PRIVATE CUDA::cudart_static)
    endif()
  endif()
endfunction()

# tests/<directory>/*.cpp -> test_<directory>. Folders named after a pure room (base, keys, plan) link that room and
# what it uses instead of the library, which proves that the room needs nothing else.
function(spansort_add_gtest_folder directory)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${directory}/*.cpp")
  if(NOT sources)
    return()
  endif()
  set(program test_${directory})
  add_executable(${program} ${sources})
  if(TARGET spansort_test_support)
    target_link_libraries(${program} PRIVATE spansort_test_support)
  endif()
  target_link_libraries(${program} PRIVATE spansort_test_usage GTest::gtest_main)
  if(directory IN_LIST SPANSORT_PURE_ROOMS)
    spansort_room_closure(closure ${directory})
    spansort_room_objects(objects ${closure})
    target_sources(${program} PRIVATE ${objects})
  else()
    target_link_libraries(${program} PRIVATE Spansort::spansort)
  endif()
  spansort_program(${program} tests)
  spansort_register_gtests(${program} ${directory})
endfunction()

# Two discoveries by the suite's name, so that `ctest -LE slow` leaves the long ones out. CMake 3.25 passes a list of
# labels on as several properties: a test has one label.
function(spansort_register_gtests program label)
  set(common TEST_PREFIX "${label}/" NO_PRETTY_TYPES NO_PRETTY_VALUES WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
  gtest_discover_tests(${program} ${common} TEST_FILTER "-*Slow*" TEST_LIST ${program}_fast
    PROPERTIES LABELS "${label}" TIMEOUT 600)
  gtest_discover_tests(${program} ${common} TEST_FILTER "*Slow*-*DISABLED_*" TEST_LIST ${program}_slow
    PROPERTIES LABELS slow TIMEOUT 1800)
endfunction()

# tests/<directory>/*.py and *.sh: run with SPANSORT_BIN set to the command. Python's unittest, Debian's interpreter.
function(spansort_add_command_tests directory)
  find_program(SPANSORT_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
  file(GLOB scripts CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/tests/${directory}"
    "${PROJECT_SOURCE_DIR}/tests/${directory}/test_*.py" "${PROJECT_SOURCE_DIR}/tests/${directory}/*.sh")
  foreach(script IN LISTS scripts)
    cmake_path(GET script EXTENSION extension)
    if(extension STREQUAL ".py")
      set(interpreter "${SPANSORT_PYTHON}" -B)
    else()
      set(interpreter bash)
    endif()
    set(name "${directory}/${script}")
    add_test(NAME ${name} COMMAND ${interpreter} "${PROJECT_SOURCE_DIR}/tests/${directory}/${script}")
    set_tests_properties(${name} PROPERTIES LABELS "${directory}" TIMEOUT 900
      ENVIRONMENT "SPANSORT_BIN=$<TARGET_FILE:spansort_cli>")
  endforeach()
endfunction()
