//===- KernelGraph.cpp ----------------------------------------------------===//

#include "compiler/codegen/cpu/KernelGraph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "dgc-kernel-graph"

using namespace mlir;

namespace dgc {

static ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

Index pointOf(MLIRContext *context, ArrayRef<int64_t> space) {
  Index point;
  for (auto [dim, size] : llvm::enumerate(space))
    point.push_back(size == 1 ? getAffineConstantExpr(0, context) : getAffineDimExpr(dim, context));
  return point;
}

static AffineExpr simplify(AffineExpr expr) { return simplifyAffineExpr(expr, 64, 1 << 16); }

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

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

namespace {

/// An estimate of what an op of a scalar body costs, in simple instructions.
uint64_t costOf(Operation *op) {
  if (isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp, math::Log1pOp, math::ExpM1Op, math::PowFOp, math::SinOp,
          math::CosOp, math::ErfcOp, math::Exp2Op, math::Log2Op, math::CbrtOp, math::AtanOp, math::Atan2Op>(op))
    return 16;
  if (isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return 4;
  return isa<linalg::YieldOp, linalg::IndexOp, arith::ConstantOp>(op) ? 0 : 1;
}

uint64_t bodyCost(linalg::LinalgOp op) {
  uint64_t cost = 0;
  op.getBlock()->walk([&](Operation *inner) { cost += costOf(inner); });
  return cost;
}

/// Follows a value from a point of a root's space to the stored values that it needs.
class Collector {
public:
  Collector(const KernelGraph &graph, Root &root) : graph(graph), root(root), context(graph.func.getContext()) {}

  LogicalResult body(linalg::LinalgOp op, ArrayRef<AffineExpr> loops) {
    root.flops += bodyCost(op);
    for (OpOperand &operand : op->getOpOperands()) {
      if (isa<RankedTensorType>(operand.get().getType())) {
        if (op.payloadUsesValueFromOperand(&operand) && !op.isDpsInit(&operand) &&
            failed(element(operand.get(), applyMap(op.getMatchingIndexingMap(&operand), loops))))
          return failure();
      } else if (failed(scalar(operand.get()))) {
        return failure();
      }
    }
    auto walk = op.getBlock()->walk([&](Operation *inner) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        pin(loops[index.getDim()]);
      if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
        Index index;
        for (unsigned i = 0; i < extract.getIndices().size(); ++i)
          index.push_back(getAffineSymbolExpr(symbols++, context));
        if (failed(element(extract.getTensor(), index)))
          return WalkResult::interrupt();
      }
      for (Value operand : inner->getOperands())
        if (operand.getParentRegion() == &graph.func.getBody() && !isa<RankedTensorType>(operand.getType()) &&
            failed(scalar(operand)))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

  LogicalResult element(Value value, ArrayRef<AffineExpr> rawIndex) {
    Index index = normalize(value, rawIndex);
    if (graph.isBase(value)) {
      add(value, index, linearize(shapeOf(value), index, context));
      return success();
    }
    return definition(value, index);
  }

  /// The reads of element `index` of a value, computed from its operands even if it is a root.
  LogicalResult definition(Value value, ArrayRef<AffineExpr> index) {
    if (!visited.insert({value, AffineMap::get(64, 1 << 16, index, context)}).second)
      return success();
    Operation *op = value.getDefiningOp();
    if (!op) { // an argument that is returned
      add(value, index, linearize(shapeOf(value), index, context));
      return success();
    }
    if (isPointwise(op)) {
      auto linalgOp = cast<linalg::LinalgOp>(op);
      FailureOr<Index> loops = loopsAt(linalgOp, cast<OpResult>(value).getResultNumber(), index);
      if (failed(loops) || failed(body(linalgOp, *loops)))
        return failure();
      for (OpOperand &init : linalgOp.getDpsInitsMutable())
        if (linalgOp.payloadUsesValueFromOperand(&init) &&
            failed(element(init.get(), applyMap(linalgOp.getMatchingIndexingMap(&init), *loops))))
          return failure();
      return success();
    }
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>([&](Operation *reshape) {
          if (Value base = baseThroughReshapes(graph, reshape->getOperand(0))) {
            Index through = throughReshapes(reshape, index);
            add(base, through, linearize(shapeOf(value), index, context));
            return success();
          }
          Index source = reshapedIndex(reshape, index);
          for (AffineExpr expr : source)
            pinIfDivided(expr);
          return element(reshape->getOperand(0), source);
        })
        .Case([&](tensor::ExtractSliceOp slice) {
          Index source;
          if (failed(sliceIndex(slice, index, source)))
            return failure();
          return element(slice.getSource(), source);
        })
        .Case([&](tensor::InsertSliceOp insert) {
          for (AffineExpr expr : index)
            pin(expr);
          Index source;
          auto offsets = insert.getStaticOffsets();
          auto strides = insert.getStaticStrides();
          llvm::SmallBitVector dropped = insert.getDroppedDims();
          for (auto [dim, expr] : llvm::enumerate(index)) {
            if (ShapedType::isDynamic(offsets[dim]) || ShapedType::isDynamic(strides[dim]))
              return insert.emitOpError("cannot be compiled for the CPU: offsets and strides must be constant"), failure();
            if (!dropped.test(dim))
              source.push_back((expr - offsets[dim]).floorDiv(strides[dim]));
          }
          if (failed(element(insert.getSource(), source)))
            return failure();
          return element(insert.getDest(), index);
        })
        .Case([&](tensor::PadOp pad) {
          for (auto [dim, expr] : llvm::enumerate(index))
            if (pad.getStaticLow()[dim] != 0 || pad.getStaticHigh()[dim] != 0)
              pin(expr);
          Index source;
          for (auto [expr, low] : llvm::zip_equal(index, pad.getStaticLow())) {
            if (ShapedType::isDynamic(low))
              return pad.emitOpError("cannot be compiled for the CPU: padding must be constant"), failure();
            source.push_back(expr - low);
          }
          if (Value constant = pad.getConstantPaddingValue(); !constant || failed(scalar(constant)))
            return pad.emitOpError("cannot be compiled for the CPU: the padding value must not depend on the place"), failure();
          return element(pad.getSource(), source);
        })
        .Case([&](tensor::ConcatOp concat) {
          int64_t offset = 0;
          pin(index[concat.getDim()]);
          for (Value input : concat.getInputs()) {
            Index source(index);
            source[concat.getDim()] = source[concat.getDim()] - offset;
            if (failed(element(input, source)))
              return failure();
            offset += shapeOf(input)[concat.getDim()];
          }
          return success();
        })
        .Case([&](tensor::CastOp cast) { return element(cast.getSource(), index); })
        .Case([&](tensor::SplatOp splat) { return scalar(splat.getInput()); })
        .Case([&](tensor::FromElementsOp from) {
          if (from.getElements().size() != 1)
            return from.emitOpError("cannot be compiled for the CPU: only one element is supported"), failure();
          return scalar(from.getElements().front());
        })
        .Case<tensor::EmptyOp, arith::ConstantOp>([](Operation *) { return success(); })
        .Default([](Operation *other) { return other->emitOpError("cannot be compiled for the CPU"), failure(); });
  }

  LogicalResult scalar(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return success();
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      Index index;
      for (Value position : extract.getIndices()) {
        APInt constant;
        if (!matchPattern(position, m_ConstantInt(&constant)))
          return extract.emitOpError("cannot be compiled for the CPU: the index must be constant"), failure();
        index.push_back(getAffineConstantExpr(constant.getSExtValue(), context));
      }
      return element(extract.getTensor(), index);
    }
    for (Value operand : op->getOperands())
      if (failed(scalar(operand)))
        return failure();
    return success();
  }

  LogicalResult sliceIndex(tensor::ExtractSliceOp slice, ArrayRef<AffineExpr> index, Index &source) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    unsigned next = 0;
    for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets())) {
      AffineExpr expr = dropped.test(dim) ? getAffineConstantExpr(0, context) : index[next++];
      int64_t stride = slice.getStaticStrides()[dim];
      if (ShapedType::isDynamic(stride))
        return slice.emitOpError("cannot be compiled for the CPU: strides must be constant");
      if (auto constant = getConstantIntValue(offset)) {
        source.push_back(expr * stride + *constant);
        continue;
      }
      if (failed(scalar(cast<Value>(offset))))
        return failure();
      source.push_back(expr * stride + getAffineSymbolExpr(symbols++, context));
    }
    return success();
  }

private:
  void add(Value base, ArrayRef<AffineExpr> index, AffineExpr linear) {
    root.accesses.push_back({base, Index(index), linear});
  }

