#include "runtime/verify/Draw.h"

#include "runtime/artifact/Enums.h"
#include "runtime/base/Philox.h"
#include "runtime/device/reference/Scalar.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

using namespace dgc;
using namespace dgc::verify;

namespace {
/// f64 values: uniform from `low` to `high`.
struct Bounds {
  double low = -1, high = 1;
};
} // namespace

static uint64_t nameOf(std::string_view text) {
  uint64_t hash = 1469598103934665603u; // FNV-1a
  for (char c : text)
    hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return hash;
}

static size_t countOf(const std::vector<int64_t> &shape) {
  size_t count = 1;
  for (int64_t size : shape)
    count *= static_cast<size_t>(size);
  return count;
}

static Bounds around(double limit) { return {-limit, limit}; }

/// Numbers that have a logarithm and a square root, where `narrow`.
static Bounds narrowed(Bounds bounds, int narrow) {
  const double most = std::max(std::abs(bounds.low), std::abs(bounds.high));
  return narrow == 0 ? bounds : Bounds{most / 100, most};
}

uint64_t dgc::verify::integersBelow(int narrow) {
  static constexpr uint64_t limits[] = {1000, 8, 2, 1};
  return limits[std::clamp<size_t>(static_cast<size_t>(narrow), 0, std::size(limits) - 1)];
}

/// About what the initializer draws; what begins at 0 is not 0, as it is later.
static Bounds boundsOf(const ModelVariable &variable) {
  if (variable.role != artifact::VariableRole::Weight)
    return {0.01, 0.02}; // squares and variances are positive
  const double a = variable.a, b = variable.b;
  switch (variable.init) {
  case artifact::InitKind::Uniform:
    return {a, b};
  case artifact::InitKind::Normal:
  case artifact::InitKind::TruncatedNormal:
    return {a - 1.7 * b, a + 1.7 * b};
  case artifact::InitKind::Constant:
    return {a - 0.05, a + 0.05};
  case artifact::InitKind::GlorotUniform:
  case artifact::InitKind::GlorotNormal:
    return around(std::sqrt(6 / (a + b)));
  case artifact::InitKind::HeUniform:
  case artifact::InitKind::HeNormal:
    return around(std::sqrt(6 / a));
  case artifact::InitKind::Zeros:
  case artifact::InitKind::File:
  case artifact::InitKind::Stored:
    break;
  }
  return around(0.05);
}

static TensorRef drawFloats(reference::Type type, size_t count, uint64_t name, Bounds bounds,
                            const Functions &functions, uint64_t seed) {
  auto tensor = std::make_shared<Tensor>(type, count);
  const rt::Philox random(seed, name);
  for (size_t i = 0; i < count; ++i)
    tensor->set(i, functions.draw(name, i, bounds.low + (bounds.high - bounds.low) * random.uniformF64(i)));
  tensor->degree = 1;
  return tensor;
}

/// Below `limit`; every one of these, where there are as many elements, else the first and the last one: what is done for one
/// class only is done then.
static TensorRef drawIntegers(reference::Type type, size_t count, uint64_t name, uint64_t limit, uint64_t seed) {
  auto tensor = std::make_shared<Tensor>(type, count);
  const rt::Philox random(seed, name);
  for (size_t i = 0; i < count; ++i)
    tensor->i[i] = reference::wrapped(type, limit <= count ? i % limit : random.bits64(i) % limit);
  for (size_t i = count; limit <= count && i > 1; --i)
    std::swap(tensor->i[i - 1], tensor->i[random.bits64(i) % i]);
  if (limit > count && count > 1) {
    const uint64_t place = random.bits64(count) % count;
    tensor->i[place] = 0;
    tensor->i[(place + 1) % count] = reference::wrapped(type, limit - 1);
  }
  return tensor;
}

TensorRef dgc::verify::drawVariable(const ModelVariable &variable, const Functions &functions, uint64_t seed,
                                    int narrow) {
  const reference::Type type = reference::typeOf(rt::toDType(variable.dtype));
  const size_t count = countOf(variable.shape);
  const uint64_t name = nameOf(variable.name);
  if (!reference::isFloat(type))
    return drawIntegers(type, count, name, std::min<uint64_t>(8, integersBelow(narrow)), seed);
  if (variable.role == artifact::VariableRole::LossScale) { // a power of 2: what is divided by it is exact
    auto tensor = std::make_shared<Tensor>(type, count);
    for (size_t i = 0; i < count; ++i)
      tensor->set(i, fromDouble(1024));
    return tensor;
  }
  return drawFloats(type, count, name, narrowed(boundsOf(variable), narrow), functions, seed);
}

TensorRef dgc::verify::drawInput(const ModelInput &input, const Functions &functions, uint64_t seed, int narrow) {
  const reference::Type type = reference::typeOf(rt::toDType(input.dtype));
  const size_t count = countOf(input.shape);
  const uint64_t name = nameOf("input " + input.name);
  if (reference::isFloat(type))
    return drawFloats(type, count, name, narrowed({-1, 1}, narrow), functions, seed);
  uint64_t limit = input.indexLimit ? input.indexLimit : input.drawLimit;
  if (limit == 0)
    limit = std::min<uint64_t>(integersBelow(narrow), type == reference::Type::I1   ? 2
                                                      : type == reference::Type::I8 ? 256
                                                                                    : 1000);
  return drawIntegers(type, count, name, limit, seed);
}

TensorRef dgc::verify::scalarOf(artifact::DType dtype, int64_t value) {
  auto tensor = std::make_shared<Tensor>(reference::typeOf(rt::toDType(dtype)), 1);
  tensor->i[0] = reference::wrapped(tensor->type, static_cast<uint64_t>(value));
  return tensor;
}
