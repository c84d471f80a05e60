//===- OptimizerClauses.h - how optimizers and schedules are written *- C++ -*-===//

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
std::string fieldHint(Attribute reference, StringRef field, ArrayRef<ParameterAttr> parameters);

/// `"momentum"`
ParseResult parseQuotedName(OpAsmParser &parser, StringAttr &name);
/// `needs "momentum"`, or nothing.
ParseResult parseNeeds(OpAsmParser &parser, StringAttr &needs);
void printNeeds(OpAsmPrinter &printer, StringAttr needs);

/// `parameters ("beta" %beta = 0.9 in [0, 1), ..)`, or nothing; of a schedule a parameter may be an `integer`, and without a
/// value. Appends the arguments of the body.
ParseResult parseParameters(OpAsmParser &parser, bool isSchedule, SmallVectorImpl<OpAsmParser::Argument> &arguments,
                            ArrayAttr &parameters);
void printParameters(OpAsmPrinter &printer, ArrayAttr parameters, Block::BlockArgListType values);

/// `@name` behind `private` where it is, and what comes behind the signature: attributes and the body.
ParseResult parseDefinitionName(OpAsmParser &parser, OperationState &state, StringAttr &name);
ParseResult parseDefinitionBody(OpAsmParser &parser, OperationState &state,
                                SmallVectorImpl<OpAsmParser::Argument> &arguments);
void printDefinitionName(OpAsmPrinter &printer, Operation *op);
void printDefinitionBody(OpAsmPrinter &printer, Operation *op);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_OPTIMIZERCLAUSES_H
