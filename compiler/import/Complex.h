// Complex numbers, which dgc has not: a tensor of them is two of floats.

#ifndef DGC_COMPILER_IMPORT_COMPLEX_H
#define DGC_COMPILER_IMPORT_COMPLEX_H

#include "compiler/import/Patterns.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace dgc::import {

/// A complex number in parts, each a tensor of floats.
struct Complex {
  Value real, imaginary;
};

/// Functions of complex numbers, as formulas.
namespace formula {
Complex multiply(TensorBuilder &b, Complex x, Complex y);
Complex divide(TensorBuilder &b, Complex x, Complex y);
/// -i log((x + i y) / sqrt(x^2 + y^2))
Complex atan2(TensorBuilder &b, Complex y, Complex x);
Value magnitude(TensorBuilder &b, Complex x);
Complex exponential(TensorBuilder &b, Complex x);
Complex exponentialMinusOne(TensorBuilder &b, Complex x);
Complex log(TensorBuilder &b, Complex x);
Complex logPlusOne(TensorBuilder &b, Complex x);
Complex logistic(TensorBuilder &b, Complex x);
Complex sqrt(TensorBuilder &b, Complex x);
Complex rsqrt(TensorBuilder &b, Complex x);
Complex sign(TensorBuilder &b, Complex x);
Complex sine(TensorBuilder &b, Complex x);
Complex cosine(TensorBuilder &b, Complex x);
Complex tan(TensorBuilder &b, Complex x);
Complex tanh(TensorBuilder &b, Complex x);
Complex sinh(TensorBuilder &b, Complex x);
Complex cosh(TensorBuilder &b, Complex x);
Complex square(TensorBuilder &b, Complex x);
Complex acosh(TensorBuilder &b, Complex x);
Complex atan(TensorBuilder &b, Complex x);
Complex power(TensorBuilder &b, Complex x, Complex y);
} // namespace formula

bool isComplex(Value value);

/// Whether the op takes or gives complex numbers.
bool hasComplex(Operation *op);

/// Replaces an op on complex numbers by ops on their parts, and a `stablehlo.complex` that joins those of the result; or says
/// why not, if there is a reason to give.
LogicalResult splitComplex(Operation *op, RewriterBase &rewriter, std::string &reason);

/// Arguments and results of the function that are complex become floats with one dimension more, of the real and imaginary
/// part: as arrays of complex numbers are in memory. The results are split when the ops before are converted.
void splitArguments(func::FuncOp function);
void splitResults(func::FuncOp function);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_COMPLEX_H
