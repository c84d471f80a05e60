// A function and its gradient as the program `train` of a model, for the exact check of gradients.
#pragma once

#include "compiler/target/reference/KernelWriter.h"
#include "runtime/verify/GradientCheck.h"
#include "test/unit/passes/gradient/GradientCase.h"

#include <functional>

namespace dgc::test {

/// What becomes of the gradient of an argument: a damage; null: nothing.
using GradientChange = std::function<mlir::Value(mlir::OpBuilder &, unsigned argument, mlir::Value)>;

inline artifact::DType dtypeOf(mlir::Type type) {
  if (type.isF64())
    return artifact::DType::F64;
  if (type.isInteger(1))
    return artifact::DType::I1;
  const unsigned width = type.getIntOrFloatBitWidth();
  return width == 8 ? artifact::DType::U8 : width == 32 ? artifact::DType::I32 : artifact::DType::I64;
}

/// The function of buildFunction gives the loss and the gradients; now it gives the loss and the arguments less these.
inline void subtractGradients(mlir::func::FuncOp func, const GradientChange &change) {
  using namespace mlir;
  Operation *end = func.getBody().front().getTerminator();
  OpBuilder builder(end);
  SmallVector<Value> results{end->getOperand(0)};
  for (BlockArgument argument : func.getArguments().drop_back()) {
    if (!cast<RankedTensorType>(argument.getType()).getElementType().isF64())
      continue;
    Value gradient = end->getOperand(static_cast<unsigned>(results.size()));
    if (change)
      gradient = change(builder, argument.getArgNumber(), gradient);
    results.push_back(SubtractOp::create(builder, func.getLoc(), argument, gradient));
  }
  end->setOperands(results);
  func.setFunctionType(builder.getFunctionType(func.getArgumentTypes(), ValueRange(results).getTypes()));
}

/// The values of the program: what is differentiated by is a weight, the last argument and integers are data.
inline verify::Model describe(const GradientCase &row, mlir::func::FuncOp func) {
  verify::Model model;
  verify::ModelProgram program;
  program.name = "train";
  verify::ModelResult loss;
  loss.name = "loss";
  loss.dtype = artifact::DType::F64;
  program.results.push_back(loss);
  for (mlir::BlockArgument argument : func.getArguments()) {
    auto type = mlir::cast<mlir::RankedTensorType>(argument.getType());
    verify::ModelInput input;
    input.name = "arg" + std::to_string(argument.getArgNumber());
    input.dtype = dtypeOf(type.getElementType());
    input.shape = type.getShape().vec();
    input.indexLimit = 2; // as in GradientCase
    input.isVariable = type.getElementType().isF64() && argument.getArgNumber() + 1 < func.getNumArguments();
    program.inputs.push_back(input);
    if (!input.isVariable)
      continue;
    verify::ModelVariable variable;
    variable.name = input.name;
    variable.dtype = input.dtype;
    variable.shape = input.shape;
    variable.init = artifact::InitKind::Uniform;
    variable.a = row.low, variable.b = row.high;
    model.variables.push_back(variable);
    verify::ModelResult result;
    result.name = input.name;
    result.isVariable = true;
    result.dtype = input.dtype;
    result.shape = input.shape;
    program.results.push_back(result);
  }
  model.programs.push_back(std::move(program));
  return model;
}

/// The model whose loss is the function of `row` and whose weights are its f64 arguments.
inline absl::StatusOr<verify::Model> gradientModel(const GradientCase &row, const GradientChange &change = {}) {
  using namespace mlir;
  const std::string text = buildFunction(row, "train", true, /*both=*/true);
  MLIRContext context;
  loadKernelDialects(context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return absl::InvalidArgumentError("no function: " + text);
  auto func = cast<func::FuncOp>(module->getBody()->front());
  subtractGradients(func, change);
  verify::Model model = describe(row, func);
  PassManager decompose(&context);
  decompose.addPass(createDecomposePass());
  if (failed(decompose.run(*module)) || failed(lowerKernelToLinalg(func)))
    return absl::InvalidArgumentError("no kernel: " + text);
  FailureOr<std::unique_ptr<reference::KernelT>> kernel = writeKernel(func);
  if (failed(kernel))
    return absl::InvalidArgumentError("no bytecode: " + text);
  reference::KernelsT kernels;
  kernels.kernels.push_back(*std::move(kernel));
  model.programs[0].kernel = finishKernels(kernels);
  return model;
}

} // namespace dgc::test
