// The CPU device: features, kernels, and the actions that need no library.
#include "runtime/device/cpu/CpuDevice.h"

#include "runtime/artifact/Groups.h"
#include "runtime/base/Status.h"
#include "runtime/device/cpu/Features.h"
#include "runtime/device/cpu/Ops.h"
#include "runtime/device/cpu/Parallel.h"

#include <cstdlib>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

/// A kernel below this cost runs on one thread: waking others takes as long.
static constexpr uint64_t minSplitNs = 10000;

namespace {
class KernelOp final : public PreparedOp {
public:
  KernelOp(dgc_kernel kernel, std::vector<void *> args, int64_t extent, bool split)
      : kernel(kernel), args(std::move(args)), extent(extent), split(split) {}
  absl::Status run(const dgc_step &step) override {
    if (!split) {
      kernel(args.data(), 0, extent, &step);
      return absl::OkStatus();
    }
    parallelFor(extent, [&](int64_t begin, int64_t end) { kernel(args.data(), begin, end, &step); });
    return absl::OkStatus();
  }

private:
  dgc_kernel kernel;
  std::vector<void *> args;
  int64_t extent;
  bool split;
};

class CopyOp final : public PreparedOp {
public:
  CopyOp(void *dst, const void *src, size_t bytes) : dst(dst), src(src), bytes(bytes) {}
  absl::Status run(const dgc_step &) override {
    if (dst != src)
      std::memcpy(dst, src, bytes);
    return absl::OkStatus();
  }

private:
  void *dst;
  const void *src;
  size_t bytes;
};

class FillOp final : public PreparedOp {
public:
  FillOp(const Operand &dst, double value)
      : dst(static_cast<std::byte *>(dst.data)), size(sizeOf(dst.dtype)),
        bytes(size * static_cast<size_t>(dst.numElements())) {
    // One element, in the type of the buffer.
    Operand one{pattern, dst.dtype, {}};
    storeElement(one, 0, value);
    for (size_t i = 0; i < size; ++i)
      zero &= pattern[i] == std::byte{0};
  }
  absl::Status run(const dgc_step &) override {
    if (zero) {
      std::memset(dst, 0, bytes);
      return absl::OkStatus();
    }
    for (size_t i = 0; i < bytes; i += size)
      std::memcpy(dst + i, pattern, size);
    return absl::OkStatus();
  }

private:
  alignas(8) std::byte pattern[8] = {};
  std::byte *dst;
  size_t size, bytes;
  bool zero = true;
};
} // namespace

absl::Status Scratch::allocate() {
  if (size_ == 0)
    return absl::OkStatus();
  size_t rounded = wholePages(size_);
  memory.reset(static_cast<std::byte *>(std::aligned_alloc(4096, rounded)));
  if (!memory)
    return absl::ResourceExhaustedError(str("no memory for ", rounded, " bytes of scratch space"));
  counted = CountedMemory(MemoryKind::Scratch, rounded);
  return absl::OkStatus();
}

CpuDevice::CpuDevice() = default;
CpuDevice::~CpuDevice() = default;

absl::StatusOr<std::unique_ptr<CpuDevice>> CpuDevice::create(const Artifact &artifact, int threads) {
  return create(artifact, threads, *artifact.plan().target());
}

absl::StatusOr<std::unique_ptr<CpuDevice>> CpuDevice::create(const Artifact &artifact, int threads,
                                                             const artifact::Target &target) {
  if (target.kind()->string_view() != "cpu")
    return absl::UnimplementedError(str("the plan is for '", target.kind()->str(),
                                        "' devices; this dgc-run has 'cpu' only. Compile the model with "
                                        "--target=cpu"));
  std::vector<std::string> features;
  for (uint32_t i = 0; target.features() && i < target.features()->size(); ++i)
    features.push_back(target.features()->Get(i)->str());
  DGC_RETURN_IF_ERROR(checkCpuFeatures(features));
  std::unique_ptr<CpuDevice> device(new CpuDevice());
  device->artifact = &artifact;
  if (!artifact.object().empty()) {
    DGC_ASSIGN_OR_RETURN(device->kernels, KernelLibrary::open(artifact.object()));
  }
  setThreads(threads);
  absl::Status s = guarded("starting oneDNN", [&] { device->library = std::make_unique<Library>(); });
  if (!s.ok())
    return s;
  return device;
}

