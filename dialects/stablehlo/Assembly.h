// The custom directives of the textual forms of ops.

#ifndef DGC_DIALECTS_STABLEHLO_ASSEMBLY_H
#define DGC_DIALECTS_STABLEHLO_ASSEMBLY_H

#include "dialects/stablehlo/StableHLO.h"

namespace dgc::stablehlo {

using Unresolved = OpAsmParser::UnresolvedOperand;

/// One type that all operands and the result have, or a function type.
ParseResult parseSignature(OpAsmParser &parser, Type &operand, Type &result);
ParseResult parseSignature(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result);
ParseResult parseSignature(OpAsmParser &parser, Type &first, Type &second, Type &third, Type &result);
void printSignature(OpAsmPrinter &printer, Operation *op, Type operand, Type result);
void printSignature(OpAsmPrinter &printer, Operation *op, Type lhs, Type rhs, Type result);
void printSignature(OpAsmPrinter &printer, Operation *op, Type first, Type second, Type third, Type result);

/// The complex type alone, or a function type.
ParseResult parseComplexTypes(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result);
void printComplexTypes(OpAsmPrinter &printer, Operation *op, Type lhs, Type rhs, Type result);

/// `PRED, VALUE`, or a function type.
ParseResult parseSelectTypes(OpAsmParser &parser, Type &pred, Type &onTrue, Type &onFalse, Type &result);
void printSelectTypes(OpAsmPrinter &printer, Operation *op, Type pred, Type onTrue, Type onFalse, Type result);

/// The types of the operands, which are those of the results.
ParseResult parseSameTypes(OpAsmParser &parser, SmallVectorImpl<Type> &operands, SmallVectorImpl<Type> &results);
void printSameTypes(OpAsmPrinter &printer, Operation *op, TypeRange operands, TypeRange results);

/// The type of the result, which is that of every operand.
ParseResult parseTokenTypes(OpAsmParser &parser, SmallVectorImpl<Type> &types, Type &result,
                            ArrayRef<Unresolved> operands);
void printTokenTypes(OpAsmPrinter &printer, Operation *op, TypeRange types, Type result, ValueRange operands);

/// The type of the result, which is the tuple of those of the operands, or a function type.
ParseResult parseTupleTypes(OpAsmParser &parser, SmallVectorImpl<Type> &types, Type &result);
void printTupleTypes(OpAsmPrinter &printer, Operation *op, TypeRange types, Type result);

/// `e5m10`.
ParseResult parseFloatFormat(OpAsmParser &parser, IntegerAttr &exponentBits, IntegerAttr &mantissaBits);
void printFloatFormat(OpAsmPrinter &printer, Operation *op, IntegerAttr exponentBits, IntegerAttr mantissaBits);

/// Operands with a comma behind each.
ParseResult parseOperands(OpAsmParser &parser, SmallVectorImpl<Unresolved> &operands);
void printOperands(OpAsmPrinter &printer, Operation *op, ValueRange operands);

/// `[0:4, 0:16:2]`.
ParseResult parseRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts, DenseI64ArrayAttr &limits,
                        DenseI64ArrayAttr &strides);
void printRanges(OpAsmPrinter &printer, Operation *op, DenseI64ArrayAttr starts, DenseI64ArrayAttr limits,
                 DenseI64ArrayAttr strides);

/// `, precision = [DEFAULT, HIGH]` or nothing.
ParseResult parsePrecision(OpAsmParser &parser, ArrayAttr &precisions);
void printPrecision(OpAsmPrinter &printer, Operation *op, ArrayAttr precisions);

/// `, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [..], algorithm = <..>`, each at most once.
ParseResult parseDotClauses(OpAsmParser &parser, DotDimsAttr &dims, ArrayAttr &precisions, DotAlgorithmAttr &algorithm);
void printDotClauses(OpAsmPrinter &printer, Operation *op, DotDimsAttr dims, ArrayAttr precisions,
                     DotAlgorithmAttr algorithm);

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
ParseResult parseConvDimensions(AsmParser &parser, ConvDimsAttr &dims);
void printConvDimensions(AsmPrinter &printer, ConvDimsAttr dims);
inline void printConvDimensions(OpAsmPrinter &printer, Operation *, ConvDimsAttr dims) {
  printConvDimensions(printer, dims);
}

/// `{stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]}`.
ParseResult parseWindow(OpAsmParser &parser, DenseI64ArrayAttr &strides, DenseIntElementsAttr &padding,
                        DenseI64ArrayAttr &lhsDilation, DenseI64ArrayAttr &rhsDilation, DenseBoolArrayAttr &reversal);
void printWindow(OpAsmPrinter &printer, Operation *op, DenseI64ArrayAttr strides, DenseIntElementsAttr padding,
                 DenseI64ArrayAttr lhsDilation, DenseI64ArrayAttr rhsDilation, DenseBoolArrayAttr reversal);

/// `@target`, or a string.
ParseResult parseTarget(OpAsmParser &parser, StringAttr &target);
void printTarget(OpAsmPrinter &printer, Operation *op, StringAttr target);

} // namespace dgc::stablehlo

#endif // DGC_DIALECTS_STABLEHLO_ASSEMBLY_H
