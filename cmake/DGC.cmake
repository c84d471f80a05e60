# Helpers shared by every CMakeLists.txt of the project.

find_program(DGC_CCACHE ccache)
if(DGC_CCACHE)
  # clang's precompiled headers need these to be cacheable.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${DGC_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
if(DGC_SANITIZE)
  add_compile_options(-fsanitize=${DGC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${DGC_SANITIZE})
  add_library(dgc_sanitizer_defaults OBJECT ${CMAKE_SOURCE_DIR}/test/unit/support/SanitizerDefaults.cpp)
  link_libraries($<TARGET_OBJECTS:dgc_sanitizer_defaults>)
endif()

include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})

# `build/bin` leads to the binaries of the last build, whatever its preset.
add_custom_target(dgc_bin_link ALL
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/bin
  COMMAND ${CMAKE_COMMAND} -E create_symlink ${CMAKE_BINARY_DIR}/bin ${CMAKE_SOURCE_DIR}/build/bin
  VERBATIM)

# dgc_runtime_library(NAME SOURCES file... LINK target...)
# A library of the runtime. It must not see MLIR or LLVM.
function(dgc_runtime_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# dgc_unit_test(NAME SOURCES file... LINK target...)
# A GoogleTest program, registered with CTest and listed for scripts/test. DGC_SOURCE_DIR is the root of the repository.
find_package(GTest REQUIRED)
function(dgc_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE DGC_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/unit)
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# dgc_test_on_gpu(NAME [gtest-filter])
# Runs the program of a unit test once more, with its kernels as grids of a GPU, in an emulator.
function(dgc_test_on_gpu name)
  add_test(NAME ${name}_gpu COMMAND ${name} --gtest_filter=${ARGN})
  set_tests_properties(${name}_gpu PROPERTIES ENVIRONMENT "DGC_TEST_GPU=emulated;GTEST_OUTPUT=")
endfunction()

# dgc_carries_libraries(NAME)
# What it needs, and what that needs, is looked for in ../lib beside it first: so a folder with both runs anywhere.
function(dgc_carries_libraries name)
  set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN/../lib")
  target_link_options(${name} PRIVATE -Wl,--disable-new-dtags) # for what libraries need as well
endfunction()
