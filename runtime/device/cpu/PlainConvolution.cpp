// Convolution in plain loops: sums in pairs, in f64.
#include "runtime/device/cpu/PlainConvolution.h"

#include "runtime/device/cpu/PairwiseSum.h"
#include "runtime/device/cpu/Parallel.h"

using namespace dgc;
using namespace dgc::rt;

namespace {
class PlainConvolution final : public PreparedOp {
public:
  PlainConvolution(const OpContext &context, const artifact::Convolution &op)
      : src(context.buffers[op.src()]), weights(context.buffers[op.weights()]), dst(context.buffers[op.dst()]),
        kind(op.kind()), postOps(context, op.post_ops(), dst.shape.back()), groups(op.groups()) {
    if (op.bias() >= 0)
      bias = context.buffers[static_cast<size_t>(op.bias())];
    size_t spatial = src.shape.size() - 2;
    for (size_t d = 0; d < spatial; ++d) {
      size_t to = 3 - spatial + d;
      uint32_t from = static_cast<uint32_t>(d);
      in[to] = src.shape[d + 1];
      out[to] = dst.shape[d + 1];
      window[to] = weights.shape[d];
      stride[to] = op.strides()->Get(from);
      low[to] = op.pad_low()->Get(from);
      dilation[to] = op.dilation()->Get(from);
    }
    batch = src.shape.front();
    inChannels = src.shape.back();
    outChannels = dst.shape.back();
  }

  absl::Status run(const dgc_step &) override {
    switch (kind) {
    case artifact::ConvKind::Forward:
      parallelFor(batch, [&](int64_t b, int64_t e) { forward(b, e); });
      break;
    case artifact::ConvKind::BackwardData:
      parallelFor(batch, [&](int64_t b, int64_t e) { backwardData(b, e); });
      break;
    case artifact::ConvKind::BackwardWeights:
      parallelFor(outChannels, [&](int64_t b, int64_t e) { backwardWeights(b, e); });
      break;
    }
    return absl::OkStatus();
  }

private:
  /// Calls f(row-major position in `extent`, coordinates) for every point.
  template <typename F> static void forPoints(const int64_t (&extent)[3], F f) {
    int64_t position = 0, p[3];
    for (p[0] = 0; p[0] < extent[0]; ++p[0])
      for (p[1] = 0; p[1] < extent[1]; ++p[1])
        for (p[2] = 0; p[2] < extent[2]; ++p[2])
          f(position++, p);
  }

  /// The input pixel that output `o` reads through window position `w`; -1 in
  /// the padding.
  int64_t inputPixel(const int64_t (&o)[3], const int64_t (&w)[3]) const {
    int64_t pixel = 0;
    for (int d = 0; d < 3; ++d) {
      int64_t i = o[d] * stride[d] - low[d] + w[d] * dilation[d];
      if (i < 0 || i >= in[d])
        return -1;
      pixel = pixel * in[d] + i;
    }
    return pixel;
  }

  int64_t inPixels() const { return in[0] * in[1] * in[2]; }
  int64_t outPixels() const { return out[0] * out[1] * out[2]; }
  int64_t groupIn() const { return inChannels / groups; }

  double srcAt(int64_t b, int64_t pixel, int64_t c) const {
    return loadElement(src, (b * inPixels() + pixel) * inChannels + c);
  }
  double dstAt(int64_t b, int64_t pixel, int64_t c) const {
    return loadElement(dst, (b * outPixels() + pixel) * outChannels + c);
  }
  double weightAt(int64_t position, int64_t c, int64_t o) const {
    return loadElement(weights, (position * groupIn() + c) * outChannels + o);
  }

  void forward(int64_t begin, int64_t end) const {
    for (int64_t b = begin; b < end; ++b)
      forPoints(out, [&](int64_t pixel, const int64_t (&o)[3]) {
        for (int64_t oc = 0; oc < outChannels; ++oc) {
          int64_t first = oc / (outChannels / groups) * groupIn();
          PairwiseSum<double> sum;
          forPoints(window, [&](int64_t position, const int64_t (&w)[3]) {
            int64_t from = inputPixel(o, w);
            for (int64_t c = 0; from >= 0 && c < groupIn(); ++c)
              sum.add(srcAt(b, from, first + c) * weightAt(position, c, oc));
          });
          int64_t at = (b * outPixels() + pixel) * outChannels + oc;
          double before = postOps.accumulates() ? loadElement(dst, at) : 0;
          double value = sum.total() + (bias.data ? loadElement(bias, oc) : 0);
          storeElement(dst, at, postOps.apply(value, before, at));
        }
      });
  }

  /// The output whose window has input `i` at position `w`; -1: there is none.
  int64_t outputPixel(const int64_t (&i)[3], const int64_t (&w)[3]) const {
    int64_t pixel = 0;
    for (int d = 0; d < 3; ++d) {
      int64_t at = i[d] + low[d] - w[d] * dilation[d];
      if (at < 0 || at % stride[d] || at / stride[d] >= out[d])
        return -1;
      pixel = pixel * out[d] + at / stride[d];
    }
    return pixel;
  }

  void backwardData(int64_t begin, int64_t end) const {
    const int64_t groupOut = outChannels / groups;
    for (int64_t b = begin; b < end; ++b)
      forPoints(in, [&](int64_t pixel, const int64_t (&i)[3]) {
        for (int64_t ic = 0; ic < inChannels; ++ic) {
          const int64_t group = ic / groupIn();
          PairwiseSum<double> sum;
          forPoints(window, [&](int64_t position, const int64_t (&w)[3]) {
            int64_t from = outputPixel(i, w);
            for (int64_t oc = group * groupOut; from >= 0 && oc < (group + 1) * groupOut; ++oc)
              sum.add(dstAt(b, from, oc) * weightAt(position, ic % groupIn(), oc));
          });
          storeElement(src, (b * inPixels() + pixel) * inChannels + ic, sum.total());
        }
      });
  }

  void backwardWeights(int64_t begin, int64_t end) const {
    for (int64_t oc = begin; oc < end; ++oc) {
      int64_t first = oc / (outChannels / groups) * groupIn();
      forPoints(window, [&](int64_t position, const int64_t (&w)[3]) {
        for (int64_t c = 0; c < groupIn(); ++c) {
          PairwiseSum<double> sum;
          for (int64_t b = 0; b < batch; ++b)
            forPoints(out, [&](int64_t pixel, const int64_t (&o)[3]) {
              int64_t from = inputPixel(o, w);
              if (from >= 0)
                sum.add(srcAt(b, from, first + c) * dstAt(b, pixel, oc));
            });
          storeElement(weights, (position * groupIn() + c) * outChannels + oc, sum.total());
        }
      });
    }
  }

  Operand src, weights, dst, bias;
  artifact::ConvKind kind;
  PlainPostOps postOps;
  int64_t groups, batch, inChannels, outChannels;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, window[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, low[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
};
} // namespace

std::unique_ptr<PreparedOp> dgc::rt::makePlainConvolution(const OpContext &context, const artifact::Convolution &op) {
  return std::make_unique<PlainConvolution>(context, op);
}
