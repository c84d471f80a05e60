// Ops on tensors as nests of the bytecode.

#include "compiler/target/reference/KernelWriter.h"
#include "compiler/target/reference/NestWriter.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dgc {

using reference::AccessT;
using reference::Opcode;
using reference::Type;

namespace {
class KernelWriter {
public:
  KernelWriter(func::FuncOp func, SmallVectorImpl<Location> *locations) : func(func), locations(locations) {}
  FailureOr<std::unique_ptr<reference::KernelT>> run();

private:
  LogicalResult write(Operation &op);
  LogicalResult write(linalg::LinalgOp op);
  LogicalResult write(tensor::ExtractSliceOp op);
  LogicalResult write(tensor::InsertSliceOp op);
  LogicalResult write(tensor::PadOp op);
  LogicalResult writeResults(func::ReturnOp op);
  FailureOr<TensorPlace> writeConstant(Operation *op, ElementsAttr value);

  FailureOr<TensorPlace> addBuffer(RankedTensorType type, Location loc);
  FailureOr<TensorPlace> placeOf(Value tensor);
  FailureOr<TensorPlace> initialized(Value init, bool isRead);
  NestWriter nest(Location loc, ArrayRef<int64_t> extents) {
    return NestWriter(loc, extents, [this](Value tensor) { return placeOf(tensor); });
  }
  void finish(NestWriter &writer) {
    kernel->nests.push_back(writer.take());
    if (locations)
      locations->push_back(writer.location());
  }
  void copy(Location loc, RankedTensorType type, TensorPlace from, TensorPlace to);

  func::FuncOp func;
  SmallVectorImpl<Location> *locations; // of the nests; may be null
  std::unique_ptr<reference::KernelT> kernel = std::make_unique<reference::KernelT>();
  DenseMap<Value, TensorPlace> places;
};
} // namespace

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static Type elementOf(RankedTensorType type) { return *bytecodeType(type.getElementType()); }

static AccessT accessTo(TensorPlace place, int64_t offset, ArrayRef<int64_t> strides) {
  AccessT access;
  access.buffer = place.buffer;
  access.offset = offset;
  access.strides.assign(strides.begin(), strides.end());
  return access;
}

/// The whole tensor, in loops over its dimensions.
static AccessT accessTo(TensorPlace place, RankedTensorType type) {
  return accessTo(place, 0, stridesOf(place, type.getShape()));
}

/// The element that `map` chooses, in loops that are its dimensions; none where it is not linear in these.
static std::optional<AccessT> accessTo(TensorPlace place, RankedTensorType type, AffineMap map) {
  int64_t offset = 0;
  SmallVector<int64_t> strides(map.getNumDims(), 0);
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), stridesOf(place, type.getShape()))) {
    SmallVector<int64_t> flat;
    if (failed(getFlattenedAffineExpr(expr, map.getNumDims(), 0, &flat)) || flat.size() != map.getNumDims() + 1)
      return std::nullopt;
    for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
      strides[dim] += stride * flat[dim];
    offset += stride * flat.back();
  }
  return accessTo(place, offset, strides);
}

FailureOr<TensorPlace> KernelWriter::addBuffer(RankedTensorType type, Location loc) {
  std::optional<Type> element = bytecodeType(type.getElementType());
  if (!element || !type.hasStaticShape())
    return emitError(loc, "cannot be interpreted: the reference has no ") << type, failure();
  auto buffer = std::make_unique<reference::BufferT>();
  buffer->type = *element;
  buffer->count = type.getNumElements();
  kernel->buffers.push_back(std::move(buffer));
  return TensorPlace{static_cast<uint32_t>(kernel->buffers.size() - 1)};
}

FailureOr<TensorPlace> KernelWriter::placeOf(Value tensor) {
  if (auto found = places.find(tensor); found != places.end())
    return found->second;
  // What nothing has written: only its size matters.
  FailureOr<TensorPlace> place = addBuffer(typeOf(tensor), tensor.getLoc());
  if (succeeded(place))
    places[tensor] = *place;
  return place;
}

void KernelWriter::copy(Location loc, RankedTensorType type, TensorPlace from, TensorPlace to) {
  NestWriter writer = nest(loc, type.getShape());
  writer.output(accessTo(to, type), writer.load(elementOf(type), accessTo(from, type)));
  finish(writer);
}

