#include "compiler/driver/Plugin.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

using namespace llvm;

namespace dgc {

static std::mutex passNamesMutex;
static std::vector<std::string> passNames; // under passNamesMutex

std::vector<std::string> passesOfPlugins() {
  std::scoped_lock lock(passNamesMutex);
  return passNames;
}

/// The text of the section that DGC_PLUGIN makes; nothing where the file has none.
static std::optional<std::string> versionsOf(const object::ObjectFile &file) {
  for (const object::SectionRef &section : file.sections()) {
    Expected<StringRef> name = section.getName();
    if (!name) {
      consumeError(name.takeError());
    } else if (*name == ".dgc.plugin") {
      Expected<StringRef> contents = section.getContents();
      if (contents)
        return contents->take_until([](char c) { return c == '\0'; }).str();
      consumeError(contents.takeError());
    }
  }
  return std::nullopt;
}

/// Whether a file says that it is a plug-in for this program. Runs nothing of it.
static bool checkVersions(const std::string &path, std::string &error) {
  Expected<object::OwningBinary<object::ObjectFile>> file = object::ObjectFile::createObjectFile(path);
  if (!file) {
    error = toString(file.takeError());
    return false;
  }
  std::optional<std::string> versions = versionsOf(*file->getBinary());
  if (!versions)
    error = "it is no plug-in of dgc: nothing in it says DGC_PLUGIN";
  else if (*versions != DGC_PLUGIN_VERSIONS)
    error = "it was built for " + *versions + "; this is " DGC_PLUGIN_VERSIONS ": build it with what is installed here";
  return error.empty();
}

/// Whether the plug-in has registered each pass that it names. A name that is none would be recommended in messages.
static bool checkPasses(const Plugin &plugin, std::string &error) {
  for (const std::string &pass : plugin.passes)
    if (!mlir::PassInfo::lookup(pass) && !mlir::PassPipelineInfo::lookup(pass)) {
      error = std::string("the plug-in ") + plugin.name + " names the pass '" + pass + "', and does not register it";
      return false;
    }
  return true;
}

bool loadPlugin(const std::string &path, mlir::DialectRegistry &registry, std::string &error) {
  if (!checkVersions(path, error))
    return false;
  sys::DynamicLibrary library = sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &error);
  if (!library.isValid())
    return false;
  auto *get = reinterpret_cast<const Plugin *(*)()>(library.getAddressOfSymbol("dgcGetPlugin"));
  if (!get) {
    error = "it has no function dgcGetPlugin: DGC_PLUGIN was hidden when it was linked";
    return false;
  }
  const Plugin &plugin = *get();
  if (plugin.registerPasses)
    plugin.registerPasses();
  if (plugin.registerDialects)
    plugin.registerDialects(registry);
  if (!checkPasses(plugin, error))
    return false;
  std::scoped_lock lock(passNamesMutex);
  for (const std::string &pass : plugin.passes)
    if (!is_contained(passNames, pass))
      passNames.push_back(pass);
  return true;
}

bool takePlugins(int &argc, char **argv, mlir::DialectRegistry &registry) {
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    StringRef argument = argv[i], name = argument.ltrim('-');
    bool isFlag = argument.starts_with("-") && name.consume_front("load-pass-plugin");
    std::string path, error;
    if (isFlag && name.consume_front("="))
      path = name.str();
    else if (isFlag && name.empty() && i + 1 < argc)
      path = argv[++i];
    else {
      argv[kept++] = argv[i];
      continue;
    }
    if (!loadPlugin(path, registry, error)) {
      errs() << sys::path::filename(argv[0]) << ": --load-pass-plugin=" << path << ": " << error << "\n";
      return false;
    }
  }
  argc = kept;
  argv[argc] = nullptr;
  return true;
}

} // namespace dgc
