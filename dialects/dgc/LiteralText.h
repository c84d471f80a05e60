// How a literal is written.

#ifndef DGC_DIALECTS_DGC_LITERALTEXT_H
#define DGC_DIALECTS_DGC_LITERALTEXT_H

#include "mlir/IR/BuiltinAttributeInterfaces.h"

namespace mlir::dgc {

/// The text of the value of a dgc.literal: an i64, ui64, f64 or i1.
std::string literalText(TypedAttr value);

} // namespace mlir::dgc

#endif // DGC_DIALECTS_DGC_LITERALTEXT_H
