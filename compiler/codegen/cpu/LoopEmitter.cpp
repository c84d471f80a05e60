//===- LoopEmitter.cpp - loops of a scheduled kernel ----------------------===//
//
// Writes the function `<name>_body(%arg.., %out.., %begin, %end)` of a kernel with scf, arith, math and the memory ops of the
// LLVM dialect: the pointers of a kernel are all that it gets, and every address is an explicit row-major position.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/LoopEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

#define DEBUG_TYPE "dgc-loop-emitter"

using namespace mlir;

namespace dgc {

static ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }
static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }
static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

/// Kernels with more scratch memory than this take it from the heap.
static constexpr int64_t kMaxStackBytes = 256 << 10;
/// Rows that a sum over rows takes at a time.
static constexpr int64_t kSteps = 4;

namespace {

/// A block that is being filled, with the values that are already computed in it.
struct Scope {
  Block *block;
  Operation *before = nullptr; // the loop in it that is being filled; null: append
  bool conditional = false;
  DenseMap<std::pair<void *, AffineMap>, Value> values;

  explicit Scope(Block *block, bool conditional = false) : block(block), conditional(conditional) {}
};

class LoopEmitter {
public:
  LoopEmitter(const KernelGraph &graph, const Schedule &schedule, ModuleOp module)
      : graph(graph), schedule(schedule), module(module), context(module.getContext()), builder(context),
        loc(graph.func.getLoc()), i64(builder.getI64Type()), pointer(LLVM::LLVMPointerType::get(context)) {}

  LogicalResult run(StringRef name);

private:
  // Places.
  void enter(Block *block, bool conditional = false) { 
    scopes.emplace_back(block, conditional);
    moveTo(scopes.size() - 1);
  }
  void leave() {
    scopes.pop_back();
    if (!scopes.empty())
      moveTo(scopes.size() - 1);
  }
  void moveTo(unsigned level) {
    current = level;
    if (Operation *before = scopes[level].before)
      builder.setInsertionPoint(before);
    else
      builder.setInsertionPointToEnd(scopes[level].block);
  }
  unsigned levelOf(ArrayRef<AffineExpr> index) const;
  std::pair<void *, AffineMap> keyOf(void *thing, ArrayRef<AffineExpr> index) const {
    return {thing, AffineMap::get(64, 1 << 16, index, context)};
  }
  Value lookup(std::pair<void *, AffineMap> key, unsigned level) const {
    for (int i = level; i >= 0; --i)
      if (Value value = scopes[i].values.lookup(key))
        return value;
    return {};
  }

  // Numbers.
  Value constant(int64_t value) { return arith::ConstantIntOp::create(builder, loc, i64, value); }
  Value position(AffineExpr expr);
  Value binary(AffineBinaryOpExpr expr);

  // Memory.
  Value baseOf(Value value);
  Type storageOf(Type type) { return type.isInteger(1) ? builder.getI8Type() : type; }
  Value load(Value base, Type type, AffineExpr linear);
  void store(Value value, Value memory, AffineExpr linear, Type type);
  Value allocate(Value forValue, ArrayRef<int64_t> shape);
  void storeEverywhere(Value value, ArrayRef<AffineExpr> index, Value scalar);

  // Elements.
  Value element(Value value, ArrayRef<AffineExpr> index);
  Value definition(Value value, ArrayRef<AffineExpr> index);
  Value guarded(ArrayRef<std::pair<AffineExpr, int64_t>> bounds, Type type, llvm::function_ref<Value()> inside,
                llvm::function_ref<Value()> outside);
  Value scalar(Value value);
  SmallVector<Value> body(linalg::LinalgOp op, ArrayRef<AffineExpr> loops, ValueRange accumulators);
  Value extract(tensor::ExtractOp op, IRMapping &mapping);
  AffineExpr symbolFor(Value value);

  // Loops.
  void segment(const Segment &segment, Value begin, Value end);
  void pass(const Segment &segment, const Pass &pass, Value lower, Value upper);
  void initialise(const Pass &pass, const Segment &segment, unsigned root, Value lower, Value upper);
  scf::ForOp loop(Value lower, Value upper, ValueRange init, bool parallel, int64_t step = 1);
  struct Running;
  void nest(const Segment &segment, const Pass &pass, unsigned depth, SmallVectorImpl<Running> &running, Value lower,
            Value upper);
  void steppedNest(const Segment &segment, const Pass &pass, unsigned depth, SmallVectorImpl<Running> &running, Value lower,
                   Value upper);
  bool addsRows(const Pass &pass, unsigned depth) const;
  void closeLoop();
  void points(const Pass &pass, SmallVectorImpl<Running> &running);
  SmallVector<std::pair<std::pair<Value, Index>, Value>> point(SmallVectorImpl<Running> &running);
  bool inMemory(const Pass &pass, const Root &root) const;
  unsigned lastParallel(const Pass &pass, const Root &root) const;

