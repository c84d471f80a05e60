#include "runtime/device/cuda/ConvolutionLayout.h"

#include "runtime/base/Status.h"

namespace dgc::rt::cuda {

/// [n, spatial.., c] in memory as [n, c, spatial..].
static DnnTensor channelsLast(const Operand &operand) {
  const size_t rank = operand.shape.size();
  DnnTensor tensor;
  tensor.type = operand.dtype;
  tensor.data = reinterpret_cast<Address>(operand.data);
  tensor.dims = {operand.shape.front(), operand.shape.back()};
  tensor.dims.insert(tensor.dims.end(), operand.shape.begin() + 1, operand.shape.end() - 1);
  tensor.strides.assign(rank, 1);
  int64_t step = tensor.dims[1];
  for (size_t dim = rank; dim-- > 2;) {
    tensor.strides[dim] = step;
    step *= tensor.dims[dim];
  }
  tensor.strides[0] = step;
  return tensor;
}

static std::vector<int64_t> toVector(const flatbuffers::Vector<int64_t> *values) {
  return values ? std::vector<int64_t>(values->begin(), values->end()) : std::vector<int64_t>();
}

absl::StatusOr<DnnConvolution> describeConvolution(const artifact::Convolution &op, std::span<const Operand> buffers) {
  DnnConvolution result;
  switch (op.kind()) {
  case artifact::ConvKind::Forward:
    result.kind = ConvolutionKind::Forward;
    break;
  case artifact::ConvKind::BackwardData:
    result.kind = ConvolutionKind::BackwardData;
    break;
  case artifact::ConvKind::BackwardWeights:
    result.kind = ConvolutionKind::BackwardFilter;
    break;
  }
  if (!op.weights_out_first())
    return absl::UnimplementedError(
        "a convolution whose filter does not begin with the outputs; compile the model again with --target=cuda:..");
  result.src = channelsLast(buffers[op.src()]);
  result.weights = channelsLast(buffers[op.weights()]);
  result.dst = channelsLast(buffers[op.dst()]);
  result.strides = toVector(op.strides());
  result.padLow = toVector(op.pad_low());
  result.padHigh = toVector(op.pad_high());
  result.dilation = toVector(op.dilation());
  result.hasBias = op.bias() >= 0;
  if (result.hasBias)
    result.bias = reinterpret_cast<Address>(buffers[static_cast<size_t>(op.bias())].data);
  for (uint32_t i = 0; op.post_ops() && i < op.post_ops()->size(); ++i) {
    if (i > 0 || op.post_ops()->Get(i)->kind() != artifact::PostOpKind::Relu)
      return absl::UnimplementedError("a convolution with post-ops other than relu; compile the model again for GPUs");
    result.relu = true;
  }
  return result;
}

} // namespace dgc::rt::cuda
