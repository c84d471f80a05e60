# Helpers shared by every CMakeLists.txt of the project.

find_program(DGC_CCACHE ccache)
if(DGC_CCACHE)
  # clang's precompiled headers need these to be cacheable. A hit is found by the files that the last compilation read: the
  # preprocessor, which a miss would run once more, takes a third of the time of a file that includes MLIR.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_DEPEND=1
      ${DGC_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
if(CMAKE_BUILD_TYPE STREQUAL Release)
  # Packages do not name the folder that they were built in.
  add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
endif()
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

# Compiling is mostly the reading of headers. A precompiled one is for files that are compiled with the same options; some
# libraries ask for -pthread, and programs have -fPIE otherwise.
set(DGC_SAME_OPTIONS -fPIC -pthread)

# dgc_precompiled_header(NAME header.h [option...]): the target NAME, whose precompiled header, of this folder, others reuse.
# It and they are compiled with these options.
function(dgc_precompiled_header name header)
  add_library(${name} STATIC ${CMAKE_SOURCE_DIR}/cmake/Pch.cpp)
  set_target_properties(${name} PROPERTIES DGC_HEADER_OPTIONS "${ARGN}")
  target_compile_options(${name} PRIVATE ${DGC_SAME_OPTIONS} ${ARGN})
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${header})
endfunction()

# dgc_reuse_header(NAME PCH): NAME reuses the precompiled header of the target PCH.
function(dgc_reuse_header name pch)
  get_target_property(options ${pch} DGC_HEADER_OPTIONS)
  target_compile_options(${name} PRIVATE ${DGC_SAME_OPTIONS} ${options})
  target_precompile_headers(${name} REUSE_FROM ${pch})
endfunction()

# The project has two shared libraries: dgc-runtime, and dgc-compiler, which needs it. Each has one copy of what it
# holds, for the programs of the project and for plug-ins. Their parts are static libraries that are linked as a whole.

# dgc_part(NAME LIBRARY): the static library NAME is a part of dgc-runtime or dgc-compiler, and linked by nothing else.
function(dgc_part name library)
  set_property(GLOBAL APPEND PROPERTY DGC_PARTS_OF_${library} ${name})
  set_target_properties(${name} PROPERTIES DGC_PART_OF ${library})
endfunction()

# dgc_link(NAME PUBLIC|PRIVATE ITEM...)
# Links what is outside of the project, and the shared library in place of its part. A part links no part: it is built
# with their options behind what they generate.
function(dgc_link name visibility)
  if(DGC_STATIC)
    target_link_libraries(${name} ${visibility} ${ARGN})
    return()
  endif()
  get_target_property(own ${name} DGC_PART_OF)
  foreach(item IN LISTS ARGN)
    set(library NOTFOUND)
    if(TARGET ${item})
      get_target_property(library ${item} DGC_PART_OF)
    elseif(own AND item MATCHES "^(dgc_|DGC)")
      message(FATAL_ERROR "${name} links ${item}, which is not defined before it")
    endif()
    if(NOT library)
      target_link_libraries(${name} ${visibility} ${item})
    elseif(own)
      add_dependencies(${name} ${item})
      target_compile_options(${name} PUBLIC $<TARGET_PROPERTY:${item},INTERFACE_COMPILE_OPTIONS>)
      target_include_directories(${name} SYSTEM PUBLIC $<TARGET_PROPERTY:${item},INTERFACE_INCLUDE_DIRECTORIES>)
    else()
      target_link_libraries(${name} ${visibility} ${library})
    endif()
  endforeach()
endfunction()

