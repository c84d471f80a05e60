// Measured with oneDNN 2.6 over random shapes: ScratchBoundTest.
#include "runtime/device/cpu/ScratchBound.h"
#include "runtime/device/cpu/ConvolutionChunks.h"
#include "runtime/device/cpu/MatmulLayout.h"
#include "runtime/device/cpu/PairwiseSum.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace dgc;
using namespace dgc::rt;

namespace {
constexpr int64_t page = 4096;
/// Parts of a call that threads work on independently of each other, at most; each has memory of its own.
constexpr int64_t mostParts = 16;

/// Exact up to 2^53. Sizes that no machine has, which a file may name, do not overflow.
using Bytes = double;

int64_t roundUp(int64_t value, int64_t granule) { return (value + granule - 1) / granule * granule; }

/// What the calls depend on beside the shapes.
struct Machine {
  int64_t threads;
  bool isAvx2;  ///< and has no AVX-512
  bool hasBf16; ///< instructions for it
};

int64_t bytesOf(DType type) { return static_cast<int64_t>(sizeOf(type)); }

/// One call of batch-reduce GEMM on one thread: blocks of 64 columns of the right operand, and of up to 256 rows of a
/// left one that is transposed, which are packed for all sums of a block; and those sums where they are cut, or rounded
/// to 16 bits. GEMM for AVX2 has memory of its own.
Bytes productBytes(const MatmulLayout &layout, int64_t terms, int64_t elementBytes, const Machine &machine) {
  if (machine.isAvx2)
    return page;
  const bool isTransposed = layout.a.columnStride() != 1;
  const int64_t rows = roundUp(layout.a.rows(), 16), packed = std::min<int64_t>(roundUp(terms, 16), 1536);
  int64_t elements = 64 * (isTransposed ? packed : std::min<int64_t>(packed, 1024));
  if (isTransposed)
    elements += std::min<int64_t>(std::min<int64_t>(rows, 256) * packed, packed > 1024 ? 262144 : 131072);
  const int64_t sums = elementBytes == 2 || terms > 1024 ? 256 * std::min<int64_t>(rows, 1024) : 0;
  return 2304 + elements * elementBytes + sums;
}

/// A product that oneDNN takes. One of bf16 is by GEMM where the processor has no instructions for it: that has all sums in f32
/// before it rounds them.
Bytes dnnlProductBytes(const artifact::Matmul &op, DType type, const Machine &machine) {
  const MatmulLayout layout(op);
  const auto terms = static_cast<int64_t>(op.k());
  if (type == DType::BF16 && !machine.hasBf16)
    return Bytes(layout.dst.allRows()) * layout.dst.columns() * 4 + mostParts * page +
           dnnlProductBytes(op, type, {machine.threads, machine.isAvx2, /*hasBf16=*/true});
  if (!hasLongSums(op, type, machine.isAvx2))
    return machine.threads * productBytes(layout, terms, bytesOf(type), machine);
  const LongSums cut(op, type, machine.isAvx2);
  const Bytes call = productBytes(layout, std::min(cut.terms, terms), bytesOf(type), machine);
  return static_cast<Bytes>(cut.callsAt) + (cut.isSmall ? cut.ofGroup : machine.threads) * call;
}

Bytes matmulBytes(const artifact::Matmul &op, DType type, const Machine &machine) {
  if (type == DType::F32 || (type == DType::BF16 && !machine.isAvx2))
    return dnnlProductBytes(op, type, machine);
  if (type != DType::BF16 && type != DType::F16)
    return 0;
  // As one of f32: operands and result are converted.
  const MatmulLayout layout(op);
  Bytes bytes = machine.threads * productBytes(layout, static_cast<int64_t>(op.k()), 4, machine);
  for (const Matrices *matrices : {&layout.a, &layout.b, &layout.dst})
    bytes += Bytes(matrices->allRows()) * matrices->columns() * 4 + 64;
  return bytes;
}

/// The sizes of a convolution, as its buffers have them.
struct ConvolutionSizes {
  ConvolutionSizes(const artifact::Program &program, const artifact::Convolution &op)
      : kind(op.kind()), groups(op.groups()) {
    const auto &src = *program.buffers()->Get(op.src())->shape(), &dst = *program.buffers()->Get(op.dst())->shape();
    const auto &filter = *program.buffers()->Get(op.weights())->shape();
    const uint32_t rank = src.size();
    type = toDType(program.buffers()->Get(op.dst())->dtype());
    images = src.Get(0);
    inChannels = src.Get(rank - 1);
    outChannels = dst.Get(rank - 1);
    for (uint32_t d = 1; d + 1 < rank; ++d) {
      inPixels *= src.Get(d);
      outPixels *= dst.Get(d);
      window *= filter.Get(d - 1);
      isStrided |= op.strides()->Get(d - 1) > 1;
      isDilated |= op.dilation()->Get(d - 1) > 1 && filter.Get(d - 1) > 1;
      isNarrow |= src.Get(d) < filter.Get(d - 1);
      longest = std::max<int64_t>(longest, filter.Get(d - 1));
    }
    inRows = src.Get(1);
    outRows = dst.Get(1);
    rowStride = op.strides()->Get(0);
    rowReach = (filter.Get(0) - 1) * op.dilation()->Get(0) + 1;
  }

