# `cpack` makes two Debian packages: dgc-runtime, which needs no LLVM, and dgc, which needs dgc-runtime of its version.

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL runtime)
set(CPACK_PACKAGE_VENDOR "The dgc authors")
set(CPACK_PACKAGE_CONTACT "The dgc authors <authors@dgc.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME dgc-runtime)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "Runs dataflow graphs that dgc has compiled
dgc-run trains, evaluates and predicts with a compiled model, on the CPUs and
NVIDIA GPUs of one machine or of several. dgc-inspect shows what is in a
compiled file, and gpu-check compares a GPU with the CPU.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "dgc (= ${PROJECT_VERSION})")

if(DGC_BUILD_COMPILER)
  list(APPEND CPACK_COMPONENTS_ALL compiler)
  set(CPACK_DEBIAN_COMPILER_PACKAGE_NAME dgc)
  set(CPACK_DEBIAN_COMPILER_DESCRIPTION "Compiler of dataflow graphs for distributed execution
dgc-compile cuts a model over workers, plans its memory and communication and
writes one file that dgc-run runs; dgc-verify checks that it computes
the model. With dgc-opt, the language server, and the headers and CMake package
for plug-ins.")
  set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS "dgc-runtime (= ${PROJECT_VERSION})")
  # What plug-ins are built with.
  set(llvm ${LLVM_VERSION_MAJOR})
  set(CPACK_DEBIAN_COMPILER_PACKAGE_RECOMMENDS "libmlir-${llvm}-dev, mlir-${llvm}-tools, llvm-${llvm}-dev, libabsl-dev, cmake")
endif()

# The packages that libraries come from, where there is the tool that finds them; else Depends names dgc's own alone.
find_program(DGC_SHLIBDEPS dpkg-shlibdeps)
if(DGC_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
else()
  message(STATUS "dpkg-shlibdeps (package dpkg-dev) was not found: packages will not depend on those of libraries")
endif()

include(CPack)
