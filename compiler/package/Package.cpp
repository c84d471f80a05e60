//===- Package.cpp - from exec programs to an artifact ---------------------===//

#include "compiler/package/Package.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "dialects/exec/Exec.h"
#include "runtime/artifact/Writer.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::exec;
namespace fb = ::dgc::artifact;

/// The element type of the artifact, or nothing.
static std::optional<fb::DType> elementType(Type type) {
  if (type.isF16()) {
    return fb::DType::F16;
  }
  if (type.isBF16()) {
    return fb::DType::BF16;
  }
  if (type.isF32()) {
    return fb::DType::F32;
  }
  if (type.isF64()) {
    return fb::DType::F64;
  }
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer) {
    return std::nullopt;
  }
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

/// How the text of a role appears in the artifact.
static std::optional<fb::InputRole> inputRole(StringRef role) {
  return llvm::StringSwitch<std::optional<fb::InputRole>>(role)
      .Case("data", fb::InputRole::Data)
      .Case("valid_count", fb::InputRole::ValidCount)
      .Case("step", fb::InputRole::Step)
      .Case("seed", fb::InputRole::Seed)
      .Case("axis_index", fb::InputRole::AxisIndex)
      .Default(std::nullopt);
}

static std::optional<fb::OutputRole> outputRole(StringRef role) {
  return llvm::StringSwitch<std::optional<fb::OutputRole>>(role)
      .Case("loss", fb::OutputRole::Loss)
      .Case("metric", fb::OutputRole::Metric)
      .Case("prediction", fb::OutputRole::Prediction)
      .Default(std::nullopt);
}

