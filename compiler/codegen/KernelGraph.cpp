//===- KernelGraph.cpp ----------------------------------------------------===//

#include "compiler/codegen/KernelGraph.h"
#include "compiler/codegen/AccessCollector.h"
#include "compiler/codegen/Lowering.h"
#include "dialects/dgc/AttributeNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dgc {

Index pointOf(MLIRContext *context, ArrayRef<int64_t> space) {
  Index point;
  for (auto [dim, size] : llvm::enumerate(space))
    point.push_back(size == 1 ? getAffineConstantExpr(0, context) : getAffineDimExpr(dim, context));
  return point;
}

AffineExpr simplify(AffineExpr expr) {
  unsigned dims = 0, symbols = 0;
  expr.walk([&](AffineExpr inner) {
    if (auto dim = dyn_cast<AffineDimExpr>(inner))
      dims = std::max(dims, dim.getPosition() + 1);
    else if (auto symbol = dyn_cast<AffineSymbolExpr>(inner))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  return simplifyAffineExpr(expr, dims, symbols);
}

Index normalize(Value tensor, ArrayRef<AffineExpr> index) {
  Index result;
  for (auto [size, expr] : llvm::zip_equal(shapeOf(tensor), index))
    result.push_back(size == 1 ? getAffineConstantExpr(0, expr.getContext()) : simplify(expr));
  return result;
}

AffineExpr linearize(ArrayRef<int64_t> shape, ArrayRef<AffineExpr> index, MLIRContext *context) {
  AffineExpr linear = getAffineConstantExpr(0, context);
  for (auto [size, expr] : llvm::zip_equal(shape, index))
    linear = linear * size + expr;
  return simplify(linear);
}

Index applyMap(AffineMap map, ArrayRef<AffineExpr> loops) {
  Index result;
  for (AffineExpr expr : map.getResults())
    result.push_back(simplify(expr.replaceDims(loops)));
  return result;
}

FailureOr<Index> loopsAt(linalg::LinalgOp op, unsigned result, ArrayRef<AffineExpr> index) {
  AffineMap map = op.getIndexingMapMatchingResult(cast<OpResult>(op->getResult(result)));
  auto ranges = op.getStaticLoopRanges();
  Index loops(map.getNumDims());
  for (auto [expr, position] : llvm::zip_equal(map.getResults(), index))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops[dim.getPosition()] = position;
  for (auto [loop, size] : llvm::zip_equal(loops, ranges)) {
    if (!loop && size == 1)
      loop = getAffineConstantExpr(0, op.getContext());
    if (!loop)
      return failure();
  }
  return loops;
}

/// Groups of dimensions of the larger side that make up each dimension of the smaller side.
static SmallVector<ReassociationIndices> groupsOf(Operation *op) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return expand.getReassociationIndices();
  return cast<tensor::CollapseShapeOp>(op).getReassociationIndices();
}

Index reshapedIndex(Operation *op, ArrayRef<AffineExpr> index) {
  MLIRContext *context = op->getContext();
  ArrayRef<int64_t> from = shapeOf(op->getOperand(0)), to = shapeOf(op->getResult(0));
  Index source(from.size(), getAffineConstantExpr(0, context));
  for (auto [small, group] : llvm::enumerate(groupsOf(op))) {
    if (isa<tensor::ExpandShapeOp>(op)) {
      AffineExpr expr = getAffineConstantExpr(0, context);
      for (int64_t dim : group)
        expr = expr * to[dim] + (to[dim] == 1 ? getAffineConstantExpr(0, context) : index[dim]);
      source[small] = simplify(expr);
      continue;
    }
    // Split one index over the dimensions of the group; those of size 1 take no part.
    AffineExpr rest = index[small];
    SmallVector<int64_t> dims;
    for (int64_t dim : group)
      if (from[dim] != 1)
        dims.push_back(dim);
    while (!dims.empty()) {
      int64_t dim = dims.pop_back_val();
      source[dim] = simplify(dims.empty() ? rest : rest % from[dim]);
      rest = rest.floorDiv(from[dim]);
    }
  }
  return source;
}

bool isPointwise(Operation *op) {
  auto linalgOp = dyn_cast_if_present<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumReductionLoops() != 0)
    return false;
  auto ranges = linalgOp.getStaticLoopRanges();
  for (OpResult result : op->getResults()) {
    AffineMap map = linalgOp.getIndexingMapMatchingResult(result);
    llvm::SmallBitVector seen(map.getNumDims());
    for (AffineExpr expr : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || seen.test(dim.getPosition()))
        return false;
      seen.set(dim.getPosition());
    }
    for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
      if (!seen.test(dim) && ranges[dim] != 1)
        return false;
  }
  return true;
}

llvm::BitVector KernelGraph::mayAlias() const {
  unsigned arguments = func.getNumArguments();
  llvm::BitVector aliases(arguments + func.getNumResults());
  for (auto [result, argument] : llvm::enumerate(inplace))
    if (argument >= 0) {
      aliases.set(arguments + result);
      aliases.set(argument);
    }
  return aliases;
}

