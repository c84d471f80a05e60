// Each operation of the bytecode.
#include "runtime/device/reference/Scalar.h"

#include <gtest/gtest.h>
#include <limits>
#include <set>

using namespace dgc::reference;

namespace {

const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

struct FloatCase {
  Opcode opcode;
  double a, b, result;
  Type type = Type::F64;
};

const FloatCase floats[] = {
    {Opcode::AddF, 1, 2, 3},
    {Opcode::AddF, 16777216, 1, 16777216, Type::F32},
    {Opcode::SubF, 1, 2, -1},
    {Opcode::MulF, 3, 2, 6},
    {Opcode::MulF, 1.0 / 3, 1, 0.333251953125, Type::F16},
    {Opcode::DivF, 1, 0, inf},
    {Opcode::DivF, 1, 3, 0.333984375, Type::BF16},
    {Opcode::RemF, -7, 4, -3},
    {Opcode::Minimum, 1, nan, nan},
    {Opcode::Minimum, 0.0, -0.0, -0.0},
    {Opcode::Maximum, nan, 1, nan},
    {Opcode::Maximum, -0.0, 0.0, 0.0},
    {Opcode::NegF, 2, 0, -2},
    {Opcode::AbsF, -2, 0, 2},
    {Opcode::CopySign, 3, -0.0, -3},
    {Opcode::Sqrt, 9, 0, 3},
    {Opcode::Rsqrt, 4, 0, 0.5},
    {Opcode::Cbrt, -8, 0, std::cbrt(-8.0)},
    {Opcode::Exp, 1, 0, 2.718281828459045},
    {Opcode::ExpM1, 1e-20, 0, 1e-20},
    {Opcode::Log, 1, 0, 0},
    {Opcode::Log1P, 1e-20, 0, 1e-20},
    {Opcode::Pow, 2, 10, 1024},
    {Opcode::Sin, 0.5, 0, std::sin(0.5)},
    {Opcode::Cos, 0.5, 0, std::cos(0.5)},
    {Opcode::Tan, 0.5, 0, std::tan(0.5)},
    {Opcode::Atan2, 1, -1, std::atan2(1, -1)},
    {Opcode::Tanh, 0.5, 0, std::tanh(0.5)},
    {Opcode::Erf, 0.5, 0, std::erf(0.5)},
    {Opcode::Floor, -1.5, 0, -2},
    {Opcode::Ceil, -1.5, 0, -1},
    {Opcode::Round, 2.5, 0, 3},
    {Opcode::RoundEven, 2.5, 0, 2},
    {Opcode::ConvertFloat, 1 + 0x1p-30, 0, 1, Type::F32},
};

TEST(Scalar, FloatingPoint) {
  for (const FloatCase &each : floats) {
    Value a{.f = each.a}, b{.f = each.b}, result{.i = 0};
    evaluate(each.opcode, each.type, each.type, 1, &result, &a, &b, nullptr);
    const auto name = opcodeTable[static_cast<int>(each.opcode)].name;
    if (std::isnan(each.result))
      EXPECT_TRUE(std::isnan(result.f)) << name;
    else
      EXPECT_TRUE(result.f == each.result && std::signbit(result.f) == std::signbit(each.result))
          << name << ": " << result.f << " instead of " << each.result;
  }
}

struct IntegerCase {
  Opcode opcode;
  Type type;
  int64_t a, b, result;
  Type from = Type::I64; // of a, where that is of another type
};

const IntegerCase integers[] = {
    {Opcode::AddI, Type::I8, 127, 1, -128},
    {Opcode::AddI, Type::I1, -1, -1, 0},
    {Opcode::SubI, Type::I32, INT32_MIN, 1, INT32_MAX},
    {Opcode::MulI, Type::I64, INT64_MAX, 2, -2},
    {Opcode::DivS, Type::I32, -7, 2, -3},
    {Opcode::DivS, Type::I64, INT64_MIN, -1, INT64_MIN},
    {Opcode::DivS, Type::I8, 1, 0, 0},
    {Opcode::DivU, Type::I8, -1, 2, 127},
    {Opcode::RemS, Type::I32, -7, 2, -1},
    {Opcode::RemS, Type::I64, INT64_MIN, -1, 0},
    {Opcode::RemU, Type::I8, -1, 16, 15},
    {Opcode::RemU, Type::I8, -1, 0, 0},
    {Opcode::And, Type::I8, 12, 10, 8},
    {Opcode::Or, Type::I8, 12, 10, 14},
    {Opcode::Xor, Type::I1, -1, -1, 0},
    {Opcode::Shl, Type::I8, 3, 7, -128},
    {Opcode::Shl, Type::I8, 3, 8, 0},
    {Opcode::ShrS, Type::I8, -128, 3, -16},
    {Opcode::ShrS, Type::I8, -128, 100, -1},
    {Opcode::ShrU, Type::I8, -128, 3, 16},
    {Opcode::ShrU, Type::I8, -128, -1, 0},
    {Opcode::MinS, Type::I8, -1, 1, -1},
    {Opcode::MaxS, Type::I8, -1, 1, 1},
    {Opcode::MinU, Type::I8, -1, 1, 1},
    {Opcode::MaxU, Type::I8, -1, 1, -1},
    {Opcode::AbsI, Type::I8, -128, 0, -128},
    {Opcode::AbsI, Type::I8, -5, 0, 5},
    {Opcode::CountOnes, Type::I8, -1, 0, 8},
    {Opcode::LeadingZeros, Type::I8, 1, 0, 7},
    {Opcode::LeadingZeros, Type::I32, 0, 0, 32},
    {Opcode::EqualI, Type::I1, 5, 5, -1},
    {Opcode::EqualI, Type::I1, 5, 6, 0},
    {Opcode::LessS, Type::I1, -1, 1, -1},
    {Opcode::LessU, Type::I1, -1, 1, 0},
    {Opcode::ExtendS, Type::I64, -1, 0, -1, Type::I1},
    {Opcode::ExtendU, Type::I64, -1, 0, 1, Type::I1},
    {Opcode::ExtendU, Type::I32, -1, 0, 65535, Type::I16},
    {Opcode::Narrow, Type::I8, 384, 0, -128},
};

TEST(Scalar, Integers) {
  for (const IntegerCase &each : integers) {
    Value a{.i = each.a}, b{.i = each.b}, result{.i = 99};
    evaluate(each.opcode, each.type, each.from, 1, &result, &a, &b, nullptr);
    EXPECT_EQ(result.i, each.result) << opcodeTable[static_cast<int>(each.opcode)].name << " " << each.a << " "
                                     << each.b;
  }
}

struct MixedCase {
  Opcode opcode;
  Type from, type;
  Value a, b, c, result;
};

const MixedCase mixed[] = {
    {Opcode::EqualF, Type::F64, Type::I1, {.f = 0.0}, {.f = -0.0}, {}, {.i = -1}},
    {Opcode::EqualF, Type::F64, Type::I1, {.f = nan}, {.f = nan}, {}, {.i = 0}},
    {Opcode::LessF, Type::F64, Type::I1, {.f = 1}, {.f = 2}, {}, {.i = -1}},
    {Opcode::LessF, Type::F64, Type::I1, {.f = 1}, {.f = nan}, {}, {.i = 0}},
    {Opcode::Select, Type::I1, Type::I64, {.i = -1}, {.i = 4}, {.i = 5}, {.i = 4}},
    {Opcode::Select, Type::I1, Type::I64, {.i = 0}, {.i = 4}, {.i = 5}, {.i = 5}},
    {Opcode::SignedToFloat, Type::I8, Type::F64, {.i = -1}, {}, {}, {.f = -1}},
    {Opcode::UnsignedToFloat, Type::I8, Type::F64, {.i = -1}, {}, {}, {.f = 255}},
    {Opcode::FloatToSigned, Type::F64, Type::I8, {.f = -1.9}, {}, {}, {.i = -1}},
    {Opcode::FloatToSigned, Type::F64, Type::I8, {.f = 1e9}, {}, {}, {.i = 127}},
    {Opcode::FloatToSigned, Type::F64, Type::I8, {.f = -1e9}, {}, {}, {.i = -128}},
    {Opcode::FloatToSigned, Type::F64, Type::I64, {.f = inf}, {}, {}, {.i = INT64_MAX}},
    {Opcode::FloatToSigned, Type::F64, Type::I64, {.f = nan}, {}, {}, {.i = 0}},
    {Opcode::FloatToUnsigned, Type::F64, Type::I8, {.f = 200.5}, {}, {}, {.i = -56}},
    {Opcode::FloatToUnsigned, Type::F64, Type::I8, {.f = -3}, {}, {}, {.i = 0}},
    {Opcode::FloatToUnsigned, Type::F64, Type::I64, {.f = inf}, {}, {}, {.i = -1}},
    {Opcode::Bitcast, Type::F32, Type::I32, {.f = 1}, {}, {}, {.i = 0x3f800000}},
    {Opcode::Bitcast, Type::I16, Type::BF16, {.i = 0x3f80}, {}, {}, {.f = 1}},
};

TEST(Scalar, BetweenTypes) {
  for (const MixedCase &each : mixed) {
    Value result{.i = 99};
    evaluate(each.opcode, each.type, each.from, 1, &result, &each.a, &each.b, &each.c);
    EXPECT_EQ(result.i, each.result.i) << opcodeTable[static_cast<int>(each.opcode)].name;
  }
}

// An operation that no case above has is not tested.
TEST(Scalar, EachOperationIsTested) {
  std::set<Opcode> seen{Opcode::Constant, Opcode::Load, Opcode::LoadAt, Opcode::Index, Opcode::Current};
  for (const FloatCase &each : floats)
    seen.insert(each.opcode);
  for (const IntegerCase &each : integers)
    seen.insert(each.opcode);
  for (const MixedCase &each : mixed)
    seen.insert(each.opcode);
  for (size_t i = 0; i < numOpcodes; ++i)
    EXPECT_TRUE(seen.count(static_cast<Opcode>(i))) << opcodeTable[i].name;
}

// To 16 bits in one rounding: by way of f32 these would be ties, which go to the even neighbour.
TEST(Scalar, RoundsOnce) {
  EXPECT_EQ(rounded(Type::BF16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
  EXPECT_EQ(rounded(Type::BF16, 1 + 0x1p-8), 1);
  EXPECT_EQ(rounded(Type::F16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(rounded(Type::F16, -(1 + 3 * 0x1p-11 - 0x1p-40)), -(1 + 0x1p-10));
  EXPECT_EQ(rounded(Type::F16, 1e300), inf);
  EXPECT_TRUE(std::isnan(rounded(Type::F16, nan)));
}

TEST(Scalar, ElementsInMemory) {
  for (Type type : {Type::I1, Type::I8, Type::I16, Type::I32, Type::I64}) {
    std::byte bytes[8] = {};
    storeElement(type, bytes, {.i = -1});
    EXPECT_EQ(loadElement(type, bytes).i, -1);
    EXPECT_EQ(bytes[0], type == Type::I1 ? std::byte{1} : std::byte{255});
  }
  for (Type type : {Type::F16, Type::BF16, Type::F32, Type::F64}) {
    std::byte bytes[8] = {};
    storeElement(type, bytes, {.f = -1.5});
    EXPECT_EQ(loadElement(type, bytes).f, -1.5);
  }
}

} // namespace