  int64_t elementBytes() const { return bytesOf(type); }
  /// Channels are in blocks of 16 in the layouts of oneDNN.
  Bytes srcBytes() const { return Bytes(images) * inPixels * roundUp(inChannels, 16) * elementBytes(); }
  Bytes dstBytes() const { return Bytes(images) * outPixels * roundUp(outChannels, 16) * elementBytes(); }
  Bytes weightBytes(int64_t in, int64_t out) const {
    if (groups > 1 && in == groups && out == groups)
      return Bytes(window) * roundUp(groups, 16) * elementBytes();
    return Bytes(window) * groups * roundUp(in / groups, 16) * roundUp(out / groups, 16) * elementBytes();
  }

  artifact::ConvKind kind;
  int64_t groups;
  DType type;
  bool isStrided = false, isDilated = false, isNarrow = false;
  int64_t images, inChannels, outChannels, inPixels = 1, outPixels = 1, window = 1, longest = 1;
  int64_t inRows, outRows, rowStride, rowReach;
};

/// A convolution, or the gradient of its input, with some of the channels that are added up: the weights as oneDNN lays
/// them out, again for parts of other sizes; rows that threads copy; and, where only its general implementations take
/// the shape, all operands in another layout, or the windows of each part as a matrix.
Bytes callBytes(const ConvolutionSizes &c, int64_t in, int64_t out, const Machine &machine) {
  const bool isGradient = c.kind == artifact::ConvKind::BackwardData, isBF16 = c.type == DType::BF16;
  const Bytes weights = c.weightBytes(in, out), activations = c.srcBytes() + c.dstBytes();
  Bytes bytes = weights + weights / 3 + mostParts * 4 * page, ofThread = 16 * page;
  if (c.window == 1 && c.isStrided)
    ofThread += Bytes(roundUp(in, 16)) * c.elementBytes() * c.outPixels;
  if (c.window == 1 && isBF16) // sums of f32, on processors without instructions for bf16
    ofThread += Bytes(roundUp(isGradient ? in : out, 16)) * 4 * c.outPixels;
  if (c.isNarrow)
    bytes += 14 * weights;
  if (c.longest > 4) // parts at the padding want layouts of their own
    bytes += (isBF16 ? 10 : 1) * weights;
  if (c.isDilated && c.longest > 4) {
    const int64_t ofGroup = in / c.groups;
    bytes += 6 * weights + Bytes(std::min(c.images, mostParts)) * ofGroup * c.window * c.outPixels * 4;
  }
  if (isGradient && c.isDilated)
    bytes += (isBF16 ? 8 : 4) * activations + weights + (1 << 20);
  else if (isGradient && c.isStrided && c.longest > 4)
    bytes += 2 * activations;
  return bytes + machine.threads * ofThread;
}

/// Sums that are long are cut along the channels, as by LongConvolution.
Bytes callOrPartsBytes(const ConvolutionSizes &c, const Machine &machine) {
  const bool isForward = c.kind == artifact::ConvKind::Forward;
  const int64_t channels = isForward ? c.inChannels : c.outChannels;
  const std::optional<int64_t> part = channelsOfLongPart(c.type, c.groups, channels, c.window);
  if (!part)
    return callBytes(c, c.inChannels, c.outChannels, machine);
  const int64_t count = (channels + *part - 1) / *part;
  const int64_t ofImage = isForward ? c.outPixels * c.outChannels : c.inPixels * c.inChannels;
  return PairwiseSlots::slots(count) * (Bytes(c.images) * ofImage * 4 + page) +
         callBytes(c, isForward ? *part : c.inChannels, isForward ? c.outChannels : *part, machine);
}

/// The gradient of weights: for each thread the operands of a chunk as oneDNN lays them out, and again for vector
/// instructions; sums of weights; and the windows of a chunk as a matrix where it has no other implementation.
Bytes weightGradientBytes(const ConvolutionSizes &c, const Machine &machine) {
  const WeightChunks cut(c.images, c.outRows, c.outPixels / c.outRows, c.outChannels, c.groups);
  const WeightChunks::Chunk largest = cut.chunk(0);
  const int64_t inRows = std::min(c.inRows, (largest.rows - 1) * c.rowStride + c.rowReach);
  const int64_t pixelsOfRow = c.inPixels / c.inRows;
  const Bytes src = Bytes(largest.images) * inRows * pixelsOfRow * roundUp(c.inChannels, 16) * c.elementBytes();
  const int64_t pixels = largest.rows * (c.outPixels / c.outRows);
  const Bytes gradient = Bytes(largest.images) * pixels * roundUp(cut.tileChannels, 16) * c.elementBytes();
  const Bytes weights = c.weightBytes(c.inChannels, cut.tileChannels) * 4 / c.elementBytes() + 64;
  const int64_t inOfGroup = c.inChannels / c.groups;
  const bool isGeneral = c.isDilated || (c.groups > 1 && inOfGroup > 1) || inOfGroup % 16 != 0;
  const Bytes windows = isGeneral ? Bytes(inOfGroup) * c.window * pixels * c.elementBytes() : 0;
  const int64_t copies = cut.slots + (c.type == DType::BF16 ? 8 : 6);
  const Bytes lane = 2 * (src + gradient) + copies * weights + windows + 16 * page;
  const int64_t tasks = cut.tiles * cut.segments;
  return Bytes(std::min(machine.threads, tasks)) * lane + Bytes(tasks) * weights;
}

Bytes convolutionBytes(const artifact::Program &program, const artifact::Convolution &op, const Machine &machine) {
  const ConvolutionSizes sizes(program, op);
  if (sizes.srcBytes() == 0 || sizes.dstBytes() == 0)
    return 0;
  if (sizes.type != DType::F32 && (sizes.type != DType::BF16 || machine.isAvx2))
    return 0;
  return op.kind() == artifact::ConvKind::BackwardWeights ? weightGradientBytes(sizes, machine)
                                                          : callOrPartsBytes(sizes, machine);
}

/// The positions of the largest elements.
Bytes poolBytes(const artifact::Program &program, const artifact::Pool &op) {
  if (op.kind() != artifact::PoolKind::MaxBackward)
    return 0;
  Bytes elements = 1;
  for (int64_t extent : *program.buffers()->Get(static_cast<uint32_t>(op.diff_dst()))->shape())
    elements *= extent;
  return elements * sizeof(int32_t);
}

Bytes stepBytes(const artifact::Program &program, const artifact::Step &step, const Machine &machine) {
  if (const artifact::Matmul *op = step.action_as_Matmul())
    return matmulBytes(*op, toDType(program.buffers()->Get(op->dst())->dtype()), machine);
  if (const artifact::Convolution *op = step.action_as_Convolution())
    return convolutionBytes(program, *op, machine);
  if (const artifact::Pool *op = step.action_as_Pool())
    return poolBytes(program, *op);
  if (const artifact::ScatterAdd *op = step.action_as_ScatterAdd())
    return (static_cast<Bytes>(op->size()) + 1 + static_cast<Bytes>(op->count())) * sizeof(int64_t);
  return 0;
}
} // namespace

uint64_t dgc::rt::scratchBound(const artifact::Program &program, int threads, CpuNeeds needs) {
  std::vector<Machine> machines{{threads, /*isAvx2=*/false, /*hasBf16=*/true}};
  if (!needs.bf16)
    machines.push_back({threads, /*isAvx2=*/false, /*hasBf16=*/false});
  if (!needs.avx512)
    machines.push_back({threads, /*isAvx2=*/true, /*hasBf16=*/false});
  Bytes most = 0;
  for (uint32_t i = 0; program.steps() && i < program.steps()->size(); ++i)
    for (const Machine &machine : machines)
      most = std::max(most, stepBytes(program, *program.steps()->Get(i), machine));
  return static_cast<uint64_t>(std::ceil(std::min(most, 0x1p46))); // more than any plan may have
}
