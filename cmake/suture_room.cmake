# suture_room(<name> [PYTHON] [HOT] [DEPENDS <rooms>...] [LIBRARIES <targets>...])
#   Makes the static library suture_<name> from src/<name>/**.cpp and, with SUTURE_TESTS, the test program <name>_test from
#   tests/unit/<name>/*_test.cpp. PYTHON rooms see Python.h and NumPy headers; their tests embed an interpreter.
#   HOT rooms run in every call of a compiled function: they are built with -O3, which saves a seventh of a small call. The
#   rest runs once per compile, where -O3 only makes the build longer.
add_library(suture_flags INTERFACE)
target_include_directories(suture_flags INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/src)
target_compile_options(suture_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers -Werror=return-type -fno-strict-aliasing
  # GCC 12 sees overlapping or endless copies in std::string where there are none.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow>)
if(SUTURE_WERROR)
  target_compile_options(suture_flags INTERFACE -Werror)
endif()
if(SUTURE_SANITIZE)
  target_compile_options(suture_flags INTERFACE -fsanitize=${SUTURE_SANITIZE} -fno-omit-frame-pointer -g
    # The check of indirect calls reads a type word in front of the callee. Kernels have none, and in front of the first
    # one of a library there may be no memory.
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(suture_flags INTERFACE -fsanitize=${SUTURE_SANITIZE})
endif()

# Precompiled headers of the release preset: the standard headers that most sources include, and GoogleTest for the tests.
# The first room (and test program) of each kind, with and without Python.h, makes them; later ones use them again. Builds without the
# option show a missing include.
option(SUTURE_PCH "Precompile common headers: less time for a build from nothing" OFF)
set(suture_common_headers <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <set> <span> <string>
    <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h>)
set(suture_test_headers ${suture_common_headers} <gmock/gmock.h> <gtest/gtest.h>)

function(suture_precompile target kind headers)  # kind: one precompiled header for every value of it
  if(NOT SUTURE_PCH)
    return()
  endif()
  get_property(owner GLOBAL PROPERTY suture_pch_${kind})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${headers})
    set_property(GLOBAL PROPERTY suture_pch_${kind} ${target})
  endif()
endfunction()

function(suture_room name)
  cmake_parse_arguments(ROOM "PYTHON;HOT" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  if(ROOM_SOURCES_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX ${ROOM_SOURCES_EXCLUDE})
  endif()
  list(FILTER sources EXCLUDE REGEX "/toolchain/plugin/")
  if(sources)
    add_library(suture_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(suture_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(suture_${name} ${scope} suture_flags fmt::fmt ${ROOM_LIBRARIES})
  foreach(dep IN LISTS ROOM_DEPENDS)
    target_link_libraries(suture_${name} ${scope} suture_${dep})
  endforeach()
  if(ROOM_HOT)
    target_compile_options(suture_${name} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
  set(python_kind "")
  set(python_header "")
  if(ROOM_PYTHON)
    target_link_libraries(suture_${name} ${scope} Python::Module Python::NumPy)
    set(python_kind _python)
    set(python_header <Python.h>)
  endif()
  if(sources)
    suture_precompile(suture_${name} room${python_kind} "${python_header};${suture_common_headers}")
  endif()
  if(SUTURE_TESTS)
    file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/${name}/*_test.cpp)
    if(tests)
      add_executable(${name}_test ${tests})
      target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR}/tests)
      # Tests that compare with NumPy run scripts of this checkout in the configured interpreter.
      target_compile_definitions(${name}_test PRIVATE SUTURE_TEST_PYTHON="${Python_EXECUTABLE}"
                                 SUTURE_TEST_ROOT="${CMAKE_SOURCE_DIR}")
      if(ROOM_PYTHON)
        # tests/support/embed_main.cpp starts the configured interpreter (its prefix and site-packages) and runs the tests.
        target_sources(${name}_test PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/embed_main.cpp)
        target_link_libraries(${name}_test PRIVATE suture_${name} GTest::gtest GTest::gmock Python::Python)
      else()
        target_link_libraries(${name}_test PRIVATE suture_${name} GTest::gtest_main GTest::gmock)
      endif()
      # Nearly all the time of a test program is its compile, so the optimiser is left out.
      target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O0>)
      suture_precompile(${name}_test test${python_kind} "${python_header};${suture_test_headers}")
      add_test(NAME ${name} COMMAND ${name}_test)
      if(ROOM_PYTHON)  # the interpreter keeps its memory until the process ends
        set_tests_properties(${name} PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0" SKIP_RETURN_CODE 77)
      endif()
    endif()
  endif()
endfunction()