  const KernelGraph &graph;
  const Schedule &schedule;
  ModuleOp module;
  MLIRContext *context;
  OpBuilder builder;
  Location loc;
  Type i64, pointer;
  func::FuncOp kernel;
  std::vector<Scope> scopes;
  unsigned current = 0;
  unsigned floor = 0; // the scope of a row: what its passes compute is not known outside of it
  SmallVector<Value> dims = SmallVector<Value>(64);
  SmallVector<unsigned> dimLevel = SmallVector<unsigned>(64, 0);
  SmallVector<Value> symbols;
  DenseMap<Value, unsigned> symbolOf;
  DenseMap<Value, SmallVector<Value, 1>> targets; // where a root's value is stored
  DenseMap<Value, bool> rowLocal;                 // scratch memory holds one row only
  DenseMap<Value, unsigned> rowDimsOf;
  DenseMap<Value, Value> globals;
  int64_t stackBytes = 0;
  SmallVector<Value> heap;
  SmallVector<LLVM::AccessGroupAttr> groups; // of the parallel loops around the current place
  unsigned constants = 0;
  LogicalResult status = success();
  // In a loop that takes several steps of a reduction at a time: their dimension, the first one, how many.
  unsigned steppedDim = 0;
  Value steppedFrom;
  int64_t steps = 1;
};

/// What a reduction carries through its loops.
struct LoopEmitter::Running {
  unsigned root;
  SmallVector<Value> accumulators; // empty: not begun, or in memory
};

unsigned LoopEmitter::levelOf(ArrayRef<AffineExpr> index) const {
  unsigned level = floor;
  for (AffineExpr expr : index)
    expr.walk([&](AffineExpr inner) {
      if (auto dim = dyn_cast<AffineDimExpr>(inner))
        level = std::max(level, dimLevel[dim.getPosition()]);
      else if (isa<AffineSymbolExpr>(inner))
        level = current;
    });
  // Not above a condition: what is guarded stays guarded.
  for (unsigned i = current + 1; i-- > level + 1;)
    if (scopes[i].conditional)
      return std::max(level, i);
  return std::min(level, current);
}

//===----------------------------------------------------------------------===//
// Numbers and memory
//===----------------------------------------------------------------------===//

Value LoopEmitter::binary(AffineBinaryOpExpr expr) {
  Value lhs = position(expr.getLHS()), rhs = position(expr.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(builder, loc, lhs, rhs, arith::IntegerOverflowFlags::nsw);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(builder, loc, lhs, rhs, arith::IntegerOverflowFlags::nsw);
  case AffineExprKind::Mod:
    return arith::RemUIOp::create(builder, loc, lhs, rhs);
  default:
    return arith::DivUIOp::create(builder, loc, lhs, rhs);
  }
}

/// The value of an index expression; positions are never negative where they are divided.
Value LoopEmitter::position(AffineExpr expr) {
  if (auto constantExpr = dyn_cast<AffineConstantExpr>(expr))
    return constant(constantExpr.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  return binary(cast<AffineBinaryOpExpr>(expr));
}

AffineExpr LoopEmitter::symbolFor(Value value) {
  auto [it, added] = symbolOf.try_emplace(value, symbols.size());
  if (added)
    symbols.push_back(value);
  return getAffineSymbolExpr(it->second, context);
}

/// Where a stored value lies.
Value LoopEmitter::baseOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return kernel.getArgument(argument.getArgNumber());
  if (auto it = targets.find(value); it != targets.end())
    return it->second.front();
  // A constant: a global of the module.
  DenseElementsAttr data;
  [[maybe_unused]] bool isConstant = matchPattern(value, m_Constant(&data));
  assert(isConstant && "neither an argument, nor stored, nor constant");
  Value &global = globals[value];
  if (global)
    return global;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  std::string name = (kernel.getName() + "_constant" + Twine(constants++)).str();
  auto type = cast<RankedTensorType>(value.getType());
  Type element = storageOf(type.getElementType());
  if (type.getElementType().isInteger(1)) {
    SmallVector<int8_t> bytes = llvm::map_to_vector(data.getValues<bool>(), [](bool bit) { return int8_t(bit); });
    data = DenseElementsAttr::get(RankedTensorType::get(type.getShape(), element), ArrayRef<int8_t>(bytes));
  }
  auto flat = data.reshape(RankedTensorType::get({type.getNumElements()}, element));
  auto op = LLVM::GlobalOp::create(builder, loc, LLVM::LLVMArrayType::get(element, type.getNumElements()), /*isConstant=*/true,
                                   LLVM::Linkage::Private, name, flat, /*alignment=*/64);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  return global = LLVM::AddressOfOp::create(builder, loc, op);
}

Value LoopEmitter::load(Value memory, Type type, AffineExpr linear) {
  Type storage = storageOf(type);
  Value address = LLVM::GEPOp::create(builder, loc, pointer, storage, memory, ArrayRef<LLVM::GEPArg>{position(linear)});
  auto op = LLVM::LoadOp::create(builder, loc, storage, address);
  if (!groups.empty())
    op.setAccessGroupsAttr(builder.getArrayAttr(SmallVector<Attribute>(groups.begin(), groups.end())));
  if (storage == type)
    return op;
  Value zero = arith::ConstantIntOp::create(builder, loc, storage, 0);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, op, zero);
}

