#include "compiler/verify/LoopsCheck.h"
#include "compiler/codegen/Lowering.h"
#include "compiler/target/reference/KernelWriter.h"
#include "compiler/verify/LoopsRun.h"
#include "runtime/base/Status.h"
#include "runtime/device/reference/Scalar.h"
#include "runtime/verify/Interpreter.h"

using namespace mlir;

namespace dgc {

using verify::Tensor;

/// Random numbers; integers are 0 and 1, which are indices of most dimensions, and bytes.
static std::shared_ptr<Tensor> draw(const reference::Buffer &buffer, const verify::Functions &functions,
                                    uint64_t name) {
  auto tensor = std::make_shared<Tensor>(buffer.type(), buffer.count());
  for (size_t i = 0; i < tensor->count; ++i) {
    const verify::Number number = functions.draw(name, i, 0);
    if (tensor->isFloat())
      tensor->set(i, {number.p, number.q, static_cast<double>(number.q % 4096) / 1024 - 2});
    else
      tensor->i[i] = reference::wrapped(tensor->type, tensor->type == reference::Type::I8 ? number.q : number.q % 2);
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
  KernelCheck(func::FuncOp kernel, uint64_t seed) : kernel(kernel), functions(seed) {}

  LogicalResult run(LoopLowering lower, int64_t maxFlops, LoopsVerdict &verdict);

private:
  FailureOr<const reference::Kernel *> writeBytecode();
  absl::Status runBoth(ModuleOp loops, LoopsVerdict &verdict);
  std::string compare(const Tensor &expected, const Tensor &actual, uint32_t result);

  func::FuncOp kernel;
  verify::Functions functions;
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

absl::Status KernelCheck::runBoth(ModuleOp loops, LoopsVerdict &verdict) {
  verify::Counts counts;
  const verify::InterpreterOptions options{functions, counts};
  std::vector<verify::TensorRef> inputs;
  std::vector<std::shared_ptr<Tensor>> copies;
  for (uint32_t i = 0; i < bytecode->inputs() + bytecode->results(); ++i) {
    const reference::Buffer &buffer = *bytecode->buffers()->Get(i);
    copies.push_back(draw(buffer, functions, i));
    if (i < bytecode->inputs())
      inputs.push_back(std::make_shared<Tensor>(*copies.back()));
    else
      verify::makeUndefined(*copies.back(), verify::Undefined::High);
  }
  absl::StatusOr<std::vector<verify::TensorRef>> expected = verify::interpret(*bytecode, inputs, options);
  if (!expected.ok())
    return expected.status();
  std::vector<Tensor *> buffers;
  for (const std::shared_ptr<Tensor> &each : copies)
    buffers.push_back(each.get());
  // As two threads would, in another order.
  const int64_t parts = partsOf(loops, kernel.getName()), half = parts / 2;
  for (auto [begin, end] : {std::pair(half, parts), std::pair(int64_t{0}, half)})
    if (begin < end)
      if (absl::Status status = runLoops(onlyKernel(loops), buffers, begin, end, options); !status.ok())
        return status;
  for (uint32_t i = 0; i < bytecode->results() && verdict.difference.empty(); ++i) {
    verdict.difference = compare(*(*expected)[i], *copies[bytecode->inputs() + i], i);
    verdict.values += (*expected)[i]->count;
  }
  ++verdict.kernels;
  return absl::OkStatus();
}

LogicalResult KernelCheck::run(LoopLowering lower, int64_t maxFlops, LoopsVerdict &verdict) {
  FailureOr<OwningOpRef<ModuleOp>> loops = inLinalg(kernel);
  if (failed(loops) || failed(lower(onlyKernel(**loops))))
    return failure();
  if (flopsOf(**loops, kernel.getName()) > maxFlops) {
    ++verdict.tooLarge;
    return success();
  }
  FailureOr<const reference::Kernel *> written = writeBytecode();
  if (failed(written))
    return failure();
  bytecode = *written;
  if (absl::Status status = runBoth(**loops, verdict); !status.ok())
    return kernel.emitError() << std::string(status.message());
  return success();
}

FailureOr<LoopsVerdict> checkLoops(ModuleOp kernels, LoopLowering lower, uint64_t seed, int64_t maxFlops) {
  loadKernelDialects(*kernels.getContext());
  LoopsVerdict verdict;
  for (func::FuncOp kernel : kernels.getOps<func::FuncOp>()) {
    if (failed(KernelCheck(kernel, seed).run(lower, maxFlops, verdict)))
      return failure();
    if (!verdict.difference.empty())
      break;
  }
  return verdict;
}

} // namespace dgc