# dgc_shared_library(NAME PUBLIC target... PRIVATE option...)
# The shared library of all parts. Its version is that of the project: plug-ins are for one version.
function(dgc_shared_library name)
  cmake_parse_arguments(ARG "" "" "PUBLIC" ${ARGN})
  get_property(parts GLOBAL PROPERTY DGC_PARTS_OF_${name})
  file(CONFIGURE OUTPUT ${name}.cpp CONTENT "" @ONLY)
  add_library(${name} SHARED ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  list(JOIN parts "," whole)
  target_link_libraries(${name} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${whole}>" PUBLIC ${ARG_PUBLIC})
  target_include_directories(${name} INTERFACE $<INSTALL_INTERFACE:include/dgc>)
  foreach(part IN LISTS parts)
    target_compile_options(${name} INTERFACE $<BUILD_INTERFACE:$<TARGET_PROPERTY:${part},INTERFACE_COMPILE_OPTIONS>>)
    target_include_directories(${name} SYSTEM INTERFACE
      $<BUILD_INTERFACE:$<TARGET_PROPERTY:${part},INTERFACE_INCLUDE_DIRECTORIES>>)
  endforeach()
  # Calls within the library are direct; objects of types, which are compared by address, stay one for the process.
  target_link_options(${name} PRIVATE -Wl,-Bsymbolic-functions)
  if(NOT DGC_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  # With DGC_STATIC parts name each other as well.
  set_target_properties(${name} PROPERTIES LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${whole}")
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  dgc_carries_libraries(${name})
endfunction()

# dgc_messages(VARIABLE NAME.proto): the sources that protoc makes of it, beside the binaries of its folder.
function(dgc_messages variable file)
  get_filename_component(name ${file} NAME_WE)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}.pb.h ${CMAKE_CURRENT_BINARY_DIR}/${name}.pb.cc)
  add_custom_command(OUTPUT ${generated}
    COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR} --cpp_out=${CMAKE_BINARY_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${file}
    DEPENDS ${file} VERBATIM)
  set(${variable} ${generated} PARENT_SCOPE)
endfunction()

# dgc_runtime_library(NAME SOURCES file... LINK target...)
# A part of dgc-runtime. It must not see MLIR or LLVM. A switch over an enum names each of its cases.
set(DGC_EXHAUSTIVE_SWITCHES -Werror=switch)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # With a default as well; but for the code that flatc generates.
  list(APPEND DGC_EXHAUSTIVE_SWITCHES -Werror=switch-enum --system-header-prefix=runtime/artifact/dgcx_generated.h)
endif()
function(dgc_runtime_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  dgc_part(${name} dgc-runtime)
  dgc_link(${name} PUBLIC ${ARG_LINK})
  target_compile_options(${name} PRIVATE ${DGC_EXHAUSTIVE_SWITCHES})
  dgc_reuse_header(${name} dgc_runtime_pch)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# dgc_runtime_extra(NAME SOURCES file... LINK target...)
# A library of the runtime that only some programs have, beside dgc-runtime.
function(dgc_runtime_extra name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  dgc_link(${name} PUBLIC ${ARG_LINK})
  dgc_reuse_header(${name} dgc_runtime_pch)
endfunction()

# dgc_links_compiler(VARIABLE target...): whether one of the targets is a part of dgc-compiler, or links one.
function(dgc_links_compiler variable)
  set(result FALSE)
  foreach(item IN LISTS ARGN)
    if(NOT TARGET ${item} OR result)
      continue()
    endif()
    get_target_property(library ${item} DGC_PART_OF)
    get_target_property(linked ${item} INTERFACE_LINK_LIBRARIES)
    if(library STREQUAL dgc-compiler OR "dgc-compiler" IN_LIST linked)
      set(result TRUE)
    elseif(linked AND NOT library)
      dgc_links_compiler(result ${linked})
    endif()
  endforeach()
  set(${variable} ${result} PARENT_SCOPE)
endfunction()

# dgc_unit_test(NAME [OPTIMIZED] SOURCES file... LINK target...)
# A GoogleTest program, registered with CTest and listed for scripts/test. DGC_SOURCE_DIR is the root of the repository.
# Its own sources are not optimized, which takes more time than it saves, but for those that compute much themselves.
find_package(GTest REQUIRED)
function(dgc_unit_test name)
  cmake_parse_arguments(ARG "OPTIMIZED" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  dgc_link(${name} PRIVATE ${ARG_LINK})
  target_link_libraries(${name} PRIVATE GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE DGC_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  dgc_links_compiler(links_compiler ${ARG_LINK})
  if(links_compiler AND ARG_OPTIMIZED)
    dgc_reuse_header(${name} dgc_compiler_pch)
  elseif(links_compiler)
    dgc_reuse_header(${name} dgc_compiler_test_pch)
  elseif(ARG_OPTIMIZED)
    dgc_reuse_header(${name} dgc_runtime_pch)
  else()
    dgc_reuse_header(${name} dgc_test_pch)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/unit)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES PROCESSORS 2)
endfunction()

# dgc_test_waits(NAME)
# The program waits for most of its time. CTest is told of two processors for each core, and one more: other tests take two of
# them, and so this one takes no core from them.
function(dgc_test_waits name)
  set_tests_properties(${name} PROPERTIES PROCESSORS 1)
endfunction()

# dgc_test_again(NAME SUFFIX FILTER environment...)
# Runs the program of a unit test once more, as the test NAME_SUFFIX, with a report of its own.
function(dgc_test_again name suffix filter)
  set(test ${name}_${suffix})
  add_test(NAME ${test} COMMAND ${name} --gtest_filter=${filter})
  set(environment ${ARGN} GTEST_OUTPUT=json:${CMAKE_BINARY_DIR}/test-results/${test}.json)
  set_tests_properties(${test} PROPERTIES PROCESSORS 2 ENVIRONMENT "${environment}")
endfunction()

# dgc_test_on_gpu(NAME gtest-filter)
# Runs it once more, with its kernels as grids of a GPU, in an emulator.
function(dgc_test_on_gpu name filter)
  dgc_test_again(${name} gpu ${filter} DGC_TEST_GPU=emulated)
endfunction()

# dgc_test_on_reference(NAME gtest-filter)
# Runs it once more, with its kernels interpreted by the reference.
function(dgc_test_on_reference name filter)
  dgc_test_again(${name} reference ${filter} DGC_TEST_TARGET=reference)
endfunction()

# dgc_test_also_on_reference(NAME [only-on-cpu])
# The tests of the program, which runs on CPUs, hold on the reference as well: the target `check-on-reference` runs them
# there, but for those of the filter `only-on-cpu` (patterns with colons), which take minutes.
function(dgc_test_also_on_reference name)
  set(filter *)
  if(ARGN)
    set(filter -${ARGN})
  endif()
  set_property(GLOBAL APPEND PROPERTY DGC_TESTS_ALSO_ON_REFERENCE ${name} ${filter})
endfunction()

# dgc_test_only_on_reference(NAME)
# The program is about where things are computed: it compiles hundreds of plans, whose code other programs test. So it runs on
# the reference alone, which needs a tenth of the time. The target `check-on-cpu` runs all of these on CPUs.
function(dgc_test_only_on_reference name)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT DGC_TEST_TARGET=reference)
  set_property(GLOBAL APPEND PROPERTY DGC_TESTS_ALSO_ON_CPU ${name})
endfunction()

# dgc_test_takes(SECONDS test...)
# Tests that take long begin first, so that no core waits for the last one.
function(dgc_test_takes seconds)
  set_tests_properties(${ARGN} PROPERTIES COST ${seconds})
endfunction()

# dgc_carries_libraries(NAME)
# What it needs, and what that needs, is looked for in ../lib beside it first: so a folder with both runs anywhere.
function(dgc_carries_libraries name)
  set_target_properties(${name} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")
  target_link_options(${name} PRIVATE -Wl,--disable-new-dtags) # for what libraries need as well
endfunction()
