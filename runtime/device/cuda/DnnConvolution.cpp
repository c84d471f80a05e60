// Convolutions as graphs of cuDNN.
#include "runtime/artifact/GpuSizes.h"
#include "runtime/base/Status.h"
#include "runtime/device/cuda/Dnn.h"

namespace dgc::rt::cuda {
namespace {

/// What the operation of a kind is called, with its attributes.
struct Names {
  int operation, alpha, beta, convolution, src, weights, dst;
  const char *what;
};
constexpr Names namesOf(ConvolutionKind kind) {
  switch (kind) {
  case ConvolutionKind::BackwardData:
    return {kDnnConvolutionBackwardData, kDnnBackwardDataAlpha,
            kDnnBackwardDataBeta,        kDnnBackwardDataConvolution,
            kDnnBackwardDataDx,          kDnnBackwardDataW,
            kDnnBackwardDataDy,          "the gradient of a convolution's input"};
  case ConvolutionKind::BackwardFilter:
    return {kDnnConvolutionBackwardFilter, kDnnBackwardFilterAlpha,
            kDnnBackwardFilterBeta,        kDnnBackwardFilterConvolution,
            kDnnBackwardFilterX,           kDnnBackwardFilterDw,
            kDnnBackwardFilterDy,          "the gradient of a convolution's filter"};
  case ConvolutionKind::Forward:
    break;
  }
  return {kDnnConvolutionForward, kDnnForwardAlpha, kDnnForwardBeta, kDnnForwardConvolution,
          kDnnForwardX,           kDnnForwardW,     kDnnForwardY,    "a convolution"};
}

std::string sizesOf(const DnnTensor &tensor) {
  std::string text;
  for (int64_t dim : tensor.dims)
    text += str(text.empty() ? "" : "x", dim);
  return text;
}

uint64_t bytesOf(const DnnTensor &tensor) {
  uint64_t bytes = sizeOf(tensor.type);
  for (int64_t dim : tensor.dims)
    bytes *= static_cast<uint64_t>(dim);
  return bytes;
}

/// cuDNN has two spatial dimensions at least.
void addDimension(DnnTensor &tensor) {
  tensor.dims.insert(tensor.dims.begin() + 2, 1);
  tensor.strides.insert(tensor.strides.begin() + 2, tensor.dims[3] * tensor.strides[2]);
}

class CudnnDnn final : public Dnn {
public:
  explicit CudnnDnn(std::unique_ptr<Cudnn> library) : library(std::move(library)) {}

  absl::StatusOr<std::unique_ptr<PreparedDnn>> prepare(const DnnConvolution &given) override {
    DnnConvolution c = given;
    if (c.strides.size() == 1) {
      for (DnnTensor *tensor : {&c.src, &c.weights, &c.dst})
        addDimension(*tensor);
      for (std::vector<int64_t> *each : {&c.strides, &c.dilation})
        each->insert(each->begin(), 1);
      for (std::vector<int64_t> *each : {&c.padLow, &c.padHigh})
        each->insert(each->begin(), 0);
    }
    const Names names = namesOf(c.kind);
    DnnGraph graph(*library);
    DnnHandle convolution = graph.make(
        kDnnConvolution, {DnnAttribute::choice(kDnnConvolutionComputeType, kDnnTypeDataType, kDnnF32),
                          DnnAttribute::choice(kDnnConvolutionMode, kDnnTypeConvolutionMode, kDnnCrossCorrelation),
                          DnnAttribute::integer(kDnnConvolutionSpatialDims, static_cast<int64_t>(c.strides.size())),
                          DnnAttribute::integers(kDnnConvolutionDilations, c.dilation),
                          DnnAttribute::integers(kDnnConvolutionStrides, c.strides),
                          DnnAttribute::integers(kDnnConvolutionPadLow, c.padLow),
                          DnnAttribute::integers(kDnnConvolutionPadHigh, c.padHigh)});
    DnnHandle src = graph.tensor(c.src), weights = graph.tensor(c.weights);
    // What one operation hands to the next has f32.
    DnnTensor between = c.dst;
    between.type = DType::F32;
    between.isVirtual = true;
    const bool ends = !c.hasBias && !c.relu;
    DnnHandle dst = graph.tensor(ends ? c.dst : between);
    graph.add(names.operation,
              {DnnAttribute::number(names.alpha, 1.0f), DnnAttribute::number(names.beta, 0.0f),
               DnnAttribute::descriptor(names.convolution, convolution), DnnAttribute::descriptor(names.src, src),
               DnnAttribute::descriptor(names.weights, weights), DnnAttribute::descriptor(names.dst, dst)});
    if (c.hasBias) {
      DnnTensor bias = c.dst;
      bias.data = c.bias;
      for (size_t i = 0; i < bias.dims.size(); ++i) {
        bias.dims[i] = i == 1 ? c.dst.dims[1] : 1;
        bias.strides[i] = i == 1 ? 1 : c.dst.dims[1];
      }
      DnnHandle sum = graph.tensor(c.relu ? between : c.dst);
      graph.addPointwise(kDnnAdd, dst, graph.tensor(bias), sum);
      dst = sum;
    }
    if (c.relu)
      graph.addPointwise(kDnnRelu, dst, nullptr, graph.tensor(c.dst));
    DnnChoice choice;
    choice.tensorCores = c.tf32 || c.dst.type == DType::BF16 || c.dst.type == DType::F16;
    choice.roundsInputs = c.tf32;
    choice.workspaceLimit = gpu::convolutionWorkspaceBytes(bytesOf(c.src) + bytesOf(c.weights) + bytesOf(c.dst));
    choice.what = str(names.what, ", ", nameOf(c.dst.type), ", ", sizesOf(c.src), " by ", sizesOf(c.weights));
    return graph.prepare(choice);
  }

  absl::StatusOr<std::unique_ptr<PreparedDnn>> prepare(const DnnAttention &attention) override {
    return prepareAttention(*library, attention);
  }

private:
  std::unique_ptr<Cudnn> library;
};

} // namespace

std::unique_ptr<Dnn> makeDnn(std::unique_ptr<Cudnn> library) { return std::make_unique<CudnnDnn>(std::move(library)); }

absl::StatusOr<std::unique_ptr<Dnn>> openCudnn() {
  DGC_ASSIGN_OR_RETURN(std::unique_ptr<Cudnn> library, Cudnn::open());
  return makeDnn(std::move(library));
}

} // namespace dgc::rt::cuda
