// dgc-verify-schedule: what the phase `schedule` promises.

#include "dialects/exec/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "passes/schedule/Lifetimes.h"
#include "passes/schedule/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace dgc {
#define GEN_PASS_DEF_VERIFYSCHEDULEPASS
#include "passes/schedule/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;
using namespace dgc::exec;

namespace {
struct VerifySchedule : dgc::impl::VerifySchedulePassBase<VerifySchedule> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(mlir::verify(getOperation())))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      function.emitOpError("remains after the phase schedule, where there are programs alone");
      return signalPassFailure();
    }
    if (failed(verifyVariables()) || failed(verifyBuffers()))
      signalPassFailure();
  }

  /// The bytes of an arena, as the module says; those of the workers of one mesh where it has its own.
  int64_t arenaBytes(FlatSymbolRefAttr mesh, Space space) {
    if (auto perMesh = getOperation()->getAttrOfType<DictionaryAttr>(kMeshBytesAttr); perMesh && mesh)
      if (auto bytes = perMesh.getAs<DenseI64ArrayAttr>(mesh.getValue()))
        return bytes[space == Space::Shared ? 1 : 0];
    auto bytes =
        getOperation()->getAttrOfType<IntegerAttr>(space == Space::Shared ? kSharedBytesAttr : kPrivateBytesAttr);
    return bytes ? bytes.getInt() : 0;
  }

  LogicalResult verifyRange(Operation *op, int64_t offset, int64_t bytes, int64_t arena) {
    if (offset < 0)
      return op->emitOpError("has no offset after the phase schedule");
    if (offset + bytes > arena)
      return op->emitOpError() << "ends at " << offset + bytes << ", past the " << arena << " bytes of its arena";
    return success();
  }

  LogicalResult verifyVariables() {
    llvm::MapVector<Attribute, SmallVector<exec::VariableOp>> perMesh;
    for (auto variable : getOperation().getOps<exec::VariableOp>()) {
      int64_t bytes = byteSize(variable.getType());
      if (failed(
              verifyRange(variable, variable.getOffset(), bytes, arenaBytes(variable.getMeshAttr(), Space::Private))))
        return failure();
      perMesh[variable.getMeshAttr()].push_back(variable);
    }
    for (auto &[mesh, variables] : perMesh) {
      llvm::sort(variables, [](exec::VariableOp a, exec::VariableOp b) { return a.getOffset() < b.getOffset(); });
      for (auto [before, next] : llvm::zip(variables, llvm::drop_begin(variables)))
        if (before.getOffset() + int64_t(byteSize(before.getType())) > next.getOffset())
          return next.emitOpError() << "shares bytes with the variable '" << before.getSymName() << "'";
    }
    return success();
  }

  LogicalResult verifyBuffers() {
    for (auto program : getOperation().getOps<ProgramOp>())
      for (auto buffer : program.getOps<BufferOp>()) {
        int64_t bytes = byteSize(buffer.getType());
        int64_t arena = buffer.getSpace() == Space::Constant ? std::numeric_limits<int64_t>::max()
                                                             : arenaBytes(program.getMeshAttr(), buffer.getSpace());
        if (failed(verifyRange(buffer, buffer.getOffset(), bytes, arena)))
          return failure();
      }
    return success();
  }
};
} // namespace
