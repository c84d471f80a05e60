//===- Package.cpp - from exec programs to an artifact ---------------------===//

#include "compiler/package/Package.h"

#include "compiler/package/Enums.h"
#include "compiler/package/ProgramWriter.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "dialects/dist/Hosts.h"
#include "dialects/exec/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/artifact/Writer.h"
#include "runtime/base/Version.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::exec;
namespace fb = dgc::artifact;

/// The elements of a constant, in row-major order, as they are stored.
static LogicalResult appendConstant(Operation *op, ElementsAttr value, std::vector<uint8_t> &bytes) {
  uint64_t width = storageBytes(value.getElementType());
  auto append = [&](const APInt &element) {
    uint64_t word = element.getZExtValue();
    for (uint64_t i = 0; i < width; ++i) {
      bytes.push_back(static_cast<uint8_t>(word >> (8 * i)));
    }
  };
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (dense && !dense.isSplat() && value.getElementType().getIntOrFloatBitWidth() == 8 * width) {
    llvm::append_range(bytes, dense.getRawData()); // as they are
    return success();
  }
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
  Packager(ModuleOp module, const CompiledKernels &kernels) : module(module), kernels(kernels) {}
  LogicalResult run(const PackageOptions &options);
  fb::PlanT plan;

private:
  LogicalResult addMesh();
  LogicalResult addGroups(ArrayRef<dist::MeshOp> meshes);
  LogicalResult addKernels();
  void addKernels(const CompiledKernels &from, llvm::StringMap<uint32_t> &numbers, bool onHost);
  LogicalResult addConstants();
  LogicalResult addVariable(exec::VariableOp op);
  LogicalResult storeInitial(Operation *op, ElementsAttr elements, uint64_t &offset);
  LogicalResult addProgram(ProgramOp op);

  ModuleOp module;
  const CompiledKernels &kernels;
  PlanIndices indices;
  std::vector<uint8_t> initial; // values of variables
  llvm::DenseMap<Attribute, uint64_t> storedAt;
};

} // namespace

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
    indices.meshAxes[axis.getName().getValue()] = plan.mesh.size();
    plan.mesh.push_back(std::move(entry));
  }
  SmallVector<dist::MeshOp> parts(ArrayRef(meshes).drop_front());
  llvm::stable_sort(parts,
                    [](dist::MeshOp a, dist::MeshOp b) { return a.getMesh().getFirst() < b.getMesh().getFirst(); });
  return addGroups(parts);
}

