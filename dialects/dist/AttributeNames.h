// The names of the discardable attributes of the dist dialect; Attributes.def says what each means.

#ifndef DGC_DIALECTS_DIST_ATTRIBUTENAMES_H
#define DGC_DIALECTS_DIST_ATTRIBUTENAMES_H

#include "llvm/ADT/StringRef.h"

namespace dgc::dist {

#define DGC_ATTRIBUTE(constant, name, places, kind, meaning) inline constexpr llvm::StringLiteral constant = name;
#include "dialects/dist/Attributes.def"
#undef DGC_ATTRIBUTE

} // namespace dgc::dist

#endif // DGC_DIALECTS_DIST_ATTRIBUTENAMES_H
