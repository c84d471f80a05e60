//===- FormKernels.cpp - dgc-form-kernels ---------------------------------===//

#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "dialects/exec/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/kernel/Clusters.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/Rematerialize.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace dgc {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/kernel/Passes.h.inc"
} // namespace dgc

using namespace mlir;

namespace dgc {
namespace {

/// The interface of a kernel: what it reads and what others need of it.
struct Boundary {
  llvm::SetVector<Value> inputs;
  SmallVector<Value> outputs;
};

Boundary boundaryOf(const KernelCandidate &candidate) {
  Boundary boundary;
  llvm::SmallPtrSet<Operation *, 16> inside(candidate.ops.begin(), candidate.ops.end());
  for (Operation *op : candidate.ops) {
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp(); !def || (!inside.contains(def) && !isSmallConstant(def)))
        boundary.inputs.insert(operand);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        boundary.outputs.push_back(result);
  }
  return boundary;
}

/// Values of the candidate that are computed from `value`; not through results of the kernel when `stopAtOutputs`.
llvm::SmallPtrSet<Operation *, 16> dependents(const KernelCandidate &candidate, const Boundary &boundary, Value value,
                                              bool stopAtOutputs) {
  llvm::SmallPtrSet<Operation *, 16> result;
  llvm::SmallPtrSet<Value, 16> reached{value};
  for (Operation *op : candidate.ops) {
    if (llvm::none_of(op->getOperands(), [&](Value operand) { return reached.contains(operand); }))
      continue;
    result.insert(op);
    for (Value output : op->getResults())
      if (!stopAtOutputs || !llvm::is_contained(boundary.outputs, output))
        reached.insert(output);
  }
  return result;
}

/// May `output` be written over `input`, element by element? Everything computed from the input must be elementwise and
/// of its shape, and not need the output itself.
bool mayOverwrite(const KernelCandidate &candidate, const Boundary &boundary, Value output, Value input) {
  auto type = cast<RankedTensorType>(input.getType());
  auto outType = cast<RankedTensorType>(output.getType());
  if (type.getShape() != outType.getShape() || type.getElementType() != outType.getElementType())
    return false;
  auto readers = dependents(candidate, boundary, input, /*stopAtOutputs=*/true);
  auto behind = dependents(candidate, boundary, output, /*stopAtOutputs=*/false);
  if (!readers.contains(output.getDefiningOp()))
    return false;
  return llvm::all_of(readers, [&](Operation *op) {
    return isa<ElementwiseOpInterface>(op) &&
           cast<RankedTensorType>(op->getResult(0).getType()).getShape() == type.getShape() && !behind.contains(op);
  });
}

/// Which operand each result takes over, or -1.
struct Inplace {
  SmallVector<int64_t> possible; // as far as the kernel is concerned
  SmallVector<int64_t> wanted;   // by this launch: not what belongs to the caller
};

/// True when the outputs of a kernel can be written one after the other: each after those that it is computed from and
/// after those that read what it overwrites.
bool canBeOrdered(const KernelCandidate &candidate, const Boundary &boundary, ArrayRef<int64_t> inplace) {
  size_t count = boundary.outputs.size();
  SmallVector<llvm::BitVector> behind(count, llvm::BitVector(count)); // per output: those that come after it
  for (size_t before = 0; before < count; ++before)
    for (Operation *op : dependents(candidate, boundary, boundary.outputs[before], /*stopAtOutputs=*/true))
      for (size_t o = 0; o < count; ++o)
        if (boundary.outputs[o].getDefiningOp() == op)
          behind[before].set(o);
  for (size_t writer = 0; writer < count; ++writer)
    if (inplace[writer] >= 0)
      for (Operation *op : dependents(candidate, boundary, boundary.inputs[inplace[writer]], /*stopAtOutputs=*/true))
        for (size_t o = 0; o < count; ++o)
          if (o != writer && boundary.outputs[o].getDefiningOp() == op)
            behind[o].set(writer);
  llvm::BitVector left(count, true);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t o = 0; o < count; ++o)
      if (left.test(o) && llvm::none_of(left.set_bits(), [&](unsigned other) { return behind[other].test(o); })) {
        left.reset(o);
        changed = true;
      }
  }
  return left.none();
}