//===-- Preparing -------------------------------------------------------===//

PreparedOrStatus CpuDevice::prepare(const artifact::KernelCall &call, std::span<const Operand> buffers) {
  const artifact::Kernel &kernel = *artifact->plan().kernels()->Get(call.kernel());
  DGC_ASSIGN_OR_RETURN(dgc_kernel function, kernels->find(kernel.symbol()->str()));
  std::vector<void *> args;
  for (uint32_t i = 0; call.args() && i < call.args()->size(); ++i)
    args.push_back(buffers[call.args()->Get(i)].data);
  bool split = threads() > 1 && kernel.extent() > 1 && kernel.cost_ns() > minSplitNs;
  return std::make_unique<KernelOp>(function, std::move(args), kernel.extent(), split);
}

PreparedOrStatus CpuDevice::prepare(const artifact::Matmul &op, std::span<const Operand> buffers) {
  return prepareMatmul({*library, scratch, buffers}, op);
}

PreparedOrStatus CpuDevice::prepare(const artifact::Convolution &op, std::span<const Operand> buffers) {
  return prepareConvolution({*library, scratch, buffers}, op);
}

PreparedOrStatus CpuDevice::prepare(const artifact::Pool &op, std::span<const Operand> buffers) {
  return preparePool({*library, scratch, buffers}, op);
}

PreparedOrStatus CpuDevice::prepare(const artifact::ScatterAdd &op, std::span<const Operand> buffers) {
  return prepareScatterAdd({*library, scratch, buffers}, op);
}

PreparedOrStatus CpuDevice::prepare(const artifact::Copy &op, std::span<const Operand> buffers) {
  const Operand &src = buffers[op.src()], &dst = buffers[op.dst()];
  return std::make_unique<CopyOp>(dst.data, src.data, sizeOf(dst.dtype) * static_cast<size_t>(dst.numElements()));
}

PreparedOrStatus CpuDevice::prepare(const artifact::Fill &op, std::span<const Operand> buffers) {
  return std::make_unique<FillOp>(buffers[op.dst()], op.value());
}

absl::StatusOr<std::unique_ptr<Device>> dgc::rt::createCpuDevice(const Artifact &artifact, int threads, int rank) {
  const artifact::Plan &plan = artifact.plan();
  return CpuDevice::create(artifact, threads, targetOf(plan, groupOf(plan, static_cast<uint32_t>(rank))));
}

absl::Status CpuDevice::finish() { return scratch.allocate(); }

absl::StatusOr<size_t> dgc::rt::scratchBytesOf(const artifact::Program &program, int threads) {
  setThreads(threads);
  std::optional<CpuDevice::Library> library;
  DGC_RETURN_IF_ERROR(guarded("starting oneDNN", [&] { library.emplace(); }));
  std::vector<Operand> buffers;
  for (const artifact::Buffer *buffer : *program.buffers())
    buffers.push_back({nullptr, toDType(buffer->dtype()), toVector(buffer->shape())});
  Scratch scratch;
  OpContext context{*library, scratch, buffers};
  for (uint32_t i = 0; program.steps() && i < program.steps()->size(); ++i) {
    const artifact::Step &step = *program.steps()->Get(i);
    absl::Status s;
    if (const artifact::Matmul *matmul = step.action_as_Matmul())
      s = prepareMatmul(context, *matmul).status();
    else if (const artifact::Convolution *convolution = step.action_as_Convolution())
      s = prepareConvolution(context, *convolution).status();
    if (!s.ok())
      return annotate(s, str("step ", i, " of '", program.name()->str(), "'"));
  }
  return scratch.size();
}
