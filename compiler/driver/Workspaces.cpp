//===- Workspaces.cpp - memory that plans need outside of their arenas -----===//

#include "compiler/driver/Workspaces.h"
#include "compiler/package/Package.h"
#include "dialects/dist/Hosts.h"
#include "dialects/exec/Exec.h"
#include "runtime/artifact/DeviceTraits.h"
#include "runtime/executor/PlannedMemory.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::exec;
namespace fb = dgc::artifact;

/// Kernels by name alone: programs are described before there is code.
static CompiledKernels kernelNames(ModuleOp module, StringRef kind) {
  CompiledKernels kernels, host;
  kernels.kind = kind;
  for (bool onHost : {false, true}) {
    llvm::StringSet<> seen;
    for (auto program : module.getOps<ProgramOp>())
      if (isOnHost(module, program.getMeshAttr()) == onHost)
        program.walk([&](LaunchOp launch) {
          StringRef name = launch.getKernel().getLeafReference();
          if (seen.insert(name).second)
            (onHost ? host : kernels).kernels.push_back({name.str()});
        });
  }
  if (llvm::any_of(module.getOps<dist::MeshOp>(), [](auto mesh) { return isOnHost(mesh); }))
    kernels.host = std::make_shared<CompiledKernels>(std::move(host));
  return kernels;
}

/// The plan as the runtime reads it, without code and constants.
static const fb::Plan &packed(flatbuffers::FlatBufferBuilder &builder, fb::PlanT &plan) {
  builder.Clear();
  builder.Finish(fb::Plan::Pack(builder, &plan));
  return *flatbuffers::GetRoot<fb::Plan>(builder.GetBufferPointer());
}

namespace dgc {

LogicalResult planWorkspaces(ModuleOp module, const CompilePlan &compilation) {
  if (module.getOps<ProgramOp>().empty())
    return success();
  FailureOr<fb::PlanT> described = describePlan(module, kernelNames(module, compilation.workers->kind()));
  if (failed(described))
    return failure();
  fb::PlanT plan = *std::move(described);
  plan.sections.clear();
  plan.file_digest = std::make_unique<fb::Digest>();
  plan.threads = static_cast<uint32_t>(compilation.threads);

  flatbuffers::FlatBufferBuilder builder;
  const fb::Plan &bare = packed(builder, plan);
  Builder attributes(module.getContext());
  for (auto [i, program] : llvm::enumerate(module.getOps<ProgramOp>())) {
    const fb::Program &each = *bare.programs()->Get(i);
    const Target &target = isOnHost(module, program.getMeshAttr()) ? *compilation.servers : *compilation.workers;
    const uint64_t bytes = target.workspaceBytes(each, compilation.threads);
    plan.programs[i]->scratch_bytes = bytes;
    program->setAttr(kScratchBytesAttr, attributes.getI64IntegerAttr(bytes));
  }
  const fb::Plan &whole = packed(builder, plan);
  uint64_t peak = 0;
  auto groups = static_cast<int32_t>(plan.groups.size());
  for (int32_t group = groups ? 0 : -1; group < groups; ++group) {
    rt::PlannedMemory memory = rt::plannedMemory(whole, group);
    uint64_t staging = rt::traitsOf(whole, group).hasOwnMemory ? 0 : memory.staging; // which is memory of the host
    peak = std::max(peak, memory.total() + staging);
  }
  module->setAttr(kThreadsAttr, attributes.getI64IntegerAttr(compilation.threads));
  module->setAttr(kPeakBytesAttr, attributes.getI64IntegerAttr(peak));
  return success();
}

} // namespace dgc
