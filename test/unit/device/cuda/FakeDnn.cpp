// Convolutions on a fake GPU.
#include "test/unit/device/cuda/FakeDriver.h"

#include <algorithm>
#include <utility>

using namespace dgc::rt;
using namespace dgc::rt::cuda;

namespace dgc::testing {

namespace {
constexpr uint64_t kWorkspace = 8192;

/// The next position in a box; false behind the last one.
bool advance(std::vector<int64_t> &position, const std::vector<int64_t> &sizes) {
  for (size_t dim = sizes.size(); dim-- > 0;) {
    if (++position[dim] < sizes[dim])
      return true;
    position[dim] = 0;
  }
  return false;
}

class FakeConvolution final : public PreparedDnn {
public:
  FakeConvolution(FakeDriver &driver, DnnConvolution given) : driver(driver), c(std::move(given)) {}
  uint64_t workspaceBytes() const override { return kWorkspace; }

  absl::Status run(Driver::Stream stream, Address workspace) override {
    auto access = [&](const DnnTensor &tensor, bool writes) {
      uint64_t last = 0;
      for (size_t i = 0; i < tensor.dims.size(); ++i)
        last += static_cast<uint64_t>((tensor.dims[i] - 1) * tensor.strides[i]);
      return FakeDriver::Access{tensor.data, (last + 1) * sizeOf(tensor.type), writes};
    };
    uint64_t biasBytes = c.hasBias ? static_cast<uint64_t>(c.dst.dims[1]) * sizeOf(c.dst.type) : 0;
    return driver.enqueue("convolution", stream,
                          {access(c.src, c.kind == ConvolutionKind::BackwardData),
                           access(c.weights, c.kind == ConvolutionKind::BackwardFilter),
                           access(c.dst, c.kind == ConvolutionKind::Forward),
                           {c.bias, biasBytes, false},
                           {workspace, kWorkspace, true}},
                          [self = *this] { self.compute(); }); // maybe when this is gone
  }

private:
  using Position = std::vector<int64_t>;
  static uint64_t offset(const DnnTensor &tensor, const Position &position) {
    int64_t result = 0;
    for (size_t i = 0; i < position.size(); ++i)
      result += position[i] * tensor.strides[i];
    return static_cast<uint64_t>(result);
  }
  double load(DType type, Address data, uint64_t index) const {
    const std::byte *at = driver.host(data);
    if (type == DType::F32)
      return reinterpret_cast<const float *>(at)[index];
    uint16_t bits = reinterpret_cast<const uint16_t *>(at)[index];
    return type == DType::BF16 ? fromBF16(bits) : fromF16(bits);
  }
  void store(DType type, Address data, uint64_t index, float value) const {
    std::byte *at = driver.host(data);
    if (type == DType::F32)
      reinterpret_cast<float *>(at)[index] = value;
    else
      reinterpret_cast<uint16_t *>(at)[index] = type == DType::BF16 ? toBF16(value) : toF16(value);
  }

  /// Each product of the forward pass once: what it reads and where it belongs depend on the kind.
  void compute() const {
    const bool forward = c.kind == ConvolutionKind::Forward, data = c.kind == ConvolutionKind::BackwardData;
    const DnnTensor &result = forward ? c.dst : data ? c.src : c.weights;
    const size_t rank = c.dst.dims.size();
    int64_t elements = 1;
    for (int64_t dim : result.dims)
      elements *= dim;
    std::vector<double> sums(static_cast<size_t>(elements));
    const int64_t outputs = c.weights.dims[0] / (c.src.dims[1] / c.weights.dims[1]); // of a group
    Position out(rank), tap(rank), in(rank);
    Position taps = c.weights.dims;
    taps[0] = 1;
    do {
      std::fill(tap.begin(), tap.end(), 0);
      do {
        Position weight = tap;
        weight[0] = out[1];
        in[0] = out[0];
        in[1] = out[1] / outputs * c.weights.dims[1] + tap[1];
        bool inside = true;
        for (size_t dim = 2; dim < rank; ++dim) {
          in[dim] = out[dim] * c.strides[dim - 2] + tap[dim] * c.dilation[dim - 2] - c.padLow[dim - 2];
          inside &= in[dim] >= 0 && in[dim] < c.src.dims[dim];
        }
        if (!inside)
          continue;
        auto value = [&](const DnnTensor &tensor, const Position &position) {
          return load(tensor.type, tensor.data, offset(tensor, position));
        };
        const Position &to = forward ? out : data ? in : weight;
        sums[offset(result, to)] += forward ? value(c.src, in) * value(c.weights, weight)
                                    : data  ? value(c.dst, out) * value(c.weights, weight)
                                            : value(c.dst, out) * value(c.src, in);
      } while (advance(tap, taps));
    } while (advance(out, c.dst.dims));
    Position position(rank);
    do {
      uint64_t at = offset(result, position);
      double sum = sums[at] + (c.hasBias ? load(c.dst.type, c.bias, static_cast<uint64_t>(position[1])) : 0);
      store(result.type, result.data, at, static_cast<float>(c.relu ? std::max(sum, 0.0) : sum));
    } while (advance(position, result.dims));
  }

  FakeDriver &driver;
  DnnConvolution c;
};

/// What cuDNN takes: activations with the channels last in memory, filters too, with the outputs first.
bool isChannelsLast(const DnnTensor &tensor) {
  int64_t step = 1;
  std::vector<size_t> order{1};
  for (size_t dim = tensor.dims.size(); dim-- > 2;)
    order.push_back(dim);
  order.push_back(0);
  for (size_t dim : order) {
    if (tensor.strides[dim] != step)
      return false;
    step *= tensor.dims[dim];
  }
  return true;
}
} // namespace

absl::StatusOr<std::unique_ptr<PreparedDnn>> FakeDnn::prepare(const DnnConvolution &c) {
  const size_t rank = c.dst.dims.size(), spatial = c.strides.size();
  bool fits = rank == spatial + 2 && c.src.dims.size() == rank && c.weights.dims.size() == rank &&
              c.padLow.size() == spatial && c.padHigh.size() == spatial && c.dilation.size() == spatial &&
              c.src.dims[0] == c.dst.dims[0] && c.weights.dims[0] == c.dst.dims[1] &&
              c.src.dims[1] % c.weights.dims[1] == 0;
  for (size_t i = 0; fits && i < spatial; ++i) {
    int64_t extent = c.src.dims[i + 2] + c.padLow[i] + c.padHigh[i] - c.dilation[i] * (c.weights.dims[i + 2] - 1) - 1;
    fits = extent >= 0 && c.dst.dims[i + 2] == extent / c.strides[i] + 1;
  }
  for (const DnnTensor *tensor : {&c.src, &c.weights, &c.dst}) {
    bool known = tensor->type == DType::F32 || tensor->type == DType::BF16 || tensor->type == DType::F16;
    fits = fits && known && tensor->type == c.dst.type && isChannelsLast(*tensor);
  }
  if (!fits)
    return absl::InvalidArgumentError("cuDNN would not take this convolution");
  if ((c.hasBias || c.relu) && (c.kind != ConvolutionKind::Forward || !c.hasBias))
    return absl::InvalidArgumentError("cuDNN would not take what follows this convolution");
  return std::make_unique<FakeConvolution>(driver, c);
}

} // namespace dgc::testing
