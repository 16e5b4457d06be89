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
  if(NOT directory IN_LIST SPANSORT_TESTS_COMPILED_ALONE)
    spansort_compile_together(${program})
  endif()
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

# tests/<directory>/*.py and *.sh: run with SPANSORT_BIN set to the command.
function(spansort_add_command_tests directory)
  file(GLOB scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${directory}/test_*.py"
    "${PROJECT_SOURCE_DIR}/tests/${directory}/*.sh")
  foreach(script IN LISTS scripts)
    spansort_add_script_tests("${script}" class PROPERTIES LABELS "${directory}" TIMEOUT 900
      ENVIRONMENT "SPANSORT_BIN=$<TARGET_FILE:spansort_cli>")
  endforeach()
endfunction()

# spansort_add_script_tests(<script> class|method PROPERTIES <property> <value>...)
# One ctest entry for each class, or for each method, of a script of Python's unittest; one for another script. Parts
# of a script run side by side that way: much of what they do is to wait. They begin first, for they take longest.
# Debian's interpreter has NumPy.
function(spansort_add_script_tests script part)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "PROPERTIES")
  cmake_path(RELATIVE_PATH script BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/tests" OUTPUT_VARIABLE name)
  if(NOT script MATCHES "\\.py$")
    add_test(NAME "${name}" COMMAND bash "${script}")
    set_tests_properties("${name}" PROPERTIES ${arg_PROPERTIES})
    return()
  endif()
  find_program(SPANSORT_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}")
  set(parts "")
  file(STRINGS "${script}" lines REGEX "^(class |    def test_)")
  foreach(line IN LISTS lines)
    if(line MATCHES "^class ([A-Za-z0-9_]+)")
      set(class "${CMAKE_MATCH_1}")
    elseif(part STREQUAL "method" AND line MATCHES "def (test_[A-Za-z0-9_]+)")
      list(APPEND parts "${class}.${CMAKE_MATCH_1}")
    else()
      list(APPEND parts "${class}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES parts)
  foreach(each IN LISTS parts)
    add_test(NAME "${name}/${each}" COMMAND "${SPANSORT_PYTHON}" -B "${script}" "${each}")
    set_tests_properties("${name}/${each}" PROPERTIES COST 10 ${arg_PROPERTIES})
  endforeach()
endfunction()
