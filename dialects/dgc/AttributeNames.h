// The names of the discardable attributes of the dgc dialect; Attributes.def says what each means.

#ifndef DGC_DIALECTS_DGC_ATTRIBUTENAMES_H
#define DGC_DIALECTS_DGC_ATTRIBUTENAMES_H

#include "llvm/ADT/StringRef.h"

namespace dgc {

#define DGC_ATTRIBUTE(constant, name, places, kind, meaning) inline constexpr llvm::StringLiteral constant = name;
#include "dialects/dgc/Attributes.def"
#undef DGC_ATTRIBUTE

} // namespace dgc

#endif // DGC_DIALECTS_DGC_ATTRIBUTENAMES_H
