#include "compiler/target/Target.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace dgc {

#define DGC_TARGET(NAME) void add##NAME##Target(TargetRegistry &registry);
#include "compiler/target/Targets.def"
#undef DGC_TARGET

LogicalResult Target::printKernelPlans(ModuleOp kernels, llvm::raw_ostream &) const {
  return kernels.emitError("target '") << kind() << "' has no kernel plans";
}

void TargetRegistry::add(StringRef kind, ArrayRef<StringRef> names, StringRef spelling, Make make) {
  Entry entry{kind.str(), {}, spelling.str(), make};
  for (StringRef name : names)
    entry.names.push_back(name.str());
  for (const Entry &other : entries)
    for (const std::string &name : entry.names)
      if (other.kind == entry.kind || llvm::is_contained(other.names, name))
        llvm::report_fatal_error(llvm::Twine("two targets have the name '") + name + "'");
  entries.push_back(std::move(entry));
}

std::unique_ptr<Target> TargetRegistry::create(StringRef spec, std::string &error) const {
  for (const Entry &entry : entries)
    if (llvm::is_contained(entry.names, spec.split(':').first))
      return entry.make(spec, error);
  error = "unknown target '" + spec.str() + "'; known are " + spellings();
  return nullptr;
}

std::optional<TargetSpec> TargetSpec::parse(StringRef text, std::string &error) {
  return TargetRegistry::builtin().create(text, error) ? std::optional(TargetSpec{text.str()}) : std::nullopt;
}

std::string TargetRegistry::spellings() const {
  std::string text;
  for (const Entry &entry : entries)
    text += (text.empty() ? "" : ", ") + entry.spelling;
  return text;
}

const TargetRegistry &TargetRegistry::builtin() {
  static const TargetRegistry registry = [] {
    TargetRegistry made;
#define DGC_TARGET(NAME) add##NAME##Target(made);
#include "compiler/target/Targets.def"
#undef DGC_TARGET
    return made;
  }();
  return registry;
}

} // namespace dgc
