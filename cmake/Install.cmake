# What is installed: component `runtime` (no LLVM), and component `compiler`, which needs it and has what is needed to
# build on dgc. No installed file names the build.

include(CMakePackageConfigHelpers)
set(DGC_CMAKE_DIR lib/cmake/dgc)

install(TARGETS dgc-run dgc-inspect gpu-check RUNTIME DESTINATION bin COMPONENT runtime)
install(TARGETS dgc_cuda_plugin LIBRARY DESTINATION lib COMPONENT runtime)
install(TARGETS dgc-runtime EXPORT dgcRuntimeTargets
  LIBRARY DESTINATION lib COMPONENT runtime NAMELINK_COMPONENT compiler)
install(EXPORT dgcRuntimeTargets NAMESPACE dgc:: DESTINATION ${DGC_CMAKE_DIR} COMPONENT compiler)
install(FILES LICENSE DESTINATION share/doc/dgc-runtime RENAME copyright COMPONENT runtime)
install(FILES docs/distributed.md docs/security.md docs/gpu.md docs/exit-codes.md docs/data-and-results.md
  DESTINATION share/doc/dgc-runtime COMPONENT runtime)

# Headers are included by their path in the repository, those that are generated as well.
set(folders runtime)
if(DGC_BUILD_COMPILER)
  list(APPEND folders dialects passes compiler)
endif()
install(DIRECTORY ${folders} DESTINATION include/dgc COMPONENT compiler
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.def" PATTERN "*.fbs"
  PATTERN "runtime/cluster" EXCLUDE)
foreach(folder IN LISTS folders)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/${folder} DESTINATION include/dgc COMPONENT compiler
    FILES_MATCHING PATTERN "*.inc" PATTERN "*.h" PATTERN "*.def"
    PATTERN "CMakeFiles" EXCLUDE PATTERN "runtime/cluster" EXCLUDE)
endforeach()

configure_package_config_file(cmake/dgcConfig.cmake.in ${CMAKE_BINARY_DIR}/cmake/dgcConfig.cmake
  INSTALL_DESTINATION ${DGC_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/dgcConfigVersion.cmake COMPATIBILITY ExactVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/dgcConfig.cmake ${CMAKE_BINARY_DIR}/cmake/dgcConfigVersion.cmake
  DESTINATION ${DGC_CMAKE_DIR} COMPONENT compiler)

if(DGC_BUILD_COMPILER)
  install(TARGETS dgc-compile dgc-opt dgc-lsp-server dgc-verify RUNTIME DESTINATION bin COMPONENT compiler)
  if(TARGET dgc-onnx)
    install(TARGETS dgc-onnx LIBRARY DESTINATION lib COMPONENT compiler)
  endif()
  install(TARGETS dgc-compiler EXPORT dgcCompilerTargets LIBRARY DESTINATION lib COMPONENT compiler)
  install(EXPORT dgcCompilerTargets NAMESPACE dgc:: DESTINATION ${DGC_CMAKE_DIR} COMPONENT compiler)
  install(FILES cmake/LLVMStatistics.h DESTINATION include/dgc/cmake COMPONENT compiler)
  install(FILES LICENSE DESTINATION share/doc/dgc RENAME copyright COMPONENT compiler)
  install(FILES README.md CHANGELOG.md DESTINATION share/doc/dgc COMPONENT compiler)
  install(DIRECTORY docs DESTINATION share/doc/dgc COMPONENT compiler)
  install(DIRECTORY examples DESTINATION share/doc/dgc COMPONENT compiler PATTERN "data" EXCLUDE)
endif()