/// A new buffer for what an op makes of `init`, with the elements of that where they are read or stay.
FailureOr<TensorPlace> KernelWriter::initialized(Value init, bool isRead) {
  FailureOr<TensorPlace> place = addBuffer(typeOf(init), init.getLoc());
  if (failed(place) || !isRead || init.getDefiningOp<tensor::EmptyOp>())
    return place;
  FailureOr<TensorPlace> from = placeOf(init);
  if (failed(from))
    return failure();
  copy(init.getLoc(), typeOf(init), *from, *place);
  return place;
}

FailureOr<TensorPlace> KernelWriter::writeConstant(Operation *op, ElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  FailureOr<TensorPlace> place = addBuffer(type, op->getLoc());
  if (failed(place))
    return failure();
  reference::BufferT &buffer = *kernel->buffers.back();
  place->isSplat = value.isSplat();
  buffer.count = place->isSplat ? 1 : buffer.count;
  auto append = [&](const APInt &bits) {
    for (unsigned i = 0; i < reference::sizeOf(buffer.type); ++i)
      buffer.data.push_back(static_cast<uint8_t>(bits.getZExtValue() >> (8 * i)));
  };
  auto elements = [&](const auto &values, auto bitsOf) {
    for (const auto &each : llvm::make_range(values.begin(), values.begin() + buffer.count))
      append(bitsOf(each));
  };
  if (isa<FloatType>(type.getElementType()))
    elements(value.getValues<APFloat>(), [](const APFloat &each) { return each.bitcastToAPInt(); });
  else
    elements(value.getValues<APInt>(), [](const APInt &each) { return each; });
  return place;
}

/// The element of a tensor that `map` chooses, as an instruction; none where an index cannot be computed.
static std::optional<uint32_t> readElement(NestWriter &writer, TensorPlace place, RankedTensorType type,
                                           AffineMap map) {
  if (std::optional<AccessT> access = accessTo(place, type, map))
    return writer.load(elementOf(type), *access);
  uint32_t element = writer.integer(0);
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), stridesOf(place, type.getShape()))) {
    std::optional<uint32_t> position = writer.affine(expr);
    if (!position)
      return std::nullopt;
    element = writer.add(element, writer.scaled(*position, stride));
  }
  return writer.loadAt(elementOf(type), place, element);
}

LogicalResult KernelWriter::write(linalg::LinalgOp op) {
  NestWriter writer = nest(op.getLoc(), op.getStaticLoopRanges());
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      writer.setReduces(loop);
  auto unsupported = [&] { return op.emitOpError("cannot be interpreted: the reference has no such indices"); };
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value argument = op.getMatchingBlockArgument(input);
    if (!op.payloadUsesValueFromOperand(input))
      continue;
    if (!isa<RankedTensorType>(input->get().getType())) {
      FailureOr<uint32_t> value = writer.scalar(input->get());
      if (failed(value))
        return failure();
      writer.know(argument, *value);
      continue;
    }
    FailureOr<TensorPlace> place = placeOf(input->get());
    if (failed(place))
      return failure();
    std::optional<uint32_t> value = readElement(writer, *place, typeOf(input->get()), op.getMatchingIndexingMap(input));
    if (!value)
      return unsupported();
    writer.know(argument, *value);
  }
  SmallVector<TensorPlace> results;
  for (auto [number, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    const bool isRead = op.payloadUsesValueFromOperand(&init);
    const bool isWhole = op.getMatchingIndexingMap(&init).isProjectedPermutation();
    FailureOr<TensorPlace> place = initialized(init.get(), isRead || !isWhole);
    if (failed(place))
      return failure();
    results.push_back(*place);
    if (isRead)
      writer.know(op.getMatchingBlockArgument(&init), writer.current(number, elementOf(typeOf(init.get()))));
  }
  for (auto [number, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    FailureOr<uint32_t> value = writer.scalar(op.getBlock()->getTerminator()->getOperand(number));
    std::optional<AccessT> access = accessTo(results[number], typeOf(init.get()), op.getMatchingIndexingMap(&init));
    if (failed(value))
      return failure();
    if (!access)
      return unsupported();
    writer.output(*std::move(access), *value);
    places[op->getResult(number)] = results[number];
  }
  finish(writer);
  return success();
}

/// The strides of the dimensions of a slice that are not dropped, in elements of the whole.
template <typename Op> static FailureOr<SmallVector<int64_t>> sliceStrides(Op op, ArrayRef<int64_t> whole) {
  SmallVector<int64_t> strides;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [dim, stride] : llvm::enumerate(op.getStaticStrides())) {
    if (ShapedType::isDynamic(stride))
      return op.emitOpError("cannot be interpreted: a stride is not constant"), failure();
    if (!dropped.test(dim))
      strides.push_back(stride * whole[dim]);
  }
  return strides;
}

