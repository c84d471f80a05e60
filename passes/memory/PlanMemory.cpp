//===- PlanMemory.cpp - give every buffer its offset -----------------------===//

#include "dialects/exec/Exec.h"
#include "passes/memory/ArenaPlan.h"
#include "passes/memory/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace dgc {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/memory/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace mlir::exec;

static constexpr uint64_t alignment = 64;

static uint64_t byteSize(Type type) {
  auto shaped = cast<ShapedType>(type);
  return storageBytes(shaped.getElementType()) * shaped.getNumElements();
}

static uint64_t aligned(uint64_t size) { return (size + alignment - 1) / alignment * alignment; }

/// The first and the last step at which `buffer`, or a view of it, is in use. Inputs are filled before the first
/// step and outputs read after the last one.
static dgc::ArenaRequest lifetime(BufferOp buffer, const DenseMap<Operation *, int64_t> &steps, int64_t last) {
  dgc::ArenaRequest request{byteSize(buffer.getType()), last, 0};
  SmallVector<Value> views{buffer.getResult()};
  while (!views.empty()) {
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<ViewOp>(user)) {
        views.push_back(view.getResult());
        continue;
      }
      int64_t step = isa<InputOp>(user) ? 0 : isa<OutputOp>(user) ? last : steps.lookup(user);
      request.begin = std::min(request.begin, step);
      request.end = std::max(request.end, step);
    }
  }
  request.begin = std::min(request.begin, request.end);
  return request;
}

namespace {
struct PlanMemory : dgc::impl::PlanMemoryPassBase<PlanMemory> {
  /// Places the variables; returns the bytes they take.
  uint64_t placeVariables() {
    uint64_t offset = 0;
    for (auto variable : getOperation().getOps<VariableOp>()) {
      variable.setOffset(offset);
      offset += aligned(byteSize(variable.getType()));
    }
    return offset;
  }

  /// Places the buffers of one space of a program, behind `base`; returns the end.
  uint64_t placeSpace(ProgramOp program, Space space, uint64_t base) {
    DenseMap<Operation *, int64_t> steps;
    int64_t last = 0;
    for (Operation &op : *program.getBody().begin()) {
      steps[&op] = ++last;
    }
    ++last;
    dgc::ArenaProblem problem{{}, alignment};
    SmallVector<BufferOp> buffers;
    for (auto buffer : program.getOps<BufferOp>()) {
      if (buffer.getSpace() == space) {
        buffers.push_back(buffer);
        problem.requests.push_back(lifetime(buffer, steps, last));
      }
    }
    dgc::ArenaPlan plan = dgc::planArena(problem);
    for (auto [buffer, offset] : llvm::zip_equal(buffers, plan.offsets)) {
      buffer.setOffset(base + offset);
    }
    worstLive = std::max(worstLive, base + dgc::liveBytes(problem));
    return base + plan.size;
  }

  /// Constants lie one behind the other, equal ones once.
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
    uint64_t variables = placeVariables(), privateBytes = variables, sharedBytes = 0;
    for (auto program : getOperation().getOps<ProgramOp>()) {
      privateBytes = std::max(privateBytes, placeSpace(program, Space::Private, variables));
      sharedBytes = std::max(sharedBytes, placeSpace(program, Space::Shared, 0));
    }
    placeConstants();
    Builder builder(&getContext());
    getOperation()->setAttr("exec.private_bytes", builder.getI64IntegerAttr(privateBytes));
    getOperation()->setAttr("exec.shared_bytes", builder.getI64IntegerAttr(sharedBytes));
    peakBytes = privateBytes + sharedBytes;
    liveBytesBound = worstLive;
  }

  uint64_t worstLive = 0;
};
} // namespace
