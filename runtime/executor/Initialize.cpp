// Initial values of variables.
#include "runtime/executor/Initialize.h"

#include "runtime/base/Philox.h"
#include "runtime/base/Status.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace dgc;
using namespace dgc::rt;

namespace {
/// scale * draw + shift, for one of three kinds of draw.
struct Formula {
  enum { Uniform, Normal, Truncated } draw = Uniform;
  double scale = 1, shift = 0;
};
} // namespace

static Formula formulaOf(const artifact::Variable &v) {
  constexpr double truncatedDeviation = 0.87962566103423978;
  double a = v.a(), b = v.b();
  auto uniform = [](double limit) { return Formula{Formula::Uniform, 2 * limit, -limit}; };
  auto truncated = [&](double deviation) { return Formula{Formula::Truncated, deviation / truncatedDeviation, 0}; };
  switch (v.init()) {
  case artifact::InitKind::Uniform:
    return {Formula::Uniform, b - a, a};
  case artifact::InitKind::Normal:
    return {Formula::Normal, b, a};
  case artifact::InitKind::TruncatedNormal:
    return {Formula::Truncated, b, a};
  case artifact::InitKind::GlorotUniform:
    return uniform(std::sqrt(6 / (a + b)));
  case artifact::InitKind::GlorotNormal:
    return truncated(std::sqrt(2 / (a + b)));
  case artifact::InitKind::HeUniform:
    return uniform(std::sqrt(6 / a));
  case artifact::InitKind::HeNormal:
    return truncated(std::sqrt(2 / a));
  default:
    return {};
  }
}

/// Calls f(local index, global index) for every element of the slice, in order.
template <typename F> static void forElements(const Slice &slice, const std::vector<int64_t> &shape, F f) {
  int64_t count = slice.numElements();
  if (slice.covers(shape)) {
    for (int64_t i = 0; i < count; ++i)
      f(i, i);
    return;
  }
  const std::vector<int64_t> &extents = slice.extents();
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t global = 0, local = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      global = global * shape[d] + slice.offsets[d] + index[d];
      local = local * extents[d] + index[d];
    }
    f(local, global);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < slice.sizes[d])
        break;
      index[d] = 0;
    }
  }
}

static void store(std::byte *memory, DType dtype, int64_t i, double value) {
  auto put = [&](auto v) { std::memcpy(memory + static_cast<size_t>(i) * sizeof v, &v, sizeof v); };
  switch (dtype) {
  case DType::F32:
    return put(static_cast<float>(value));
  case DType::F64:
    return put(value);
  case DType::F16:
    return put(toF16(static_cast<float>(value)));
  case DType::BF16:
    return put(toBF16(static_cast<float>(value)));
  case DType::I1:
    return put(static_cast<uint8_t>(value != 0));
  case DType::I8:
    return put(static_cast<int8_t>(value));
  case DType::I16:
    return put(static_cast<int16_t>(value));
  case DType::I32:
    return put(static_cast<int32_t>(value));
  case DType::I64:
    return put(static_cast<int64_t>(value));
  case DType::U8:
    return put(static_cast<uint8_t>(value));
  case DType::U16:
    return put(static_cast<uint16_t>(value));
  case DType::U32:
    return put(static_cast<uint32_t>(value));
  case DType::U64:
    return put(static_cast<uint64_t>(value));
  }
}

/// Whether an integer type can hold `value`.
static bool fits(DType dtype, double value) {
  if (isFloat(dtype))
    return true;
  int bits = static_cast<int>(sizeOf(dtype)) * 8;
  bool isSigned = dtype >= DType::I8 && dtype <= DType::I64;
  if (dtype == DType::I1)
    return value == 0 || value == 1;
  double low = isSigned ? -std::ldexp(1.0, bits - 1) : 0;
  double high = std::ldexp(1.0, isSigned ? bits - 1 : bits);
  return value >= low && value < high && std::trunc(value) == value;
}

absl::Status dgc::rt::initializeVariable(const artifact::Variable &variable, DType dtype, const Slice &slice,
                                         uint64_t seed, std::span<std::byte> memory) {
  switch (variable.init()) {
  case artifact::InitKind::Zeros:
    std::memset(memory.data(), 0, memory.size());
    return absl::OkStatus();
  case artifact::InitKind::Constant:
    if (!fits(dtype, variable.a()))
      return absl::InvalidArgumentError(str("variable '", variable.name()->str(), "': initial value ", variable.a(),
                                            " does not fit in ", nameOf(dtype)));
    for (size_t i = 0; i < memory.size() / sizeOf(dtype); ++i)
      store(memory.data(), dtype, static_cast<int64_t>(i), variable.a());
    return absl::OkStatus();
  case artifact::InitKind::File:
    return absl::InternalError("initializers from files are not drawn");
  default:
    break;
  }
  Formula formula = formulaOf(variable);
  Philox philox(seed, variable.rng_id());
  forElements(slice, toVector(variable.global_shape()), [&](int64_t local, int64_t global) {
    uint64_t e = static_cast<uint64_t>(global);
    double x = formula.draw == Formula::Normal      ? philox.normal(e)
               : formula.draw == Formula::Truncated ? philox.truncatedNormal(e)
               : dtype == DType::F64                ? philox.uniformF64(e)
                                                    : philox.uniformF32(e);
    store(memory.data(), dtype, local, formula.shift + formula.scale * x);
  });
  return absl::OkStatus();
}