LogicalResult KernelWriter::write(tensor::ExtractSliceOp op) {
  FailureOr<TensorPlace> source = placeOf(op.getSource()), place = addBuffer(op.getType(), op.getLoc());
  if (failed(source) || failed(place))
    return failure();
  SmallVector<int64_t> whole = stridesOf(*source, op.getSourceType().getShape());
  FailureOr<SmallVector<int64_t>> strides = sliceStrides(op, whole);
  if (failed(strides))
    return failure();
  NestWriter writer = nest(op.getLoc(), op.getType().getShape());
  int64_t fixed = 0;
  std::optional<uint32_t> moving;
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    if (auto constant = getConstantIntValue(offset)) {
      fixed += *constant * whole[dim];
      continue;
    }
    FailureOr<uint32_t> number = writer.scalar(cast<Value>(offset));
    if (failed(number))
      return failure();
    uint32_t part = writer.scaled(*number, whole[dim]);
    moving = moving ? writer.add(*moving, part) : part;
  }
  const Type element = elementOf(op.getType());
  uint32_t value;
  if (moving) {
    uint32_t at = writer.add(*moving, writer.integer(fixed));
    for (auto [loop, stride] : llvm::enumerate(*strides))
      at = writer.add(at, writer.scaled(writer.index(loop), stride));
    value = writer.loadAt(element, *source, at);
  } else {
    value = writer.load(element, accessTo(*source, fixed, *strides));
  }
  writer.output(accessTo(*place, op.getType()), value);
  finish(writer);
  places[op] = *place;
  return success();
}

LogicalResult KernelWriter::write(tensor::InsertSliceOp op) {
  FailureOr<TensorPlace> source = placeOf(op.getSource()), place = initialized(op.getDest(), /*isRead=*/true);
  if (failed(source) || failed(place))
    return failure();
  SmallVector<int64_t> whole = stridesOf(*place, op.getType().getShape());
  FailureOr<SmallVector<int64_t>> strides = sliceStrides(op, whole);
  if (failed(strides))
    return failure();
  int64_t offset = 0;
  for (auto [dim, each] : llvm::enumerate(op.getStaticOffsets())) {
    if (ShapedType::isDynamic(each))
      return op.emitOpError("cannot be interpreted: an offset is not constant");
    offset += each * whole[dim];
  }
  NestWriter writer = nest(op.getLoc(), op.getSourceType().getShape());
  writer.output(accessTo(*place, offset, *strides),
                writer.load(elementOf(op.getType()), accessTo(*source, op.getSourceType())));
  finish(writer);
  places[op] = *place;
  return success();
}

LogicalResult KernelWriter::write(tensor::PadOp op) {
  Value padding = op.getConstantPaddingValue();
  FailureOr<TensorPlace> source = placeOf(op.getSource()), place = addBuffer(op.getResultType(), op.getLoc());
  if (failed(source) || failed(place))
    return failure();
  if (!padding || !op.getResultType().hasStaticShape())
    return op.emitOpError("cannot be interpreted: the padding is not constant");
  NestWriter filled = nest(op.getLoc(), op.getResultType().getShape());
  FailureOr<uint32_t> value = filled.scalar(padding);
  if (failed(value))
    return failure();
  filled.output(accessTo(*place, op.getResultType()), *value);
  finish(filled);
  SmallVector<int64_t> whole = stridesOf(*place, op.getResultType().getShape());
  int64_t offset = 0;
  for (auto [low, stride] : llvm::zip_equal(op.getStaticLow(), whole))
    offset += low * stride;
  NestWriter inner = nest(op.getLoc(), op.getSourceType().getShape());
  inner.output(accessTo(*place, offset, whole),
               inner.load(elementOf(op.getSourceType()), accessTo(*source, op.getSourceType())));
  finish(inner);
  places[op] = *place;
  return success();
}