/// The old value of the same variable comes first, then what another op computed. Arguments of the function that are no
/// variables, or other ones, are not the launch's to write to; the kernel could, so that equal kernels are equal. Where a loop
/// carries a value, that of the round before is as the old value of a variable. `func`: whose body the kernel is in, if any.
Inplace chooseInplace(const KernelCandidate &candidate, const Boundary &boundary, func::FuncOp func) {
  Inplace inplace;
  inplace.possible.assign(boundary.outputs.size(), -1);
  inplace.wanted = inplace.possible;
  llvm::SmallDenseSet<int64_t> taken;
  Operation *end = candidate.ops.front()->getBlock()->getTerminator();
  auto carried = [&](Value output) -> Value { // from the round before
    auto loop = dyn_cast<WhileOp>(end->getParentOp());
    for (OpOperand &use : output.getUses())
      if (loop && isa<YieldOp>(end) && use.getOwner() == end)
        return loop.getBody().getArgument(use.getOperandNumber());
    return {};
  };
  auto stateOf = [&](Value output) -> Attribute {
    for (OpOperand &use : output.getUses())
      if (func && use.getOwner() == end)
        if (Attribute state = func.getResultAttr(use.getOperandNumber(), kStateAttr))
          return state;
    return {};
  };
  // The usual case, an update of a variable: nothing else of the kernel reads what is overwritten.
  auto isReadAlone = [&](Value output, Value input) {
    auto readers = dependents(candidate, boundary, input, /*stopAtOutputs=*/true);
    return llvm::none_of(boundary.outputs,
                         [&](Value other) { return other != output && readers.contains(other.getDefiningOp()); });
  };
  enum Class { SameVariable, Computed, Other };
  auto classOf = [&](Value output, Value input) {
    auto argument = dyn_cast<BlockArgument>(input);
    Attribute state = stateOf(output);
    if (argument && carried(output) == argument)
      return SameVariable;
    if (argument && !func)
      return Other;
    if (!argument)
      return state || carried(output) ? Other : Computed;
    return state && func.getArgAttr(argument.getArgNumber(), kStateAttr) == state ? SameVariable : Other;
  };
  for (Class wanted : {SameVariable, Computed, Other})
    for (auto [o, output] : llvm::enumerate(boundary.outputs)) {
      if (inplace.possible[o] >= 0)
        continue;
      for (auto [i, input] : llvm::enumerate(boundary.inputs)) {
        if (taken.contains(i) || classOf(output, input) != wanted || !mayOverwrite(candidate, boundary, output, input))
          continue;
        inplace.possible[o] = i;
        if (!isReadAlone(output, input) && !canBeOrdered(candidate, boundary, inplace.possible)) {
          inplace.possible[o] = -1;
          continue;
        }
        if (wanted != Other)
          inplace.wanted[o] = i;
        taken.insert(i);
        break;
      }
    }
  return inplace;
}

bool isAny(ArrayRef<int64_t> inplace) {
  return llvm::any_of(inplace, [](int64_t input) { return input >= 0; });
}

class KernelFormation {
public:
  KernelFormation(ModuleOp module, bool fixedArithmetic)
      : module(module), fixedArithmetic(fixedArithmetic), decide(module, "dgc-form-kernels") {}

  /// Kernels of a function, first those of the loops and branches in it.
  void run(func::FuncOp func, int64_t maxUpdateOps, int64_t maxFlopsAgain, bool shareLaunches) {
    func.walk([&](Operation *op) {
      if (op->hasTrait<ControlFlow>())
        for (Region &region : op->getRegions())
          form(region.front(), {}, maxUpdateOps, maxFlopsAgain, shareLaunches);
    });
    form(func.getBody().front(), func, maxUpdateOps, maxFlopsAgain, shareLaunches);
  }

