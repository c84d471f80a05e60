// Which optimizer trains which variable.

#include "passes/model/WeightGroups.h"

#include "dialects/dgc/OptimizerDefinition.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace dgc;

/// The names that are most like `pattern`, first.
static std::string namesLike(StringRef pattern, ArrayRef<StringRef> names) {
  constexpr size_t most = 4;
  SmallVector<StringRef> sorted(names);
  llvm::stable_sort(sorted,
                    [&](StringRef a, StringRef b) { return a.edit_distance(pattern) < b.edit_distance(pattern); });
  sorted.resize(std::min(sorted.size(), most));
  return llvm::join(sorted, ", ") + (names.size() > most ? " and others" : "");
}

LogicalResult dgc::checkGroups(OptimizerOp optimizer, ArrayRef<StringRef> variables) {
  if (!optimizer.getGroups())
    return success();
  for (auto group : optimizer.getGroups()->getAsRange<WeightGroupAttr>())
    for (StringAttr pattern : group.getPatterns().getAsRange<StringAttr>()) {
      llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
      if (!glob)
        return optimizer.emitError() << "'" << pattern.getValue() << "': " << llvm::toString(glob.takeError());
      if (llvm::none_of(variables, [&](StringRef name) { return glob->match(name); }))
        return optimizer.emitError() << "no variable is called '" << pattern.getValue() << "': there are "
                                     << namesLike(pattern, variables);
    }
  return success();
}

Attribute dgc::chooseOptimizer(OptimizerOp optimizer, VariableOp variable) {
  RankedTensorType type = variable.getPartType();
  if (Attribute chosen = optimizerForRank(optimizer.getDefinition(), type.getRank(), optimizer))
    return chosen;
  InFlightDiagnostic error = optimizer.emitError()
                             << textOf(optimizer.getDefinition()) << " does not train \"" << variable.getName()
                             << "\" of type " << type << ": name another optimizer for such weights behind its ranks, "
                             << "as in 'else adamw', or keep the variable as it is, with 'for \"" << variable.getName()
                             << "\" frozen'";
  error.attachNote(variable.getLoc()) << "the variable is here";
  return {};
}