void LoopEmitter::store(Value value, Value memory, AffineExpr linear, Type type) {
  Type storage = storageOf(type);
  if (storage != type)
    value = arith::ExtUIOp::create(builder, loc, storage, value);
  Value address = LLVM::GEPOp::create(builder, loc, pointer, storage, memory, ArrayRef<LLVM::GEPArg>{position(linear)});
  auto op = LLVM::StoreOp::create(builder, loc, value, address);
  if (!groups.empty())
    op.setAccessGroupsAttr(builder.getArrayAttr(SmallVector<Attribute>(groups.begin(), groups.end())));
}

/// Scratch memory for a value, at the entry of the function.
Value LoopEmitter::allocate(Value forValue, ArrayRef<int64_t> shape) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  Type storage = storageOf(elementOf(forValue));
  int64_t count = std::max<int64_t>(product(shape), 1), bytes = count * llvm::divideCeil(storage.getIntOrFloatBitWidth(), 8);
  if (stackBytes + bytes <= kMaxStackBytes) {
    stackBytes += bytes;
    return LLVM::AllocaOp::create(builder, loc, pointer, storage, constant(count), 64);
  }
  auto malloc = module.lookupSymbol<LLVM::LLVMFuncOp>("malloc");
  if (!malloc) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    malloc = LLVM::LLVMFuncOp::create(top, loc, "malloc", LLVM::LLVMFunctionType::get(pointer, {i64}));
    LLVM::LLVMFuncOp::create(top, loc, "free", LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer}));
  }
  Value memory = LLVM::CallOp::create(builder, loc, malloc, ValueRange{constant(bytes)}).getResult();
  heap.push_back(memory);
  return memory;
}

/// Stores an element of a root's value to all places where it is kept.
void LoopEmitter::storeEverywhere(Value value, ArrayRef<AffineExpr> index, Value scalarValue) {
  SmallVector<AffineExpr> kept(index);
  ArrayRef<int64_t> shape = shapeOf(value);
  if (rowLocal.lookup(value)) {
    unsigned rows = rowDimsOf.lookup(value);
    kept.erase(kept.begin(), kept.begin() + rows);
    shape = shape.drop_front(rows);
  }
  for (Value memory : targets[value])
    store(scalarValue, memory, linearize(shape, kept, context), elementOf(value));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Element `index` of a value: loaded where it is stored, else computed.
Value LoopEmitter::element(Value value, ArrayRef<AffineExpr> rawIndex) {
  Index index = normalize(value, rawIndex);
  unsigned level = levelOf(index);
  auto key = keyOf(value.getAsOpaquePointer(), index);
  if (Value known = lookup(key, current))
    return known;
  unsigned saved = current;
  moveTo(level);
  Value result;
  if (graph.isBase(value)) {
    ArrayRef<int64_t> shape = shapeOf(value);
    ArrayRef<AffineExpr> kept = index;
    if (rowLocal.lookup(value)) {
      unsigned rows = rowDimsOf.lookup(value);
      kept = kept.drop_front(rows);
      shape = shape.drop_front(rows);
    }
    result = load(baseOf(value), elementOf(value), linearize(shape, kept, context));
  } else {
    result = definition(value, index);
  }
  scopes[level].values[key] = result;
  moveTo(saved);
  return result;
}

/// `inside` where every expression lies in [0, bound), else `outside`.
Value LoopEmitter::guarded(ArrayRef<std::pair<AffineExpr, int64_t>> bounds, Type type, llvm::function_ref<Value()> inside,
                           llvm::function_ref<Value()> outside) {
  Value condition;
  for (auto [expr, bound] : bounds) {
    Value at = position(expr);
    // As unsigned numbers, negative positions are beyond every bound.
    Value within = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, at, constant(bound));
    condition = condition ? arith::AndIOp::create(builder, loc, condition, within) : within;
  }
  if (!condition)
    return inside();
  auto branch = scf::IfOp::create(builder, loc, TypeRange{type}, condition, /*addElse=*/true);
  Operation *outer = scopes[current].before;
  unsigned saved = current;
  scopes[current].before = branch; // what does not depend on the branch goes before it
  auto fill = [&](Block *block, llvm::function_ref<Value()> make) {
    scopes.insert(scopes.begin() + current + 1, Scope(block, true));
    moveTo(current + 1);
    Value result = make();
    builder.setInsertionPointToEnd(block);
    scf::YieldOp::create(builder, loc, result);
    scopes.erase(scopes.begin() + saved + 1);
    current = saved;
  };
  fill(branch.thenBlock(), inside);
  fill(branch.elseBlock(), outside);
  scopes[saved].before = outer;
  moveTo(saved);
  return branch.getResult(0);
}

