//===- Rematerialize.cpp - values that are computed again ------------------===//
//
// A value that one kernel stores and another loads costs both. What it was computed from is often there as well, and
// smaller: the 16 bits that a product gave, where the value has 32, or a tensor that is stored for others. Then it is
// cheaper, on a device that waits for its memory, to compute it again.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Rematerialize.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/kernel/ClusterGraph.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "dgc-form-kernels"

using namespace mlir;

namespace dgc {

/// Values of fewer elements are not worth it.
static constexpr int64_t kLarge = 1 << 14;
/// A value of so many times fewer elements than another is free compared with it, and is stored for it.
static constexpr int64_t kMuchSmaller = 16;
/// The value in memory: reshapes cost nothing.
static Value inMemory(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

/// Each element of the result needs no more than one of each operand.
static bool isElementByElement(Operation *op) { return isa<ElementwiseOpInterface, BroadcastInDimOp, IotaOp>(op); }

namespace {

class Rematerializer {
public:
  Rematerializer(SmallVectorImpl<KernelCandidate> &candidates, int64_t maxFlops, SizeDecisions &decide)
      : candidates(candidates), maxFlops(maxFlops), decide(decide) {
    for (auto [number, candidate] : llvm::enumerate(candidates))
      for (Operation *op : candidate.ops)
        candidateOf[op] = number;
  }

  unsigned run() {
    unsigned count = 0;
    for (unsigned number = 0; number < candidates.size(); ++number) {
      if (!candidates[number].isKernel)
        continue;
      for (Operation *op : SmallVector<Operation *>(candidates[number].ops))
        if (op->getNumResults() == 1 && isElementByElement(op) && tryAgain(op, number))
          ++count;
    }
    if (count)
      dropDead();
    return count;
  }

private:
  void dropDead() {
    for (KernelCandidate &candidate : llvm::reverse(candidates)) {
      SmallVector<Operation *> left;
      for (Operation *op : llvm::reverse(candidate.ops))
        if (candidate.isKernel && isOpTriviallyDead(op))
          op->erase();
        else
          left.push_back(op);
      candidate.ops.assign(left.rbegin(), left.rend());
    }
    llvm::erase_if(candidates, [](const KernelCandidate &candidate) { return candidate.ops.empty(); });
  }

  /// How a value is computed from what is, or will be, in memory.
  struct Recipe {
    llvm::SmallSetVector<Operation *, 16> ops; // each after its operands
    llvm::SmallSetVector<Value, 8> leaves;
    int64_t stored = 0; // bytes of leaves that would have to be stored for this
    double flops = 0;
  };

  bool isUsedOutside(Value value, unsigned candidate) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto it = candidateOf.find(user);
      return it == candidateOf.end() || it->second != candidate;
    });
  }

  /// The old value of a variable is overwritten in the same step.
  static bool isVariable(Value value) {
    auto argument = dyn_cast<BlockArgument>(inMemory(value));
    auto func = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : FunctionOpInterface();
    return func && func.getArgAttr(argument.getArgNumber(), kStateAttr);
  }

