// Initial values of variables.
#include "runtime/executor/Initialize.h"

#include "runtime/base/Philox.h"
#include "runtime/base/Status.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

using namespace dgc;
using namespace dgc::rt;

namespace {
/// scale * draw + shift, for one of three kinds of draw.
struct Formula {
  enum { Uniform, Normal, Truncated } draw = Uniform;
  double scale = 1, shift = 0;
};
} // namespace

/// The draw of an initializer; nothing where it draws nothing.
static std::optional<Formula> formulaOf(const artifact::Variable &v) {
  constexpr double truncatedDeviation = 0.87962566103423978;
  double a = v.a(), b = v.b();
  auto uniform = [](double limit) { return Formula{Formula::Uniform, 2 * limit, -limit}; };
  auto truncated = [&](double deviation) { return Formula{Formula::Truncated, deviation / truncatedDeviation, 0}; };
  switch (v.init()) {
  case artifact::InitKind::Uniform:
    return Formula{Formula::Uniform, b - a, a};
  case artifact::InitKind::Normal:
    return Formula{Formula::Normal, b, a};
  case artifact::InitKind::TruncatedNormal:
    return Formula{Formula::Truncated, b, a};
  case artifact::InitKind::GlorotUniform:
    return uniform(std::sqrt(6 / (a + b)));
  case artifact::InitKind::GlorotNormal:
    return truncated(std::sqrt(2 / (a + b)));
  case artifact::InitKind::HeUniform:
    return uniform(std::sqrt(6 / a));
  case artifact::InitKind::HeNormal:
    return truncated(std::sqrt(2 / a));
  case artifact::InitKind::Zeros:
  case artifact::InitKind::Constant:
  case artifact::InitKind::File:
  case artifact::InitKind::Stored:
    break;
  }
  return std::nullopt;
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

/// Whether a type can hold `value`; one of floats rounds it.
static bool fits(DType dtype, double value) {
  return visit(dtype, [&](auto element) {
    using E = decltype(element);
    if constexpr (E::isInteger) {
      using Limits = std::numeric_limits<typename E::Stored>;
      const double low = static_cast<double>(Limits::min()), high = std::ldexp(1.0, Limits::digits);
      return value >= low && value < high && std::trunc(value) == value;
    } else {
      return E::isFloat || value == 0 || value == 1;
    }
  });
}

absl::Status dgc::rt::initializeVariable(const VariableView &part, uint64_t seed, std::span<const std::byte> stored) {
  const artifact::Variable &variable = *part.variable;
  const DType dtype = part.dtype;
  const std::span<std::byte> memory = part.memory;
  if (variable.init() == artifact::InitKind::Zeros) {
    std::memset(memory.data(), 0, memory.size());
    return absl::OkStatus();
  }
  if (variable.init() == artifact::InitKind::Constant) {
    if (!fits(dtype, variable.a()))
      return absl::InvalidArgumentError(
          str("variable '", part.name, "': initial value ", variable.a(), " does not fit in ", nameOf(dtype)));
    for (size_t i = 0; i < memory.size() / sizeOf(dtype); ++i)
      storeElement(dtype, memory.data(), static_cast<int64_t>(i), variable.a());
    return absl::OkStatus();
  }
  if (variable.init() == artifact::InitKind::Stored) {
    const size_t size = sizeOf(dtype);
    const std::byte *elements = stored.data() + variable.stored();
    forElements(part.slice, part.globalShape, [&](int64_t local, int64_t global) {
      std::memcpy(memory.data() + static_cast<size_t>(local) * size, elements + static_cast<size_t>(global) * size,
                  size);
    });
    return absl::OkStatus();
  }
  const std::optional<Formula> formula = formulaOf(variable);
  if (!formula)
    return absl::InternalError("initializers from files are not drawn");
  Philox philox(seed, part.rngId);
  forElements(part.slice, part.globalShape, [&](int64_t local, int64_t global) {
    uint64_t e = static_cast<uint64_t>(global);
    double x = formula->draw == Formula::Normal      ? philox.normal(e)
               : formula->draw == Formula::Truncated ? philox.truncatedNormal(e)
               : dtype == DType::F64                 ? philox.uniformF64(e)
                                                     : philox.uniformF32(e);
    storeElement(dtype, memory.data(), local, formula->shift + formula->scale * x);
  });
  return absl::OkStatus();
}
