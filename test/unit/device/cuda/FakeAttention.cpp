// Attention on a fake GPU: what cuDNN would compute, in f64, rounded once.
#include "test/unit/device/cuda/FakeDriver.h"

#include <cmath>
#include <vector>

using namespace dgc::rt;
using namespace dgc::rt::cuda;

namespace dgc::testing {

namespace {
class FakeAttention final : public PreparedDnn {
public:
  FakeAttention(FakeDriver &driver, const DnnAttention &attention) : driver(driver), a(attention) {}

  uint64_t workspaceBytes() const override { return a.backward ? rows() * 4 : 0; }

  absl::Status run(Driver::Stream stream, Address workspace) override {
    uint64_t ofQuery = rows() * size(a.features) * 2, ofKey = columns() * size(a.features) * 2,
             ofValue = columns() * size(a.mixed) * 2, ofResult = rows() * size(a.mixed) * 2;
    std::vector<FakeDriver::Access> accesses{{a.query, ofQuery, false},
                                             {a.key, ofKey, false},
                                             {a.value, ofValue, false},
                                             {a.result, ofResult, !a.backward},
                                             {a.logSum, rows() * 4, !a.backward}};
    if (a.backward) {
      accesses.push_back({a.resultGradient, ofResult, false});
      accesses.push_back({workspace, workspaceBytes(), true});
      accesses.push_back({a.queryGradient, ofQuery, true});
      accesses.push_back({a.keyGradient, ofKey, true});
      accesses.push_back({a.valueGradient, ofValue, true});
    }
    return driver.enqueue("attention", stream, std::move(accesses),
                          [self = *this] { self.compute(); }); // maybe when this is gone
  }

private:
  void compute() const {
    for (int64_t example = 0; example < a.batch; ++example)
      for (int64_t head = 0; head < a.heads; ++head)
        a.backward ? backward(example, head) : forward(example, head);
  }
  static uint64_t size(int64_t n) { return static_cast<uint64_t>(n); }
  uint64_t rows() const { return size(a.batch * a.heads * a.to); }
  uint64_t columns() const { return size(a.batch * a.heads * a.from); }

  /// [places, features] of one head of [b, places, h * features].
  std::vector<double> load(Address data, int64_t example, int64_t head, int64_t places, int64_t features) const {
    const auto *bits = reinterpret_cast<const uint16_t *>(driver.host(data));
    std::vector<double> values;
    for (int64_t i = 0; i < places; ++i)
      for (int64_t j = 0; j < features; ++j) {
        uint16_t each = bits[((example * places + i) * a.heads + head) * features + j];
        values.push_back(a.type == DType::BF16 ? fromBF16(each) : fromF16(each));
      }
    return values;
  }
  void store(Address data, int64_t example, int64_t head, int64_t places, int64_t features,
             const std::vector<double> &values) const {
    auto *bits = reinterpret_cast<uint16_t *>(driver.host(data));
    for (int64_t i = 0; i < places; ++i)
      for (int64_t j = 0; j < features; ++j) {
        auto value = static_cast<float>(values[size(i * features + j)]);
        bits[((example * places + i) * a.heads + head) * features + j] =
            a.type == DType::BF16 ? toBF16(value) : toF16(value);
      }
  }
  float &logSum(int64_t example, int64_t head, int64_t place) const {
    return reinterpret_cast<float *>(driver.host(a.logSum))[(example * a.heads + head) * a.to + place];
  }

  /// x y^T of [m, k] and [n, k].
  static std::vector<double> dot(const std::vector<double> &x, const std::vector<double> &y, int64_t k) {
    std::vector<double> result;
    for (size_t i = 0; i < x.size(); i += size(k))
      for (size_t j = 0; j < y.size(); j += size(k)) {
        double sum = 0;
        for (size_t l = 0; l < size(k); ++l)
          sum += x[i + l] * y[j + l];
        result.push_back(sum);
      }
    return result;
  }
  static std::vector<double> transposed(const std::vector<double> &x, int64_t columns) {
    std::vector<double> result;
    for (size_t j = 0; j < size(columns); ++j)
      for (size_t i = j; i < x.size(); i += size(columns))
        result.push_back(x[i]);
    return result;
  }
  std::vector<double> scores(int64_t example, int64_t head) const {
    std::vector<double> result =
        dot(load(a.query, example, head, a.to, a.features), load(a.key, example, head, a.from, a.features), a.features);
    for (int64_t i = 0; i < a.to; ++i)
      for (int64_t j = 0; j < a.from; ++j)
        result[size(i * a.from + j)] = a.causal && j > i ? -INFINITY : result[size(i * a.from + j)] * double(a.scale);
    return result;
  }

  void forward(int64_t example, int64_t head) const {
    std::vector<double> weights = scores(example, head);
    for (int64_t i = 0; i < a.to; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < a.from; ++j)
        sum += std::exp(weights[size(i * a.from + j)]);
      for (int64_t j = 0; j < a.from; ++j)
        weights[size(i * a.from + j)] = std::exp(weights[size(i * a.from + j)]) / sum;
      logSum(example, head, i) = static_cast<float>(std::log(sum));
    }
    std::vector<double> value = load(a.value, example, head, a.from, a.mixed);
    store(a.result, example, head, a.to, a.mixed, dot(weights, transposed(value, a.mixed), a.from));
  }

  void backward(int64_t example, int64_t head) const {
    std::vector<double> query = load(a.query, example, head, a.to, a.features),
                        key = load(a.key, example, head, a.from, a.features),
                        value = load(a.value, example, head, a.from, a.mixed),
                        result = load(a.result, example, head, a.to, a.mixed),
                        gradient = load(a.resultGradient, example, head, a.to, a.mixed);
    std::vector<double> weights = scores(example, head), ofScores = dot(gradient, value, a.mixed);
    for (int64_t i = 0; i < a.to; ++i) {
      double mean = 0;
      for (int64_t j = 0; j < a.mixed; ++j)
        mean += gradient[size(i * a.mixed + j)] * result[size(i * a.mixed + j)];
      for (int64_t j = 0; j < a.from; ++j) {
        double &weight = weights[size(i * a.from + j)], &score = ofScores[size(i * a.from + j)];
        weight = std::exp(weight - double(logSum(example, head, i)));
        score = weight * (score - mean) * double(a.scale);
      }
    }
    store(a.queryGradient, example, head, a.to, a.features, dot(ofScores, transposed(key, a.features), a.from));
    store(a.keyGradient, example, head, a.from, a.features,
          dot(transposed(ofScores, a.from), transposed(query, a.features), a.to));
    store(a.valueGradient, example, head, a.from, a.mixed,
          dot(transposed(weights, a.from), transposed(gradient, a.mixed), a.to));
  }

  FakeDriver &driver;
  DnnAttention a;
};
} // namespace

absl::StatusOr<std::unique_ptr<PreparedDnn>> FakeDnn::prepare(const DnnAttention &a) {
  bool fits = a.type == DType::BF16 || a.type == DType::F16;
  for (int64_t features : {a.features, a.mixed})
    fits = fits && features % 8 == 0 && features > 0 && features <= 128;
  for (Address address : {a.query, a.key, a.value, a.result, a.logSum})
    fits = fits && address % 16 == 0;
  if (!fits || (a.causal && a.to != a.from))
    return absl::InvalidArgumentError("cuDNN would not take this attention");
  return std::make_unique<FakeAttention>(driver, a);
}

} // namespace dgc::testing