  bool collect(Operation *op, unsigned owner, Value wanted, Recipe &recipe) const {
    if (recipe.ops.contains(op))
      return true;
    if (recipe.ops.size() > 32)
      return false;
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (recipe.leaves.contains(operand) || (def && isSmallConstant(def)))
        continue;
      if (!isInside(operand, owner) || isUsedOutside(operand, owner)) {
        if (isVariable(operand))
          return false;
        recipe.leaves.insert(operand);
      } else if (decide(elements(operand) * kMuchSmaller <= elements(wanted))) {
        recipe.leaves.insert(operand);
        recipe.stored += bytesOf(operand);
      } else if (!isElementByElement(def) || !collect(def, owner, wanted, recipe)) {
        return false;
      }
    }
    auto cost = dyn_cast<CostOpInterface>(op);
    recipe.flops += cost ? static_cast<double>(cost.getCost().flops) : static_cast<double>(elements(op->getResult(0)));
    recipe.ops.insert(op);
    return decide(recipe.flops <= static_cast<double>(maxFlops) * static_cast<double>(elements(wanted)));
  }

  bool reads(unsigned candidate, Value value) const {
    Value memory = inMemory(value);
    return llvm::any_of(candidates[candidate].ops, [&](Operation *op) {
      return llvm::any_of(op->getOperands(), [&](Value operand) {
        return !isInside(operand, candidate) && isa<RankedTensorType>(operand.getType()) && inMemory(operand) == memory;
      });
    });
  }

  /// Loops that read an operand for more than one element of the result would compute it as often.
  bool readsOnce(unsigned candidate, Value value) const {
    return llvm::none_of(candidates[candidate].ops, [](Operation *op) { return op->hasTrait<StandaloneKernel>(); }) &&
           llvm::all_of(value.getUsers(), [&](Operation *user) {
             return candidateOf.lookup(user) != candidate || isa<ElementwiseOpInterface, ReduceOp>(user);
           });
  }

  /// Is the value computed by an op of the candidate?
  bool isInside(Value value, unsigned owner) const {
    Operation *def = value.getDefiningOp();
    auto it = def ? candidateOf.find(def) : candidateOf.end();
    return it != candidateOf.end() && it->second == owner;
  }

  /// Bytes that are not moved when the readers compute the value so.
  int64_t savedBy(const Recipe &recipe, Value value, const llvm::SmallSetVector<unsigned, 4> &readers) const {
    int64_t saved = bytesOf(value) * static_cast<int64_t>(1 + readers.size()) - recipe.stored;
    for (unsigned reader : readers)
      for (Value leaf : recipe.leaves)
        if (!reads(reader, leaf))
          saved -= bytesOf(leaf);
    return saved;
  }

  bool tryAgain(Operation *op, unsigned owner) {
    Value value = op->getResult(0);
    if (decide(elements(value) < kLarge))
      return false;
    llvm::SmallSetVector<unsigned, 4> readers;
    for (Operation *user : value.getUsers()) {
      auto it = candidateOf.find(user);
      if (it == candidateOf.end() || !candidates[it->second].isKernel)
        return false;
      if (it->second != owner)
        readers.insert(it->second);
    }
    if (readers.empty() || !llvm::all_of(readers, [&](unsigned reader) { return readsOnce(reader, value); }))
      return false;
    // From what is stored anyway; or, as what was converted from 16 bits, from its operand.
    Recipe recipe, narrow;
    int64_t saved = collect(op, owner, value, recipe) ? savedBy(recipe, value, readers) : 0;
    if (op->getNumOperands() == 1 && isInside(op->getOperand(0), owner)) {
      Value operand = op->getOperand(0);
      narrow.ops.insert(op);
      narrow.leaves.insert(operand);
      narrow.stored = isUsedOutside(operand, owner) ? 0 : bytesOf(operand);
      if (int64_t more = savedBy(narrow, value, readers); decide(more > saved)) {
        saved = more;
        recipe = std::move(narrow);
      }
    }
    if (decide(saved < bytesOf(value) / 8 * 7))
      return false;
    LDBG() << "computed again, " << saved << " bytes less are moved: " << *op;
    for (unsigned reader : readers)
      compute(recipe, value, reader);
    return true;
  }

  /// Puts a copy of the ops into a candidate, which uses it instead of `value`.
  void compute(const Recipe &recipe, Value value, unsigned reader) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    IRMapping mapping;
    SmallVector<Operation *> copies;
    for (Operation *op : recipe.ops) {
      copies.push_back(builder.clone(*op, mapping));
      candidateOf[copies.back()] = reader;
    }
    value.replaceUsesWithIf(mapping.lookup(value), [&](OpOperand &use) {
      return candidateOf.lookup(use.getOwner()) == reader && !llvm::is_contained(copies, use.getOwner());
    });
    copies.append(candidates[reader].ops);
    candidates[reader].ops = std::move(copies);
  }

  SmallVectorImpl<KernelCandidate> &candidates;
  int64_t maxFlops;
  SizeDecisions &decide;
  llvm::DenseMap<Operation *, unsigned> candidateOf;
};

} // namespace

unsigned rematerialize(SmallVectorImpl<KernelCandidate> &candidates, int64_t maxFlops, SizeDecisions &decide) {
  return Rematerializer(candidates, maxFlops, decide).run();
}

} // namespace dgc
