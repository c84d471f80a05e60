#include "runtime/verify/ExactConstants.h"

#include "runtime/device/reference/Scalar.h"

#include <array>
#include <bit>
#include <numbers>
#include <optional>

using namespace dgc;
using namespace dgc::verify;
using reference::Instruction;
using reference::Opcode;
using reference::Type;

//===-- Numbers ---------------------------------------------------------===//

static Number product(const Number &a, const Number &b, double f) {
  return {FieldP::multiply(a.p, b.p), FieldQ::multiply(a.q, b.q), f};
}

static Number inverse(const Number &x, double f) { return {FieldP::inverse(x.p), FieldQ::inverse(x.q), f}; }

/// 2 has a root in both fields: the primes are 7 modulo 8.
static Number rootOfTwo() {
  return {FieldP::power(2, (kP + 1) / 4), FieldQ::power(2, (kQ + 1) / 4), std::numbers::sqrt2};
}

/// 1, and the roots that functions have in their formulas.
static const std::array<Number, 5> &roots() {
  static const std::array<Number, 5> all = [] {
    const Number two = rootOfTwo(), pi = {1640921784402967, 715302846115309, 1 / std::numbers::inv_sqrtpi};
    const Number overPi = inverse(pi, std::numbers::inv_sqrtpi);
    return std::array<Number, 5>{fromDouble(1), two, overPi, product(two, overPi, two.f * overPi.f), pi};
  }();
  return all;
}

namespace {
struct Fraction {
  int64_t above, below;
};
} // namespace

/// The fraction by the smallest numbers whose rounding is `value`; none where they are not small.
static std::optional<Fraction> smallFraction(double value, double tolerance) {
  constexpr double most = 1 << 14;
  double rest = value, above = 1, below = 0, lastAbove = 0, lastBelow = 1;
  for (int i = 0; i < 24; ++i) {
    const double whole = std::floor(rest), nextAbove = whole * above + lastAbove, nextBelow = whole * below + lastBelow;
    lastAbove = above, lastBelow = below, above = nextAbove, below = nextBelow;
    if (above * below > most)
      return std::nullopt;
    if (above > 0 && std::abs(above / below - value) <= tolerance * value)
      return Fraction{static_cast<int64_t>(above), static_cast<int64_t>(below)};
    if (rest == whole)
      return std::nullopt;
    rest = 1 / (rest - whole);
  }
  return std::nullopt;
}

/// The same with few decimal digits.
static std::optional<Fraction> decimalFraction(double value, double tolerance) {
  int64_t below = 1;
  for (int digits = 0; digits < 9; ++digits, below *= 10) {
    const double above = std::nearbyint(value * static_cast<double>(below));
    if (above > 0 && above < 1e5 && std::abs(above / static_cast<double>(below) - value) <= tolerance * value)
      return Fraction{static_cast<int64_t>(above), below};
  }
  return std::nullopt;
}

Number dgc::verify::exactConstant(Type type, double value, LawSet laws) {
  const double size = std::abs(value);
  if (!std::isfinite(value) || size < 0x1p-30 || size > 0x1p30 || std::nearbyint(size * 0x1p12) == size * 0x1p12)
    return fromDouble(value);
  const double tolerance = type == Type::F64 ? 0x1p-51 : 0x1p-24; // half of a unit in the last place, of 1
  const auto forms = std::to_array({std::pair(Law::SmallFraction, &smallFraction), {Law::Decimal, &decimalFraction}});
  for (auto [law, fractionOf] : forms)
    for (const Number &root : roots()) {
      if (!laws.has(law) || (root.f != 1 && !laws.has(Law::RootsOfConstants)))
        continue;
      const std::optional<Fraction> fraction = fractionOf(size / root.f, tolerance);
      if (!fraction)
        continue;
      Number x = product(fromInteger(fraction->above), inverse(fromInteger(fraction->below), 0), 0);
      x = product(x, root, size);
      return value < 0 ? negate(x) : x;
    }
  return fromDouble(value);
}

//===-- Kernels ---------------------------------------------------------===//

