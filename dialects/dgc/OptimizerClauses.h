//===- OptimizerClauses.h - how optimizers are written ----------*- C++ -*-===//

#ifndef DGC_DIALECTS_DGC_OPTIMIZERCLAUSES_H
#define DGC_DIALECTS_DGC_OPTIMIZERCLAUSES_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"

namespace dgc {

/// `[0, 1)`, `(0, inf)`
ParseResult parseInterval(AsmParser &parser, IntervalAttr &interval);
void printInterval(AsmPrinter &printer, IntervalAttr interval);

/// custom<OptimizerReference>($attr): `sgd`, one of the language, or `@mine`
ParseResult parseOptimizerReference(OpAsmParser &parser, Attribute &reference);
void printOptimizerReference(OpAsmPrinter &printer, Operation *, Attribute reference);

/// custom<OptimizerFields>($attr): ` momentum 0.9 nesterov`
ParseResult parseOptimizerFields(OpAsmParser &parser, DictionaryAttr &fields);
void printOptimizerFields(OpAsmPrinter &printer, Operation *, DictionaryAttr fields);

/// Which optimizers may be named, for diagnostics.
std::string optimizerHint(MLIRContext *context);

/// What is wrong with a field that is no parameter, and which there are.
std::string fieldHint(Attribute reference, StringRef field, ArrayRef<OptimizerParameterAttr> parameters);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_OPTIMIZERCLAUSES_H
