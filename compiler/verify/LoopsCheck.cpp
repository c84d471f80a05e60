#include "compiler/verify/LoopsCheck.h"
#include "compiler/codegen/Lowering.h"
#include "compiler/target/reference/KernelWriter.h"
#include "compiler/verify/LoopsRun.h"
#include "runtime/base/Status.h"
#include "runtime/device/reference/Scalar.h"
#include "runtime/verify/Interpreter.h"

#include <cmath>
#include <functional>
#include <set>

using namespace mlir;

namespace dgc {

using verify::Tensor;

/// The dimensions of the operands and results of a kernel, each once, the largest one first, but for 1.
static SmallVector<uint64_t> dimensionsOf(func::FuncOp kernel) {
  std::set<uint64_t, std::greater<>> sizes;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      for (int64_t size : tensor.getShape())
        if (size > 1)
          sizes.insert(static_cast<uint64_t>(size));
  return {sizes.begin(), sizes.end()};
}

/// Random numbers from -2 to 2 or, for what has logarithms and roots of them, from 0 to 2. Integers are bytes,
/// counts up to one of the dimensions, or indices below that; 0 and 1 where
/// there are no dimensions.
static std::shared_ptr<Tensor> draw(const reference::Buffer &buffer, ArrayRef<uint64_t> dimensions,
                                    const verify::Functions &functions, uint64_t name, bool isPositive) {
  auto tensor = std::make_shared<Tensor>(buffer.type(), buffer.count());
  auto limitOf = [&](const verify::Number &number) {
    const bool isTruth = tensor->type == reference::Type::I1 || dimensions.empty();
    return isTruth ? 2 : dimensions[number.p % dimensions.size()] + (tensor->count == 1);
  };
  for (size_t i = 0; i < tensor->count; ++i) {
    verify::Number number = functions.draw(name, i, 0);
    number.f = static_cast<double>(number.q) * 0x1p-48 - 2;
    if (isPositive)
      number.f = std::abs(number.f);
    if (tensor->isFloat())
      tensor->set(i, number);
    else if (tensor->type == reference::Type::I8)
      tensor->i[i] = reference::wrapped(tensor->type, number.q);
    else
      tensor->i[i] = reference::wrapped(tensor->type, number.q % limitOf(number));
  }
  return tensor;
}

/// A copy of a kernel alone in a module, in linalg.
static FailureOr<OwningOpRef<ModuleOp>> inLinalg(func::FuncOp kernel) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  auto copy = kernel.clone();
  module->push_back(copy);
  if (failed(lowerKernelToLinalg(copy)))
    return failure();
  return module;
}

