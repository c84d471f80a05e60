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

/// The gradient of a convolution's weights. Unimplemented where oneDNN has none for the parts that its sums need.
PreparedOrStatus prepareWeightGradient(const OpContext &context, const artifact::Convolution &op,
                                       dnnl::memory::data_type type);

} // namespace dgc::rt
