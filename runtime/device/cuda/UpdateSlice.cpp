// A slice of a tensor replaced on the GPU, at a place that is known when the step runs.
#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/SliceKernels.h"

#include <algorithm>
#include <string_view>

#ifdef DGC_HAS_KERNEL_PTX
extern const char *const dgcSliceKernelsPtx;
#endif

namespace dgc::rt::cuda {

static constexpr uint64_t kBlock = 256, kMostBlocks = 1024;

const char *sliceKernelsPtx() {
#ifdef DGC_HAS_KERNEL_PTX
  return dgcSliceKernelsPtx;
#else
  return nullptr;
#endif
}

namespace {
class UpdateSliceOp final : public PreparedOp {
public:
  UpdateSliceOp(Driver &driver, Driver::Stream stream, Driver::Function kernel)
      : driver(driver), stream(stream), kernel(kernel) {}

  absl::Status run(const dgc_step &) override {
    if (to != from)
      DGC_RETURN_IF_ERROR(driver.copy(to, from, bytes, stream));
    return driver.launch(kernel, blocks, kBlock, args, stream);
  }

  Address to = 0, from = 0; // the tensors
  uint64_t bytes = 0;       // of each
  uint32_t blocks = 0;
  std::vector<Argument> args;

private:
  Driver &driver;
  Driver::Stream stream;
  Driver::Function kernel;
};
} // namespace

PreparedOrStatus CudaDevice::prepare(const artifact::UpdateSlice &op, std::span<const Operand> buffers) {
  const Operand &dst = buffers[op.dst()], &start = buffers[op.start()];
  const Address update = addressOf(buffers[op.update()].data);
  const uint64_t inner = op.inner() * sizeOf(dst.dtype); // bytes
  uint64_t unit = 16;
  while (inner % unit || addressOf(dst.data) % unit || update % unit)
    unit /= 2;
  DGC_ASSIGN_OR_RETURN(Driver::Function kernel,
                       updateKernels.find(*driver, str("dgc_update_slice_", unit), "exec.update_slice"));
  auto made = std::make_unique<UpdateSliceOp>(*driver, stream, kernel);
  made->to = addressOf(dst.data);
  made->from = addressOf(buffers[op.src()].data);
  made->bytes = op.outer() * op.size() * inner;
  const uint64_t part = op.extent() * inner / unit;
  const uint64_t isSigned =
      visit(start.dtype, [](auto element) { return std::is_signed_v<typename decltype(element)::Stored> ? 1 : 0; });
  for (uint64_t argument : {made->to, update, addressOf(start.data), uint64_t{sizeOf(start.dtype)}, isSigned,
                            op.size() - op.extent(), op.outer(), part, op.size() * inner / unit, inner / unit})
    made->args.push_back({argument, 0});
  made->blocks = static_cast<uint32_t>(std::min(kMostBlocks, (op.outer() * part + kBlock - 1) / kBlock));
  return made;
}

} // namespace dgc::rt::cuda