Value LoopEmitter::definition(Value value, ArrayRef<AffineExpr> index) {
  Operation *op = value.getDefiningOp();
  Type type = elementOf(value);
  if (!op)
    return load(baseOf(value), type, linearize(shapeOf(value), index, context));
  if (isPointwise(op)) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    Index loops = *loopsAt(linalgOp, cast<OpResult>(value).getResultNumber(), index);
    SmallVector<Value> inits;
    for (OpOperand &init : linalgOp.getDpsInitsMutable())
      inits.push_back(linalgOp.payloadUsesValueFromOperand(&init)
                          ? element(init.get(), applyMap(linalgOp.getMatchingIndexingMap(&init), loops))
                          : Value());
    return body(linalgOp, loops, inits)[cast<OpResult>(value).getResultNumber()];
  }
  return TypeSwitch<Operation *, Value>(op)
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>([&](Operation *reshape) -> Value {
        Value base = baseThroughReshapes(graph, reshape->getOperand(0));
        if (base && !rowLocal.lookup(base)) {
          bool unitOnly = product(shapeOf(base)) == 1;
          if (!unitOnly)
            return load(baseOf(base), type, linearize(shapeOf(value), index, context));
        }
        return element(reshape->getOperand(0), reshapedIndex(reshape, index));
      })
      .Case([&](tensor::ExtractSliceOp slice) {
        llvm::SmallBitVector dropped = slice.getDroppedDims();
        Index source;
        unsigned next = 0;
        for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets())) {
          AffineExpr expr = dropped.test(dim) ? getAffineConstantExpr(0, context) : index[next++];
          expr = expr * slice.getStaticStrides()[dim];
          if (auto fixed = getConstantIntValue(offset))
            expr = expr + *fixed;
          else
            expr = expr + symbolFor(arith::IndexCastOp::create(builder, loc, i64, scalar(cast<Value>(offset))));
          source.push_back(expr);
        }
        return element(slice.getSource(), source);
      })
      .Case([&](tensor::InsertSliceOp insert) {
        llvm::SmallBitVector dropped = insert.getDroppedDims();
        Index source;
        SmallVector<std::pair<AffineExpr, int64_t>> bounds;
        for (auto [dim, expr] : llvm::enumerate(index)) {
          AffineExpr inner = simplifyAffineExpr(expr - insert.getStaticOffsets()[dim], 64, 1 << 16);
          int64_t size = insert.getStaticSizes()[dim], stride = insert.getStaticStrides()[dim];
          if (!dropped.test(dim))
            source.push_back(inner.floorDiv(stride));
          if ((size - 1) * stride + 1 != insert.getDestType().getDimSize(dim) || insert.getStaticOffsets()[dim] != 0)
            bounds.push_back({inner, (size - 1) * stride + 1});
          if (stride != 1)
            bounds.push_back({inner % stride, 1});
        }
        return guarded(bounds, type, [&] { return element(insert.getSource(), source); },
                       [&] { return element(insert.getDest(), index); });
      })
      .Case([&](tensor::PadOp pad) {
        Index source;
        SmallVector<std::pair<AffineExpr, int64_t>> bounds;
        for (auto [dim, expr] : llvm::enumerate(index)) {
          AffineExpr inner = simplifyAffineExpr(expr - pad.getStaticLow()[dim], 64, 1 << 16);
          source.push_back(inner);
          if (pad.getStaticLow()[dim] != 0 || pad.getStaticHigh()[dim] != 0)
            bounds.push_back({inner, pad.getSourceType().getDimSize(dim)});
        }
        return guarded(bounds, type, [&] { return element(pad.getSource(), source); },
                       [&] { return scalar(pad.getConstantPaddingValue()); });
      })
      .Case([&](tensor::ConcatOp concat) {
        std::function<Value(unsigned, int64_t)> from = [&](unsigned input, int64_t offset) -> Value {
          Value part = concat.getInputs()[input];
          Index source(index);
          source[concat.getDim()] = simplifyAffineExpr(source[concat.getDim()] - offset, 64, 1 << 16);
          int64_t size = shapeOf(part)[concat.getDim()];
          if (input + 1 == concat.getInputs().size())
            return element(part, source);
          return guarded({{source[concat.getDim()], size}}, type, [&] { return element(part, source); },
                         [&] { return from(input + 1, offset + size); });
        };
        return from(0, 0);
      })
      .Case([&](tensor::CastOp cast) { return element(cast.getSource(), index); })
      .Case([&](tensor::SplatOp splat) { return scalar(splat.getInput()); })
      .Case([&](tensor::FromElementsOp from) { return scalar(from.getElements().front()); })
      .Case([&](arith::ConstantOp constantOp) -> Value {
        auto data = cast<DenseElementsAttr>(constantOp.getValue());
        if (data.isSplat())
          return arith::ConstantOp::create(builder, loc, data.getSplatValue<TypedAttr>());
        return load(baseOf(value), type, linearize(shapeOf(value), index, context));
      })
      .Default([&](Operation *) -> Value { // an empty tensor: any value will do
        return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
      });
}

/// A scalar of the function outside all bodies.
Value LoopEmitter::scalar(Value value) {
  auto key = keyOf(value.getAsOpaquePointer(), {});
  if (Value known = lookup(key, current))
    return known;
  Operation *op = value.getDefiningOp();
  Value result;
  if (auto extractOp = dyn_cast<tensor::ExtractOp>(op)) {
    IRMapping none;
    result = extract(extractOp, none);
  } else {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, scalar(operand));
    result = builder.clone(*op, mapping)->getResult(cast<OpResult>(value).getResultNumber());
  }
  scopes[current].values[key] = result;
  return result;
}

