//===- Workspaces.cpp - the memory that plans need beside their arenas -----===//

#include "compiler/pipeline/Workspaces.h"
#include "compiler/codegen/cuda/Codegen.h"
#include "compiler/package/Package.h"
#include "dialects/exec/Exec.h"
#include "passes/place/Hosts.h"
#include "runtime/artifact/GpuSizes.h"
#include "runtime/artifact/Groups.h"
#include "runtime/base/DType.h"
#include "runtime/device/cpu/Device.h"
#include "runtime/executor/PlannedMemory.h"
#include "llvm/ADT/StringSet.h"
#include <thread>

using namespace mlir;
using namespace mlir::exec;
namespace fb = ::dgc::artifact;

/// Kernels by name alone: programs are described before there is code.
static ::dgc::CompiledKernels kernelNames(ModuleOp module, bool isForGpus) {
  ::dgc::CompiledKernels kernels, host;
  kernels.kind = isForGpus ? "cuda" : "cpu";
  for (bool onHost : {false, true}) {
    llvm::StringSet<> seen;
    for (auto program : module.getOps<ProgramOp>())
      if (::dgc::isOnHost(module, program.getMeshAttr()) == onHost)
        program.walk([&](LaunchOp launch) {
          StringRef name = launch.getKernel().getLeafReference();
          if (seen.insert(name).second)
            (onHost ? host : kernels).kernels.push_back({name.str()});
        });
  }
  if (llvm::any_of(module.getOps<dist::MeshOp>(), [](auto mesh) { return ::dgc::isOnHost(mesh); }))
    kernels.host = std::make_shared<::dgc::CompiledKernels>(std::move(host));
  return kernels;
}

/// The plan as the runtime reads it, without code and constants.
static const fb::Plan &packed(flatbuffers::FlatBufferBuilder &builder, fb::PlanT &plan) {
  builder.Clear();
  builder.Finish(fb::Plan::Pack(builder, &plan));
  return *flatbuffers::GetRoot<fb::Plan>(builder.GetBufferPointer());
}

static size_t bytesOf(const fb::Program &program, uint32_t index) {
  const fb::Buffer &buffer = *program.buffers()->Get(index);
  size_t bytes = ::dgc::rt::sizeOf(static_cast<::dgc::rt::DType>(buffer.dtype()));
  for (int64_t extent : *buffer.shape())
    bytes *= static_cast<size_t>(extent);
  return bytes;
}

/// What the library calls of a program have to work in on a GPU. What its kernels need between grids is known when there
/// is code for them.
static size_t libraryWorkspace(const fb::Program &program) {
  size_t most = 0;
  for (uint32_t i = 0; program.steps() && i < program.steps()->size(); ++i) {
    fb::Action action = program.steps()->Get(i)->action_type();
    if (action == fb::Action::Matmul)
      most = std::max<size_t>(most, ::dgc::rt::gpu::productWorkspaceBytes);
    if (const fb::Convolution *op = program.steps()->Get(i)->action_as_Convolution()) {
      size_t bytes = bytesOf(program, op->src()) + bytesOf(program, op->weights()) + bytesOf(program, op->dst());
      most = std::max<size_t>(most, ::dgc::rt::gpu::convolutionWorkspaceBytes(bytes));
    }
    if (const fb::Attention *op = program.steps()->Get(i)->action_as_Attention()) {
      const auto &query = *program.buffers()->Get(op->query())->shape();
      most = std::max<size_t>(most, ::dgc::rt::gpu::attentionWorkspaceBytes(query[0], op->heads(), query[1],
                                                                            query[2] / op->heads(), op->backward()));
    }
  }
  return most;
}

namespace dgc {

LogicalResult planWorkspaces(ModuleOp module, int64_t threads, const std::string &target) {
  if (module.getOps<ProgramOp>().empty())
    return success();
  const bool isForGpus = ::dgc::CudaTarget::isCuda(target);
  FailureOr<fb::PlanT> described = describePlan(module, kernelNames(module, isForGpus));
  if (failed(described))
    return failure();
  fb::PlanT plan = *std::move(described);
  plan.sections.clear();
  plan.file_digest = std::make_unique<fb::Digest>();
  if (threads == 0)
    threads = std::max<int64_t>(1, std::thread::hardware_concurrency() / plan.world_size);
  plan.threads = static_cast<uint32_t>(threads);

  flatbuffers::FlatBufferBuilder builder;
  const fb::Plan &bare = packed(builder, plan);
  Builder attributes(module.getContext());
  for (auto [i, program] : llvm::enumerate(module.getOps<ProgramOp>())) {
    const fb::Program &each = *bare.programs()->Get(i);
    absl::StatusOr<size_t> bytes =
        rt::isOnGpu(bare, each.group()) ? libraryWorkspace(each) : rt::scratchBytesOf(each, static_cast<int>(threads));
    if (!bytes.ok())
      return program.emitError() << std::string(bytes.status().message());
    plan.programs[i]->scratch_bytes = *bytes;
    program->setAttr("exec.scratch_bytes", attributes.getI64IntegerAttr(*bytes));
  }
  const fb::Plan &whole = packed(builder, plan);
  uint64_t peak = 0;
  auto groups = static_cast<int32_t>(plan.groups.size());
  for (int32_t group = groups ? 0 : -1; group < groups; ++group) {
    rt::PlannedMemory memory = rt::plannedMemory(whole, group);
    peak = std::max(peak,
                    memory.total() + (rt::isOnGpu(whole, group) ? 0 : memory.staging)); // which is memory of the host
  }
  module->setAttr("exec.threads", attributes.getI64IntegerAttr(threads));
  module->setAttr("exec.peak_bytes", attributes.getI64IntegerAttr(peak));
  return success();
}

} // namespace dgc
