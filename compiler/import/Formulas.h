// Functions that dgc has no op for, as formulas of its ops. In f32 or f64: what is narrower is converted before.

#ifndef DGC_COMPILER_IMPORT_FORMULAS_H
#define DGC_COMPILER_IMPORT_FORMULAS_H

#include "dialects/dgc/TensorBuilder.h"

namespace dgc::import::formula {

Value acos(TensorBuilder &b, Value x);
Value acosh(TensorBuilder &b, Value x);
Value asin(TensorBuilder &b, Value x);
Value asinh(TensorBuilder &b, Value x);
Value atan(TensorBuilder &b, Value x);
Value atanh(TensorBuilder &b, Value x);
Value cosh(TensorBuilder &b, Value x);
Value sinh(TensorBuilder &b, Value x);

/// exp(x) - 1 and log(1 + x) of f64, exact to some units in the last place near 0 as well.
Value expMinusOne(TensorBuilder &b, Value x);
Value logPlusOne(TensorBuilder &b, Value x);

using Function = Value (*)(TensorBuilder &b, Value x);

/// The formula in f32 at least, in the type of `x`.
Value apply(TensorBuilder &b, Function function, Value x);

} // namespace dgc::import::formula

#endif // DGC_COMPILER_IMPORT_FORMULAS_H