Value LoopEmitter::extract(tensor::ExtractOp op, IRMapping &mapping) {
  Index index;
  for (Value at : op.getIndices()) {
    APInt fixed;
    if (matchPattern(at, m_ConstantInt(&fixed))) {
      index.push_back(getAffineConstantExpr(fixed.getSExtValue(), context));
      continue;
    }
    index.push_back(symbolFor(arith::IndexCastOp::create(builder, loc, i64, mapping.lookupOrDefault(at))));
  }
  return element(op.getTensor(), index);
}

/// Copies the body of a structured op for one point of its loops; returns what it yields.
SmallVector<Value> LoopEmitter::body(linalg::LinalgOp op, ArrayRef<AffineExpr> loops, ValueRange accumulators) {
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    if (op.isDpsInit(&operand) || !op.payloadUsesValueFromOperand(&operand))
      continue;
    Value argument = op.getMatchingBlockArgument(&operand);
    mapping.map(argument, isa<RankedTensorType>(operand.get().getType())
                              ? element(operand.get(), applyMap(op.getMatchingIndexingMap(&operand), loops))
                              : scalar(operand.get()));
  }
  Block *block = op.getBlock();
  for (auto [init, accumulator] : llvm::zip(op.getDpsInitsMutable(), accumulators))
    if (accumulator)
      mapping.map(op.getMatchingBlockArgument(&init), accumulator);
  for (Operation &inner : block->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(index.getResult(),
                  arith::IndexCastOp::create(builder, loc, builder.getIndexType(), position(loops[index.getDim()])).getResult());
      continue;
    }
    if (auto extractOp = dyn_cast<tensor::ExtractOp>(inner)) {
      mapping.map(extractOp.getResult(), extract(extractOp, mapping));
      continue;
    }
    for (Value operand : inner.getOperands())
      if (!mapping.contains(operand) && operand.getParentRegion() == &graph.func.getBody())
        mapping.map(operand, scalar(operand));
    Operation *copy = builder.clone(inner, mapping);
    if (auto fast = dyn_cast<arith::ArithFastMathInterface>(copy);
        fast && isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::MaximumFOp,
                    arith::MinimumFOp>(copy)) {
      // Contraction is the same on every run. Sums may be split into lanes, which is fixed at compile time; nothing
      // may assume that there are no NaNs or infinities.
      auto flags = arith::FastMathFlags::contract;
      bool combines = llvm::any_of(inner.getOperands(), [&](Value operand) {
        auto argument = dyn_cast<BlockArgument>(operand);
        return argument && argument.getOwner() == block && argument.getArgNumber() >= op->getNumOperands() - op.getNumDpsInits();
      });
      if (combines && isa<arith::AddFOp, arith::MulFOp>(inner) && op.getNumReductionLoops() > 0)
        flags = flags | arith::FastMathFlags::reassoc;
      // Which of two zeros is the larger one makes no difference to anyone, but three instructions.
      if (isa<arith::MaximumFOp, arith::MinimumFOp>(inner))
        flags = flags | arith::FastMathFlags::nsz;
      copy->setAttr(fast.getFastMathAttrName(), arith::FastMathFlagsAttr::get(context, flags));
    }
  }
  SmallVector<Value> results;
  for (Value value : block->getTerminator()->getOperands()) {
    if (!mapping.contains(value) && value.getParentRegion() == &graph.func.getBody())
      mapping.map(value, scalar(value));
    results.push_back(mapping.lookupOrDefault(value));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// A loop with the given carried values, entered. `parallel`: no iteration depends on memory that another one writes.
scf::ForOp LoopEmitter::loop(Value lower, Value upper, ValueRange init, bool parallel, int64_t step) {
  auto loopOp = scf::ForOp::create(builder, loc, lower, upper, constant(step), init);
  if (parallel) {
    auto group = LLVM::AccessGroupAttr::get(context, DistinctAttr::create(builder.getUnitAttr()));
    groups.push_back(group);
    loopOp->setAttr("llvm.loop_annotation",
                    LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {group}));
  }
  if (init.empty())
    loopOp.getBody()->getTerminator()->erase();
  scopes[current].before = loopOp;
  enter(loopOp.getBody());
  return loopOp;
}

/// The position in pass.loops of the last loop that is parallel for a reduction, plus one.
unsigned LoopEmitter::lastParallel(const Pass &pass, const Root &root) const {
  unsigned last = 0;
  for (auto [depth, dim] : llvm::enumerate(pass.loops))
    if (root.parallel.test(dim))
      last = depth + 1;
  return last;
}

/// Is the running value of a reduction kept in memory, because a parallel loop runs inside a reduction loop?
bool LoopEmitter::inMemory(const Pass &pass, const Root &root) const {
  for (unsigned depth = 0; depth < lastParallel(pass, root); ++depth)
    if (!root.parallel.test(pass.loops[depth]))
      return true;
  return false;
}

