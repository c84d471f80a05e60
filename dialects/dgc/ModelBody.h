//===- ModelBody.h - the body of a model while it is parsed -----*- C++ -*-===//
//
// Every value of a model is !dgc.untyped as it is written, also that of an op that is written with its result type
// (dgc.constant). Such an op has to know whether it is in a model, which MLIR's parser does not say: a region has no
// parent while its ops are parsed. And a number that replaces an operand is an op, which the parser of an op cannot
// insert. The scope of the body that is being parsed answers the one and keeps the other.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_MODELBODY_H
#define DGC_DIALECTS_DGC_MODELBODY_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"
#include "mlir/IR/OpImplementation.h"

namespace dgc {

/// Lives as long as a body is parsed; bodies are parsed by one thread, those inside within those outside.
class ModelBodyScope {
public:
  ModelBodyScope();
  /// Destroys the numbers of a body that could not be parsed.
  ~ModelBodyScope();
  ModelBodyScope(const ModelBodyScope &) = delete;
  ModelBodyScope &operator=(const ModelBodyScope &) = delete;

  /// The scope of the innermost body that this thread is parsing; null outside of models.
  static ModelBodyScope *innermost();

  /// A dgc.literal, which is in no block yet.
  Value addLiteral(Location location, TypedAttr value);

  /// Puts each literal before the op that uses it.
  void placeLiterals();

private:
  ModelBodyScope *outer = innermost();
  SmallVector<Operation *> literals;
};

/// True for an op in a model, in a block that a model calls, in an optimizer or in a schedule.
bool isInModelBody(Operation *op);

/// custom<ModelBody>($body)
ParseResult parseModelBody(OpAsmParser &parser, Region &body, ArrayRef<OpAsmParser::Argument> arguments = {});
void printModelBody(OpAsmPrinter &printer, Operation *op, Region &body);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_MODELBODY_H
