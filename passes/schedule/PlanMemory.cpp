//===- PlanMemory.cpp - give every buffer its offset -----------------------===//

#include "dialects/exec/Exec.h"
#include "mlir/IR/Builders.h"
#include "passes/schedule/Lifetimes.h"
#include "passes/schedule/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace dgc {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/schedule/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::exec;

static constexpr uint64_t alignment = 64;

static uint64_t aligned(uint64_t size) { return (size + alignment - 1) / alignment * alignment; }

namespace {
struct PlanMemory : dgc::impl::PlanMemoryPassBase<PlanMemory> {
  /// The arenas of the workers of one mesh; all workers are alike where programs and variables name none.
  struct Arenas {
    uint64_t variables = 0, privateBytes = 0, sharedBytes = 0;
  };

  /// Places the variables, those of each kind of worker from the start of its arena.
  void placeVariables() {
    for (auto variable : getOperation().getOps<exec::VariableOp>()) {
      Arenas &sizes = arenas[variable.getMeshAttr()];
      variable.setOffset(sizes.variables);
      sizes.variables += aligned(byteSize(variable.getType()));
      sizes.privateBytes = sizes.variables;
    }
  }

  /// Places the buffers of one space of a program, after `base`; returns the end.
  uint64_t placeSpace(ProgramOp program, Space space, uint64_t base) {
    const StepNumbers steps(program);
    ArenaProblem problem{{}, alignment};
    SmallVector<BufferOp> buffers;
    for (auto buffer : program.getOps<BufferOp>()) {
      if (buffer.getSpace() == space) {
        buffers.push_back(buffer);
        problem.requests.push_back(lifetime(buffer, steps));
      }
    }
    ArenaPlan plan = planArena(problem);
    for (auto [buffer, offset] : llvm::zip_equal(buffers, plan.offsets)) {
      buffer.setOffset(base + offset);
    }
    worstLive = std::max(worstLive, base + liveBytes(problem));
    return base + plan.size;
  }

  /// Constants are stored one after the other, equal ones once.
  void placeConstants() {
    llvm::MapVector<Attribute, uint64_t> offsets;
    uint64_t end = 0;
    getOperation().walk([&](BufferOp buffer) {
      if (buffer.getSpace() != Space::Constant) {
        return;
      }
      auto [it, isNew] = offsets.insert({*buffer.getValue(), end});
      if (isNew) {
        end += aligned(byteSize(buffer.getType()));
      }
      buffer.setOffset(it->second);
    });
  }

  void runOnOperation() override {
    placeVariables();
    for (auto program : getOperation().getOps<ProgramOp>()) {
      Arenas &sizes = arenas[program.getMeshAttr()];
      sizes.privateBytes = std::max(sizes.privateBytes, placeSpace(program, Space::Private, sizes.variables));
      sizes.sharedBytes = std::max(sizes.sharedBytes, placeSpace(program, Space::Shared, 0));
    }
    placeConstants();
    Builder builder(&getContext());
    uint64_t privateBytes = 0, sharedBytes = 0;
    SmallVector<NamedAttribute> perMesh;
    for (auto &[mesh, sizes] : arenas) {
      privateBytes = std::max(privateBytes, sizes.privateBytes);
      sharedBytes = std::max(sharedBytes, sizes.sharedBytes);
      peakBytes = std::max<uint64_t>(peakBytes, sizes.privateBytes + sizes.sharedBytes);
      if (mesh) {
        auto bytes = builder.getDenseI64ArrayAttr(
            {static_cast<int64_t>(sizes.privateBytes), static_cast<int64_t>(sizes.sharedBytes)});
        perMesh.push_back(builder.getNamedAttr(cast<FlatSymbolRefAttr>(mesh).getValue(), bytes));
      }
    }
    getOperation()->setAttr(kPrivateBytesAttr, builder.getI64IntegerAttr(privateBytes));
    getOperation()->setAttr(kSharedBytesAttr, builder.getI64IntegerAttr(sharedBytes));
    if (!perMesh.empty()) {
      getOperation()->setAttr(kMeshBytesAttr, builder.getDictionaryAttr(perMesh));
    }
    liveBytesBound = worstLive;
  }

  llvm::MapVector<Attribute, Arenas> arenas;
  uint64_t worstLive = 0;
};
} // namespace
