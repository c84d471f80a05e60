// What the calls of oneDNN for one convolution have in common. Internal to runtime/device/cpu.
#pragma once

#include "runtime/device/cpu/Ops.h"

#include <optional>

namespace dgc::rt {

/// The operands of a convolution in oneDNN's order of dimensions, at the strides that they have in memory.
struct ConvolutionShape {
  ConvolutionShape(const OpContext &context, const artifact::Convolution &op, dnnl::memory::data_type type);

  /// The rows of src that some rows of dst read, without the `low` and `high` rows of padding around them.
  struct InputRows {
    int64_t begin, end, low, high;
  };
  InputRows inputRows(int64_t row, int64_t rows) const;

  dnnl::memory::data_type type;
  int64_t groups;
  dnnl::memory::desc src, dst; ///< [N, C, spatial..]
  dnnl::memory::desc weights;  ///< [O, C, spatial..], or [groups, O / groups, C / groups, spatial..]
  dnnl::memory::desc bias;     ///< [O]; empty where there is none
  dnnl::memory::dims strides, low, high, dilation; ///< of each spatial dimension; a dilation of 0 leaves nothing out
};

/// A call of oneDNN for a convolution or a part of one.
struct ConvolutionCall {
  ConvolutionShape shape;
  std::byte *src, *weights, *dst; ///< what is written is in the scratch block where this is null
  std::byte *bias = nullptr;
  const PostOpVector *postOps = nullptr;
  ResultPart part;            ///< of the result that post-ops see
  size_t resultOffset = 0;    ///< of what is written, in the scratch block
  size_t scratchBegin = 0;    ///< the scratch memory of the call is behind this
  bool isOnOneThread = false; ///< it runs while there is a OneThread
  /// Where in the scratch block the weights are, in the layout of `shape`, which is one that oneDNN prefers.
  std::optional<size_t> packedWeights = std::nullopt;
};
ConvolutionCall wholeConvolution(const OpContext &context, const artifact::Convolution &op,
                                 dnnl::memory::data_type type);

/// A prepared call, the end of its scratch memory, and the layout in which oneDNN reads or writes the weights.
struct PreparedConvolution {
  std::unique_ptr<PreparedOp> op;
  size_t scratchEnd;
  dnnl::memory::desc weights;
};
/// Unimplemented where oneDNN has no such convolution, and where the order of its sums depends on the number of threads
/// unless it is on one thread.
absl::StatusOr<PreparedConvolution> prepareCall(const OpContext &context, const ConvolutionCall &call,
                                                artifact::ConvKind kind);

/// A call in parts of some images, or of some rows of the result of one image, each of which is computed on one thread;
/// the gradient of weights in one part. The parts are the same for any number of threads.
absl::StatusOr<PreparedConvolution> prepareParts(const OpContext &context, const ConvolutionCall &call,
                                                 artifact::ConvKind kind);

/// The first of prepareCall and prepareParts that there is.
absl::StatusOr<PreparedConvolution> prepareCallOrParts(const OpContext &context, const ConvolutionCall &call,
                                                       artifact::ConvKind kind);

/// A convolution of f32, or the gradient of its input, whose sums are longer than oneDNN adds up accurately: in parts
/// of the channels that are added up, and these in pairs. Unimplemented for sums that are not long.
PreparedOrStatus prepareLongConvolution(const OpContext &context, const artifact::Convolution &op,
                                        dnnl::memory::data_type type);

/// The gradient of a convolution's weights. Unimplemented where oneDNN has none for the parts that its sums need.
PreparedOrStatus prepareWeightGradient(const OpContext &context, const artifact::Convolution &op,
                                       dnnl::memory::data_type type);

} // namespace dgc::rt