static Index indexFor(const Root &root, unsigned value) { return root.indices[value]; }

/// Writes the initial value of a reduction whose running value is in memory.
void LoopEmitter::initialise(const Pass &pass, const Segment &segment, unsigned number, Value lower, Value upper) {
  const Root &root = graph.roots[number];
  unsigned depth = 0;
  auto savedGroups = groups;
  for (unsigned dim : pass.loops) {
    if (!root.parallel.test(dim))
      continue;
    bool isSplit = segment.splitLoop == int64_t(dim) && lower;
    loop(isSplit ? lower : constant(0), isSplit ? upper : constant(pass.trips[dim]), {}, true);
    dims[dim] = cast<scf::ForOp>(scopes[current].block->getParentOp()).getInductionVar();
    dimLevel[dim] = current;
    ++depth;
  }
  for (unsigned v = 0; v < root.values.size(); ++v) {
    linalg::LinalgOp op = root.reduction;
    Value init = element(op.getDpsInits()[v], indexFor(root, v));
    storeEverywhere(root.values[v], indexFor(root, v), init);
  }
  for (; depth > 0; --depth) {
    scf::YieldOp::create(builder, loc);
    leave();
    scopes[current].before = nullptr;
    moveTo(current);
  }
  groups = savedGroups;
}

/// The innermost body for one point: what is to be stored where. Running values in memory are loaded the first time.
SmallVector<std::pair<std::pair<Value, Index>, Value>> LoopEmitter::point(SmallVectorImpl<Running> &running) {
  SmallVector<std::pair<std::pair<Value, Index>, Value>> stores;
  for (Running &run : running) {
    const Root &root = graph.roots[run.root];
    if (!root.reduction) {
      Value value = root.values.front();
      Index index = normalize(value, root.indices.front());
      auto key = keyOf(value.getAsOpaquePointer(), index);
      Value result = lookup(key, current);
      if (!result)
        result = definition(value, index);
      scopes[current].values[key] = result;
      stores.push_back({{value, index}, result});
      continue;
    }
    if (run.accumulators.empty())
      for (unsigned v = 0; v < root.values.size(); ++v) {
        ArrayRef<int64_t> shape = shapeOf(root.values[v]);
        Index kept = indexFor(root, v);
        if (rowLocal.lookup(root.values[v])) {
          unsigned rows = rowDimsOf.lookup(root.values[v]);
          kept.erase(kept.begin(), kept.begin() + rows);
          shape = shape.drop_front(rows);
        }
        run.accumulators.push_back(
            load(targets[root.values[v]].front(), elementOf(root.values[v]), linearize(shape, kept, context)));
      }
    Index point = pointOf(context, root.space), loops;
    for (unsigned dim : root.loopOfDim)
      loops.push_back(point[dim]);
    run.accumulators = body(root.reduction, loops, run.accumulators);
  }
  return stores;
}

/// The innermost body: everything is computed before anything is stored.
void LoopEmitter::points(const Pass &pass, SmallVectorImpl<Running> &running) {
  using Store = std::pair<std::pair<Value, Index>, Value>;
  SmallVector<std::pair<Value, SmallVector<Store>>> all; // with the step they belong to
  for (int64_t step = 0; step < steps; ++step) {
    if (steps > 1) {
      scopes[current].values.clear();
      dims[steppedDim] = arith::AddIOp::create(builder, loc, steppedFrom, constant(step), arith::IntegerOverflowFlags::nsw);
      dimLevel[steppedDim] = current;
    }
    all.push_back({dims[steppedDim], point(running)});
  }
  for (auto &[position, stores] : all) {
    dims[steppedDim] = position;
    for (auto &[place, value] : stores)
      storeEverywhere(place.first, place.second, value);
  }
  for (Running &run : running) {
    const Root &root = graph.roots[run.root];
    if (!root.reduction || !inMemory(pass, root) || lastParallel(pass, root) != pass.loops.size())
      continue;
    for (unsigned v = 0; v < root.values.size(); ++v)
      storeEverywhere(root.values[v], indexFor(root, v), run.accumulators[v]);
    run.accumulators.clear();
  }
}

/// Is the loop at `depth`, the second innermost, a reduction whose running values are in memory? Then several of its steps
/// are taken at a time, so that these are loaded and stored less often.
bool LoopEmitter::addsRows(const Pass &pass, unsigned depth) const {
  if (depth + 2 != pass.loops.size() || pass.trips[pass.loops[depth]] < kSteps)
    return false;
  bool found = false;
  for (unsigned number : pass.roots) {
    const Root &root = graph.roots[number];
    if (!root.reduction)
      continue;
    if (!inMemory(pass, root) || lastParallel(pass, root) != pass.loops.size())
      return false;
    found |= !root.parallel.test(pass.loops[depth]);
  }
  return found;
}

void LoopEmitter::closeLoop() {
  leave();
  scopes[current].before = nullptr;
  moveTo(current);
}

