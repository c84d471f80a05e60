//===- MLIR.h - names of MLIR inside of namespace dgc -----------*- C++ -*-===//
//
// The compiler is written in namespace dgc and uses the names of MLIR unqualified. A name that dgc declares itself
// is found first.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_DIALECTS_MLIR_H
#define DGC_DIALECTS_MLIR_H

namespace mlir {
class PatternRewriter; // which what is generated for ops declares methods with
} // namespace mlir

namespace dgc {
using namespace mlir;
} // namespace dgc

#endif
