// The library calls of the CPU device. Internal to runtime/device/cpu.
#pragma once

#include "runtime/device/cpu/CpuDevice.h"

#include "dnnl.hpp"

#include <functional>
#include <optional>

namespace dgc::rt {

struct CpuDevice::Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

/// What the makers of library calls work with.
struct OpContext {
  CpuDevice::Library &library;
  Scratch &scratch;
  std::span<const Operand> buffers;
  /// What needs more scratch memory than there may be counts as an implementation that there is not: there are others.
  bool takesOthers = false;
};

/// Reserves scratch memory for a library call. Throws, for guarded(), where there may not be so much.
void reserveScratch(const OpContext &context, size_t bytes);

PreparedOrStatus prepareMatmul(const OpContext &context, const artifact::Matmul &op);
PreparedOrStatus prepareConvolution(const OpContext &context, const artifact::Convolution &op);
PreparedOrStatus prepareScatterAdd(const OpContext &context, const artifact::ScatterAdd &op);
PreparedOrStatus prepareUpdateSlice(const artifact::UpdateSlice &op, std::span<const Operand> buffers);
PreparedOrStatus preparePool(const OpContext &context, const artifact::Pool &op);

/// oneDNN's element type; nothing where it has none.
std::optional<dnnl::memory::data_type> dnnlType(DType type);

/// Runs `f`, which calls oneDNN's throwing interface, and turns an exception
/// into a status: OutOfRange where there may not be enough scratch memory.
absl::Status guarded(const char *what, const std::function<void()> &f);

/// A primitive with its arguments bound; memory objects are its own.
class BoundPrimitive {
public:
  BoundPrimitive() = default;
  BoundPrimitive(OpContext context, dnnl::primitive primitive, const dnnl::memory::desc &scratchpad);

  /// Binds an argument at a fixed address, or, with `offset`, in the scratch
  /// block (whose address is known only at the first run).
  void bind(int argument, const dnnl::memory::desc &desc, void *data);
  void bindScratch(int argument, const dnnl::memory::desc &desc, size_t offset);

  absl::Status run();

private:
  struct ScratchArgument {
    dnnl::memory memory;
    size_t offset;
  };
  const dnnl::stream *stream = nullptr;
  const Scratch *scratch = nullptr;
  dnnl::primitive primitive;
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
  std::vector<ScratchArgument> unresolved;
};

//===-- Post-ops --------------------------------------------------------===//

/// The chain of a library call, in oneDNN's terms. Arguments of binary post-ops
/// are described with `dims`, the logical shape of the result with its strides;
/// `channelAxis` is where a per-channel argument varies, with `channels` elements for the whole result.
struct PostOps {
  dnnl::post_ops ops;
  struct Argument {
    int position;
    dnnl::memory::desc desc;
    void *data;
  };
  std::vector<Argument> arguments;
};
using PostOpVector = flatbuffers::Vector<flatbuffers::Offset<artifact::PostOp>>;
/// Refuses post-ops that only GPUs have; whoever prepares a library call asks before the others.
absl::Status checkPostOps(const PostOpVector *list);
/// Where the part of a result that a call computes begins in memory, and its first channel.
struct ResultPart {
  int64_t element = 0, channel = 0;
};
PostOps makePostOps(const OpContext &context, const PostOpVector *list, const dnnl::memory::desc &result,
                    int channelAxis, int64_t channels, ResultPart part = {});
void bindPostOps(BoundPrimitive &primitive, const PostOps &postOps);

/// The same chain, plainly: row-major [rows, channels] results. What an op whose
/// type or shape oneDNN does not take falls back on.
class PlainPostOps {
public:
  PlainPostOps(const OpContext &context, const PostOpVector *list, int64_t channels);
  bool accumulates() const { return accumulate; }
  /// The result for element `index` given the raw value and what dst held.
  double apply(double value, double before, int64_t index) const;

private:
  struct Op {
    artifact::PostOpKind kind;
    Operand arg;
    bool perChannel;
  };
  std::vector<Op> ops;
  int64_t channels;
  bool accumulate = false;
};

/// Reads and writes one element of an array as f64.
inline double loadElement(const Operand &operand, int64_t index) {
  return loadElement(operand.dtype, operand.data, index);
}
inline void storeElement(const Operand &operand, int64_t index, double value) {
  storeElement(operand.dtype, operand.data, index, value);
}

} // namespace dgc::rt