bool KernelGraph::isBase(Value value) const {
  if (isa<BlockArgument>(value) && value.getParentRegion() == &func.getBody())
    return true;
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return !constant.isSplat();
  return rootOf.contains(value);
}

Value baseThroughReshapes(const KernelGraph &graph, Value value) {
  while (!graph.isBase(value)) {
    Operation *op = value.getDefiningOp();
    if (!isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return value;
}

Index indexBelowReshapes(const KernelGraph &graph, Operation *reshape, ArrayRef<AffineExpr> index) {
  Index current(index);
  while (true) {
    Value source = reshape->getOperand(0);
    current = normalize(source, reshapedIndex(reshape, current));
    if (graph.isBase(source))
      break;
    reshape = source.getDefiningOp();
  }
  for (AffineExpr expr : current)
    if (!isa<AffineDimExpr, AffineConstantExpr, AffineSymbolExpr>(expr))
      return {};
  return current;
}

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

/// Numbers the loops of a reduction like the dimensions of an operand that is read once per point, if there is one,
/// so that roots over the same data agree.
static SmallVector<unsigned> numberLoops(linalg::LinalgOp op) {
  for (AffineMap map : op.getIndexingMapsArray()) {
    if (!map.isPermutation())
      continue;
    SmallVector<unsigned> order(map.getNumDims());
    for (auto [position, expr] : llvm::enumerate(map.getResults()))
      order[cast<AffineDimExpr>(expr).getPosition()] = position;
    return order;
  }
  return llvm::to_vector(llvm::seq<unsigned>(0, op.getNumLoops()));
}

LogicalResult KernelGraph::addReduction(linalg::LinalgOp op) {
  Root root;
  root.reduction = op;
  root.loopOfDim = numberLoops(op);
  auto ranges = op.getStaticLoopRanges();
  auto kinds = op.getIteratorTypesArray();
  root.space.resize(ranges.size());
  root.parallel.resize(ranges.size());
  for (auto [dim, loop] : llvm::enumerate(root.loopOfDim)) {
    root.space[loop] = ranges[dim];
    root.parallel[loop] = kinds[dim] == utils::IteratorType::parallel || ranges[dim] == 1;
  }
  for (OpResult result : op->getResults()) {
    rootOf[result] = roots.size();
    root.values.push_back(result);
  }
  roots.push_back(std::move(root));
  return success();
}

LogicalResult KernelGraph::addElementwise(Value value) {
  Root root;
  root.values.push_back(value);
  root.space.assign(shapeOf(value).begin(), shapeOf(value).end());
  root.parallel.resize(root.space.size(), true);
  rootOf[value] = roots.size();
  roots.push_back(std::move(root));
  return success();
}

LogicalResult KernelGraph::collectAll() {
  MLIRContext *context = func.getContext();
  for (Root &root : roots) {
    root.accesses.clear();
    root.indices.clear();
    root.flops = 0;
    root.callsFunctions = false;
    root.bounds.clear();
    root.pinned.clear();
    root.pinned.resize(root.space.size());
    Index point = pointOf(context, root.space);
    AccessCollector collector(*this, root);
    if (!root.reduction) {
      root.indices.push_back(point);
      if (failed(collector.definition(root.values.front(), point)))
        return failure();
      continue;
    }
    Index loops;
    for (unsigned loop : root.loopOfDim)
      loops.push_back(point[loop]);
    if (failed(collector.body(root.reduction, loops)))
      return failure();
    for (OpOperand &init : root.reduction.getDpsInitsMutable()) {
      Index index = applyMap(root.reduction.getMatchingIndexingMap(&init), loops);
      root.indices.push_back(normalize(init.get(), index));
      if (failed(collector.element(init.get(), index)))
        return failure();
    }
  }
  return success();
}

bool KernelGraph::reads(unsigned user, unsigned used) const {
  return llvm::any_of(roots[user].accesses, [&](const Access &access) {
    auto it = rootOf.find(access.base);
    return it != rootOf.end() && it->second == used;
  });
}

bool KernelGraph::readsValueInPlace(unsigned user, Value value) const {
  const Root &root = roots[user];
  Index point = pointOf(func.getContext(), root.space);
  return shapeOf(value) == ArrayRef<int64_t>(root.space) && llvm::all_of(root.accesses, [&](const Access &access) {
           return access.base != value || access.index == point;
         });
}

bool KernelGraph::readsInPlace(unsigned user, unsigned used) const {
  return !roots[used].reduction && readsValueInPlace(user, roots[used].values.front());
}

/// Everything that is needed, directly or not, to compute `value`, up to stored values.
static void inlinedInto(const KernelGraph &graph, Value value, llvm::SetVector<Value> &seen) {
  SmallVector<Value> work{value};
  bool first = true;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || (!first && graph.isBase(next)))
      continue;
    first = false;
    if (!seen.insert(next))
      continue;
    op->walk([&](Operation *inner) { llvm::append_range(work, inner->getOperands()); });
  }
}

