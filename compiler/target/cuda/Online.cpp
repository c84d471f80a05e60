//===- Online.cpp - sums of exponentials with a running maximum --------------===//

#include "compiler/target/cuda/Online.h"
#include "compiler/target/cuda/ThreadGeometry.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace dgc {
namespace {

/// A scalar: an element of a tensor, or a value in the body of an op at a point of its loops.
struct Scalar {
  Value value;
  Index at;
  bool operator==(const Scalar &other) const { return value == other.value && at == other.at; }
};

/// The element that a value in the body of an op is, where it is one of an operand.
std::optional<Scalar> operandOf(linalg::LinalgOp op, const Scalar &scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar.value);
  if (!argument || argument.getOwner() != op.getBlock())
    return std::nullopt;
  OpOperand *operand = op.getMatchingOpOperand(argument);
  if (op.isDpsInit(operand) || !isa<RankedTensorType>(operand->get().getType()))
    return std::nullopt;
  return Scalar{operand->get(), applyMap(op.getMatchingIndexingMap(operand), scalar.at)};
}

/// The source of an element, through all ops that only move elements: one that is stored, or what the body of an op computes.
Scalar originOf(const KernelGraph &graph, Scalar scalar) {
  while (isa<RankedTensorType>(scalar.value.getType())) {
    scalar.at = normalize(scalar.value, scalar.at);
    Operation *op = scalar.value.getDefiningOp();
    if (graph.isBase(scalar.value) || !op)
      break;
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
      scalar = {op->getOperand(0), reshapedIndex(op, scalar.at)};
      continue;
    }
    if (!isPointwise(op))
      break;
    auto linalgOp = cast<linalg::LinalgOp>(op);
    unsigned number = cast<OpResult>(scalar.value).getResultNumber();
    FailureOr<Index> loops = loopsAt(linalgOp, number, scalar.at);
    if (failed(loops))
      break;
    scalar = {linalgOp.getBlock()->getTerminator()->getOperand(number), *loops};
    if (std::optional<Scalar> element = operandOf(linalgOp, scalar))
      scalar = *element;
  }
  return scalar;
}

/// The operand of an op in a body: what it is, and past `element` the element that it is read from.
Scalar inputOf(const KernelGraph &graph, Value operand, const Index &loops, std::optional<Scalar> *element = nullptr) {
  auto argument = dyn_cast<BlockArgument>(operand);
  Operation *parent = argument ? argument.getOwner()->getParentOp() : operand.getDefiningOp()->getParentOp();
  std::optional<Scalar> read;
  if (auto op = dyn_cast<linalg::LinalgOp>(parent))
    read = operandOf(op, {operand, loops});
  if (element)
    *element = read;
  return read ? originOf(graph, *read) : Scalar{operand, loops};
}

/// What a reduction of one value by a combiner combines; nothing for others.
template <typename Combiner> std::optional<Scalar> addendOf(const KernelGraph &graph, const Root &root) {
  if (!root.reduction || root.values.size() != 1 || !elementOf(root.values[0]).isF32())
    return std::nullopt;
  linalg::LinalgOp op = root.reduction;
  auto combiner = dyn_cast_if_present<Combiner>(combinerOf(op, 0));
  if (!combiner)
    return std::nullopt;
  Value running = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  Index point = pointOf(graph.func.getContext(), root.space), loops;
  for (unsigned dim : root.loopOfDim)
    loops.push_back(point[dim]);
  return inputOf(graph, combiner->getOperand(combiner->getOperand(0) == running ? 1 : 0), loops);
}

bool contains(const LoopNest &nest, unsigned root) { return llvm::is_contained(nest.roots, root); }

} // namespace

/// x - m, m being the maximum of x or of anything else with the same loops; nothing for other scalars.
static std::optional<OnlineSum> differenceOf(const KernelGraph &graph, const Scalar &scalar, const Root &root) {
  auto difference = scalar.value.getDefiningOp<arith::SubFOp>();
  if (!difference)
    return std::nullopt;
  std::optional<Scalar> element;
  inputOf(graph, difference.getLhs(), scalar.at, &element);
  Scalar most = inputOf(graph, difference.getRhs(), scalar.at);
  auto it = graph.rootOf.find(most.value);
  if (!element || it == graph.rootOf.end())
    return std::nullopt;
  const Root &maximum = graph.roots[it->second];
  if (!addendOf<arith::MaximumFOp>(graph, maximum) || maximum.space != root.space ||
      maximum.parallel != root.parallel || most.at != maximum.indices.front())
    return std::nullopt;
  return OnlineSum{it->second, element->value, element->at, {}, {}};
}

std::optional<OnlineSum> onlineSumOf(const KernelGraph &graph, unsigned number) {
  const Root &root = graph.roots[number];
  std::optional<Scalar> addend = addendOf<arith::AddFOp>(graph, root);
  if (!addend)
    return std::nullopt;
  if (auto exp = addend->value.getDefiningOp<math::ExpOp>()) {
    std::optional<OnlineSum> sum = differenceOf(graph, inputOf(graph, exp.getOperand(), addend->at), root);
    // Of larger ones than the maximum the exponentials might not be numbers on the way.
    if (sum && originOf(graph, {sum->x, sum->index}) == *addendOf<arith::MaximumFOp>(graph, graph.roots[sum->maximum]))
      return sum;
    return std::nullopt;
  }
  auto select = addend->value.getDefiningOp<arith::SelectOp>();
  if (!select || !matchPattern(inputOf(graph, select.getFalseValue(), addend->at).value, m_AnyZeroFloat()))
    return std::nullopt;
  std::optional<Scalar> condition;
  inputOf(graph, select.getCondition(), addend->at, &condition);
  std::optional<OnlineSum> sum = differenceOf(graph, inputOf(graph, select.getTrueValue(), addend->at), root);
  if (!sum || !condition)
    return std::nullopt;
  sum->condition = condition->value;
  sum->conditionIndex = condition->at;
  return sum;
}

void joinOnline(const KernelGraph &graph, Segment &segment) {
  auto needs = [&](unsigned user, unsigned used) {
    return graph.reads(user, used) || llvm::is_contained(graph.roots[user].after, used);
  };
  for (size_t from = 1; from < segment.nests.size(); ++from) {
    LoopNest &nest = segment.nests[from];
    std::optional<OnlineSum> first = onlineSumOf(graph, nest.roots.front());
    if (!first)
      continue;
    auto into = llvm::find_if(segment.nests, [&](const LoopNest &other) { return contains(other, first->maximum); });
    size_t to = into - segment.nests.begin();
    bool isSame = to < from && into->loops == nest.loops && into->trips == nest.trips;
    bool all = isSame && llvm::all_of(nest.roots, [&](unsigned root) {
                 std::optional<OnlineSum> sum = onlineSumOf(graph, root);
                 if (!sum || !contains(*into, sum->maximum))
                   return false;
                 for (size_t between = to; between < from; ++between)
                   for (unsigned other : segment.nests[between].roots)
                     if (other != sum->maximum && needs(root, other))
                       return false;
                 return true;
               });
    if (!all)
      continue;
    // Each thread of a group has a maximum of its own: all that the nest then has must be of that kind.
    LoopNest joined = without(*into, llvm::to_vector(llvm::seq<unsigned>(0, segment.rowDims)));
    llvm::append_range(joined.roots, nest.roots);
    if (!cooperates(graph, joined))
      continue;
    llvm::append_range(into->roots, nest.roots);
    segment.nests.erase(segment.nests.begin() + from--);
  }
}

} // namespace dgc
