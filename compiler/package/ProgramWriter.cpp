//===- ProgramWriter.cpp - one program of an artifact, being written -------===//

#include "compiler/package/ProgramWriter.h"
#include "dialects/dist/Dist.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/package/PackageOpInterface.cpp.inc"

using namespace mlir;
namespace fb = dgc::artifact;

/// The element type of the artifact, or nothing.
static std::optional<fb::DType> elementType(Type type) {
  using Result = std::optional<fb::DType>;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return fb::DType::I1;
    case 8:
      return isUnsigned ? fb::DType::U8 : fb::DType::I8;
    case 16:
      return isUnsigned ? fb::DType::U16 : fb::DType::I16;
    case 32:
      return isUnsigned ? fb::DType::U32 : fb::DType::I32;
    case 64:
      return isUnsigned ? fb::DType::U64 : fb::DType::I64;
    default:
      return std::nullopt;
    }
  }
  return TypeSwitch<Type, Result>(type)
      .Case([](Float16Type) { return fb::DType::F16; })
      .Case([](BFloat16Type) { return fb::DType::BF16; })
      .Case([](Float32Type) { return fb::DType::F32; })
      .Case([](Float64Type) { return fb::DType::F64; })
      .Default([](Type) { return std::nullopt; });
}

namespace dgc {

std::string textOfLocation(Location location) {
  std::string text;
  location->walk([&](Location loc) {
    if (auto file = dyn_cast<FileLineColLoc>(loc)) {
      text = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return text;
}

FailureOr<std::unique_ptr<fb::BufferT>> describeBuffer(Operation *op, fb::Space space, uint64_t offset, Type type,
                                                       StringRef name) {
  auto shaped = cast<ShapedType>(type);
  std::optional<fb::DType> dtype = elementType(shaped.getElementType());
  if (!dtype) {
    return op->emitOpError("has elements of type ") << shaped.getElementType() << ", which an artifact cannot hold";
  }
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->space = space;
  buffer->offset = offset;
  buffer->dtype = *dtype;
  buffer->shape = toVector(shaped.getShape());
  buffer->name = name.str();
  return buffer;
}

FailureOr<std::unique_ptr<fb::ShardingT>> describeSharding(Operation *op, const PlanIndices &indices,
                                                           std::optional<Attribute> attribute, int64_t rank) {
  auto sharding = dyn_cast_or_null<dist::ShardingAttr>(attribute.value_or(Attribute()));
  if (!sharding) {
    return std::unique_ptr<fb::ShardingT>();
  }
  auto result = std::make_unique<fb::ShardingT>();
  for (dist::DimShardingAttr dim : sharding.getDims()) {
    auto entry = std::make_unique<fb::DimShardingT>();
    for (dist::AxisRefAttr axis : dim.getAxes()) {
      entry->axes.push_back(indices.meshAxes.lookup(axis.getName().getValue()));
      dist::OriginAttr origin = axis.getOrigin();
      std::string decided = (stringifyOriginKind(origin.getKind()) + " " + origin.getName().getValue()).str();
      entry->origins.push_back(StringRef(decided).trim().str());
    }
    result->dims.push_back(std::move(entry));
  }
  if (static_cast<int64_t>(result->dims.size()) != rank) {
    return op->emitOpError("has a sharding of rank ") << result->dims.size() << " for a tensor of rank " << rank;
  }
  return result;
}

FailureOr<int32_t> groupOf(Operation *op, const PlanIndices &indices, std::optional<StringRef> mesh) {
  if (!mesh) {
    return -1;
  }
  auto it = indices.groups.find(*mesh);
  if (it == indices.groups.end()) {
    return op->emitOpError("names the mesh @") << *mesh << ", which is not one of a part of the workers";
  }
  return static_cast<int32_t>(it->second);
}

LogicalResult ProgramWriter::addOps(Block &block) {
  for (Operation &op : block) {
    auto packaged = dyn_cast<PackageOpInterface>(op);
    if (!packaged) {
      return op.emitOpError("is nothing that an artifact can hold");
    }
    if (failed(packaged.package(*this))) {
      return failure();
    }
  }
  return success();
}

FailureOr<uint32_t> ProgramWriter::addSteps(Region &region) {
  const size_t before = program.steps.size();
  for (Block &block : region) {
    if (failed(addOps(block))) {
      return failure();
    }
  }
  return static_cast<uint32_t>(program.steps.size() - before);
}

LogicalResult ProgramWriter::addBuffer(Value value, FailureOr<std::unique_ptr<fb::BufferT>> buffer) {
  if (failed(buffer)) {
    return failure();
  }
  numbers[value] = program.buffers.size();
  program.buffers.push_back(std::move(*buffer));
  return success();
}

std::vector<uint32_t> ProgramWriter::indexAll(ValueRange buffers) const {
  std::vector<uint32_t> result;
  for (Value buffer : buffers) {
    result.push_back(index(buffer));
  }
  return result;
}

void ProgramWriter::beginCollective(int64_t order) {
  program.steps.back()->queue = 1;
  underWay[order] = program.steps.size() - 1;
}

fb::StepT &ProgramWriter::newStep(Operation *op, StringRef name) {
  auto step = std::make_unique<fb::StepT>();
  step->waits = std::exchange(awaited, {});
  step->location = textOfLocation(op->getLoc());
  step->name = (name.empty() ? op->getName().stripDialect() : name).str();
  // The slot of a pipeline that the step belongs to, as in [F3]: the last of its ops says, where a kernel does what a
  // backward pass needs of the forward pass as well.
  StringRef slot;
  op->getLoc()->walk([&](Location loc) {
    if (auto labelled = dyn_cast<FusedLocWith<StringAttr>>(loc)) {
      slot = labelled.getMetadata().getValue();
    }
    return WalkResult::advance();
  });
  if (!slot.empty()) {
    step->name += (" [" + slot + "]").str();
  }
  program.steps.push_back(std::move(step));
  return *program.steps.back();
}

} // namespace dgc