static func::FuncOp onlyKernel(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

namespace {
/// One kernel in both forms.
class KernelCheck {
public:
  KernelCheck(func::FuncOp kernel, uint64_t seed) : kernel(kernel), seed(seed), dimensions(dimensionsOf(kernel)) {}

  LogicalResult run(LoopLowering lower, int64_t maxFlops, LoopsCheckResult &result);

private:
  FailureOr<const reference::Kernel *> writeBytecode();
  /// What differs, or "". `isSecond`: numbers are positive, and results take the place of operands where they may.
  absl::StatusOr<std::string> runBoth(ModuleOp loops, const verify::InterpreterOptions &options, bool isSecond,
                                      uint64_t &values);
  /// The same on smaller indices where these are outside of what they choose from.
  absl::StatusOr<std::string> runOnIndices(ModuleOp loops, const verify::InterpreterOptions &options, bool isSecond,
                                           uint64_t &values);
  absl::Status runAll(ModuleOp loops, LoopsCheckResult &result);
  std::string compare(const Tensor &expected, const Tensor &actual, uint32_t result);

  func::FuncOp kernel;
  uint64_t seed;
  SmallVector<uint64_t> dimensions; // that integers are drawn for
  std::vector<uint8_t> bytes;
  const reference::Kernel *bytecode = nullptr;
};
} // namespace

FailureOr<const reference::Kernel *> KernelCheck::writeBytecode() {
  FailureOr<OwningOpRef<ModuleOp>> module = inLinalg(kernel);
  if (failed(module))
    return failure();
  FailureOr<std::unique_ptr<reference::KernelT>> written = writeKernel(onlyKernel(**module));
  if (failed(written))
    return failure();
  reference::KernelsT kernels;
  kernels.kernels.push_back(*std::move(written));
  bytes = finishKernels(kernels);
  absl::StatusOr<const reference::Kernels *> read = reference::readKernels(std::as_bytes(std::span(bytes)));
  if (!read.ok())
    return kernel.emitError() << std::string(read.status().message());
  return (*read)->kernels()->Get(0);
}

/// Of the first element that differs, or "".
std::string KernelCheck::compare(const Tensor &expected, const Tensor &actual, uint32_t result) {
  for (size_t i = 0; i < expected.count; ++i)
    if (expected.isFloat() ? !expected.number(i).same(actual.number(i)) : expected.i[i] != actual.i[i])
      return rt::str("loops of kernel '", kernel.getName().str(), "' give another element ", i, " of result ", result,
                     " than its ops");
  return "";
}

absl::StatusOr<std::string> KernelCheck::runBoth(ModuleOp loops, const verify::InterpreterOptions &options,
                                                 bool isSecond, uint64_t &values) {
  std::vector<verify::TensorRef> inputs;
  std::vector<std::shared_ptr<Tensor>> copies;
  std::vector<Tensor *> buffers;
  for (uint32_t i = 0; i < bytecode->inputs() + bytecode->results(); ++i) {
    const reference::Buffer &buffer = *bytecode->buffers()->Get(i);
    if (i < bytecode->inputs()) {
      copies.push_back(draw(buffer, dimensions, options.functions, 2 * i + isSecond, isSecond));
      inputs.push_back(std::make_shared<Tensor>(*copies.back()));
    } else {
      copies.push_back(std::make_shared<Tensor>(buffer.type(), buffer.count()));
      verify::makeUndefined(*copies.back(), verify::Undefined::High);
    }
    buffers.push_back(copies.back().get());
  }
  if (isSecond)
    for (auto [result, operand] : llvm::enumerate(inplaceOf(kernel)))
      if (operand >= 0)
        buffers[bytecode->inputs() + result] = buffers[static_cast<size_t>(operand)];
  absl::StatusOr<std::vector<verify::TensorRef>> expected = verify::interpret(*bytecode, inputs, options);
  if (!expected.ok())
    return expected.status();
  // As two threads would, in another order.
  const int64_t parts = partsOf(loops, kernel.getName()), half = parts / 2;
  for (auto [begin, end] : {std::pair(half, parts), std::pair(int64_t{0}, half)})
    if (begin < end) {
      absl::Status status = runLoops(onlyKernel(loops), buffers, begin, end, options);
      if (absl::IsOutOfRange(status))
        return std::string(status.message());
      if (!status.ok())
        return status;
    }
  std::string difference;
  for (uint32_t i = 0; i < bytecode->results() && difference.empty(); ++i) {
    difference = compare(*(*expected)[i], *buffers[bytecode->inputs() + i], i);
    values += (*expected)[i]->count;
  }
  return difference;
}

absl::StatusOr<std::string> KernelCheck::runOnIndices(ModuleOp loops, const verify::InterpreterOptions &options,
                                                      bool isSecond, uint64_t &values) {
  while (true) {
    absl::StatusOr<std::string> difference = runBoth(loops, options, isSecond, values);
    if (!absl::IsOutOfRange(difference.status()) || dimensions.empty())
      return difference;
    dimensions.erase(dimensions.begin());
  }
}

/// Numbers are drawn anew where a difference may come of a comparison that rounding decides.
absl::Status KernelCheck::runAll(ModuleOp loops, LoopsCheckResult &result) {
  constexpr uint64_t tries = 4;
  for (bool isSecond : {false, true})
    for (uint64_t i = 0; result.difference.empty(); ++i) {
      verify::Counts counts;
      const verify::Functions functions(seed * tries + i);
      absl::StatusOr<std::string> difference =
          runOnIndices(loops, verify::InterpreterOptions{functions, counts}, isSecond, result.values);
      if (!difference.ok())
        return difference.status();
      const bool isDecided = difference->empty() || counts.nearTies == 0;
      if (!isDecided && i + 1 == tries)
        return absl::FailedPreconditionError("compares numbers that are too close to say which is larger");
      if (isDecided) {
        result.difference = *std::move(difference);
        break;
      }
    }
  ++result.kernels;
  return absl::OkStatus();
}

LogicalResult KernelCheck::run(LoopLowering lower, int64_t maxFlops, LoopsCheckResult &result) {
  FailureOr<OwningOpRef<ModuleOp>> loops = inLinalg(kernel);
  if (failed(loops) || failed(lower(onlyKernel(**loops))))
    return failure();
  if (flopsOf(**loops, kernel.getName()) > maxFlops) {
    ++result.tooLarge;
    return success();
  }
  FailureOr<const reference::Kernel *> written = writeBytecode();
  if (failed(written))
    return failure();
  bytecode = *written;
  if (absl::Status status = runAll(**loops, result); !status.ok())
    return kernel.emitError() << "the check of loops cannot go on: " << std::string(status.message());
  return success();
}

FailureOr<LoopsCheckResult> checkLoops(ModuleOp kernels, LoopLowering lower, uint64_t seed, int64_t maxFlops) {
  loadKernelDialects(*kernels.getContext());
  LoopsCheckResult result;
  for (func::FuncOp kernel : kernels.getOps<func::FuncOp>()) {
    if (failed(KernelCheck(kernel, seed).run(lower, maxFlops, result)))
      return failure();
    if (!result.difference.empty())
      break;
  }
  return result;
}

} // namespace dgc
