// Plug-ins of the compiler: passes and dialects from outside of the project. docs/plugins.md shows one.
//
//   DGC_PLUGIN({.name = "example", .passes = {"example-report"}, .registerPasses = registerExamplePasses})
//
// A plug-in is for one version of dgc and of LLVM: it has the layouts of their classes. The file says for which, in a
// section that is read before any of its code runs.

#ifndef DGC_COMPILER_DRIVER_PLUGIN_H
#define DGC_COMPILER_DRIVER_PLUGIN_H

#include "runtime/base/Version.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace dgc {

/// What a plug-in is.
struct Plugin {
  const char *name;
  std::vector<std::string> passes; // the arguments of the passes that registerPasses registers, for messages
  void (*registerPasses)() = nullptr;
  void (*registerDialects)(mlir::DialectRegistry &) = nullptr;
};

/// Loads a plug-in, registers its passes, and its dialects in `registry`. False, with the reason in `error`, where the
/// file is none, is for other versions, or cannot be opened.
bool loadPlugin(const std::string &path, mlir::DialectRegistry &registry, std::string &error);

/// Loads the plug-ins of `--load-pass-plugin=FILE` in a command line that somebody else parses, and removes these
/// options. False, with a message, when one cannot be loaded.
bool takePlugins(int &argc, char **argv, mlir::DialectRegistry &registry);

/// The passes of the plug-ins that were loaded.
std::vector<std::string> passesOfPlugins();

} // namespace dgc

#define DGC_STRINGIFY_(x) #x
#define DGC_STRINGIFY(x) DGC_STRINGIFY_(x)
/// The versions that a plug-in and the program that loads it have in common.
#define DGC_PLUGIN_VERSIONS                                                                                            \
  "dgc " DGC_VERSION ", LLVM " DGC_STRINGIFY(LLVM_VERSION_MAJOR) "." DGC_STRINGIFY(LLVM_VERSION_MINOR)

/// Makes a shared library a plug-in: once in it, outside of namespaces, with the fields of dgc::Plugin.
#define DGC_PLUGIN(...)                                                                                                \
  extern "C" {                                                                                                         \
  [[gnu::section(".dgc.plugin"), gnu::used]] const char dgcPluginVersions[] = DGC_PLUGIN_VERSIONS;                     \
  const dgc::Plugin *dgcGetPlugin() {                                                                                  \
    static const dgc::Plugin plugin = __VA_ARGS__;                                                                     \
    return &plugin;                                                                                                    \
  }                                                                                                                    \
  }

#endif // DGC_COMPILER_DRIVER_PLUGIN_H
