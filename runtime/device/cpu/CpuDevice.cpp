// The CPU device: features, kernels, and the actions that need no library.
#include "runtime/device/cpu/CpuDevice.h"

#include "runtime/artifact/Groups.h"
#include "runtime/base/Status.h"
#include "runtime/device/cpu/Features.h"
#include "runtime/device/cpu/Ops.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/device/cpu/ScratchBound.h"

#include <algorithm>
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

/// An op that was made for fewer threads than the device has.
class FewerThreads final : public PreparedOp {
public:
  FewerThreads(std::unique_ptr<PreparedOp> op, int most) : op(std::move(op)), most(most) {}
  absl::Status run(const dgc_step &step) override {
    const ThreadLimit limit(most);
    return op->run(step);
  }

private:
  std::unique_ptr<PreparedOp> op;
  int most;
};

class CopyOp final : public PreparedOp {
public:
  CopyOp(void *dst, const void *src, size_t bytes) : dst(dst), src(src), bytes(bytes) {}
  absl::Status run(const dgc_step &) override {
    if (dst != src)
      copyBytes(dst, src, bytes);
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
      zeroBytes(dst, bytes);
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

/// Makes a library call that needs no more scratch memory than there may be: with fewer threads, or, where one thread
/// needs too much, in another way. Which way it is does not depend on the number of threads, and so the bits do not.
template <typename Maker> PreparedOrStatus CpuDevice::prepareInScratch(Maker make, std::span<const Operand> buffers) {
  const int all = threads();
  for (int most = all; most > 0; most /= 2) {
    const ThreadLimit limit(most);
    PreparedOrStatus prepared = make({*library, scratch, buffers});
    if (prepared.ok() && most < all)
      return std::make_unique<FewerThreads>(*std::move(prepared), most);
    if (!absl::IsOutOfRange(prepared.status()))
      return prepared;
  }
  const OneThread one;
  PreparedOrStatus prepared = make({*library, scratch, buffers, /*takesOthers=*/true});
  if (!prepared.ok())
    return prepared;
  return std::make_unique<FewerThreads>(*std::move(prepared), 1);
}

PreparedOrStatus CpuDevice::prepare(const artifact::Matmul &op, std::span<const Operand> buffers) {
  return prepareInScratch([&](const OpContext &context) { return prepareMatmul(context, op); }, buffers);
}

PreparedOrStatus CpuDevice::prepare(const artifact::Convolution &op, std::span<const Operand> buffers) {
  return prepareInScratch([&](const OpContext &context) { return prepareConvolution(context, op); }, buffers);
}

PreparedOrStatus CpuDevice::prepare(const artifact::Pool &op, std::span<const Operand> buffers) {
  return preparePool({*library, scratch, buffers}, op);
}

PreparedOrStatus CpuDevice::prepare(const artifact::ScatterAdd &op, std::span<const Operand> buffers) {
  return prepareScatterAdd({*library, scratch, buffers}, op);
}

PreparedOrStatus CpuDevice::prepare(const artifact::UpdateSlice &op, std::span<const Operand> buffers) {
  return prepareUpdateSlice(op, buffers);
}

PreparedOrStatus CpuDevice::prepare(const artifact::Copy &op, std::span<const Operand> buffers) {
  const Operand &src = buffers[op.src()], &dst = buffers[op.dst()];
  return std::make_unique<CopyOp>(dst.data, src.data, sizeOf(dst.dtype) * static_cast<size_t>(dst.numElements()));
}

PreparedOrStatus CpuDevice::prepare(const artifact::Fill &op, std::span<const Operand> buffers) {
  return std::make_unique<FillOp>(buffers[op.dst()], op.value());
}

/// The most scratch memory of a program that the worker may run.
static uint64_t scratchLimitOf(const artifact::Plan &plan, int32_t group, int threads) {
  const auto *features = targetOf(plan, group).features();
  CpuNeeds needs;
  for (uint32_t i = 0; features && i < features->size(); ++i) {
    needs.avx512 |= features->Get(i)->string_view() == "avx512f";
    needs.bf16 |= features->Get(i)->string_view() == "avx512bf16";
  }
  uint64_t most = 0;
  for (uint32_t i = 0; plan.programs() && i < plan.programs()->size(); ++i)
    if (const artifact::Program &program = *plan.programs()->Get(i); belongs(program.group(), group))
      most = std::max(most, static_cast<uint32_t>(threads) > plan.threads() ? scratchBound(program, threads, needs)
                                                                            : program.scratch_bytes());
  return most;
}

absl::StatusOr<std::unique_ptr<Device>> dgc::rt::createCpuDevice(const Artifact &artifact, int threads, int rank) {
  const artifact::Plan &plan = artifact.plan();
  const int32_t group = groupOf(plan, static_cast<uint32_t>(rank));
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<CpuDevice> device, CpuDevice::create(artifact, threads, targetOf(plan, group)));
  device->setScratchLimit(scratchLimitOf(plan, group, threads));
  return device;
}

absl::Status CpuDevice::finish() { return scratch.allocate(); }