/// The two innermost loops when several steps of the outer one are taken at a time.
void LoopEmitter::steppedNest(const Segment &segment, const Pass &pass, unsigned depth, SmallVectorImpl<Running> &running,
                              Value lower, Value upper) {
  unsigned dim = pass.loops[depth];
  int64_t trips = pass.trips[dim], most = trips / kSteps * kSteps;
  for (auto [from, to, step] : {std::tuple{int64_t(0), most, kSteps}, {most, trips, int64_t(1)}}) {
    if (from == to)
      continue;
    scf::ForOp outer = loop(constant(from), constant(to), {}, false, step);
    dims[dim] = steppedFrom = outer.getInductionVar();
    dimLevel[dim] = current;
    steppedDim = dim;
    steps = step;
    nest(segment, pass, depth + 1, running, lower, upper);
    steps = 1;
    scf::YieldOp::create(builder, loc);
    closeLoop();
  }
}

/// The loops of a pass from `depth` inwards.
void LoopEmitter::nest(const Segment &segment, const Pass &pass, unsigned depth, SmallVectorImpl<Running> &running, Value lower,
                       Value upper) {
  // Begin the reductions whose parallel loops are all around us.
  SmallVector<Running *> begun;
  for (Running &run : running) {
    const Root &root = graph.roots[run.root];
    if (!root.reduction || lastParallel(pass, root) != depth || depth == pass.loops.size())
      continue;
    begun.push_back(&run);
    for (unsigned v = 0; v < root.values.size(); ++v) {
      Index index = indexFor(root, v);
      linalg::LinalgOp op = root.reduction;
      run.accumulators.push_back(inMemory(pass, root) ? element(root.values[v], index) : element(op.getDpsInits()[v], index));
    }
  }
  if (depth == pass.loops.size()) {
    // No reduction loops at all (all of size 1): one step from the initial value.
    for (Running &run : running) {
      const Root &root = graph.roots[run.root];
      if (root.reduction && run.accumulators.empty() && !inMemory(pass, root)) {
        begun.push_back(&run);
        linalg::LinalgOp op = root.reduction;
        for (unsigned v = 0; v < root.values.size(); ++v)
          run.accumulators.push_back(element(op.getDpsInits()[v], indexFor(root, v)));
      }
    }
    points(pass, running);
  } else if (addsRows(pass, depth)) {
    steppedNest(segment, pass, depth, running, lower, upper);
  } else {
    unsigned dim = pass.loops[depth];
    SmallVector<Value> carried;
    for (Running &run : running)
      llvm::append_range(carried, run.accumulators);
    bool parallel = carried.empty() && llvm::all_of(running, [&](Running &run) { return graph.roots[run.root].parallel.test(dim); });
    bool isSplit = segment.splitLoop == int64_t(dim) && lower;
    Value from = isSplit ? lower : constant(0), to = isSplit ? upper : constant(pass.trips[dim]);
    auto savedGroups = groups;
    scf::ForOp loopOp = loop(from, to, carried, parallel);
    dims[dim] = loopOp.getInductionVar();
    dimLevel[dim] = current;
    unsigned next = 0;
    for (Running &run : running)
      for (Value &accumulator : run.accumulators)
        accumulator = loopOp.getRegionIterArg(next++);
    nest(segment, pass, depth + 1, running, lower, upper);
    SmallVector<Value> yielded;
    for (Running &run : running)
      llvm::append_range(yielded, run.accumulators);
    scf::YieldOp::create(builder, loc, yielded);
    leave();
    scopes[current].before = nullptr;
    moveTo(current);
    groups = savedGroups;
    next = 0;
    for (Running &run : running)
      for (Value &accumulator : run.accumulators)
        accumulator = loopOp.getResult(next++);
  }
  for (Running *run : begun) {
    const Root &root = graph.roots[run->root];
    for (unsigned v = 0; v < root.values.size(); ++v) {
      storeEverywhere(root.values[v], indexFor(root, v), run->accumulators[v]);
      auto key = keyOf(root.values[v].getAsOpaquePointer(), indexFor(root, v));
      scopes[current].values[key] = run->accumulators[v];
    }
    run->accumulators.clear();
  }
}

void LoopEmitter::pass(const Segment &segment, const Pass &pass, Value lower, Value upper) {
  for (unsigned dim = 0; dim < pass.space.size(); ++dim)
    if (dim >= segment.rowDims) {
      dims[dim] = constant(0);
      dimLevel[dim] = current;
    }
  SmallVector<Running> running;
  for (unsigned root : pass.roots) {
    running.push_back({root, {}});
    if (graph.roots[root].reduction && inMemory(pass, graph.roots[root]))
      initialise(pass, segment, root, lower, upper);
  }
  for (unsigned dim = 0; dim < pass.space.size(); ++dim)
    if (dim >= segment.rowDims) {
      dims[dim] = constant(0);
      dimLevel[dim] = current;
    }
  nest(segment, pass, 0, running, lower, upper);
}

