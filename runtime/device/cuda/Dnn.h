// Convolutions and attention on the GPU: cuDNN, or what tests put in its place.
#pragma once

#include "runtime/device/cuda/DnnAttention.h"

namespace dgc::rt::cuda {

enum class ConvolutionKind { Forward, BackwardData, BackwardFilter };

/// A convolution of src [n, c, spatial..] with weights [o, c / groups, spatial..] into dst [n, o, spatial..], or a
/// gradient of it: BackwardData makes src of the two others, BackwardFilter the weights. Dimensions are in that order,
/// whatever the order in memory. 16 bits are added up in f32.
struct DnnConvolution {
  ConvolutionKind kind = ConvolutionKind::Forward;
  DnnTensor src, weights, dst; // of one type
  std::vector<int64_t> strides, padLow, padHigh, dilation;
  bool hasBias = false, relu = false; // Forward: what is done to dst, in this order
  Address bias = 0;                   // [o]
  bool tf32 = false;                  // products of f32 may be rounded to TF32
};

class Dnn {
public:
  virtual ~Dnn() = default;
  virtual absl::StatusOr<std::unique_ptr<PreparedDnn>> prepare(const DnnConvolution &convolution) = 0;
  virtual absl::StatusOr<std::unique_ptr<PreparedDnn>> prepare(const DnnAttention &attention) = 0;
};

/// By cuDNN; `library` may be one without a GPU.
std::unique_ptr<Dnn> makeDnn(std::unique_ptr<Cudnn> library);
absl::StatusOr<std::unique_ptr<Dnn>> openCudnn();

} // namespace dgc::rt::cuda
