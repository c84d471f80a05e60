// One nest of the bytecode, as it is written.

#ifndef DGC_COMPILER_TARGET_REFERENCE_NESTWRITER_H
#define DGC_COMPILER_TARGET_REFERENCE_NESTWRITER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "runtime/device/reference/Bytecode.h"
#include <functional>

namespace dgc {

/// Where the elements of a tensor are: a buffer of its size, row-major, or of one element where all are the same.
struct TensorPlace {
  uint32_t buffer = 0;
  bool isSplat = false;
};

/// The place of a tensor that a body reads. Fails with a diagnostic.
using FindPlace = std::function<mlir::FailureOr<TensorPlace>(mlir::Value)>;

/// The type of an element or scalar; none where the bytecode has no such.
std::optional<reference::Type> bytecodeType(mlir::Type type);

/// The instruction that an op with one result is, with its operands; none where the bytecode has no such, or it takes
/// several, as a comparison does.
std::optional<reference::Opcode> opcodeOf(mlir::Operation *op);

/// The outcomes of a comparison for which a predicate holds.
struct Outcomes {
  bool equal, greater, less, unordered;
};
Outcomes outcomesOf(mlir::arith::CmpFPredicate predicate);

/// Distances of the dimensions of a tensor, in elements.
llvm::SmallVector<int64_t> stridesOf(TensorPlace place, llvm::ArrayRef<int64_t> shape);

class NestWriter {
public:
  NestWriter(mlir::Location loc, llvm::ArrayRef<int64_t> extents, FindPlace findPlace);

  /// Says that the loop adds to the same elements in each iteration.
  void setReduces(unsigned loop) { nest->reduces[loop] = true; }

  // Each adds an instruction and returns its number.
  uint32_t emit(reference::Opcode opcode, reference::Type type, llvm::ArrayRef<uint32_t> operands = {},
                uint64_t immediate = 0);
  uint32_t integer(int64_t value, reference::Type type = reference::Type::I64);
  uint32_t load(reference::Type type, const reference::AccessT &access);
  uint32_t index(unsigned loop) { return emit(reference::Opcode::Index, reference::Type::I64, {loop}); }
  uint32_t add(uint32_t a, uint32_t b) { return emit(reference::Opcode::AddI, reference::Type::I64, {a, b}); }
  uint32_t scaled(uint32_t a, int64_t factor);
  uint32_t loadAt(reference::Type type, TensorPlace place, uint32_t element);

  /// An expression of the loops; none where it has a part that is no sum, product, quotient or remainder.
  std::optional<uint32_t> affine(mlir::AffineExpr expr);

  /// The value of a scalar, computed in the body: of what `know` told, of earlier values, or by its op.
  mlir::FailureOr<uint32_t> scalar(mlir::Value value);
  void know(mlir::Value value, uint32_t instruction) { known[value] = instruction; }

  /// The current value of the next output: a sum is added up in f64.
  uint32_t current(unsigned output, reference::Type stored);
  /// Adds an output.
  void output(reference::AccessT access, uint32_t value);
  /// `value` in a floating-point type; itself where it has that type, or is an integer.
  uint32_t converted(uint32_t value, reference::Type type);

  mlir::Location location() const { return loc; }
  reference::Type typeOf(uint32_t instruction) const { return nest->body[instruction].type(); }
  std::unique_ptr<reference::NestT> take() { return std::move(nest); }

private:
  mlir::FailureOr<uint32_t> compute(mlir::Operation *op);
  mlir::FailureOr<uint32_t> computeElement(mlir::tensor::ExtractOp op);
  uint32_t compareIntegers(mlir::arith::CmpIPredicate predicate, uint32_t a, uint32_t b);
  uint32_t compareFloats(mlir::arith::CmpFPredicate predicate, uint32_t a, uint32_t b);
  uint32_t negated(uint32_t truth);

  mlir::Location loc;
  FindPlace findPlace;
  std::unique_ptr<reference::NestT> nest = std::make_unique<reference::NestT>();
  llvm::DenseMap<mlir::Value, uint32_t> known;
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_REFERENCE_NESTWRITER_H
