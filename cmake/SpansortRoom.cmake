# SPDX-License-Identifier: Apache-2.0
# A room is a folder under src/ and a pair of targets:
#   spansort_room_<name>     what including the room's headers needs (an interface: include path, rooms it uses)
#   spansort_objects_<name>  the room's object files; absent when the room has headers only
# Sources never see src/ itself. Every room has an include directory of its own in the build tree that holds nothing but
# a link to the room, so `#include "plan/planner.hpp"` compiles only in rooms that USE plan, directly or by a chain.

# ./dev coverage: these rooms count how often their lines and branches run; all else is the development build.
set(SPANSORT_COVERED_ROOMS "" CACHE STRING "Rooms that are compiled with --coverage")

# spansort_room(<name> [DIRECTORY <path under src>] [HAS_INNER_ROOMS] [USES <room>...] [PRIVATE_USES <room>...]
#               [FOLDERS <subfolder>...] [LINKS <external target>...])
#   PRIVATE_USES: rooms that the room's own sources see, but not those that USE this one.
#   FOLDERS: subfolders whose sources belong to the room too.
#   HAS_INNER_ROOMS: a subfolder is a room of its own and stays invisible to those that USE this one.
function(spansort_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "HAS_INNER_ROOMS" "DIRECTORY" "USES;PRIVATE_USES;FOLDERS;LINKS")
  if(NOT arg_DIRECTORY)
    set(arg_DIRECTORY "${name}")
  endif()
  set(include_dir "${PROJECT_BINARY_DIR}/rooms/${name}")
  spansort_link_room_headers("${include_dir}" "${arg_DIRECTORY}" "${arg_HAS_INNER_ROOMS}")

  list(TRANSFORM arg_USES PREPEND spansort_room_ OUTPUT_VARIABLE used_rooms)
  list(TRANSFORM arg_PRIVATE_USES PREPEND spansort_room_ OUTPUT_VARIABLE privately_used_rooms)
  add_library(spansort_room_${name} INTERFACE)
  target_include_directories(spansort_room_${name} INTERFACE
    "${include_dir}" "${PROJECT_SOURCE_DIR}/include" "${spansort_generated_include_dir}")
  target_link_libraries(spansort_room_${name} INTERFACE ${used_rooms} ${arg_LINKS})
  set_property(TARGET spansort_room_${name} PROPERTY SPANSORT_USES "${arg_USES}")
  set_property(TARGET spansort_room_${name} PROPERTY SPANSORT_PRIVATE_USES "${arg_PRIVATE_USES}")
  set_property(TARGET spansort_room_${name} PROPERTY SPANSORT_DIRECTORY "${arg_DIRECTORY}")

  set(patterns "${PROJECT_SOURCE_DIR}/src/${arg_DIRECTORY}/*.cpp")
  foreach(folder IN LISTS arg_FOLDERS)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/src/${arg_DIRECTORY}/${folder}/*.cpp"
      "${PROJECT_SOURCE_DIR}/src/${arg_DIRECTORY}/${folder}/*.cu")
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(sources)
    add_library(spansort_objects_${name} OBJECT ${sources})
    target_link_libraries(spansort_objects_${name} PRIVATE spansort_room_${name} ${privately_used_rooms} spansort_settings)
    set_target_properties(spansort_objects_${name} PROPERTIES CXX_EXTENSIONS OFF CUDA_STANDARD 20 CUDA_EXTENSIONS OFF)
    # Highway compiles a source of the host's kernels once a set of vectors, by having it include itself.
    if(NOT name STREQUAL "device_host")
      spansort_compile_together(spansort_objects_${name})
    endif()
    if(name IN_LIST SPANSORT_COVERED_ROOMS)
      target_compile_options(spansort_objects_${name} PRIVATE --coverage -O0 -fprofile-update=atomic)
      target_link_options(spansort_settings INTERFACE --coverage)
    endif()
    if(BUILD_SHARED_LIBS)
      set_target_properties(spansort_objects_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY SPANSORT_ROOMS ${name})
endfunction()

# Makes <include_dir>/<directory> show the headers of src/<directory>.
function(spansort_link_room_headers include_dir directory has_inner_rooms)
  set(shown "${include_dir}/${directory}")
  set(original "${PROJECT_SOURCE_DIR}/src/${directory}")
  # A build tree from before an outer folder held rooms has a link in its place, through which sources would be removed.
  cmake_path(GET shown PARENT_PATH outer)
  while(NOT outer STREQUAL include_dir AND outer MATCHES "/.")
    if(IS_SYMLINK "${outer}")
      file(REMOVE "${outer}")
    endif()
    cmake_path(GET outer PARENT_PATH outer)
  endwhile()
  if(NOT has_inner_rooms)
    cmake_path(GET shown PARENT_PATH parent)
    file(MAKE_DIRECTORY "${parent}")
    # A build tree from before the room lost its inner ones holds a folder of links here.
    if(IS_DIRECTORY "${shown}" AND NOT IS_SYMLINK "${shown}")
      file(REMOVE_RECURSE "${shown}")
    endif()
    file(CREATE_LINK "${original}" "${shown}" SYMBOLIC)
    return()
  endif()
  # A build tree from before the room had inner ones holds a link here; links made through it would replace the sources.
  if(IS_SYMLINK "${shown}")
    file(REMOVE "${shown}")
  endif()
  file(MAKE_DIRECTORY "${shown}")
  file(GLOB headers CONFIGURE_DEPENDS "${original}/*.hpp")
  foreach(header IN LISTS headers)
    cmake_path(GET header FILENAME file_name)
    file(CREATE_LINK "${header}" "${shown}/${file_name}" SYMBOLIC)
  endforeach()
endfunction()

# Sets <out> to the rooms themselves and all rooms that they use, directly or by a chain.
function(spansort_room_closure out)
  set(open ${ARGN})
  set(closure "")
  while(open)
    list(POP_FRONT open room)
    if(NOT room IN_LIST closure)
      list(APPEND closure ${room})
      get_target_property(used spansort_room_${room} SPANSORT_USES)
      list(APPEND open ${used})
    endif()
  endwhile()
  set(${out} ${closure} PARENT_SCOPE)
endfunction()

# Sets <out> to generator expressions for the object files of the rooms.
function(spansort_room_objects out)
  set(objects "")
  foreach(room IN LISTS ARGN)
    if(TARGET spansort_objects_${room})
      list(APPEND objects "$<TARGET_OBJECTS:spansort_objects_${room}>")
    endif()
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

# spansort_describe_room(<name> <what it holds>): a row of the table of rooms, in the order of the calls. A room that
# this build leaves out keeps its row.
function(spansort_describe_room name holds)
  set_property(GLOBAL APPEND PROPERTY SPANSORT_DESCRIBED_ROOMS ${name})
  if(NOT TARGET spansort_room_${name})
    set_property(GLOBAL APPEND PROPERTY SPANSORT_ROOMS_LEFT_OUT ${name})
    return()
  endif()
  foreach(kind IN ITEMS USES PRIVATE_USES DIRECTORY)
    get_target_property(${kind} spansort_room_${name} SPANSORT_${kind})
  endforeach()
  set(seen ${USES} ${PRIVATE_USES})
  list(TRANSFORM seen APPEND "`")
  list(TRANSFORM seen PREPEND "`")
  list(JOIN seen " " seen)
  set_property(GLOBAL APPEND PROPERTY SPANSORT_ROOM_ROWS "| `${name}` in src/${DIRECTORY} | ${seen} | ${holds} |")
endfunction()

# Writes the table to <build>/rooms.md, and stops where a room has no description.
function(spansort_write_room_table)
  get_property(rooms GLOBAL PROPERTY SPANSORT_ROOMS)
  get_property(described GLOBAL PROPERTY SPANSORT_DESCRIBED_ROOMS)
  foreach(room IN LISTS rooms)
    if(NOT room IN_LIST described)
      message(FATAL_ERROR "room ${room} has no line in src/CMakeLists.txt that says what it holds")
    endif()
  endforeach()
  get_property(rows GLOBAL PROPERTY SPANSORT_ROOM_ROWS)
  get_property(left_out GLOBAL PROPERTY SPANSORT_ROOMS_LEFT_OUT)
  list(JOIN rows "\n" rows)
  list(JOIN left_out " " left_out)
  file(WRITE "${PROJECT_BINARY_DIR}/rooms.md" "${rows}\nleft out: ${left_out}\n")
endfunction()