/// `file:line:column` of the first source location, or nothing.
static std::string locationOf(Operation *op) {
  std::string text;
  op->getLoc()->walk([&](Location loc) {
    if (auto file = dyn_cast<FileLineColLoc>(loc)) {
      text = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return text;
}

static std::vector<int64_t> list(ArrayRef<int64_t> values) { return {values.begin(), values.end()}; }

/// The elements of a constant, in row-major order, as they are stored.
static LogicalResult appendConstant(Operation *op, ElementsAttr value, std::vector<uint8_t> &bytes) {
  uint64_t width = storageBytes(value.getElementType());
  auto append = [&](const APInt &element) {
    uint64_t word = element.getZExtValue();
    for (uint64_t i = 0; i < width; ++i) {
      bytes.push_back(static_cast<uint8_t>(word >> (8 * i)));
    }
  };
  if (isa<FloatType>(value.getElementType())) {
    auto elements = value.tryGetValues<APFloat>();
    if (!elements) {
      return op->emitOpError("has a constant that cannot be read: ") << value;
    }
    for (const APFloat &element : *elements) {
      append(element.bitcastToAPInt());
    }
    return success();
  }
  auto elements = value.tryGetValues<APInt>();
  if (!elements) {
    return op->emitOpError("has a constant that cannot be read: ") << value;
  }
  for (const APInt &element : *elements) {
    append(element);
  }
  return success();
}

namespace {

class Packager {
public:
  Packager(ModuleOp module, const ::dgc::CompiledKernels &kernels) : module(module), kernels(kernels) {}
  LogicalResult run(const ::dgc::PackageOptions &options);
  fb::PlanT plan;

private:
  LogicalResult addMesh();
  LogicalResult addGroups(ArrayRef<dist::MeshOp> meshes);
  FailureOr<int32_t> groupOf(Operation *op, std::optional<StringRef> mesh);
  LogicalResult addKernels();
  LogicalResult addConstants();
  LogicalResult addVariable(VariableOp op);
  LogicalResult addProgram(ProgramOp op);
  LogicalResult addStep(Operation *op, fb::ProgramT &program);
  FailureOr<std::unique_ptr<fb::BufferT>> describeBuffer(Operation *op, Space space, uint64_t offset, Type type,
                                                         StringRef name);
  FailureOr<std::unique_ptr<fb::ShardingT>> describeSharding(Operation *op, std::optional<Attribute> sharding,
                                                             int64_t rank);
  std::vector<std::unique_ptr<fb::PostOpT>> postOps(std::optional<ArrayAttr> ops, ValueRange args);
  uint32_t index(Value buffer) { return buffers.lookup(buffer); }
  std::vector<uint32_t> indices(ValueRange values);
  int32_t optionalIndex(Value buffer) { return buffer ? static_cast<int32_t>(index(buffer)) : -1; }

  ModuleOp module;
  const ::dgc::CompiledKernels &kernels;
  llvm::StringMap<uint32_t> meshAxes, groups, kernelIndices;
  llvm::DenseMap<Value, uint32_t> buffers; // of the program at hand
};

} // namespace

std::vector<uint32_t> Packager::indices(ValueRange values) {
  std::vector<uint32_t> result;
  for (Value value : values) {
    result.push_back(index(value));
  }
  return result;
}

FailureOr<std::unique_ptr<fb::BufferT>> Packager::describeBuffer(Operation *op, Space space, uint64_t offset, Type type,
                                                                 StringRef name) {
  auto shaped = cast<ShapedType>(type);
  std::optional<fb::DType> dtype = elementType(shaped.getElementType());
  if (!dtype) {
    return op->emitOpError("has elements of type ") << shaped.getElementType() << ", which an artifact cannot hold";
  }
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->space = static_cast<fb::Space>(space);
  buffer->offset = offset;
  buffer->dtype = *dtype;
  buffer->shape = list(shaped.getShape());
  buffer->name = name.str();
  return buffer;
}

/// The mesh of all workers; meshes of some of them are groups.
LogicalResult Packager::addMesh() {
  plan.world_size = 1;
  SmallVector<dist::MeshOp> meshes(module.getOps<dist::MeshOp>());
  if (meshes.empty()) {
    return success();
  }
  llvm::stable_sort(
      meshes, [](dist::MeshOp a, dist::MeshOp b) { return a.getMesh().getNumDevices() > b.getMesh().getNumDevices(); });
  dist::MeshOp world = meshes.front();
  if (world.getMesh().getFirst() != 0) {
    return world.emitOpError("begins at rank ")
           << world.getMesh().getFirst() << "; the mesh of an artifact begins at 0";
  }
  plan.world_size = world.getMesh().getNumDevices();
  for (dist::MeshAxisAttr axis : world.getMesh().getAxes()) {
    auto entry = std::make_unique<fb::MeshAxisT>();
    entry->name = axis.getName().str();
    entry->size = axis.getSize();
    meshAxes[axis.getName().getValue()] = plan.mesh.size();
    plan.mesh.push_back(std::move(entry));
  }
  SmallVector<dist::MeshOp> parts(ArrayRef(meshes).drop_front());
  llvm::stable_sort(parts,
                    [](dist::MeshOp a, dist::MeshOp b) { return a.getMesh().getFirst() < b.getMesh().getFirst(); });
  return addGroups(parts);
}

LogicalResult Packager::addGroups(ArrayRef<dist::MeshOp> meshes) {
  auto sizes = module->getAttrOfType<DictionaryAttr>("exec.mesh_bytes");
  for (dist::MeshOp mesh : meshes) {
    if (mesh.getMesh().getAxes().size() != plan.mesh.size() ||
        llvm::any_of(mesh.getMesh().getAxes(),
                     [&](dist::MeshAxisAttr axis) { return !meshAxes.contains(axis.getName().getValue()); })) {
      return mesh.emitOpError("has other axes than the mesh of all workers");
    }
    auto group = std::make_unique<fb::GroupT>();
    group->name = mesh.getSymName().str();
    group->first_rank = mesh.getMesh().getFirst();
    group->rank_count = mesh.getMesh().getNumDevices();
    if (auto bytes = sizes ? sizes.getAs<DenseI64ArrayAttr>(mesh.getSymName()) : DenseI64ArrayAttr()) {
      group->private_bytes = bytes[0];
      group->shared_bytes = bytes[1];
    }
    groups[mesh.getSymName()] = plan.groups.size();
    plan.groups.push_back(std::move(group));
  }
  return success();
}

/// The group of the workers of a mesh; -1 when none is named.
FailureOr<int32_t> Packager::groupOf(Operation *op, std::optional<StringRef> mesh) {
  if (!mesh) {
    return -1;
  }
  auto it = groups.find(*mesh);
  if (it == groups.end()) {
    return op->emitOpError("names the mesh @") << *mesh << ", which is not one of a part of the workers";
  }
  return static_cast<int32_t>(it->second);
}

FailureOr<std::unique_ptr<fb::ShardingT>> Packager::describeSharding(Operation *op, std::optional<Attribute> attribute,
                                                                     int64_t rank) {
  auto sharding = dyn_cast_or_null<dist::ShardingAttr>(attribute.value_or(Attribute()));
  if (!sharding) {
    return std::unique_ptr<fb::ShardingT>();
  }
  auto result = std::make_unique<fb::ShardingT>();
  for (dist::DimShardingAttr dim : sharding.getDims()) {
    auto entry = std::make_unique<fb::DimShardingT>();
    for (dist::AxisRefAttr axis : dim.getAxes()) {
      entry->axes.push_back(meshAxes.lookup(axis.getName().getValue()));
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

LogicalResult Packager::addKernels() {
  for (const ::dgc::CompiledKernel &kernel : kernels.kernels) {
    auto entry = std::make_unique<fb::KernelT>();
    entry->symbol = kernel.symbol;
    entry->arg_count = kernel.argCount;
    entry->extent = kernel.extent;
    entry->cost_ns = kernel.costNs;
    entry->flops = kernel.flops;
    kernelIndices[kernel.symbol] = plan.kernels.size();
    plan.kernels.push_back(std::move(entry));
  }
  if (!kernels.object.empty()) {
    auto section = std::make_unique<fb::SectionT>();
    section->name = "kernels";
    section->data.assign(kernels.object.begin(), kernels.object.end());
    plan.object_section = static_cast<int32_t>(plan.sections.size());
    plan.sections.push_back(std::move(section));
  }
  plan.target = std::make_unique<fb::TargetT>();
  plan.target->kind = "cpu";
  plan.target->triple = kernels.triple;
  plan.target->cpu = kernels.cpu;
  plan.target->features = kernels.features;
  return success();
}

/// Constants lie where dgc-plan-memory put them.
LogicalResult Packager::addConstants() {
  std::vector<uint8_t> data;
  WalkResult result = module.walk([&](BufferOp op) {
    if (op.getSpace() != Space::Constant) {
      return WalkResult::advance();
    }
    if (op.getOffset() < data.size()) {
      return WalkResult::advance(); // an equal one is there
    }
    data.resize(op.getOffset());
    return failed(appendConstant(op, *op.getValue(), data)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted()) {
    return failure();
  }
  if (!data.empty()) {
    auto section = std::make_unique<fb::SectionT>();
    section->name = "constants";
    section->data = std::move(data);
    plan.constant_section = static_cast<int32_t>(plan.sections.size());
    plan.sections.push_back(std::move(section));
  }
  return success();
}

LogicalResult Packager::addVariable(VariableOp op) {
  auto buffer = describeBuffer(op, Space::Private, op.getOffset(), op.getType(), op.getSymName());
  auto globalType = cast<RankedTensorType>(op.getGlobalType());
  auto sharding = describeSharding(op, op.getSharding(), globalType.getRank());
  FailureOr<int32_t> group = groupOf(op, op.getMesh());
  if (failed(buffer) || failed(sharding) || failed(group)) {
    return failure();
  }
  auto variable = std::make_unique<fb::VariableT>();
  variable->name = op.getSymName().str();
  variable->group = *group;
  variable->buffer = plan.variable_buffers.size();
  variable->global_shape = list(globalType.getShape());
  variable->sharding = std::move(*sharding);
  DictionaryAttr state = op.getState();
  if (auto role = state.getAs<mlir::dgc::StateRoleAttr>("role")) {
    variable->role = static_cast<fb::VariableRole>(role.getValue());
  }
  if (auto init = state.getAs<mlir::dgc::InitAttr>("init")) {
    variable->init = static_cast<fb::InitKind>(init.getKind());
    variable->a = init.getA();
    variable->b = init.getB();
    variable->file = init.getFile() ? init.getFile().str() : "";
    if (auto fans = state.getAs<DenseI64ArrayAttr>("fans");
        fans && variable->init >= fb::InitKind::GlorotUniform && variable->init <= fb::InitKind::HeNormal) {
      variable->a = fans[0];
      variable->b = fans[1];
    }
  }
  if (auto rngId = state.getAs<IntegerAttr>("rng_id")) {
    variable->rng_id = rngId.getInt();
  }
  plan.variable_buffers.push_back(std::move(*buffer));
  plan.variables.push_back(std::move(variable));
  return success();
}

std::vector<std::unique_ptr<fb::PostOpT>> Packager::postOps(std::optional<ArrayAttr> ops, ValueRange args) {
  std::vector<std::unique_ptr<fb::PostOpT>> result;
  for (Attribute attribute : ops.value_or(ArrayAttr::get(module.getContext(), {}))) {
    auto op = cast<PostOpAttr>(attribute);
    auto entry = std::make_unique<fb::PostOpT>();
    entry->kind = static_cast<fb::PostOpKind>(op.getKind());
    entry->arg = op.getArg() < 0 ? -1 : optionalIndex(args[op.getArg()]);
    result.push_back(std::move(entry));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult Packager::addStep(Operation *op, fb::ProgramT &program) {
  auto step = std::make_unique<fb::StepT>();
  step->location = locationOf(op);
  step->name = op->getName().stripDialect().str();
  if (auto label = op->getAttrOfType<StringAttr>("label")) {
    step->name = label.str();
  }
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    fb::KernelCallT call;
    StringRef symbol = launch.getKernel().getLeafReference();
    auto it = kernelIndices.find(symbol);
    if (it == kernelIndices.end()) {
      return op->emitOpError("launches ") << launch.getKernel() << ", for which no code was generated";
    }
    call.kernel = it->second;
    call.args = indices(launch.getInputs());
    llvm::append_range(call.args, indices(launch.getOuts()));
    step->name = symbol.str();
    step->action.Set(std::move(call));
  } else if (auto matmul = dyn_cast<MatmulOp>(op)) {
    fb::MatmulT call;
    auto shape = cast<ShapedType>(matmul.getOuts()[0].getType()).getShape();
    auto a = cast<ShapedType>(matmul.getA().getType()).getShape();
    call.a = index(matmul.getA());
    call.b = index(matmul.getB());
    call.dst = index(matmul.getOuts()[0]);
    call.bias = optionalIndex(matmul.getBias());
    for (int64_t size : shape.drop_back(2)) {
      call.batch *= size;
    }
    call.m = shape[shape.size() - 2];
    call.n = shape.back();
    call.k = a[a.size() - (matmul.getTransposeA() ? 2 : 1)];
    call.transpose_a = matmul.getTransposeA();
    call.transpose_b = matmul.getTransposeB();
    call.post_ops = postOps(matmul.getPostOps(), matmul.getArgs());
    step->action.Set(std::move(call));
  } else if (auto conv = dyn_cast<ConvolutionOp>(op)) {
    fb::ConvolutionT call;
    uint32_t lhs = index(conv.getLhs()), rhs = index(conv.getRhs()), out = index(conv.getOuts()[0]);
    call.kind = static_cast<fb::ConvKind>(conv.getKind());
    call.src = conv.getKind() == ConvKind::BackwardData ? out : lhs;
    call.weights = conv.getKind() == ConvKind::BackwardWeights ? out : rhs;
    call.dst = conv.getKind() == ConvKind::Forward ? out : conv.getKind() == ConvKind::BackwardData ? lhs : rhs;
    call.bias = conv.getOuts().size() > 1 ? optionalIndex(conv.getOuts()[1]) : optionalIndex(conv.getBias());
    call.strides = list(conv.getStrides());
    call.pad_low = list(conv.getPadLow());
    call.pad_high = list(conv.getPadHigh());
    call.dilation = list(conv.getDilation());
    call.groups = conv.getGroups();
    call.post_ops = postOps(conv.getPostOps(), conv.getArgs());
    step->name = ("convolution." + stringifyConvKind(conv.getKind())).str();
    step->action.Set(std::move(call));
  } else if (auto pool = dyn_cast<PoolOp>(op)) {
    fb::PoolT call;
    call.kind = static_cast<fb::PoolKind>(pool.getKind());
    int32_t first = optionalIndex(pool.getInputs()[0]), out = optionalIndex(pool.getOuts()[0]);
    bool forward = pool.getKind() == PoolKind::MaxForward || pool.getKind() == PoolKind::AvgForward;
    call.src = forward || pool.getKind() == PoolKind::MaxBackward ? first : -1;
    call.dst = forward ? out : -1;
    call.diff_src = forward ? -1 : out;
    call.diff_dst = forward ? -1 : optionalIndex(pool.getInputs().back());
    call.window = list(pool.getWindow());
    call.strides = list(pool.getStrides());
    call.pad_low = list(pool.getPadLow());
    call.pad_high = list(pool.getPadHigh());
    call.count_include_pad = pool.getCountIncludePad();
    step->name = ("pool." + stringifyPoolKind(pool.getKind())).str();
    step->action.Set(std::move(call));
  } else if (auto collective = dyn_cast<CollectiveOp>(op)) {
    fb::CollectiveT call;
    const fb::BufferT &src = *program.buffers[index(collective.getSrc())];
    const fb::BufferT &dst = *program.buffers[index(collective.getDst())];
    // Collectives are numbered by themselves; sends and receives have places in the same order of communication.
    call.id = llvm::count_if(program.steps, [](const std::unique_ptr<fb::StepT> &step) {
      return step->action.type == fb::Action::Collective;
    });
    call.kind = static_cast<fb::CollectiveKind>(collective.getKind());
    call.reduction = static_cast<fb::Reduction>(collective.getReduction());
    call.axes.assign(collective.getAxes().begin(), collective.getAxes().end());
    call.dtype = src.dtype;
    call.src = src.offset;
    call.src_count = cast<ShapedType>(collective.getSrc().getType()).getNumElements();
    call.dst = dst.offset;
    call.dst_count = cast<ShapedType>(collective.getDst().getType()).getNumElements();
    if (auto permutation = collective.getPermutation()) {
      call.permutation.assign(permutation->begin(), permutation->end());
    }
    call.origin = collective.getOrigin().str();
    step->name = stringifyCollectiveKind(collective.getKind()).str();
    step->queue = 0;
    step->action.Set(std::move(call));
  } else if (auto send = dyn_cast<SendOp>(op)) {
    fb::SendT call;
    FailureOr<int32_t> group = groupOf(send, send.getPeer());
    if (failed(group)) {
      return failure();
    }
    call.channel = send.getChannel();
    call.group = *group;
    call.buffer = index(send.getBuffer());
    call.origin = send.getOrigin().str();
    step->action.Set(std::move(call));
  } else if (auto receive = dyn_cast<ReceiveOp>(op)) {
    fb::ReceiveT call;
    FailureOr<int32_t> group = groupOf(receive, receive.getPeer());
    if (failed(group)) {
      return failure();
    }
    call.channel = receive.getChannel();
    call.group = *group;
    call.buffer = index(receive.getBuffer());
    call.origin = receive.getOrigin().str();
    step->action.Set(std::move(call));
  } else if (auto copy = dyn_cast<CopyOp>(op)) {
    fb::CopyT call;
    call.src = index(copy.getSrc());
    call.dst = index(copy.getDst());
    step->action.Set(std::move(call));
  } else {
    return op->emitOpError("is no step that an artifact can hold");
  }
  program.steps.push_back(std::move(step));
  return success();
}

LogicalResult Packager::addProgram(ProgramOp op) {
  auto program = std::make_unique<fb::ProgramT>();
  FailureOr<int32_t> group = groupOf(op, op.getMesh());
  if (failed(group)) {
    return failure();
  }
  program->name = op.getEntry().value_or(op.getSymName()).str();
  program->group = *group;
  buffers.clear();
  auto add = [&](Value value, FailureOr<std::unique_ptr<fb::BufferT>> buffer) -> LogicalResult {
    if (failed(buffer)) {
      return failure();
    }
    buffers[value] = program->buffers.size();
    program->buffers.push_back(std::move(*buffer));
    return success();
  };
  for (Operation &inner : *op.getBody().begin()) {
    LogicalResult result = success();
    if (auto buffer = dyn_cast<BufferOp>(inner)) {
      result = add(buffer,
                   describeBuffer(buffer, buffer.getSpace(), buffer.getOffset(), buffer.getType(), buffer.getName()));
    } else if (auto view = dyn_cast<ViewOp>(inner)) {
      const fb::BufferT &source = *program->buffers[index(view.getSource())];
      result = add(view, describeBuffer(view, static_cast<Space>(source.space), source.offset + view.getOffset(),
                                        view.getType(), source.name));
    } else if (auto get = dyn_cast<GetVariableOp>(inner)) {
      auto variable = SymbolTable::lookupNearestSymbolFrom<VariableOp>(op, get.getVariableAttr());
      if (!variable) {
        return get.emitOpError("names a variable that is not there");
      }
      result = add(get, describeBuffer(get, Space::Private, variable.getOffset(), get.getType(), get.getVariable()));
    } else if (auto input = dyn_cast<InputOp>(inner)) {
      auto entry = std::make_unique<fb::InputT>();
      auto globalType = cast<RankedTensorType>(input.getGlobalType());
      auto sharding = describeSharding(input, input.getSharding(), globalType.getRank());
      std::optional<fb::InputRole> role = inputRole(input.getRole());
      if (failed(sharding) || !role) {
        return role ? failure() : input.emitOpError("has an unknown role '") << input.getRole() << "'";
      }
      entry->name = input.getName().str();
      entry->role = *role;
      entry->buffer = index(input.getBuffer());
      entry->global_shape = list(globalType.getShape());
      entry->sharding = std::move(*sharding);
      entry->batch_dim = static_cast<int32_t>(input.getBatchDim());
      program->inputs.push_back(std::move(entry));
    } else if (auto output = dyn_cast<OutputOp>(inner)) {
      auto entry = std::make_unique<fb::OutputT>();
      auto globalType = cast<RankedTensorType>(output.getGlobalType());
      auto sharding = describeSharding(output, output.getSharding(), globalType.getRank());
      std::optional<fb::OutputRole> role = outputRole(output.getRole());
      if (failed(sharding) || !role) {
        return role ? failure() : output.emitOpError("has an unknown role '") << output.getRole() << "'";
      }
      entry->name = output.getName().str();
      entry->role = *role;
      entry->buffer = index(output.getBuffer());
      entry->global_shape = list(globalType.getShape());
      entry->sharding = std::move(*sharding);
      entry->batch_dim = static_cast<int32_t>(output.getBatchDim());
      program->outputs.push_back(std::move(entry));
    } else {
      result = addStep(&inner, *program);
    }
    if (failed(result)) {
      return failure();
    }
  }
  plan.programs.push_back(std::move(program));
  return success();
}

LogicalResult Packager::run(const ::dgc::PackageOptions &options) {
  plan.producer = "dgc " DGC_VERSION;
  plan.model = module.getSymName().value_or("").str();
  auto number = [&](StringRef name) -> uint64_t {
    auto attribute = module->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : 0;
  };
  plan.global_batch = number("dgc.global_batch");
  plan.private_bytes = number("exec.private_bytes");
  plan.shared_bytes = number("exec.shared_bytes");
  if (failed(addMesh()) || failed(addKernels()) || failed(addConstants())) {
    return failure();
  }
  for (auto variable : module.getOps<VariableOp>()) {
    if (failed(addVariable(variable))) {
      return failure();
    }
  }
  for (auto program : module.getOps<ProgramOp>()) {
    if (failed(addProgram(program))) {
      return failure();
    }
  }
  std::vector<std::pair<std::string, std::string>> attributes = options.attributes;
  llvm::sort(attributes);
  for (auto &[key, value] : attributes) {
    auto entry = std::make_unique<fb::KeyValueT>();
    entry->key = key;
    entry->value = value;
    plan.attributes.push_back(std::move(entry));
  }
  return success();
}

namespace dgc {

FailureOr<std::vector<uint8_t>> packageModule(ModuleOp module, const CompiledKernels &kernels,
                                              const PackageOptions &options) {
  Packager packager(module, kernels);
  if (failed(packager.run(options))) {
    return failure();
  }
  absl::StatusOr<std::vector<uint8_t>> bytes = rt::finishPlan(std::move(packager.plan));
  if (!bytes.ok()) {
    return module.emitError() << std::string(bytes.status().message());
  }
  return *std::move(bytes);
}

} // namespace dgc
