//===- ProgramBuilder.h - lowers one entry function to an exec program -----===//

#ifndef DGC_PASSES_SCHEDULE_PROGRAMBUILDER_H
#define DGC_PASSES_SCHEDULE_PROGRAMBUILDER_H

#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "dialects/exec/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dgc::schedule {

/// The alignment of buffers, and of the members of a collective.
inline constexpr uint64_t bufferAlignment = 64;

/// The buffer type of a local tensor: encodings (partial sums) are dropped.
mlir::MemRefType bufferType(mlir::Type type);

uint64_t byteSize(mlir::Type type);

/// The value that owns the memory of `value`: reshapes are views.
mlir::Value rootOf(mlir::Value value);

/// A name for messages: that of the source location, or of the op that computes the value.
std::string nameOf(mlir::Value value, unsigned index);

/// The memory of a root value that is not a buffer of its own.
struct BufferSlice {
  mlir::Value buffer;  // a buffer of the program
  uint64_t offset = 0; // in bytes
};

/// Lowers one entry function. Roots are values that own memory; every other value is a view of one.
class ProgramBuilder {
public:
  ProgramBuilder(mlir::func::FuncOp function) : function(function), buffers(function), steps(function) {}

  mlir::LogicalResult run();
  unsigned copies = 0, inPlace = 0;

private:
  void findUses(mlir::Block &block);
  void lowerArguments();
  void placeVariables();
  bool placeStep(mlir::Value root, mlir::Value target, mlir::Value old);
  void placeResult(mlir::Value value, mlir::Value target, mlir::Value old);
  mlir::LogicalResult placeCollective(dist::CollectiveOpInterface op);
  void placeSend(dist::SendOp op);
  mlir::LogicalResult lowerOp(mlir::Operation &op);
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerWhile(WhileOp op);
  mlir::LogicalResult lowerIf(IfOp op);
  mlir::LogicalResult lowerRegion(mlir::Region &region, mlir::Region &steps);
  mlir::LogicalResult lowerYielding(mlir::Region &region, mlir::Region &steps, llvm::ArrayRef<mlir::Value> targets,
                                    bool isLoop);
  mlir::Value bufferToCarry(mlir::Value value, WhileOp op);
  /// `from`, a buffer or a view of the buffer `memory`, to `to`.
  struct Assignment {
    mlir::Value from, memory, to;
  };
  void assignTogether(llvm::SmallVector<Assignment> assignments, mlir::Location loc);
  void lowerStep(exec::StepOpInterface op);
  mlir::LogicalResult lowerCollective(dist::CollectiveOpInterface op);
  void lowerDone(dist::DoneOp op);
  void lowerSend(dist::SendOp op);
  void lowerReceive(dist::RecvOp op);
  void lowerReturn(mlir::func::ReturnOp op);

  mlir::Value makeBuffer(exec::Space space, mlir::MemRefType type, llvm::StringRef name, mlir::Location loc);
  mlir::Value viewOf(const BufferSlice &slice, mlir::MemRefType type, mlir::Location loc);
  mlir::Value bufferOf(mlir::Value value);
  void copy(mlir::Value from, mlir::Value to, mlir::Location loc);
  /// The number that every element of a constant is, if every device can fill memory with it: GPUs repeat 4 bytes.
  static std::optional<double> splatOf(mlir::Value value);
  bool deadAfter(mlir::Value root, mlir::Operation *op) { return lastUse.lookup(root) <= position.lookup(op); }

  mlir::func::FuncOp function;
  mlir::OpBuilder buffers, steps; // the two parts of the program
  llvm::DenseMap<mlir::Operation *, int64_t> position;
  llvm::DenseMap<mlir::Value, int64_t> lastUse;                                // of a root, through its views
  llvm::DenseMap<mlir::Value, BufferSlice> slices;                             // of roots that do not own their memory
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> exchanges; // collective -> its buffers in the
                                                                               // shared arena: one, or one an operand
  llvm::SmallVector<std::pair<mlir::Value, mlir::StringAttr>> variables;       // arguments that are variables
  llvm::DenseMap<std::pair<mlir::Value, std::pair<uint64_t, mlir::Type>>, mlir::Value> views;
  /// Right after a step: its results, which are copied to the buffers of what a loop carries.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>> copiesAfter;
  mlir::IRMapping mapping; // tensor value -> buffer
  unsigned counter = 0;
  int64_t numbered = 0; // ops that have a position
};

} // namespace dgc::schedule

#endif // DGC_PASSES_SCHEDULE_PROGRAMBUILDER_H
