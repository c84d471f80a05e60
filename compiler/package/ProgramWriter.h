//===- ProgramWriter.h - one program of an artifact, being written ---------===//

#ifndef DGC_COMPILER_PACKAGE_PROGRAMWRITER_H
#define DGC_COMPILER_PACKAGE_PROGRAMWRITER_H

#include "dialects/exec/Exec.h"
#include "runtime/artifact/Writer.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dgc {

/// Where an artifact has what programs name by symbol.
struct PlanIndices {
  llvm::StringMap<uint32_t> meshAxes, groups, kernels;
  llvm::StringMap<uint32_t> hostKernels; // of groups on CPUs in a plan for GPUs
};

/// `file:line:column` of the first source location, or nothing.
std::string textOfLocation(mlir::Location location);

/// How a tensor is stored, at an offset of a space. Reports on `op` an element type that an artifact cannot hold.
mlir::FailureOr<std::unique_ptr<artifact::BufferT>>
describeBuffer(mlir::Operation *op, artifact::Space space, uint64_t offset, mlir::Type type, llvm::StringRef name);

/// How a tensor of that rank is cut; null when it is whole.
mlir::FailureOr<std::unique_ptr<artifact::ShardingT>> describeSharding(mlir::Operation *op, const PlanIndices &indices,
                                                                       std::optional<mlir::Attribute> sharding,
                                                                       int64_t rank);

/// The group of the workers of a mesh; -1 when none is named.
mlir::FailureOr<int32_t> groupOf(mlir::Operation *op, const PlanIndices &indices, std::optional<llvm::StringRef> mesh);

inline std::vector<int64_t> toVector(llvm::ArrayRef<int64_t> values) { return {values.begin(), values.end()}; }

/// Collects what the ops of one program say of themselves (PackageOpInterface).
class ProgramWriter {
public:
  ProgramWriter(const PlanIndices &indices, artifact::ProgramT &program, bool isOnHost)
      : indices(indices), program(program), isOnHost(isOnHost) {}

  const PlanIndices &indices;
  artifact::ProgramT &program;

  /// The kernels that the program can call, by symbol.
  const llvm::StringMap<uint32_t> &kernels() const { return isOnHost ? indices.hostKernels : indices.kernels; }

  /// Adds all ops of the block. Reports one that cannot be written.
  llvm::LogicalResult addOps(mlir::Block &block);
  /// Makes `value` the buffer that is added to the program.
  llvm::LogicalResult addBuffer(mlir::Value value, mlir::FailureOr<std::unique_ptr<artifact::BufferT>> buffer);
  uint32_t index(mlir::Value buffer) const { return numbers.lookup(buffer); }
  int32_t optionalIndex(mlir::Value buffer) const { return buffer ? static_cast<int32_t>(index(buffer)) : -1; }
  std::vector<uint32_t> indexAll(mlir::ValueRange buffers) const;
  const artifact::BufferT &buffer(mlir::Value value) const { return *program.buffers[index(value)]; }

  /// The step that is added last is collective `order`, and runs asynchronously until the step after awaitCollective().
  void beginCollective(int64_t order);
  void awaitCollective(int64_t order) { awaited.push_back(underWay.lookup(order)); }

  /// Adds a step that does `action`; `name` is for messages, by default that of the op.
  template <typename ActionT> void addStep(mlir::Operation *op, ActionT action, llvm::StringRef name = {}) {
    newStep(op, name).action.Set(std::move(action));
  }

  /// Adds a step that does `action`, then those of its two regions, which it is told the numbers of.
  template <typename ActionT>
  llvm::LogicalResult addControlFlow(mlir::Operation *op, ActionT action, uint32_t ActionT::*first,
                                     uint32_t ActionT::*second) {
    const size_t number = program.steps.size();
    addStep(op, action);
    mlir::FailureOr<uint32_t> steps[2];
    for (auto [region, count] : llvm::zip_equal(op->getRegions(), steps)) {
      count = addSteps(region);
      if (mlir::failed(count))
        return mlir::failure();
    }
    action.*first = *steps[0];
    action.*second = *steps[1];
    program.steps[number]->action.Set(std::move(action));
    return mlir::success();
  }

private:
  /// Adds the steps of a region, and gives how many they are.
  mlir::FailureOr<uint32_t> addSteps(mlir::Region &region);

  const bool isOnHost;
  artifact::StepT &newStep(mlir::Operation *op, llvm::StringRef name);

  llvm::DenseMap<mlir::Value, uint32_t> numbers;
  llvm::DenseMap<int64_t, uint32_t> underWay; // by their order, the steps of collectives that go on
  std::vector<uint32_t> awaited;              // steps that the next one waits for
};

} // namespace dgc

#include "compiler/package/PackageOpInterface.h.inc"

#endif // DGC_COMPILER_PACKAGE_PROGRAMWRITER_H
