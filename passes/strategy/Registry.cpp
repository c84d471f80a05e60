// The strategies that `--strategy` takes.

#include "passes/strategy/Passes.h"

using namespace mlir;

namespace dgc {

ArrayRef<Strategy> getStrategies() {
  static const Strategy strategies[] = {
      {"data-parallel", "variables on every worker, the batch cut over the axis `data`",
       [] { return createDataParallelPass(); }},
  };
  return strategies;
}

LogicalResult addStrategies(OpPassManager &manager, StringRef list, std::string &error) {
  SmallVector<StringRef> names;
  list.split(names, ',', -1, /*KeepEmpty=*/false);
  for (StringRef name : names) {
    const Strategy *strategy = llvm::find_if(getStrategies(), [&](const Strategy &s) { return s.name == name; });
    if (strategy == getStrategies().end()) {
      llvm::raw_string_ostream os(error);
      os << "unknown strategy '" << name << "'; expected ";
      llvm::interleave(getStrategies(), os, [&](const Strategy &s) { os << s.name; }, " or ");
      return failure();
    }
    manager.addPass(strategy->create());
  }
  return success();
}

} // namespace dgc
