#include "passes/analysis/SizeDecisions.h"

#include "dialects/dgc/AttributeNames.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace dgc {

SizeDecisions::SizeDecisions(ModuleOp module, StringRef pass)
    : module(module), pass(pass), isRecorded(module->hasAttr(kRecordSizeDecisionsAttr)) {
  if (auto all = module->getAttrOfType<DictionaryAttr>(kSizeDecisionsAttr))
    if (auto mine = all.getAs<DenseBoolArrayAttr>(pass))
      decisions.append(mine.asArrayRef().begin(), mine.asArrayRef().end());
}

SizeDecisions::~SizeDecisions() {
  if (!isRecorded && numTaken == 0)
    return;
  auto all = module->getAttrOfType<DictionaryAttr>(kSizeDecisionsAttr);
  NamedAttrList attributes(all);
  attributes.set(pass, DenseBoolArrayAttr::get(module.getContext(), ArrayRef(decisions).drop_front(numTaken)));
  module->setAttr(kSizeDecisionsAttr, attributes.getDictionary(module.getContext()));
}

bool SizeDecisions::operator()(bool bySize) {
  if (isRecorded)
    decisions.push_back(bySize);
  else if (numTaken < decisions.size())
    return decisions[numTaken++];
  return bySize;
}

void recordSizeDecisions(ModuleOp module) {
  module->setAttr(kRecordSizeDecisionsAttr, UnitAttr::get(module.getContext()));
}

void takeSizeDecisions(ModuleOp module, ModuleOp other) {
  if (Attribute decisions = other->getAttr(kSizeDecisionsAttr))
    module->setAttr(kSizeDecisionsAttr, decisions);
}

} // namespace dgc
