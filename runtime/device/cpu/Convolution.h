// What the calls of oneDNN for one convolution have in common. Internal to runtime/device/cpu.
#pragma once

#include "runtime/device/cpu/Ops.h"

namespace dgc::rt {

/// The operands of a convolution in oneDNN's order of dimensions, at the strides that they have in memory.
struct ConvolutionShape {
  ConvolutionShape(const OpContext &context, const artifact::Convolution &op, dnnl::memory::data_type type);

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
};
ConvolutionCall wholeConvolution(const OpContext &context, const artifact::Convolution &op,
                                 dnnl::memory::data_type type);

/// A prepared call, and the end of its scratch memory. Unimplemented where oneDNN has no such convolution, and where
/// the order of its sums depends on the number of threads unless it is on one thread.
struct PreparedConvolution {
  std::unique_ptr<PreparedOp> op;
  size_t scratchEnd;
};
absl::StatusOr<PreparedConvolution> prepareCall(const OpContext &context, const ConvolutionCall &call,
                                                artifact::ConvKind kind);

/// A convolution of f32, or the gradient of its input, whose sums are longer than oneDNN adds up accurately: in parts
/// of the channels that are added up, and these in pairs. Unimplemented for sums that are not long.
PreparedOrStatus prepareLongConvolution(const OpContext &context, const artifact::Convolution &op,
                                        dnnl::memory::data_type type);

/// A convolution, or the gradient of its input, in parts of some images, each of which is computed on one thread; the
/// gradient of its weights on one thread.
PreparedOrStatus prepareImageParts(const OpContext &context, const artifact::Convolution &op,
                                   dnnl::memory::data_type type);

/// The gradient of a convolution's weights. Unimplemented where oneDNN has none for the parts that its sums need.
PreparedOrStatus prepareWeightGradient(const OpContext &context, const artifact::Convolution &op,
                                       dnnl::memory::data_type type);

} // namespace dgc::rt
