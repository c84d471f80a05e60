// What ops are on the GPU: grids of kernels, calls of libraries, copies.
#include "runtime/base/Status.h"
#include "runtime/device/cuda/AttentionLayout.h"
#include "runtime/device/cuda/ConvolutionLayout.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/Fill.h"
#include "runtime/device/cuda/GemmLayout.h"

#include <algorithm>

namespace dgc::rt::cuda {

/// The grids of a kernel.
class GridsOp final : public PreparedOp {
public:
  struct Grid {
    Driver::Function function;
    uint32_t grid, block;
  };
  GridsOp(const CudaDevice &device, std::vector<Grid> grids, std::vector<Argument> args)
      : device(device), grids(std::move(grids)), args(std::move(args)) {}
  absl::Status run(const dgc_step &) override {
    args.back() = {device.workspace, device.workspaceBytes}; // known by now
    for (const Grid &grid : grids)
      DGC_RETURN_IF_ERROR(device.driver->launch(grid.function, grid.grid, grid.block, args, device.stream));
    return absl::OkStatus();
  }

private:
  const CudaDevice &device;
  std::vector<Grid> grids;
  std::vector<Argument> args;
};

class ProductOp final : public PreparedOp {
public:
  ProductOp(const CudaDevice &device, std::shared_ptr<PreparedGemm> gemm) : device(device), gemm(std::move(gemm)) {}
  absl::Status run(const dgc_step &) override { return gemm->run(device.stream, device.workspace); }

private:
  const CudaDevice &device;
  std::shared_ptr<PreparedGemm> gemm;
};

/// What cuDNN does. The device keeps it, too, until it has run once.
class DnnOp final : public PreparedOp {
public:
  DnnOp(const CudaDevice &device, std::shared_ptr<PreparedDnn> prepared)
      : device(device), prepared(std::move(prepared)) {}
  absl::Status run(const dgc_step &) override { return prepared->run(device.stream, device.workspace); }

private:
  const CudaDevice &device;
  std::shared_ptr<PreparedDnn> prepared;
};

namespace {
/// An action of one call of the driver.
class CallOp final : public PreparedOp {
public:
  explicit CallOp(std::function<absl::Status()> call) : call(std::move(call)) {}
  absl::Status run(const dgc_step &) override { return call(); }

private:
  std::function<absl::Status()> call;
};
} // namespace

//===-- Preparing -------------------------------------------------------===//

PreparedOrStatus CudaDevice::prepare(const artifact::KernelCall &call, std::span<const Operand> buffers) {
  const artifact::Kernel &kernel = *artifact.plan().kernels()->Get(call.kernel());
  std::vector<GridsOp::Grid> grids;
  for (uint32_t i = 0; kernel.launches() && i < kernel.launches()->size(); ++i) {
    const artifact::Launch &launch = *kernel.launches()->Get(i);
    DGC_ASSIGN_OR_RETURN(Driver::Function function, driver->findFunction(module, launch.symbol()->str()));
    grids.push_back({function, launch.grid(), launch.block()});
  }
  std::vector<Argument> args;
  for (uint32_t i = 0; call.args() && i < call.args()->size(); ++i) {
    const Operand &buffer = buffers[call.args()->Get(i)];
    args.push_back({addressOf(buffer.data), sizeOf(buffer.dtype) * static_cast<uint64_t>(buffer.numElements())});
  }
  args.emplace_back(); // the workspace
  workspaceBytes = std::max<uint64_t>(workspaceBytes, kernel.workspace_bytes());
  return std::make_unique<GridsOp>(*this, std::move(grids), std::move(args));
}

PreparedOrStatus CudaDevice::prepare(const artifact::Matmul &op, std::span<const Operand> buffers) {
  Gemm gemm;
  gemm.type = buffers[op.dst()].dtype;
  gemm.tf32 = artifact.plan().tf32() && gemm.type == DType::F32;
  DGC_RETURN_IF_ERROR(describeMatrices(op, gemm));
  gemm.a.data = addressOf(buffers[op.a()].data);
  gemm.b.data = addressOf(buffers[op.b()].data);
  gemm.dst.data = addressOf(buffers[op.dst()].data);
  DGC_RETURN_IF_ERROR(describeEpilogue(op, buffers, gemm));
  if (!blas) {
    DGC_ASSIGN_OR_RETURN(blas, make.blas());
    workspaceBytes = std::max(workspaceBytes, blas->workspaceBytes());
  }
  DGC_ASSIGN_OR_RETURN(std::shared_ptr<PreparedGemm> prepared, blas->prepare(gemm));
  products.emplace_back(describeProduct(gemm), prepared);
  return std::make_unique<ProductOp>(*this, std::move(prepared));
}

PreparedOrStatus CudaDevice::takeDnn(absl::StatusOr<std::unique_ptr<PreparedDnn>> prepared) {
  if (!prepared.ok())
    return prepared.status();
  workspaceBytes = std::max(workspaceBytes, (*prepared)->workspaceBytes());
  firstRuns.emplace_back(*std::move(prepared));
  return std::make_unique<DnnOp>(*this, firstRuns.back());
}

PreparedOrStatus CudaDevice::prepare(const artifact::Convolution &op, std::span<const Operand> buffers) {
  DGC_ASSIGN_OR_RETURN(DnnConvolution convolution, describeConvolution(op, buffers));
  convolution.tf32 = artifact.plan().tf32();
  if (!dnn) {
    DGC_ASSIGN_OR_RETURN(dnn, make.dnn());
  }
  return takeDnn(dnn->prepare(convolution));
}

PreparedOrStatus CudaDevice::prepare(const artifact::Attention &op, std::span<const Operand> buffers) {
  if (!dnn) {
    DGC_ASSIGN_OR_RETURN(dnn, make.dnn());
  }
  return takeDnn(dnn->prepare(describeAttention(op, buffers)));
}

PreparedOrStatus CudaDevice::prepare(const artifact::Copy &op, std::span<const Operand> buffers) {
  const Operand &src = buffers[op.src()], &dst = buffers[op.dst()];
  uint64_t bytes = sizeOf(dst.dtype) * static_cast<uint64_t>(dst.numElements());
  if (bytes == 0 || src.data == dst.data)
    return std::make_unique<CallOp>([] { return absl::OkStatus(); });
  return std::make_unique<CallOp>([this, to = addressOf(dst.data), from = addressOf(src.data), bytes] {
    return driver->copy(to, from, bytes, stream);
  });
}

PreparedOrStatus CudaDevice::prepare(const artifact::Fill &op, std::span<const Operand> buffers) {
  const Operand &dst = buffers[op.dst()];
  DGC_ASSIGN_OR_RETURN(FillPattern pattern, fillPattern(dst.dtype, op.value()));
  uint64_t count = static_cast<uint64_t>(dst.numElements()) * pattern.perElement;
  if (count == 0)
    return std::make_unique<CallOp>([] { return absl::OkStatus(); });
  return std::make_unique<CallOp>([this, to = addressOf(dst.data), pattern, count] {
    return driver->fill(to, pattern.value, pattern.width, count, stream);
  });
}

} // namespace dgc::rt::cuda