  unsigned launches = 0, kernels = 0, computedAgain = 0;

private:
  /// `func`: whose body the block is, if it is one.
  void form(Block &block, func::FuncOp func, int64_t maxUpdateOps, int64_t maxFlopsAgain, bool shareLaunches) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    SmallVector<KernelCandidate> candidates = clusterBlock(block, maxUpdateOps, shareLaunches, decide);
    if (maxFlopsAgain)
      computedAgain += rematerialize(candidates, maxFlopsAgain, decide);
    Operation *end = block.getTerminator();
    for (const KernelCandidate &candidate : candidates) {
      if (!candidate.isKernel) {
        candidate.ops.front()->moveBefore(end);
        continue;
      }
      // Candidates before have been replaced by launches, which the boundary must see.
      Boundary boundary = boundaryOf(candidate);
      launch(candidate, boundary, chooseInplace(candidate, boundary, func), end);
    }
    // Constants that only kernels used.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  ModuleOp kernelModule() {
    if (auto existing = module.lookupSymbol<ModuleOp>("kernels"))
      return existing;
    auto created = ModuleOp::create(module.getLoc(), "kernels");
    module.getBody()->push_back(created);
    return created;
  }

  /// The type of a value in a kernel, where it does not matter whether it is an addend.
  static Type typeInKernel(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? withoutEncoding(tensor) : type;
  }

  /// The kernel with the ops of a candidate, not inserted yet.
  func::FuncOp outline(const KernelCandidate &candidate, const Boundary &boundary, ArrayRef<int64_t> inplace,
                       Location loc) {
    OpBuilder builder(module.getContext());
    auto typesOf = [](ArrayRef<Value> values) {
      return llvm::map_to_vector(values, [](Value value) { return typeInKernel(value.getType()); });
    };
    auto type = builder.getFunctionType(typesOf(boundary.inputs.getArrayRef()), typesOf(boundary.outputs));
    auto func = func::FuncOp::create(loc, "k", type);
    if (isAny(inplace))
      func->setAttr(kInplaceAttr, builder.getDenseI64ArrayAttr(inplace));
    if (fixedArithmetic)
      func->setAttr(kFixedArithmeticAttr, builder.getUnitAttr());
    Block *block = func.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    IRMapping mapping;
    mapping.map(boundary.inputs.getArrayRef(), block->getArguments());
    for (Operation *op : candidate.ops) {
      for (Value operand : op->getOperands())
        if (!mapping.contains(operand))
          builder
              .clone(*operand.getDefiningOp(), mapping) // a small constant
              ->setDiscardableAttrs(DictionaryAttr::get(builder.getContext()));
      Operation *copy = builder.clone(*op, mapping);
      copy->setDiscardableAttrs(DictionaryAttr::get(copy->getContext()));
      for (Value result : copy->getResults())
        result.setType(typeInKernel(result.getType()));
    }
    func::ReturnOp::create(builder, loc,
                           llvm::map_to_vector(boundary.outputs, [&](Value v) { return mapping.lookup(v); }));
    return func;
  }

  /// The kernel as text, without names of places, to find equal ones.
  static std::string textOf(func::FuncOp func) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    func->print(stream, OpPrintingFlags().printGenericOpForm());
    return text;
  }

  void launch(const KernelCandidate &candidate, const Boundary &boundary, const Inplace &inplace, Operation *before) {
    SmallVector<Location> locations = llvm::map_to_vector(candidate.ops, [](Operation *op) { return op->getLoc(); });
    Location loc = FusedLoc::get(module.getContext(), locations);
    func::FuncOp func = outline(candidate, boundary, inplace.possible, loc);
    auto [it, isNew] = known.try_emplace(textOf(func));
    if (isNew) {
      ModuleOp targetModule = kernelModule();
      std::string name;
      do
        name = "k" + std::to_string(kernels++);
      while (targetModule.lookupSymbol(name));
      func.setName(name);
      targetModule.push_back(func);
      it->second = name;
    } else {
      func.erase();
    }
    ++launches;
    OpBuilder builder(before);
    auto callee =
        SymbolRefAttr::get(builder.getContext(), "kernels", {FlatSymbolRefAttr::get(builder.getContext(), it->second)});
    auto op = exec::LaunchOp::create(
        builder, loc, llvm::map_to_vector(boundary.outputs, [](Value v) { return v.getType(); }), callee,
        boundary.inputs.getArrayRef(), ValueRange(),
        isAny(inplace.wanted) ? builder.getDenseI64ArrayAttr(inplace.wanted) : DenseI64ArrayAttr());
    for (auto [output, result] : llvm::zip_equal(SmallVector<Value>(boundary.outputs), op.getResults()))
      output.replaceAllUsesWith(result);
    for (Operation *inner : llvm::reverse(candidate.ops))
      inner->erase();
  }

  ModuleOp module;
  bool fixedArithmetic;
  SizeDecisions decide;
  llvm::StringMap<std::string> known;
};

struct FormKernels : dgc::impl::FormKernelsBase<FormKernels> {
  using FormKernelsBase::FormKernelsBase;
  void runOnOperation() override {
    KernelFormation formation(getOperation(), fixedArithmetic);
    SmallVector<func::FuncOp> entries(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp func : entries)
      if (!func.isExternal())
        formation.run(func, maxUpdateOps, rematerializeFlops, shareLaunches);
    launches = formation.launches;
    kernels = formation.kernels;
    computedAgain = formation.computedAgain;
  }
};

} // namespace
} // namespace dgc
