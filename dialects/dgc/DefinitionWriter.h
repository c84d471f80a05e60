//===- DefinitionWriter.h - the body of a definition, with types *- C++ -*-===//

#ifndef DGC_DIALECTS_DGC_DEFINITIONWRITER_H
#define DGC_DIALECTS_DGC_DEFINITIONWRITER_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace dgc {

/// Copies the body of a definition, with types, to a block of its own. A value of the body is a number, which has no type
/// yet, or a tensor.
class DefinitionWriter {
public:
  /// The ops of a definition of the language have the location `location`, others their own.
  DefinitionWriter(Operation *definition, Location location, bool isBuiltin)
      : builder(definition->getContext()), definition(definition), location(location), isBuiltin(isBuiltin) {
    builder.setInsertionPointToEnd(&scratch);
  }

  /// Says what an argument of the body is.
  void bindTensor(Value argument, Value tensor) { tensors.map(argument, tensor); }
  void bindNumber(Value argument, TypedAttr number) { numbers[argument] = number; }
  /// Says what the last arguments of the body, the parameters, are.
  void bindParameters(ArrayAttr parameters, DictionaryAttr fields);

  /// Copies the ops. Fails with a diagnostic where their types do not fit.
  LogicalResult write();

  /// The number that a value of the body is; null for a tensor.
  TypedAttr numberOf(Value value) const { return numbers.lookup(value); }
  Value tensorOf(Value value) const { return tensors.lookup(value); }

  /// Moves what the results need, and takes what they do not away.
  void moveTo(OpBuilder &target, ValueRange results);

  OpBuilder builder; // at the end of the copy

private:
  LogicalResult write(Block &block);
  LogicalResult write(Operation &original);
  LogicalResult size(SizeOp size);
  LogicalResult repeat(RepeatOp repeat);
  LogicalResult call(CallOp call);
  LogicalResult evaluate(Operation &original);
  LogicalResult copy(Operation &original);
  void widenScalars(Operation *copied);
  void bind(ValueRange to, ValueRange from);
  bool isNumber(Value value) const { return numbers.contains(value); }

  Operation *definition;
  Block scratch;
  Location location;
  bool isBuiltin;
  int depth = 0;                            // of calls
  llvm::DenseMap<Value, TypedAttr> numbers; // i1, i64 and ui64 as they are written, or f64
  IRMapping tensors;
};

} // namespace dgc

#endif // DGC_DIALECTS_DGC_DEFINITIONWRITER_H
