//===- Clauses.h - pieces of assembly that the model ops share --*- C++ -*-===//
//
// Numbers and `keyword number` clauses, as custom directives. A number may be written as an integer or a
// decimal, with an exponent: 1, 0.5, -2, 1e-3, 1.0e-3.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_DGC_CLAUSES_H
#define DGC_DIALECTS_DGC_CLAUSES_H

#include "dialects/MLIR.h"
#include "dialects/dgc/DGC.h"
#include "mlir/IR/OpImplementation.h"

namespace dgc {

/// Parses a finite number; fails for one that f64 rounds to 0.
ParseResult parseNumber(AsmParser &parser, double &value);
/// Prints a number so that it parses to the same bits.
void printNumber(AsmPrinter &printer, double value);

/// True when a number, `true` or `false` comes next.
bool startsLiteral(AsmParser &parser);
/// Parses a number that has no type yet: an i64 where it is written as an integer, a ui64 where it is above those, else
/// an f64; `true` and `false` are i1.
ParseResult parseLiteral(AsmParser &parser, TypedAttr &value);
/// custom<Literal>($attr)
void printLiteral(AsmPrinter &printer, Operation *, TypedAttr value);

/// custom<Number>($attr)
ParseResult parseNumber(AsmParser &parser, FloatAttr &value);
void printNumber(AsmPrinter &printer, Operation *, FloatAttr value);

/// Parses `keyword NUMBER` where it is written.
ParseResult parseOptionalNumber(AsmParser &parser, StringRef keyword, FloatAttr &value);
/// Prints ` keyword NUMBER` where there is a value.
void printOptionalNumber(AsmPrinter &printer, StringRef keyword, FloatAttr value);

/// Parses `[1, 2]`, or `2`, which means `repeat` numbers.
ParseResult parseListOrNumber(AsmParser &parser, int64_t repeat, DenseI64ArrayAttr &value);
/// The same where `keyword` precedes it.
ParseResult parseOptionalList(AsmParser &parser, StringRef keyword, int64_t repeat, DenseI64ArrayAttr &value);
void printOptionalList(AsmPrinter &printer, StringRef keyword, DenseI64ArrayAttr value);

/// Parses a keyword that must be there; `example` is how it is written, for the error.
ParseResult parseWord(AsmParser &parser, StringRef keyword, StringRef example);

/// Parses a keyword, unless none follows or the next one is the name of an op ("dgc.loss"), which begins another line.
ParseResult parseOptionalField(AsmParser &parser, StringRef &field);

/// What follows the name of a variable and of a state: `zeros`, `normal 0.0 0.02`, ...
ParseResult parseInit(AsmParser &parser, InitAttr &init);
void printInit(AsmPrinter &printer, Operation *, InitAttr init);

/// `0.1 cosine steps 1000 final 0.0 warm_up 10`
ParseResult parseSchedule(AsmParser &parser, ScheduleAttr &schedule);
void printSchedule(AsmPrinter &printer, Operation *, ScheduleAttr schedule);

/// `valid`, `same` or `[[1, 1], [0, 0]]`
ParseResult parsePaddingClause(AsmParser &parser, PaddingAttr &padding);
void printPaddingClause(AsmPrinter &printer, PaddingAttr padding);

/// custom<Reduction>($attr): sum, product, ..
ParseResult parseReduction(AsmParser &parser, ReductionKindAttr &kind);
void printReduction(AsmPrinter &printer, Operation *, ReductionKindAttr kind);

/// `a, b or c`, for diagnostics that say what would be accepted.
std::string alternatives(ArrayRef<StringRef> words);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_CLAUSES_H