LogicalResult Packager::addGroups(ArrayRef<dist::MeshOp> meshes) {
  auto sizes = module->getAttrOfType<DictionaryAttr>(kMeshBytesAttr);
  for (dist::MeshOp mesh : meshes) {
    if (mesh.getMesh().getAxes().size() != plan.mesh.size() ||
        llvm::any_of(mesh.getMesh().getAxes(),
                     [&](dist::MeshAxisAttr axis) { return !indices.meshAxes.contains(axis.getName().getValue()); })) {
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
    group->on_host = isOnHost(mesh);
    if (group->on_host && !kernels.host)
      return mesh.emitOpError("is of workers on CPUs, for which no code was generated");
    indices.groups[mesh.getSymName()] = plan.groups.size();
    plan.groups.push_back(std::move(group));
  }
  if (!meshes.empty()) { // parameter servers are one device each
    plan.world_size = 0;
    for (dist::MeshOp mesh : meshes)
      plan.world_size += mesh.getMesh().getNumDevices();
  }
  return success();
}

static std::unique_ptr<fb::TargetT> targetOf(const CompiledKernels &kernels) {
  auto target = std::make_unique<fb::TargetT>();
  target->kind = kernels.kind;
  target->triple = kernels.triple;
  target->cpu = kernels.cpu;
  target->features = kernels.features;
  return target;
}

/// Whether what is communicated depends on loops or branches.
static bool communicatesInLoops(ModuleOp module) {
  return module
      .walk([](exec::CollectiveOp op) {
        return isa<ProgramOp>(op->getParentOp()) ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// For each result of a kernel the arguments that it is computed from.
static std::vector<std::unique_ptr<fb::ArgumentsT>> readsOf(func::FuncOp kernel) {
  std::vector<std::unique_ptr<fb::ArgumentsT>> reads;
  for (Value result : kernel.getBody().front().getTerminator()->getOperands()) {
    llvm::SetVector<Value> seen;
    seen.insert(result);
    llvm::BitVector arguments(kernel.getNumArguments());
    for (size_t i = 0; i < seen.size(); ++i) {
      Value value = seen[i];
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() == &kernel.getBody().front())
          arguments.set(argument.getArgNumber());
        continue;
      }
      Operation *op = value.getDefiningOp();
      seen.insert_range(op->getOperands());
      for (Region &region : op->getRegions())
        region.walk([&](Operation *inner) { seen.insert_range(inner->getOperands()); });
    }
    reads.push_back(std::make_unique<fb::ArgumentsT>());
    reads.back()->numbers.assign(arguments.set_bits_begin(), arguments.set_bits_end());
  }
  return reads;
}

/// Functions for CPUs, or grids for GPUs.
void Packager::addKernels(const CompiledKernels &from, llvm::StringMap<uint32_t> &numbers, bool onHost) {
  ModuleOp sources = communicatesInLoops(module) ? module.lookupSymbol<ModuleOp>("kernels") : ModuleOp();
  for (const CompiledKernel &kernel : from.kernels) {
    auto entry = std::make_unique<fb::KernelT>();
    entry->symbol = kernel.symbol;
    entry->arg_count = kernel.argCount;
    entry->inplace = kernel.inplace;
    if (auto func = sources ? sources.lookupSymbol<func::FuncOp>(kernel.symbol) : func::FuncOp())
      entry->result_reads = readsOf(func);
    entry->extent = kernel.extent;
    entry->cost_ns = kernel.costNs;
    entry->flops = kernel.flops;
    entry->workspace_bytes = kernel.workspaceBytes;
    for (const KernelLaunch &launch : kernel.launches) {
      auto grid = std::make_unique<fb::LaunchT>();
      grid->symbol = launch.symbol;
      grid->grid = launch.grid;
      grid->block = launch.block;
      entry->launches.push_back(std::move(grid));
    }
    entry->on_host = onHost;
    numbers[kernel.symbol] = plan.kernels.size();
    plan.kernels.push_back(std::move(entry));
  }
  if (!from.object.empty()) {
    auto section = std::make_unique<fb::SectionT>();
    section->name = "kernels";
    section->data.assign(from.object.begin(), from.object.end());
    plan.object_section = static_cast<int32_t>(plan.sections.size());
    plan.sections.push_back(std::move(section));
  }
}

LogicalResult Packager::addKernels() {
  addKernels(kernels, indices.kernels, /*onHost=*/false);
  if (kernels.host) {
    addKernels(*kernels.host, indices.hostKernels, /*onHost=*/true);
    plan.host_target = targetOf(*kernels.host);
  }
  for (const DeviceCode &code : kernels.deviceCode) {
    auto entry = std::make_unique<fb::DeviceCodeT>();
    entry->architecture = code.architecture;
    entry->binary = code.isBinary;
    entry->section = plan.sections.size();
    plan.device_code.push_back(std::move(entry));
    auto section = std::make_unique<fb::SectionT>();
    section->name = (Twine(code.isBinary ? "cubin" : "ptx") + " sm_" + Twine(code.architecture)).str();
    section->data = code.bytes;
    plan.sections.push_back(std::move(section));
  }
  if (!kernels.semantics.empty()) {
    plan.semantics_section = static_cast<int32_t>(plan.sections.size());
    plan.sections.push_back(std::make_unique<fb::SectionT>());
    plan.sections.back()->name = "semantics";
    plan.sections.back()->data = kernels.semantics;
  }
  plan.target = targetOf(kernels);
  return success();
}

/// Constants are at the offsets of dgc-plan-memory.
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

/// Puts initial values into their section, equal ones once.
LogicalResult Packager::storeInitial(Operation *op, ElementsAttr elements, uint64_t &offset) {
  auto [it, isNew] = storedAt.try_emplace(elements, initial.size());
  offset = it->second;
  return isNew ? appendConstant(op, elements, initial) : success();
}

LogicalResult Packager::addVariable(exec::VariableOp op) {
  auto buffer = describeBuffer(op, fb::Space::Private, op.getOffset(), op.getType(), op.getSymName());
  auto globalType = cast<RankedTensorType>(op.getGlobalType());
  auto sharding = describeSharding(op, indices, op.getSharding(), globalType.getRank());
  FailureOr<int32_t> group = groupOf(op, indices, op.getMesh());
  if (failed(buffer) || failed(sharding) || failed(group)) {
    return failure();
  }
  auto variable = std::make_unique<fb::VariableT>();
  DictionaryAttr state = op.getState();
  variable->name = op.getSymName().str();
  if (auto block = state.getAs<DictionaryAttr>(kBlockAttr)) {
    variable->name = block.getAs<StringAttr>("of").str();
    variable->first_row = block.getAs<IntegerAttr>("first").getInt();
    variable->row_count = op.getType().getDimSize(0);
  }
  variable->group = *group;
  variable->buffer = plan.variable_buffers.size();
  variable->global_shape = toVector(globalType.getShape());
  variable->sharding = std::move(*sharding);
  if (auto role = state.getAs<dgc::StateRoleAttr>("role")) {
    variable->role = toArtifact(role.getValue());
  }
  if (state.contains(kLossScaleAttr)) {
    variable->role = fb::VariableRole::LossScale;
  }
  if (auto init = state.getAs<dgc::InitAttr>("init")) {
    variable->init = toArtifact(init.getKind());
    variable->a = init.getA();
    variable->b = init.getB();
    variable->file = init.getFile() ? init.getFile().str() : "";
    if (init.getElements() && failed(storeInitial(op, init.getElements(), variable->stored))) {
      return failure();
    }
    if (auto fans = state.getAs<DenseI64ArrayAttr>("fans");
        fans && variable->init >= fb::InitKind::GlorotUniform && variable->init <= fb::InitKind::HeNormal) {
      variable->a = fans[0];
      variable->b = fans[1];
    }
  }
  if (auto rngId = state.getAs<IntegerAttr>("rng_id")) {
    variable->rng_id = rngId.getInt();
  }
  if (auto strides = state.getAs<DenseI64ArrayAttr>("rng_strides")) {
    variable->rng_strides.assign(strides.asArrayRef().begin(), strides.asArrayRef().end());
  }
  if (auto other = state.getAs<StringAttr>("begins_as")) {
    variable->begins_as = other.getValue().str();
  }
  plan.variable_buffers.push_back(std::move(*buffer));
  plan.variables.push_back(std::move(variable));
  return success();
}

/// Each op writes itself.
LogicalResult Packager::addProgram(ProgramOp op) {
  FailureOr<int32_t> group = groupOf(op, indices, op.getMesh());
  if (failed(group)) {
    return failure();
  }
  auto program = std::make_unique<fb::ProgramT>();
  program->name = op.getEntry().value_or(op.getSymName()).str();
  program->group = *group;
  if (auto scratch = op->getAttrOfType<IntegerAttr>(kScratchBytesAttr)) {
    program->scratch_bytes = scratch.getInt();
  }
  if (auto reasons = module->getAttrOfType<DictionaryAttr>(kWholeBatchesAttr)) {
    if (auto reason = reasons.getAs<StringAttr>(program->name)) {
      program->whole_batches = reason.str();
    }
  }
  ProgramWriter writer(indices, *program, *group >= 0 && plan.groups[*group]->on_host);
  if (failed(writer.addOps(*op.getBody().begin()))) {
    return failure();
  }
  plan.programs.push_back(std::move(program));
  return success();
}

LogicalResult Packager::run(const PackageOptions &options) {
  plan.producer = "dgc " DGC_VERSION;
  plan.model = module.getSymName().value_or("").str();
  auto number = [&](StringRef name) -> uint64_t {
    auto attribute = module->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : 0;
  };
  plan.global_batch = number(kGlobalBatchAttr);
  plan.private_bytes = number(kPrivateBytesAttr);
  plan.shared_bytes = number(kSharedBytesAttr);
  plan.tf32 = module->hasAttr(kTf32Attr);
  plan.threads = std::max<uint64_t>(1, number(kThreadsAttr));
  if (failed(addMesh()) || failed(addKernels()) || failed(addConstants())) {
    return failure();
  }
  for (auto variable : module.getOps<exec::VariableOp>()) {
    if (failed(addVariable(variable))) {
      return failure();
    }
  }
  if (!initial.empty()) {
    plan.initial_section = static_cast<int32_t>(plan.sections.size());
    plan.sections.push_back(std::make_unique<fb::SectionT>());
    plan.sections.back()->name = "initial values";
    plan.sections.back()->data = std::move(initial);
  }
  for (auto program : module.getOps<ProgramOp>()) {
    if (failed(addProgram(program))) {
      return failure();
    }
  }
  if (plan.programs.empty()) {
    return module.emitError("there is nothing to compile: a file has a dgc.model, or functions");
  }
  for (const fb::CompilerOptionT &option : options.options) {
    plan.options.push_back(std::make_unique<fb::CompilerOptionT>(option));
  }
  if (options.asynchronous) {
    plan.asynchronous = std::make_unique<fb::AsynchronousT>(*options.asynchronous);
  }
  return success();
}

namespace dgc {

void registerPackaging(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ExecDialect *) {
    attachDeclarations(*context);
    attachSteps(*context);
  });
}

FailureOr<artifact::PlanT> describePlan(ModuleOp module, const CompiledKernels &kernels,
                                        const PackageOptions &options) {
  Packager packager(module, kernels);
  if (failed(packager.run(options))) {
    return failure();
  }
  return std::move(packager.plan);
}

FailureOr<std::vector<uint8_t>> packageModule(ModuleOp module, const CompiledKernels &kernels,
                                              const PackageOptions &options) {
  FailureOr<artifact::PlanT> plan = describePlan(module, kernels, options);
  if (failed(plan)) {
    return failure();
  }
  absl::StatusOr<std::vector<uint8_t>> bytes = rt::finishPlan(*std::move(plan));
  if (!bytes.ok()) {
    return module.emitError() << std::string(bytes.status().message());
  }
  return *std::move(bytes);
}

} // namespace dgc