/// Arguments that are returned are taken before any result is written, as results may lie in the memory of arguments.
LogicalResult KernelWriter::writeResults(func::ReturnOp op) {
  SmallVector<TensorPlace> sources;
  for (Value value : op.getOperands()) {
    FailureOr<TensorPlace> place = placeOf(value);
    if (failed(place))
      return failure();
    if (place->buffer < func.getNumArguments()) {
      FailureOr<TensorPlace> taken = addBuffer(typeOf(value), op.getLoc());
      if (failed(taken))
        return failure();
      copy(op.getLoc(), typeOf(value), *place, *taken);
      place = taken;
    }
    sources.push_back(*place);
  }
  for (auto [number, value] : llvm::enumerate(op.getOperands()))
    copy(op.getLoc(), typeOf(value), sources[number],
         TensorPlace{static_cast<uint32_t>(func.getNumArguments() + number)});
  return success();
}

LogicalResult KernelWriter::write(Operation &op) {
  ElementsAttr constant;
  if (op.getNumResults() == 1 && matchPattern(&op, m_Constant(&constant))) {
    FailureOr<TensorPlace> place = writeConstant(&op, constant);
    if (succeeded(place))
      places[op.getResult(0)] = *place;
    return success(succeeded(place));
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<linalg::LinalgOp>([&](auto each) { return write(each); })
      .Case<tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::PadOp>([&](auto each) { return write(each); })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>([&](Operation *view) {
        FailureOr<TensorPlace> place = placeOf(view->getOperand(0));
        if (succeeded(place))
          places[view->getResult(0)] = *place;
        return success(succeeded(place));
      })
      .Case<func::ReturnOp>([&](func::ReturnOp ret) { return writeResults(ret); })
      .Case<tensor::EmptyOp>([](Operation *) { return success(); })
      .Default([](Operation *other) -> LogicalResult {
        // Scalars are computed where they are used.
        if (llvm::none_of(other->getResultTypes(), [](mlir::Type type) { return isa<ShapedType>(type); }))
          return success();
        return other->emitOpError("cannot be interpreted: the reference has no such operation");
      });
}

FailureOr<std::unique_ptr<reference::KernelT>> KernelWriter::run() {
  kernel->symbol = func.getName().str();
  kernel->inputs = func.getNumArguments();
  kernel->results = func.getNumResults();
  for (BlockArgument argument : func.getArguments()) {
    FailureOr<TensorPlace> place = addBuffer(typeOf(argument), func.getLoc());
    if (failed(place))
      return failure();
    places[argument] = *place;
  }
  for (mlir::Type type : func.getResultTypes())
    if (failed(addBuffer(cast<RankedTensorType>(type), func.getLoc())))
      return failure();
  for (Operation &op : func.getBody().front())
    if (failed(write(op)))
      return failure();
  return std::move(kernel);
}

FailureOr<std::unique_ptr<reference::KernelT>> writeKernel(func::FuncOp func, SmallVectorImpl<Location> *locations) {
  return KernelWriter(func, locations).run();
}

std::vector<uint8_t> finishKernels(const reference::KernelsT &kernels) {
  flatbuffers::FlatBufferBuilder builder;
  reference::FinishKernelsBuffer(builder, reference::Kernels::Pack(builder, &kernels));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

/// Operations of a nest, in all its iterations.
static uint64_t operationsOf(const reference::NestT &nest) {
  uint64_t iterations = 1;
  for (int64_t extent : nest.extents)
    iterations *= extent;
  return iterations * llvm::count_if(nest.body, [](const reference::Instruction &each) {
           return each.opcode() > static_cast<uint8_t>(Opcode::Current);
         });
}

CompiledKernel describeKernel(const reference::KernelT &kernel) {
  CompiledKernel result;
  result.symbol = kernel.symbol;
  result.argCount = kernel.inputs + kernel.results;
  for (const auto &nest : kernel.nests)
    result.flops += operationsOf(*nest);
  result.costNs = result.flops; // one each
  for (const auto &buffer : llvm::drop_begin(kernel.buffers, result.argCount))
    if (buffer->data.empty())
      result.workspaceBytes += llvm::alignTo(buffer->count * reference::sizeOf(buffer->type), 64);
  return result;
}

} // namespace dgc