namespace {
/// The constants of a type, in the order of the input.
struct Pool {
  Type type;
  std::vector<double> values = {0}; // a buffer is not empty

  int64_t add(double value) {
    values.push_back(value);
    return static_cast<int64_t>(values.size() - 1);
  }
};

class Rewriter {
public:
  Rewriter(reference::KernelT &kernel, LawSet laws) : kernel(kernel), laws(laws), first(kernel.inputs) {}
  std::vector<TensorRef> run();

private:
  Pool *poolOf(Type type) { return type == Type::F32 ? pools.data() : type == Type::F64 ? &pools[1] : nullptr; }
  uint32_t inputOf(const Pool &pool) const { return first + static_cast<uint32_t>(&pool - pools.data()); }
  void makeRoom();
  void rewrite(reference::NestT &nest);

  reference::KernelT &kernel;
  const LawSet laws;
  uint32_t first; // of the inputs that are added
  std::array<Pool, 2> pools = {Pool{Type::F32}, Pool{Type::F64}};
};
} // namespace

/// Buffers behind the inputs get numbers behind the new ones.
void Rewriter::makeRoom() {
  auto moved = [&](uint32_t buffer) { return buffer < first ? buffer : buffer + static_cast<uint32_t>(pools.size()); };
  for (const auto &nest : kernel.nests) {
    for (const auto &load : nest->loads)
      load->buffer = moved(load->buffer);
    for (const auto &output : nest->outputs)
      output->access->buffer = moved(output->access->buffer);
    for (Instruction &op : nest->body)
      if (static_cast<Opcode>(op.opcode()) == Opcode::LoadAt)
        op.mutate_a(moved(op.a()));
  }
  for (const Pool &pool : pools) {
    auto buffer = std::make_unique<reference::BufferT>();
    buffer->type = pool.type;
    kernel.buffers.insert(kernel.buffers.begin() + inputOf(pool), std::move(buffer));
  }
  kernel.inputs += static_cast<uint32_t>(pools.size());
}

void Rewriter::rewrite(reference::NestT &nest) {
  for (const auto &load : nest.loads) {
    const reference::BufferT &buffer = *kernel.buffers[load->buffer];
    Pool *pool = poolOf(buffer.type);
    if (buffer.data.empty() || !pool)
      continue;
    load->offset += static_cast<int64_t>(pool->values.size());
    load->buffer = inputOf(*pool);
    for (size_t i = 0; i < buffer.count; ++i)
      pool->add(reference::loadElement(buffer.type, reinterpret_cast<const std::byte *>(buffer.data.data()) +
                                                        i * sizeOf(buffer.type))
                    .f);
  }
  for (Instruction &op : nest.body) {
    Pool *pool = poolOf(op.type());
    if (static_cast<Opcode>(op.opcode()) != Opcode::Constant || !pool)
      continue;
    const auto value = std::bit_cast<double>(op.immediate());
    if (exactConstant(op.type(), value, laws).same(fromDouble(value)))
      continue;
    auto access = std::make_unique<reference::AccessT>();
    access->buffer = inputOf(*pool);
    access->offset = pool->add(value);
    access->strides.resize(nest.extents.size());
    nest.loads.push_back(std::move(access));
    op = Instruction(static_cast<uint8_t>(Opcode::Load), op.type(), static_cast<uint32_t>(nest.loads.size() - 1), 0, 0,
                     0);
  }
}

std::vector<TensorRef> Rewriter::run() {
  makeRoom();
  for (const auto &nest : kernel.nests)
    rewrite(*nest);
  std::vector<TensorRef> inputs;
  for (const Pool &pool : pools) {
    auto tensor = std::make_shared<Tensor>(pool.type, pool.values.size());
    for (size_t i = 0; i < pool.values.size(); ++i)
      tensor->set(i, exactConstant(pool.type, pool.values[i], laws));
    kernel.buffers[inputOf(pool)]->count = pool.values.size();
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

std::vector<TensorRef> dgc::verify::useExactConstants(reference::KernelT &kernel, LawSet laws) {
  return Rewriter(kernel, laws).run();
}