void LoopEmitter::segment(const Segment &segment, Value begin, Value end) {
  if (segment.rowDims == 0) {
    Value lower, upper;
    if (segment.splitLoop >= 0) {
      Value chunk = constant(segment.chunk);
      lower = arith::MulIOp::create(builder, loc, begin, chunk);
      upper = arith::MulIOp::create(builder, loc, end, chunk);
      upper = arith::MinSIOp::create(builder, loc, upper, constant(segment.passes.front().trips[segment.splitLoop]));
    } else if (!schedule.sequential) {
      // Work that is not split belongs to the part that includes its only unit.
      Value mine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, begin, end);
      auto branch = scf::IfOp::create(builder, loc, mine, /*withElseRegion=*/false);
      branch.thenBlock()->getTerminator()->erase();
      scopes[current].before = branch;
      enter(branch.thenBlock(), true);
      pass(segment, segment.passes.front(), {}, {});
      scf::YieldOp::create(builder, loc);
      leave();
      scopes[current].before = nullptr;
      moveTo(current);
      return;
    }
    pass(segment, segment.passes.front(), lower, upper);
    return;
  }
  auto savedGroups = groups;
  scf::ForOp rows = loop(begin, end, {}, false);
  Value rest = rows.getInductionVar();
  for (unsigned dim = segment.rowDims; dim-- > 0;) {
    if (dim == 0) {
      dims[dim] = rest;
    } else {
      Value size = constant(segment.rowShape[dim]);
      dims[dim] = arith::RemUIOp::create(builder, loc, rest, size);
      rest = arith::DivUIOp::create(builder, loc, rest, size);
    }
    dimLevel[dim] = current;
  }
  floor = current;
  for (const Pass &p : segment.passes)
    pass(segment, p, {}, {});
  floor = 0;
  scf::YieldOp::create(builder, loc);
  leave();
  scopes[current].before = nullptr;
  moveTo(current);
  groups = savedGroups;
}

LogicalResult LoopEmitter::run(StringRef name) {
  func::FuncOp source = graph.func;
  unsigned inputs = source.getNumArguments();
  SmallVector<Type> types(inputs + source.getNumResults(), pointer);
  types.append(2, i64);
  builder.setInsertionPoint(source);
  kernel = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, {}));
  kernel.setPrivate();
  kernel->setAttr("llvm.linkage", LLVM::LinkageAttr::get(context, LLVM::Linkage::Internal));
  llvm::BitVector mayAlias(types.size());
  for (auto [result, argument] : llvm::enumerate(graph.inplace))
    if (argument >= 0) {
      mayAlias.set(inputs + result);
      mayAlias.set(argument);
    }
  Block *entry = kernel.addEntryBlock();
  for (unsigned i = 0; i < inputs + source.getNumResults(); ++i) {
    if (!mayAlias.test(i))
      kernel.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
    kernel.setArgAttr(i, "llvm.nocapture", builder.getUnitAttr());
  }
  for (unsigned i = 0; i < inputs; ++i)
    if (!mayAlias.test(i))
      kernel.setArgAttr(i, "llvm.readonly", builder.getUnitAttr());
  enter(entry);
  // Everything that is stored gets its place: results first, scratch memory for the rest.
  auto ret = cast<func::ReturnOp>(source.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(ret.getOperands()))
    targets[value].push_back(kernel.getArgument(inputs + i));
  for (auto [number, root] : llvm::enumerate(graph.roots)) {
    unsigned home = schedule.segmentOf[number];
    bool local = schedule.segments[home].rowDims > 0;
    for (unsigned user = 0; user < graph.roots.size(); ++user)
      local &= !graph.reads(user, number) || schedule.segmentOf[user] == home;
    for (Value value : root.values) {
      if (targets.contains(value))
        continue;
      unsigned rows = local ? schedule.segments[home].rowDims : 0;
      rowLocal[value] = local;
      rowDimsOf[value] = rows;
      targets[value].push_back(allocate(value, shapeOf(value).drop_front(rows)));
    }
  }
  Value begin = kernel.getArgument(types.size() - 2), end = kernel.getArgument(types.size() - 1);
  moveTo(0);
  int64_t offset = 0;
  bool single = schedule.segments.size() == 1;
  for (const Segment &part : schedule.segments) {
    Value from = begin, to = end;
    if (schedule.sequential) {
      from = constant(0);
      to = constant(part.extent);
    } else if (!single) {
      auto clamp = [&](Value at) {
        Value shifted = arith::SubIOp::create(builder, loc, at, constant(offset));
        shifted = arith::MaxSIOp::create(builder, loc, shifted, constant(0));
        return arith::MinSIOp::create(builder, loc, shifted, constant(part.extent)).getResult();
      };
      from = clamp(begin);
      to = clamp(end);
    }
    segment(part, from, to);
    offset += part.extent;
  }
  if (!heap.empty()) {
    auto freeFunc = module.lookupSymbol<LLVM::LLVMFuncOp>("free");
    for (Value memory : heap)
      LLVM::CallOp::create(builder, loc, freeFunc, memory);
  }
  func::ReturnOp::create(builder, loc);
  leave();
  return status;
}

} // namespace

LogicalResult emitLoops(const KernelGraph &graph, const Schedule &schedule, ModuleOp module, StringRef name) {
  return LoopEmitter(graph, schedule, module).run(name);
}

} // namespace dgc
