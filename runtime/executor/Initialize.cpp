// Initial values of variables.
#include "runtime/executor/Initialize.h"

#include "runtime/base/Status.h"
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

using namespace dgc;
using namespace dgc::rt;

/// The draw of an initializer; nothing where it draws nothing.
auto InitialValues::formulaOf(const artifact::Variable &v) -> std::optional<Formula> {
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

absl::StatusOr<InitialValues> InitialValues::of(const VariableView &part, uint64_t seed,
                                                std::span<const std::byte> stored) {
  const artifact::Variable &variable = *part.variable;
  InitialValues made(part);
  if (variable.init() == artifact::InitKind::Zeros) {
    made.value = 0;
  } else if (variable.init() == artifact::InitKind::Constant) {
    if (!fits(part.dtype, variable.a()))
      return absl::InvalidArgumentError(
          str("variable '", part.name, "': initial value ", variable.a(), " does not fit in ", nameOf(part.dtype)));
    made.value = variable.a();
  } else if (variable.init() == artifact::InitKind::Stored) {
    made.elements = stored.data() + variable.stored();
  } else if (std::optional<Formula> formula = formulaOf(variable)) {
    made.formula = *formula;
    made.philox = Philox(seed, part.rngId);
  } else {
    return absl::InternalError("initializers from files are not drawn");
  }
  return made;
}

/// Calls f(lane, block) for elements that have `lanes` numbers in each block, in order.
template <uint64_t lanes, typename F>
static void forBlocks(const Philox &philox, uint64_t element, std::span<double> out, F f) {
  for (size_t i = 0; i < out.size();) {
    const PhiloxBlock block = philox.block(element / lanes);
    for (uint64_t lane = element % lanes; lane < lanes && i < out.size(); ++lane, ++element)
      out[i++] = f(block, lane);
  }
}

/// The draws of elements that follow each other.
void InitialValues::draw(uint64_t element, std::span<double> out) const {
  using Block = const PhiloxBlock &;
  if (formula.draw == Formula::Normal)
    forBlocks<2>(philox, element, out, [](Block b, uint64_t lane) { return Philox::normal(b, lane); });
  else if (formula.draw == Formula::Truncated)
    forBlocks<2>(philox, element, out, [](Block b, uint64_t lane) { return Philox::truncatedNormal(b, lane); });
  else if (part.dtype == DType::F64)
    forBlocks<2>(philox, element, out, [](Block b, uint64_t lane) { return Philox::uniformF64(b, lane); });
  else
    forBlocks<4>(philox, element, out, [](Block b, uint64_t lane) { return Philox::uniformF32(b, lane); });
}

/// Elements that follow each other in the whole tensor.
void InitialValues::writeRun(uint64_t element, uint64_t count, std::byte *out) const {
  const size_t size = sizeOf(part.dtype);
  if (elements) {
    std::memcpy(out, elements + element * size, count * size);
    return;
  }
  std::array<double, 256> draws;
  visit(part.dtype, [&](auto type) {
    for (uint64_t done = 0; done < count; done += draws.size()) {
      const size_t piece = std::min<uint64_t>(draws.size(), count - done);
      draw(element + done, std::span(draws).first(piece));
      for (size_t i = 0; i < piece; ++i) {
        const auto number = decltype(type)::store(formula.shift + formula.scale * draws[i]);
        std::memcpy(out + (done + i) * sizeof number, &number, sizeof number);
      }
    }
  });
}

/// Calls run(local, global, count) for elements of the memory from `begin` to `end` that follow each other in the tensor as
/// well, and padding(local, count) for others, in order.
template <typename Run, typename Padding>
static void forRuns(const Slice &slice, const std::vector<int64_t> &shape, int64_t begin, int64_t end, Run run,
                    Padding padding) {
  const std::vector<int64_t> &extents = slice.extents();
  if (extents == shape) {
    run(begin, begin, end - begin);
    return;
  }
  const int64_t width = extents.back();
  for (int64_t local = begin; local < end;) {
    const int64_t column = local % width, here = std::min(width - column, end - local);
    int64_t global = slice.offsets.back() + column, stride = shape.back(), row = local / width;
    bool isPadding = false;
    for (size_t d = shape.size() - 1; d-- > 0; row /= extents[d], stride *= shape[d]) {
      const int64_t index = row % extents[d];
      isPadding |= index >= slice.sizes[d];
      global += (slice.offsets[d] + index) * stride;
    }
    const int64_t real = isPadding ? 0 : std::clamp<int64_t>(slice.sizes.back() - column, 0, here);
    if (real > 0)
      run(local, global, real);
    if (real < here)
      padding(local + real, here - real);
    local += here;
  }
}

/// Calls f(begin, end) on ranges of elements. A thread takes no fewer than this many, which take longer than to wake it.
template <typename F> static void forRanges(int64_t count, F f) {
  constexpr int64_t unit = 4096;
  parallelFor((count + unit - 1) / unit,
              [&](int64_t begin, int64_t end) { f(begin * unit, std::min(end * unit, count)); });
}

void InitialValues::write(uint64_t offset, std::span<std::byte> out) const {
  const auto size = static_cast<int64_t>(sizeOf(part.dtype));
  const int64_t first = static_cast<int64_t>(offset) / size, count = static_cast<int64_t>(out.size()) / size;
  auto at = [&](int64_t local) { return out.data() + (local - first) * size; };
  if (value == 0.0 && !std::signbit(*value)) {
    zeroBytes(out.data(), out.size());
    return;
  }
  if (value) {
    visit(part.dtype, [&](auto type) {
      const auto number = decltype(type)::store(*value);
      forRanges(count, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          std::memcpy(at(first + i), &number, sizeof number);
      });
    });
    return;
  }
  forRanges(count, [&](int64_t begin, int64_t end) {
    forRuns(
        part.slice, part.globalShape, first + begin, first + end,
        [&](int64_t local, int64_t global, int64_t run) {
          writeRun(static_cast<uint64_t>(global), static_cast<uint64_t>(run), at(local));
        },
        [&](int64_t local, int64_t run) { std::memset(at(local), 0, static_cast<size_t>(run * size)); });
  });
}
