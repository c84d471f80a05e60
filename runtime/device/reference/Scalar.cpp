// Plain loops over a few elements for each operation.
#include "runtime/device/reference/Scalar.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace dgc;
using namespace dgc::reference;

float dgc::reference::roundedToOdd(double x) {
  float nearest = static_cast<float>(x);
  if (std::isnan(x) || static_cast<double>(nearest) == x)
    return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(x))
    --bits; // toward zero
  return std::bit_cast<float>(bits | 1);
}

double dgc::reference::rounded(Type type, double x) {
  switch (type) {
  case Type::F16:
    return rt::fromF16(rt::toF16(roundedToOdd(x)));
  case Type::BF16:
    return rt::fromBF16(rt::toBF16(roundedToOdd(x)));
  case Type::F32:
    return static_cast<float>(x);
  case Type::F64:
  case Type::I1:
  case Type::I8:
  case Type::I16:
  case Type::I32:
  case Type::I64:
    return x;
  }
  std::abort();
}

template <typename T> static T read(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T> static void write(std::byte *to, T value) { std::memcpy(to, &value, sizeof value); }

/// Calls `f` with a function that loads an element of the type.
template <typename F> static auto withLoad(Type type, F &&f) {
  switch (type) {
  case Type::I1:
    return f([](const std::byte *from) { return Value{.i = read<uint8_t>(from) ? -1 : 0}; });
  case Type::I8:
    return f([](const std::byte *from) { return Value{.i = read<int8_t>(from)}; });
  case Type::I16:
    return f([](const std::byte *from) { return Value{.i = read<int16_t>(from)}; });
  case Type::I32:
    return f([](const std::byte *from) { return Value{.i = read<int32_t>(from)}; });
  case Type::I64:
    return f([](const std::byte *from) { return Value{.i = read<int64_t>(from)}; });
  case Type::F16:
    return f([](const std::byte *from) { return Value{.f = rt::fromF16(read<uint16_t>(from))}; });
  case Type::BF16:
    return f([](const std::byte *from) { return Value{.f = rt::fromBF16(read<uint16_t>(from))}; });
  case Type::F32:
    return f([](const std::byte *from) { return Value{.f = read<float>(from)}; });
  case Type::F64:
    return f([](const std::byte *from) { return Value{.f = read<double>(from)}; });
  }
  std::abort();
}

Value dgc::reference::loadElement(Type type, const std::byte *from) {
  return withLoad(type, [&](auto load) { return load(from); });
}

void dgc::reference::loadElements(Type type, const std::byte *from, int64_t stride, int64_t n, Value *to) {
  withLoad(type, [&](auto load) {
    if (stride == 0) {
      std::fill_n(to, n, load(from));
      return;
    }
    for (int64_t k = 0; k < n; ++k)
      to[k] = load(from + k * stride);
  });
}

void dgc::reference::storeElement(Type type, std::byte *to, Value value) {
  switch (type) {
  case Type::I1:
    return write(to, static_cast<uint8_t>(value.i & 1));
  case Type::I8:
    return write(to, static_cast<int8_t>(value.i));
  case Type::I16:
    return write(to, static_cast<int16_t>(value.i));
  case Type::I32:
    return write(to, static_cast<int32_t>(value.i));
  case Type::I64:
    return write(to, value.i);
  case Type::F16:
    return write(to, rt::toF16(roundedToOdd(value.f)));
  case Type::BF16:
    return write(to, rt::toBF16(roundedToOdd(value.f)));
  case Type::F32:
    return write(to, static_cast<float>(value.f));
  case Type::F64:
    return write(to, value.f);
  }
}

/// The integer of `type` that is nearest to `x` without its fraction.
static int64_t toInteger(Type type, double x, bool isSigned) {
  const unsigned width = widthOf(type);
  if (std::isnan(x))
    return 0;
  x = std::trunc(x);
  const double above = std::ldexp(1.0, static_cast<int>(isSigned ? width - 1 : width));
  const uint64_t most = ~uint64_t{0} >> (isSigned ? 65 - width : 64 - width);
  if (x >= above)
    return wrapped(type, most);
  if (isSigned)
    return x < -above ? wrapped(type, ~most) : static_cast<int64_t>(x);
  return x < 0 ? 0 : wrapped(type, static_cast<uint64_t>(x));
}

/// The value of the same bits in another type.
static Value bitcast(Type type, Type from, Value x) {
  std::byte bytes[8] = {};
  storeElement(from, bytes, x);
  return loadElement(type, bytes);
}

static int64_t divide(Type type, int64_t x, int64_t y) {
  if (y == 0)
    return 0;
  return y == -1 ? wrapped(type, -static_cast<uint64_t>(x)) : x / y; // the quotient may be one too large for the type
}

static int64_t remainder(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }

static double minimum(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return std::numeric_limits<double>::quiet_NaN();
  return x == y ? (std::signbit(x) ? x : y) : std::min(x, y);
}

static double maximum(double x, double y) { return -minimum(-x, -y); }

/// Comparison of integers, as those of i1 that are true are -1.
static int64_t truth(bool holds) { return holds ? -1 : 0; }

void dgc::reference::evaluate(Opcode opcode, Type type, Type from, int64_t n, Value *to, const Value *a, const Value *b,
                              const Value *c) {
  const unsigned width = widthOf(type);
  auto integers = [&](auto f) {
    for (int64_t k = 0; k < n; ++k)
      to[k].i = wrapped(type, static_cast<uint64_t>(f(k)));
  };
  auto truths = [&](auto f) {
    for (int64_t k = 0; k < n; ++k)
      to[k].i = truth(f(k));
  };
  auto floats = [&](auto f) {
    for (int64_t k = 0; k < n; ++k)
      to[k].f = f(k);
    if (type == Type::F32)
      for (int64_t k = 0; k < n; ++k)
        to[k].f = static_cast<float>(to[k].f);
    else if (type != Type::F64)
      for (int64_t k = 0; k < n; ++k)
        to[k].f = rounded(type, to[k].f);
  };
  auto u = [](Value x) { return static_cast<uint64_t>(x.i); };
  switch (opcode) {
  case Opcode::Constant:
  case Opcode::Load:
  case Opcode::LoadAt:
  case Opcode::Index:
  case Opcode::Current:
    std::abort();
  case Opcode::AddI:
    return integers([&](int64_t k) { return u(a[k]) + u(b[k]); });
  case Opcode::SubI:
    return integers([&](int64_t k) { return u(a[k]) - u(b[k]); });
  case Opcode::MulI:
    return integers([&](int64_t k) { return u(a[k]) * u(b[k]); });
  case Opcode::DivS:
    return integers([&](int64_t k) { return divide(type, a[k].i, b[k].i); });
  case Opcode::DivU:
    return integers([&](int64_t k) { return b[k].i ? unsignedOf(type, a[k].i) / unsignedOf(type, b[k].i) : 0; });
  case Opcode::RemS:
    return integers([&](int64_t k) { return remainder(a[k].i, b[k].i); });
  case Opcode::RemU:
    return integers([&](int64_t k) { return b[k].i ? unsignedOf(type, a[k].i) % unsignedOf(type, b[k].i) : 0; });
  case Opcode::And:
    return integers([&](int64_t k) { return a[k].i & b[k].i; });
  case Opcode::Or:
    return integers([&](int64_t k) { return a[k].i | b[k].i; });
  case Opcode::Xor:
    return integers([&](int64_t k) { return a[k].i ^ b[k].i; });
  case Opcode::Shl:
    return integers([&](int64_t k) { return unsignedOf(type, b[k].i) < width ? u(a[k]) << b[k].i : 0; });
  case Opcode::ShrS:
    return integers([&](int64_t k) { return a[k].i >> std::min<uint64_t>(unsignedOf(type, b[k].i), 63); });
  case Opcode::ShrU:
    return integers(
        [&](int64_t k) { return unsignedOf(type, b[k].i) < width ? unsignedOf(type, a[k].i) >> b[k].i : 0; });
  case Opcode::MinS:
    return integers([&](int64_t k) { return std::min(a[k].i, b[k].i); });
  case Opcode::MaxS:
    return integers([&](int64_t k) { return std::max(a[k].i, b[k].i); });
  case Opcode::MinU:
    return integers([&](int64_t k) { return std::min(u(a[k]), u(b[k])); });
  case Opcode::MaxU:
    return integers([&](int64_t k) { return std::max(u(a[k]), u(b[k])); });
  case Opcode::AbsI:
    return integers([&](int64_t k) { return a[k].i < 0 ? -u(a[k]) : u(a[k]); });
  case Opcode::CountOnes:
    return integers([&](int64_t k) { return std::popcount(unsignedOf(type, a[k].i)); });
  case Opcode::LeadingZeros:
    return integers(
        [&](int64_t k) { return std::countl_zero(unsignedOf(type, a[k].i)) - static_cast<int>(64 - width); });
  case Opcode::EqualI:
    return truths([&](int64_t k) { return a[k].i == b[k].i; });
  case Opcode::LessS:
    return truths([&](int64_t k) { return a[k].i < b[k].i; });
  case Opcode::LessU:
    return truths([&](int64_t k) { return u(a[k]) < u(b[k]); });
  case Opcode::AddF:
    return floats([&](int64_t k) { return a[k].f + b[k].f; });
  case Opcode::SubF:
    return floats([&](int64_t k) { return a[k].f - b[k].f; });
  case Opcode::MulF:
    return floats([&](int64_t k) { return a[k].f * b[k].f; });
  case Opcode::DivF:
    return floats([&](int64_t k) { return a[k].f / b[k].f; });
  case Opcode::RemF:
    return floats([&](int64_t k) { return std::fmod(a[k].f, b[k].f); });
  case Opcode::Minimum:
    return floats([&](int64_t k) { return minimum(a[k].f, b[k].f); });
  case Opcode::Maximum:
    return floats([&](int64_t k) { return maximum(a[k].f, b[k].f); });
  case Opcode::NegF:
    return floats([&](int64_t k) { return -a[k].f; });
  case Opcode::AbsF:
    return floats([&](int64_t k) { return std::abs(a[k].f); });
  case Opcode::CopySign:
    return floats([&](int64_t k) { return std::copysign(a[k].f, b[k].f); });
  case Opcode::EqualF:
    return truths([&](int64_t k) { return a[k].f == b[k].f; });
  case Opcode::LessF:
    return truths([&](int64_t k) { return a[k].f < b[k].f; });
  case Opcode::Sqrt:
    return floats([&](int64_t k) { return std::sqrt(a[k].f); });
  case Opcode::Rsqrt:
    return floats([&](int64_t k) { return 1 / std::sqrt(a[k].f); });
  case Opcode::Cbrt:
    return floats([&](int64_t k) { return std::cbrt(a[k].f); });
  case Opcode::Exp:
    return floats([&](int64_t k) { return std::exp(a[k].f); });
  case Opcode::ExpM1:
    return floats([&](int64_t k) { return std::expm1(a[k].f); });
  case Opcode::Log:
    return floats([&](int64_t k) { return std::log(a[k].f); });
  case Opcode::Log1P:
    return floats([&](int64_t k) { return std::log1p(a[k].f); });
  case Opcode::Pow:
    return floats([&](int64_t k) { return std::pow(a[k].f, b[k].f); });
  case Opcode::Sin:
    return floats([&](int64_t k) { return std::sin(a[k].f); });
  case Opcode::Cos:
    return floats([&](int64_t k) { return std::cos(a[k].f); });
  case Opcode::Tan:
    return floats([&](int64_t k) { return std::tan(a[k].f); });
  case Opcode::Atan2:
    return floats([&](int64_t k) { return std::atan2(a[k].f, b[k].f); });
  case Opcode::Tanh:
    return floats([&](int64_t k) { return std::tanh(a[k].f); });
  case Opcode::Erf:
    return floats([&](int64_t k) { return std::erf(a[k].f); });
  case Opcode::Floor:
    return floats([&](int64_t k) { return std::floor(a[k].f); });
  case Opcode::Ceil:
    return floats([&](int64_t k) { return std::ceil(a[k].f); });
  case Opcode::Round:
    return floats([&](int64_t k) { return std::round(a[k].f); });
  case Opcode::RoundEven:
    return floats([&](int64_t k) { return std::nearbyint(a[k].f); });
  case Opcode::Select:
    for (int64_t k = 0; k < n; ++k)
      to[k] = a[k].i ? b[k] : c[k];
    return;
  case Opcode::ExtendS:
  case Opcode::Narrow:
    return integers([&](int64_t k) { return a[k].i; });
  case Opcode::ExtendU:
    return integers([&](int64_t k) { return unsignedOf(from, a[k].i); });
  case Opcode::SignedToFloat:
    return floats([&](int64_t k) { return static_cast<double>(a[k].i); });
  case Opcode::UnsignedToFloat:
    return floats([&](int64_t k) { return static_cast<double>(unsignedOf(from, a[k].i)); });
  case Opcode::FloatToSigned:
    return integers([&](int64_t k) { return toInteger(type, a[k].f, /*isSigned=*/true); });
  case Opcode::FloatToUnsigned:
    return integers([&](int64_t k) { return toInteger(type, a[k].f, /*isSigned=*/false); });
  case Opcode::ConvertFloat:
    return floats([&](int64_t k) { return a[k].f; });
  case Opcode::Bitcast:
    for (int64_t k = 0; k < n; ++k)
      to[k] = bitcast(type, from, a[k]);
    return;
  }
}