  /// The index in the base below reshapes, when they only add and remove dimensions of size 1; else empty.
  Index throughReshapes(Operation *op, ArrayRef<AffineExpr> index) {
    Index current(index);
    while (true) {
      current = normalize(op->getOperand(0), reshapedIndex(op, current));
      Value source = op->getOperand(0);
      if (graph.isBase(source))
        break;
      op = source.getDefiningOp();
    }
    for (AffineExpr expr : current)
      if (!isa<AffineDimExpr, AffineConstantExpr, AffineSymbolExpr>(expr))
        return {};
    return current;
  }

  void pin(AffineExpr expr) {
    expr.walk([&](AffineExpr inner) {
      if (auto dim = dyn_cast<AffineDimExpr>(inner))
        root.pinned.set(dim.getPosition());
    });
  }
  void pinIfDivided(AffineExpr expr) {
    expr.walk([&](AffineExpr inner) {
      if (inner.getKind() == AffineExprKind::FloorDiv || inner.getKind() == AffineExprKind::Mod ||
          inner.getKind() == AffineExprKind::CeilDiv)
        pin(inner);
    });
  }

  const KernelGraph &graph;
  Root &root;
  MLIRContext *context;
  unsigned symbols = 0;
  DenseSet<std::pair<Value, AffineMap>> visited;
};

} // namespace

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
    root.pinned.clear();
    root.pinned.resize(root.space.size());
    Index point = pointOf(context, root.space);
    Collector collector(*this, root);
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
void KernelGraph::materialiseShared() {
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
    SmallVector<unsigned> users = usersOf(value);
    bool apart = llvm::any_of(users, [&](unsigned i) {
      return llvm::any_of(users, [&](unsigned j) { return mustPrecede(i, j); });
    });
    // Where one cheap op is all that reads it, rather keep that op's result.
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

FailureOr<KernelGraph> KernelGraph::build(func::FuncOp func) {
  KernelGraph graph;
  graph.func = func;
  graph.inplace.assign(func.getNumResults(), -1);
  if (auto attr = func->getAttrOfType<DenseI64ArrayAttr>("dgc.inplace"))
    graph.inplace.assign(attr.asArrayRef().begin(), attr.asArrayRef().end());
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
  graph.materialiseShared();
  if (graph.roots.size() != before && failed(graph.collectAll()))
    return failure();
  if (failed(graph.order()))
    return failure();
  return graph;
}

} // namespace dgc
