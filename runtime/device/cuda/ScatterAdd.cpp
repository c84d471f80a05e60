// Slices added to those of a zero tensor on the GPU, at places that are known when the step runs.
#include "runtime/artifact/GpuSizes.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/ScatterKernels.h"

#include <algorithm>
#include <bit>
#include <string_view>

#ifdef DGC_HAS_KERNEL_PTX
extern const char *const dgcScatterKernelsPtx;
#endif

namespace dgc::rt::cuda {

static constexpr uint64_t kMostBlocks = uint64_t{1} << 30;

const char *scatterKernelsPtx() {
#ifdef DGC_HAS_KERNEL_PTX
  return dgcScatterKernelsPtx;
#else
  return nullptr;
#endif
}

//===-- What is launched ------------------------------------------------===//

namespace {
/// The launches in order, and the parts of the workspace.
class Launches {
public:
  explicit Launches(Address workspace) : next(workspace) {}

  Argument take(uint64_t bytes) {
    Argument part{next, bytes};
    next += gpu::scatterPartBytes(bytes);
    return part;
  }
  /// `threads` in all, or the blocks there are.
  void add(const std::string &name, uint64_t threads, std::vector<Argument> args) {
    const ScatterKernel *kernel = scatterKernels;
    while (name != kernel->name)
      ++kernel;
    const uint64_t blocks = (threads + kernel->block - 1) / kernel->block;
    launches.push_back({kernel, static_cast<uint32_t>(std::min(kMostBlocks, blocks)), std::move(args)});
  }
  std::vector<ScatterLaunch> launches;

private:
  Address next;
};

Argument number(uint64_t value) { return {value, 0}; }

/// Sorts by the keys, with 4 of their bits in each pass.
void addSort(Launches &to, Argument &keys, Argument &positions, uint64_t count, uint64_t size) {
  constexpr uint64_t threads = 128; // of a chunk
  const uint64_t chunks = (count + gpu::scatterSortChunk - 1) / gpu::scatterSortChunk;
  Argument otherKeys = to.take(4 * count), otherPositions = to.take(4 * count), table = to.take(64 * chunks);
  for (uint64_t shift = 0; size >> shift; shift += 4) {
    to.add("dgc_scatter_count", chunks * threads, {keys, table, number(count), number(shift), number(chunks)});
    to.add("dgc_scatter_scan", 1, {table, number(16 * chunks)});
    to.add("dgc_scatter_place", chunks * threads,
           {keys, positions, otherKeys, otherPositions, table, number(count), number(shift), number(chunks)});
    std::swap(keys, otherKeys);
    std::swap(positions, otherPositions);
  }
}
} // namespace

std::vector<ScatterLaunch> scatterLaunches(const Scatter &scatter, Address workspace) {
  const uint64_t count = scatter.count, rows = scatter.outer * count;
  Launches to(workspace);
  if (rows * scatter.inner == 0 || scatter.size == 0)
    return {};
  Argument keys = to.take(4 * count), positions = to.take(4 * count);
  to.add("dgc_scatter_keys", count,
         {keys, positions, Argument{scatter.indices, count * scatter.indexBytes}, number(scatter.indexBytes),
          number(scatter.isSigned), Argument{scatter.offset, scatter.offset ? sizeof(int64_t) : 0}, number(count),
          number(scatter.size)});
  addSort(to, keys, positions, count, scatter.size);

  const uint64_t chunks = (count + gpu::scatterSumChunk - 1) / gpu::scatterSumChunk;
  uint64_t lanes = 16 / scatter.elementBytes;
  if (scatter.inner % lanes || scatter.dst % 16 || scatter.updates % 16)
    lanes = 1;
  const std::string type = str(scatter.elementBytes == 8 ? "f64x" : "f32x", lanes);
  const uint64_t columns = scatter.inner / lanes;
  const Argument dst{scatter.dst, scatter.size * scatter.rowBytes()},
      updates{scatter.updates, count * scatter.rowBytes()};
  const Argument partials = to.take(chunks > 1 ? 2 * chunks * scatter.rowBytes() : 0);
  to.add("dgc_scatter_sum_" + type, rows * columns,
         {dst, partials, updates, keys, positions, number(scatter.outer), number(count), number(columns),
          number(scatter.size)});
  if (chunks > 1) {
    const uint64_t width = std::min<uint64_t>(32, std::bit_ceil(columns)), tiles = (columns + width - 1) / width;
    to.add("dgc_scatter_join_" + type, scatter.outer * (chunks - 1) * tiles * 256,
           {dst, partials, keys, number(scatter.outer), number(count), number(columns), number(scatter.size),
            number(width)});
  }
  return std::move(to.launches);
}

//===-- The op ----------------------------------------------------------===//

class ScatterAddOp final : public PreparedOp {
public:
  ScatterAddOp(const CudaDevice &device, const Scatter &scatter, std::vector<Driver::Function> functions)
      : device(device), scatter(scatter), functions(std::move(functions)) {}

  absl::Status run(const dgc_step &) override {
    const uint64_t words = scatter.size * scatter.rowBytes() / 4;
    if (words)
      DGC_RETURN_IF_ERROR(device.driver->fill(scatter.dst, 0, 4, words, device.stream));
    const std::vector<ScatterLaunch> launches = scatterLaunches(scatter, device.workspace); // known by now
    for (size_t i = 0; i < launches.size(); ++i)
      DGC_RETURN_IF_ERROR(device.driver->launch(functions[i], launches[i].grid, launches[i].kernel->block,
                                                launches[i].args, device.stream));
    return absl::OkStatus();
  }

private:
  const CudaDevice &device;
  Scatter scatter;
  std::vector<Driver::Function> functions; // of the launches
};

PreparedOrStatus CudaDevice::prepare(const artifact::ScatterAdd &op, std::span<const Operand> buffers) {
  if (op.count() >> 32 || op.size() >> 32)
    return absl::UnimplementedError(str("exec.scatter_add of ", op.count(), " updates to ", op.size(),
                                        " slices: on GPUs both must be fewer than 2^32"));
  Scatter scatter;
  scatter.dst = addressOf(buffers[op.dst()].data);
  scatter.updates = addressOf(buffers[op.updates()].data);
  const Operand &indices = buffers[op.indices()];
  scatter.indices = addressOf(indices.data);
  scatter.offset = op.offset() < 0 ? 0 : addressOf(buffers[static_cast<uint32_t>(op.offset())].data);
  scatter.indexBytes = sizeOf(indices.dtype);
  scatter.isSigned =
      visit(indices.dtype, [](auto element) { return std::is_signed_v<typename decltype(element)::Stored>; });
  scatter.elementBytes = sizeOf(buffers[op.dst()].dtype);
  scatter.outer = op.outer();
  scatter.count = op.count();
  scatter.inner = op.inner();
  scatter.size = op.size();
  std::vector<Driver::Function> functions;
  for (const ScatterLaunch &launch : scatterLaunches(scatter, 0)) {
    DGC_ASSIGN_OR_RETURN(Driver::Function function,
                         additionKernels.find(*driver, launch.kernel->name, "exec.scatter_add"));
    functions.push_back(function);
  }
  workspaceBytes = std::max(workspaceBytes, gpu::scatterWorkspaceBytes(op.count(), scatter.rowBytes()));
  return std::make_unique<ScatterAddOp>(*this, scatter, std::move(functions));
}

} // namespace dgc::rt::cuda
