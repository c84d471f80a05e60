// What the letters of an einsum say of the dimensions of its operands and of its result.

#include "dialects/stablehlo/Einsum.h"
#include "dialects/stablehlo/Verify.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dgc::stablehlo {

/// The labels of one part, such as `a...b`; `open` is how many dimensions `...` is.
static FailureOr<EinsumLabels> parsePart(Operation *op, StringRef config, StringRef part, int64_t open) {
  EinsumLabels labels;
  bool isOpen = false;
  while (!part.empty()) {
    if (!isOpen && part.consume_front("...")) {
      isOpen = true;
      for (int64_t i = open; i > 0; --i)
        labels.push_back(-i);
    } else if (llvm::isAlpha(part.front())) {
      labels.push_back(part.front());
      part = part.drop_front();
    } else {
      return op->emitOpError() << "has the config \"" << config << "\": each part has letters, and '...' once at most";
    }
  }
  return labels;
}

FailureOr<Einsum> parseEinsum(Operation *op, StringRef config, TypeRange operands) {
  auto [left, right] = config.split("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  if (!config.contains("->") || parts.size() != operands.size())
    return op->emitOpError() << "has the config \"" << config << "\": it is written as "
                             << (operands.size() == 1 ? "\"ab->ba\"" : "\"ab,bc->ac\"")
                             << ", with a letter for each dimension";
  Einsum einsum;
  int64_t mostOpen = 0;
  for (auto [part, type] : llvm::zip_equal(parts, operands)) {
    const int64_t rank = cast<RankedTensorType>(type).getRank(), written = llvm::count_if(part, llvm::isAlpha);
    const int64_t open = part.contains("...") ? rank - written : 0;
    FailureOr<EinsumLabels> labels = parsePart(op, config, part, open);
    if (failed(labels))
      return failure();
    if (static_cast<int64_t>(labels->size()) != rank || open < 0)
      return op->emitOpError() << "has the config \"" << config << "\", where '" << part << "' is for an operand of "
                               << "the type " << type;
    mostOpen = std::max(mostOpen, open);
    einsum.operands.push_back(*labels);
  }
  FailureOr<EinsumLabels> labels = parsePart(op, config, right, mostOpen);
  if (failed(labels))
    return failure();
  einsum.result = *labels;
  for (auto [i, label] : llvm::enumerate(einsum.result)) {
    const bool isKnown = llvm::any_of(einsum.operands, [&, label = label](const EinsumLabels &operand) {
      return llvm::is_contained(operand, label);
    });
    if (!isKnown || llvm::is_contained(ArrayRef(einsum.result).take_front(i), label))
      return op->emitOpError() << "has the config \"" << config << "\": each letter of the result is there once, and "
                               << "one of an operand";
  }
  return einsum;
}

LogicalResult checkEinsum(Operation *op, const Einsum &einsum) {
  llvm::MapVector<int64_t, int64_t> sizes;
  for (auto [labels, operand] : llvm::zip_equal(einsum.operands, op->getOperands()))
    for (auto [label, size] : llvm::zip_equal(labels, tensorOf(operand).getShape())) {
      int64_t &known = sizes.insert({label, size}).first->second;
      const bool isRepeated = label < 0 && (known == 1 || size == 1);
      if (known != size && !isRepeated)
        return op->emitOpError() << "has dimensions of " << known << " and " << size << " elements for one letter";
      known = isRepeated ? std::max(known, size) : known;
    }
  return checkShape(op, op->getResult(0),
                    llvm::map_to_vector(einsum.result, [&](int64_t label) { return sizes.lookup(label); }));
}

} // namespace dgc::stablehlo
