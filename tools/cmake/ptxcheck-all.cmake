# Checks every CUDA target of a project whose CMakeLists.txt say nothing of ptxcheck:
#
#   cmake -DCMAKE_PROJECT_TOP_LEVEL_INCLUDES=<folder>/ptxcheck-all.cmake …     CMake 3.24 or newer
#   cmake -DCMAKE_PROJECT_INCLUDE=<folder>/ptxcheck-all.cmake …                CMake 3.22 and 3.23
#
# ptxcheck_LEVEL, ptxcheck_LAUNCH and ptxcheck_CONFIG are what ptxcheck_target takes as LEVEL, LAUNCH and CONFIG.

include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/ptxcheck-config.cmake")

# Adds a check for each CUDA target of a folder and of those below it that are a part of `all`.
function(_ptxcheck_walk folder)
  set(options "")
  foreach(key IN ITEMS LEVEL LAUNCH CONFIG)
    if(ptxcheck_${key})
      list(APPEND options ${key} "${ptxcheck_${key}}")
    endif()
  endforeach()
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type "${target}" TYPE)
    if(NOT type MATCHES "^(STATIC_LIBRARY|SHARED_LIBRARY|MODULE_LIBRARY|OBJECT_LIBRARY|EXECUTABLE)$"
        OR TARGET "${target}_ptxcheck")
      continue()
    endif()
    _ptxcheck_has_cuda("${target}" has)
    if(has STREQUAL "YES")
      _ptxcheck_add("${target}" target ${options})
      _ptxcheck_finish("${target}" TRUE)
    endif()
  endforeach()
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    get_property(excluded DIRECTORY "${below}" PROPERTY EXCLUDE_FROM_ALL)
    if(NOT excluded)
      _ptxcheck_walk("${below}")
    endif()
  endforeach()
endfunction()

cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL _ptxcheck_walk "${CMAKE_SOURCE_DIR}")