/// Makes roots of values that are expensive and needed both by a root and by one that comes after it: those cannot
/// share a loop.
void KernelGraph::materialiseShared(const llvm::DenseSet<Value> &recomputed) {
  SmallVector<llvm::SetVector<Value>> needs(roots.size());
  for (auto [i, root] : llvm::enumerate(roots))
    for (Value value : root.values)
      inlinedInto(*this, value, needs[i]);
  // The transitive dependences between roots.
  SmallVector<llvm::BitVector> before(roots.size(), llvm::BitVector(roots.size()));
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned i = 0; i < roots.size(); ++i) {
      llvm::BitVector all = before[i];
      for (unsigned j = 0; j < roots.size(); ++j)
        if (i != j && reads(i, j)) {
          all.set(j);
          all |= before[j];
        }
      if (all != before[i]) {
        before[i] = all;
        changed = true;
      }
    }
  }
  auto mustPrecede = [&](unsigned i, unsigned j) { return before[j].test(i) && !readsInPlace(j, i); };
  auto usersOf = [&](Value value) {
    SmallVector<unsigned> users;
    for (unsigned i = 0; i < roots.size(); ++i)
      if (needs[i].contains(value))
        users.push_back(i);
    return users;
  };
  SmallVector<Value> chosen;
  func.walk([&](linalg::LinalgOp op) {
    if (!isPointwise(op) || op->getNumResults() != 1 || rootOf.contains(op->getResult(0)) || bodyCost(op) < 8)
      return;
    Value value = op->getResult(0);
    if (recomputed.contains(value))
      return;
    SmallVector<unsigned> users = usersOf(value);
    bool apart = llvm::any_of(
        users, [&](unsigned i) { return llvm::any_of(users, [&](unsigned j) { return mustPrecede(i, j); }); });
    if (apart)
      chosen.push_back(value);
  });
  for (Value value : chosen)
    (void)addElementwise(value);
}

/// Sorts the roots so that each comes after those that it reads, and after those that read what it overwrites.
LogicalResult KernelGraph::order() {
  SmallVector<llvm::SmallSetVector<unsigned, 4>> edges(roots.size());
  for (unsigned i = 0; i < roots.size(); ++i)
    for (unsigned j = 0; j < roots.size(); ++j)
      if (i != j && reads(i, j))
        edges[i].insert(j);
  auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
  for (auto [result, argument] : llvm::enumerate(inplace)) {
    if (argument < 0)
      continue;
    unsigned writer = rootOf.lookup(ret.getOperand(result));
    for (unsigned i = 0; i < roots.size(); ++i)
      if (i != writer && llvm::any_of(roots[i].accesses, [&](const Access &access) {
            return access.base == func.getArgument(argument);
          })) {
        roots[writer].after.push_back(i);
        edges[writer].insert(i);
      }
  }
  std::vector<unsigned> sorted;
  llvm::BitVector done(roots.size());
  while (sorted.size() < roots.size()) {
    unsigned next = 0;
    for (; next < roots.size(); ++next)
      if (!done.test(next) && llvm::all_of(edges[next], [&](unsigned other) { return done.test(other); }))
        break;
    if (next == roots.size())
      return func.emitOpError("a result would overwrite an argument that is still needed");
    done.set(next);
    sorted.push_back(next);
  }
  SmallVector<unsigned> newPlace(roots.size());
  for (auto [place, old] : llvm::enumerate(sorted))
    newPlace[old] = place;
  std::vector<Root> moved;
  for (unsigned old : sorted)
    moved.push_back(std::move(roots[old]));
  roots = std::move(moved);
  for (Root &root : roots)
    for (unsigned &other : root.after)
      other = newPlace[other];
  for (auto &entry : rootOf)
    entry.second = newPlace[entry.second];
  return success();
}

FailureOr<KernelGraph> KernelGraph::build(func::FuncOp func, const llvm::DenseSet<Value> &recomputed) {
  KernelGraph graph;
  graph.func = func;
  graph.fixedArithmetic = func->hasAttr(kFixedArithmeticAttr);
  const std::vector<int32_t> inplace = inplaceOf(func);
  graph.inplace.assign(inplace.begin(), inplace.end());
  auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
  for (Operation &op : func.getBody().front())
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op); linalgOp && !isPointwise(&op))
      if (failed(graph.addReduction(linalgOp)))
        return failure();
  // One root per value: of two results that are the same value, both are stored by it.
  for (Value value : ret.getOperands())
    if (!graph.rootOf.contains(value) && failed(graph.addElementwise(value)))
      return failure();
  if (failed(graph.collectAll()))
    return failure();
  unsigned before = graph.roots.size();
  graph.materialiseShared(recomputed);
  if (graph.roots.size() != before && failed(graph.collectAll()))
    return failure();
  if (failed(graph.order()))
    return failure();
  return graph;
}

} // namespace dgc
