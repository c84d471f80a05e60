# MLIR, and helpers for the libraries that use it.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# LLVM's libraries are not where the system looks.
set(DGC_MLIR_INSTALL_RPATH "$ORIGIN/../lib" ${LLVM_LIBRARY_DIRS})

# Options of the compiler and the dialects alone, behind CMAKE_CXX_FLAGS.
set(DGC_COMPILER_OPTIONS "" CACHE STRING "Options that dgc-compiler is compiled with, in addition to all others")

# Options of everything that includes MLIR.
set(DGC_MLIR_OPTIONS -Wno-deprecated-declarations "SHELL:-include ${CMAKE_SOURCE_DIR}/cmake/LLVMStatistics.h")

# The precompiled header, with all dialects. The dialects use it as well: reading the ops takes most of the time of their files.
dgc_precompiled_header(dgc_compiler_pch CompilerPch.h ${DGC_COMPILER_OPTIONS})
target_include_directories(dgc_compiler_pch SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(dgc_compiler_pch PUBLIC ${LLVM_DEFINITIONS_LIST})
target_compile_options(dgc_compiler_pch PUBLIC ${DGC_MLIR_OPTIONS})

# dgc_mlir_library(NAME SOURCES file... LINK target... DEPENDS tablegen-target...)
# A part of dgc-compiler. What it links, and the TableGen output of what it links, is built first.
function(dgc_mlir_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  dgc_part(${name} dgc-compiler)
  dgc_use_mlir(${name})
  dgc_link(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# dgc_use_mlir(NAME): the static library NAME includes MLIR.
function(dgc_use_mlir name)
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_options(${name} PUBLIC ${DGC_MLIR_OPTIONS})
  dgc_reuse_header(${name} dgc_compiler_pch)
endfunction()

# dgc_tablegen(TARGET file.td [FLAGS generator-flags] OUT name.inc ...)
# Runs mlir-tblgen on one .td file of the current folder; OUT and its flags alternate:
#   dgc_tablegen(DGCOpsIncGen Ops.td  Ops.h.inc -gen-op-decls  Ops.cpp.inc -gen-op-defs)
# A quoted second item may hold several flags separated by spaces.
function(dgc_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(outs ${ARGN})
  while(outs)
    list(POP_FRONT outs out flags)
    separate_arguments(flags)
    mlir_tablegen(${out} ${flags} EXTRA_INCLUDES ${CMAKE_SOURCE_DIR} ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  endwhile()
  add_public_tablegen_target(${target})
endfunction()

# dgc_compiler_tool(NAME [SOURCES file...] LINK target...)
# A program of the compiler: NAME.cpp, and more files where it has some, with no logic of its own.
function(dgc_compiler_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${name}.cpp ${ARG_SOURCES})
  if(TARGET dgc-onnx)
    add_dependencies(${name} dgc-onnx) # loaded by those that read models
  endif()
  target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_options(${name} PRIVATE ${DGC_MLIR_OPTIONS})
  dgc_reuse_header(${name} dgc_compiler_pch)
  # The loader looks up their 50,000 symbols in each library in turn: ahead of those of Abseil they are found 8 ms sooner.
  target_link_libraries(${name} PRIVATE LLVM MLIR)
  dgc_link(${name} PRIVATE ${ARG_LINK})
  set_target_properties(${name} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${DGC_MLIR_INSTALL_RPATH}")
endfunction()
