// How a literal is written.

#ifndef DGC_DIALECTS_DGC_LITERALTEXT_H
#define DGC_DIALECTS_DGC_LITERALTEXT_H

#include "dialects/MLIR.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"

namespace dgc {

/// The text of the value of a dgc.literal: an i64, ui64, f64 or i1.
std::string literalText(TypedAttr value);

} // namespace dgc

#endif // DGC_DIALECTS_DGC_LITERALTEXT_H
