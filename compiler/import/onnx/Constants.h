// What a graph computes of integers that are known.

#ifndef DGC_COMPILER_IMPORT_ONNX_CONSTANTS_H
#define DGC_COMPILER_IMPORT_ONNX_CONSTANTS_H

#include "compiler/import/onnx/Node.h"

namespace dgc::import {

/// The result of a node whose operands are all known, few, and integers or truth values; null where it is not known.
DenseElementsAttr computeConstant(const Node &node);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_ONNX_CONSTANTS_H
