// Attributes that are a list of fields, `<key = value, ...>`.

#ifndef DGC_DIALECTS_STABLEHLO_ATTRIBUTES_H
#define DGC_DIALECTS_STABLEHLO_ATTRIBUTES_H

#include "mlir/IR/OpImplementation.h"

namespace dgc::stablehlo {

/// The list of this name; empty where there is none.
llvm::ArrayRef<int64_t> listField(mlir::DictionaryAttr fields, llvm::StringRef name);

/// The number of this name; 0 where there is none.
int64_t numberField(mlir::DictionaryAttr fields, llvm::StringRef name);

/// Parses `<key = value, ...>`; null, with a diagnostic, where it is none.
mlir::DictionaryAttr parseFields(mlir::AsmParser &parser);
void printFields(mlir::AsmPrinter &printer, mlir::DictionaryAttr fields);

/// Checks that each field is one of `lists`, and a list, or one of `others`, and a number, type, string or enum.
llvm::LogicalResult verifyFields(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, mlir::DictionaryAttr fields,
                                 llvm::ArrayRef<llvm::StringRef> lists, llvm::ArrayRef<llvm::StringRef> others);

} // namespace dgc::stablehlo

#endif // DGC_DIALECTS_STABLEHLO_ATTRIBUTES_H
