//===- GradientCheck.h - gradients against central differences --*- C++ -*-===//
//
// A function of f64 tensors is compiled and run, and so is its gradient; every element of the gradient is compared
// with (f(x + h) - f(x - h)) / 2h.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_TEST_UNIT_PASSES_GRADIENT_GRADIENTCHECK_H
#define DGC_TEST_UNIT_PASSES_GRADIENT_GRADIENTCHECK_H

#include "test/unit/compiler/target/cpu/LoadedKernels.h"
#include "test/unit/passes/gradient/GradientCase.h"
#include <cmath>

namespace dgc::test {

/// The number of elements and the element type of every argument and result, in order.
struct Signature {
  std::vector<size_t> sizes;
  std::vector<bool> isF64;
  std::vector<size_t> bytes; // of an element
  size_t numArguments = 0;
};

inline Signature signatureOf(const std::string &function) {
  using namespace mlir;
  MLIRContext context;
  loadKernelDialects(context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(function, &context);
  auto type = cast<func::FuncOp>(module->getBody()->front()).getFunctionType();
  Signature signature;
  signature.numArguments = type.getNumInputs();
  for (Type t : llvm::concat<const Type>(type.getInputs(), type.getResults())) {
    auto tensor = cast<RankedTensorType>(t);
    signature.sizes.push_back(tensor.getNumElements());
    signature.isF64.push_back(tensor.getElementType().isF64());
    signature.bytes.push_back(llvm::divideCeil(tensor.getElementTypeBitWidth(), 8));
  }
  return signature;
}

/// The largest difference between the gradient of `derived` and central differences of `function`, relative to the size
/// of the derivative where that is above 1. The two are the same function, but in a negative control.
inline double gradientError(const GradientCase &function, const GradientCase &derived) {
  std::string forward = buildFunction(function, "f", false), backward = buildFunction(derived, "g", true);
  if (forward.empty() || backward.empty())
    return INFINITY;
  LoadedKernels kernels(forward + "\n" + backward);
  if (!kernels.ok())
    return INFINITY;
  Signature signature = signatureOf(backward);

  // 8 bytes an element are enough for every type. Integers are 0, 1, 0, 1, ...
  std::vector<std::vector<double>> buffers;
  std::vector<size_t> wrt;
  for (size_t i = 0, seed = 0; i < signature.sizes.size(); ++i) {
    std::vector<double> buffer(signature.sizes[i], 0.0);
    bool isWeights = i + 1 == signature.numArguments;
    for (size_t e = 0; e < buffer.size() && signature.isF64[i] && i < signature.numArguments; ++e) {
      double unit = (sample(seed++ * 3 + i) + 2) / 4.01;
      buffer[e] = isWeights ? 4 * unit - 2 : function.low + (function.high - function.low) * unit;
    }
    if (!signature.isF64[i])
      for (size_t e = 1; e < buffer.size(); e += 2) // the low byte of a little-endian integer
        reinterpret_cast<uint8_t *>(buffer.data())[e * signature.bytes[i]] = 1;
    if (signature.isF64[i] && i + 1 < signature.numArguments)
      wrt.push_back(i);
    buffers.push_back(std::move(buffer));
  }
  double loss = 0;
  std::vector<void *> forwardArguments, backwardArguments;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (i < signature.numArguments)
      forwardArguments.push_back(buffers[i].data());
    backwardArguments.push_back(buffers[i].data());
  }
  forwardArguments.push_back(&loss);
  kernels.call(backwardArguments, 1, 1);

  const double h = function.step;
  double worst = 0;
  for (size_t k = 0; k < wrt.size(); ++k)
    for (size_t e = 0; e < buffers[wrt[k]].size(); ++e) {
      double &x = buffers[wrt[k]][e], at = x;
      auto lossAt = [&](double moved) {
        x = moved;
        kernels.call(forwardArguments, 1, 0);
        x = at;
        return loss;
      };
      double expected = (lossAt(at + h) - lossAt(at - h)) / (2 * h);
      double actual = buffers[signature.numArguments + k][e];
      double error = std::abs(actual - expected) / std::max(1.0, std::abs(expected));
      worst = error <= worst ? worst : error; // NaN counts as worst
    }
  return worst;
}

} // namespace dgc::test

#endif // DGC_TEST_UNIT_PASSES_GRADIENT_GRADIENTCHECK_H
