//===- GradientCase.h - a function to differentiate --------------*- C++ -*-===//

#ifndef DGC_TEST_UNIT_PASSES_GRADIENT_GRADIENTCASE_H
#define DGC_TEST_UNIT_PASSES_GRADIENT_GRADIENTCASE_H

#include "compiler/codegen/Lowering.h"
#include "dialects/dgc/DGC.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/gradient/Passes.h"
#include <gtest/gtest.h>

namespace dgc::test {

/// A function to differentiate: `body` computes from `arguments`; the result of its last op is the function's value.
/// f64 arguments get numbers in [low, high] and are differentiated by, those of i1 and integers are 0, 1, 0, 1, ...
struct GradientCase {
  const char *name, *arguments, *body;
  double low = -2, high = 2;
  /// The step of the differences, and the error that its rounding leaves.
  double step = 1e-5, tolerance = 2e-7;
};

inline void PrintTo(const GradientCase &c, std::ostream *os) { *os << c.name; }

/// Text of `func.func @name(arguments, %weights)`, whose result is the sum of the elements of the body's value,
/// weighted, or the gradients of that by the f64 arguments; with `both` the sum and the gradients.
inline std::string buildFunction(const GradientCase &row, const char *name, bool gradient, bool both = false) {
  using namespace mlir;
  MLIRContext context;
  loadKernelDialects(context);
  std::string text = std::string("func.func @") + name + "(" + row.arguments + ") {\n" + row.body + "\nreturn\n}";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  if (!module)
    return "";
  auto func = cast<func::FuncOp>(module->getBody()->front());
  Operation *end = func.getBody().front().getTerminator();
  Value value = end->getPrevNode()->getResult(0);
  auto type = cast<RankedTensorType>(value.getType());
  OpBuilder builder(end);

  SmallVector<Value> wrt;
  for (Value argument : func.getArguments())
    if (cast<RankedTensorType>(argument.getType()).getElementType().isF64())
      wrt.push_back(argument);
  Value weights = func.getBody().addArgument(type, func.getLoc());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  Value loss = dgc::DotGeneralOp::create(builder, func.getLoc(), value, weights, ArrayRef<int64_t>(),
                                         ArrayRef<int64_t>(), dims, dims);
  SmallVector<Value> results{loss};
  if (gradient)
    results = SmallVector<Value>(dgc::GradientOp::create(builder, func.getLoc(), loss, wrt).getResults());
  if (both)
    results.insert(results.begin(), loss);
  end->setOperands(results);
  func.setFunctionType(builder.getFunctionType(func.getBody().getArgumentTypes(), ValueRange(results).getTypes()));

  PassManager pm(&context);
  pm.addPass(createGradientPass());
  pm.addPass(createDecomposePass());
  EXPECT_TRUE(succeeded(pm.run(*module)));
  std::string result;
  llvm::raw_string_ostream os(result);
  func.print(os);
  return result;
}

} // namespace dgc::test

#endif // DGC_TEST_UNIT_PASSES_GRADIENT_GRADIENTCASE_H
