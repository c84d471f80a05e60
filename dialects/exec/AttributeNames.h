// The names of the discardable attributes of the exec dialect; Attributes.def says what each means.

#ifndef DGC_DIALECTS_EXEC_ATTRIBUTENAMES_H
#define DGC_DIALECTS_EXEC_ATTRIBUTENAMES_H

#include "llvm/ADT/StringRef.h"

namespace dgc::exec {

#define DGC_ATTRIBUTE(constant, name, places, kind, meaning) inline constexpr llvm::StringLiteral constant = name;
#include "dialects/exec/Attributes.def"
#undef DGC_ATTRIBUTE

} // namespace dgc::exec

#endif // DGC_DIALECTS_EXEC_ATTRIBUTENAMES_H
