// Every elementwise op on floats, executed, against the C library in f64, within the error that the op states. A new op is
// one line of a table.

#include "RunOps.h"
#include "dialects/dgc/DGC.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace dgc::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Unary {
  const char *name;
  double (*reference)(double);
};

double sign(double x) { return x == 0 || std::isnan(x) ? x : std::copysign(1.0, x); }

const Unary kUnary[] = {
    {"abs", std::fabs},
    {"cbrt", std::cbrt},
    {"ceil", std::ceil},
    {"cosine", std::cos},
    {"erf", std::erf},
    {"exponential", std::exp},
    {"exponential_minus_one", std::expm1},
    {"floor", std::floor},
    {"log", std::log},
    {"log_plus_one", std::log1p},
    {"logistic", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"negate", [](double x) { return -x; }},
    {"round_nearest_afz", std::round},
    {"round_nearest_even", std::nearbyint},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"sign", sign},
    {"sine", std::sin},
    {"softplus", [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }},
    {"sqrt", std::sqrt},
    {"tan", std::tan},
    {"tanh", std::tanh},
};

struct Binary {
  const char *name;
  double (*reference)(double, double);
  bool hasSignOfZero = true; ///< Whether it says which of the zeros it gives.
};

double maximum(double x, double y) { return std::isnan(x) || std::isnan(y) ? nan : std::max(x, y); }
double minimum(double x, double y) { return std::isnan(x) || std::isnan(y) ? nan : std::min(x, y); }

const Binary kBinary[] = {
    {"add", [](double x, double y) { return x + y; }},
    {"atan2", std::atan2},
    {"divide", [](double x, double y) { return x / y; }},
    {"maximum", maximum, false},
    {"minimum", minimum, false},
    {"multiply", [](double x, double y) { return x * y; }},
    {"power", std::pow},
    {"remainder", std::fmod},
    {"subtract", [](double x, double y) { return x - y; }},
};

/// Elementwise ops that are not functions from floats to one of the same type; they have tests of their own.
const char *const kOthers[] = {"and",
                               "bitcast_convert",
                               "clamp",
                               "compare",
                               "convert",
                               "count_leading_zeros",
                               "is_finite",
                               "not",
                               "or",
                               "popcnt",
                               "reduce_precision",
                               "select",
                               "shift_left",
                               "shift_right_arithmetic",
                               "shift_right_logical",
                               "stop_gradient",
                               "xor"};

/// The bound of the error that each elementwise op of the dialect states, by name.
std::map<std::string, unsigned> statedUlps() {
  mlir::MLIRContext context;
  context.loadDialect<dgc::DGCDialect>();
  std::map<std::string, unsigned> stated;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    auto *op = name.getInterface<dgc::ElementwiseOpInterface>();
    if (op && name.getDialectNamespace() == "dgc")
      stated[name.stripDialect().str()] = op->getMaxUlps();
  }
  return stated;
}

TEST(FloatOpsTable, HasEveryOp) {
  std::set<std::string> tested(std::begin(kOthers), std::end(kOthers));
  for (const Unary &op : kUnary)
    tested.insert(op.name);
  for (const Binary &op : kBinary)
    tested.insert(op.name);
  std::set<std::string> known;
  for (auto &[name, ulps] : statedUlps())
    known.insert(name);
  EXPECT_EQ(tested, known);
}

const double kValues[] = {-0.0, 0.0,  0.3,  -0.7, 0.5,  -0.5, 1.0,   -1.0, 1.5,   -1.5, 2.5,  -2.5,
                          3.0,  -3.0, 0.01, 7.25, -6.6, 20.0, -20.0, 1e-3, -1e-3, inf,  -inf, nan};

/// `ulps` is as in Elementwise.td.
template <typename T>
void expectClose(T actual, double reference, unsigned ulps, const std::string &what, bool hasSignOfZero = true) {
  T expected = T(reference);
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << what << " is " << actual << ", not NaN";
    return;
  }
  if (std::isinf(expected) || ulps == 0) {
    EXPECT_EQ(actual, expected) << what;
    if (expected == 0 && hasSignOfZero) {
      EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << what << " has the wrong sign of zero";
    }
    return;
  }
  double bound = ulps * std::numeric_limits<T>::epsilon() * std::max(1.0, std::fabs(reference));
  EXPECT_NEAR(actual, reference, bound) << what;
}

template <typename T> class FloatOps : public ::testing::Test {};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FloatOps, Floats);

TYPED_TEST(FloatOps, OfOneOperand) {
  using T = TypeParam;
  std::vector<T> x(std::begin(kValues), std::end(kValues));
  std::vector<std::string> names;
  for (const Unary &op : kUnary)
    names.emplace_back(op.name);
  auto results = runOps<T, T>(names, {x});
  auto ulps = statedUlps();
  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_EQ(results[i].size(), x.size());
    for (size_t j = 0; j < x.size(); ++j)
      expectClose<T>(results[i][j], kUnary[i].reference(x[j]), ulps.at(names[i]),
                     names[i] + " of " + std::to_string(x[j]));
  }
}

/// All pairs of the values.
template <typename T> std::vector<std::vector<T>> pairs() {
  std::vector<std::vector<T>> operands(2);
  for (double x : kValues)
    for (double y : kValues) {
      operands[0].push_back(T(x));
      operands[1].push_back(T(y));
    }
  return operands;
}

TYPED_TEST(FloatOps, OfTwoOperands) {
  using T = TypeParam;
  auto operands = pairs<T>();
  std::vector<std::string> names;
  for (const Binary &op : kBinary)
    names.emplace_back(op.name);
  auto results = runOps<T, T>(names, operands);
  auto ulps = statedUlps();
  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_EQ(results[i].size(), operands[0].size());
    for (size_t j = 0; j < operands[0].size(); ++j) {
      T x = operands[0][j], y = operands[1][j];
      expectClose<T>(results[i][j], kBinary[i].reference(x, y), ulps.at(names[i]),
                     names[i] + " of " + std::to_string(x) + " and " + std::to_string(y), kBinary[i].hasSignOfZero);
    }
  }
}

TYPED_TEST(FloatOps, Relations) {
  using T = TypeParam;
  auto operands = pairs<T>();
  auto results =
      runOps<bool, T>({"compare eq", "compare ne", "compare lt", "compare le", "compare gt", "compare ge"}, operands);
  for (size_t j = 0; j < operands[0].size(); ++j) {
    T x = operands[0][j], y = operands[1][j];
    bool expected[] = {x == y, x != y, (x < y), x <= y, (x > y), x >= y};
    for (size_t i = 0; i < 6; ++i)
      EXPECT_EQ(results[i].at(j), expected[i]) << x << " and " << y << ", relation " << i;
  }
}

TYPED_TEST(FloatOps, IsFinite) {
  using T = TypeParam;
  std::vector<T> x(std::begin(kValues), std::end(kValues));
  auto results = runOps<bool, T>({"is_finite"}, {x});
  for (size_t j = 0; j < x.size(); ++j)
    EXPECT_EQ(results[0].at(j), std::isfinite(x[j])) << x[j];
}

/// `x` as a float of these bits: a multiple of the last bit's worth, infinite from 2^(largest exponent + 1), zero below
/// the smallest normal number.
template <typename T> double reducedPrecision(T value, int exponentBits, int mantissaBits) {
  double x = value;
  if (std::isnan(x) || std::isinf(x) || x == 0)
    return x;
  double ulp = std::ldexp(1.0, std::ilogb(x) - std::min(mantissaBits, std::numeric_limits<T>::digits - 1));
  double rounded = std::nearbyint(x / ulp) * ulp;
  int ofType = std::is_same_v<T, float> ? 8 : 11;
  int bias = (1 << (std::min(exponentBits, ofType) - 1)) - 1;
  if (std::fabs(rounded) >= std::ldexp(1.0, bias) * 2)
    return std::copysign(inf, x);
  if (exponentBits < ofType && std::fabs(rounded) < std::ldexp(1.0, 1 - bias))
    return std::copysign(0.0, x);
  return rounded;
}

TYPED_TEST(FloatOps, ReducePrecision) {
  using T = TypeParam;
  std::vector<T> x(std::begin(kValues), std::end(kValues));
  for (double more :
       {65504.0, 65519.9, 65520.0,   448.0,  463.9,          464.0,     -480.0,   1.9e38, 3.4e38, 1.99,
        1.0625,  1.1875,  1.1874999, 6.1e-5, 6.103515625e-5, 6.1029e-5, 0.015625, 0.0155, -1e-30, 1.1754943e-38})
    x.push_back(T(more));
  const std::pair<int, int> kinds[] = {{8, 7}, {5, 10}, {4, 3}, {5, 2}, {8, 23}, {11, 52}, {2, 1}, {20, 60}};
  for (auto [exponentBits, mantissaBits] : kinds) {
    std::string type = tensorName<T>(x.size());
    std::string bits = "exponent " + std::to_string(exponentBits) + " mantissa " + std::to_string(mantissaBits);
    LoadedKernels kernels("func.func @k(%x: " + type + ") -> " + type + " {\n  %r = dgc.reduce_precision %x " + bits +
                          " : " + type + "\n  return %r : " + type + "\n}");
    ASSERT_TRUE(kernels.ok());
    Buffer<T> output(x.size());
    kernels.call({x.data(), output.data()});
    for (size_t i = 0; i < x.size(); ++i)
      expectClose<T>(output[i], reducedPrecision(x[i], exponentBits, mantissaBits), 0,
                     bits + " of " + std::to_string(x[i]));
  }
}

TYPED_TEST(FloatOps, BitcastConvert) {
  using T = TypeParam;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::vector<T> x{T(0), -T(0), T(1), T(-2.5), std::numeric_limits<T>::denorm_min(), T(inf), T(-inf), T(nan)};
  const std::string floats = tensorName<T>(x.size());
  const std::string integers = "tensor<8xui" + std::to_string(8 * sizeof(T)) + ">";
  const std::string to = integers.substr(integers.find("ui"), 4);
  LoadedKernels kernels("func.func @k(%x: " + floats + ") -> (" + integers + ", " + floats +
                        ") {\n  %b = dgc.bitcast_convert %x to " + to + " : " + floats +
                        "\n  %one = dgc.constant dense<1> : " + integers + "\n  %c = dgc.xor %b, %one : " + integers +
                        "\n  %r = dgc.bitcast_convert %c to f" + to.substr(2) + " : " + integers +
                        "\n  return %b, %r : " + integers + ", " + floats + "\n}");
  ASSERT_TRUE(kernels.ok());
  Buffer<Bits> bits(x.size());
  Buffer<T> changed(x.size());
  kernels.call({x.data(), bits.data(), changed.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(bits[i], std::bit_cast<Bits>(x[i])) << i;
    EXPECT_EQ(std::bit_cast<Bits>(T(changed[i])), std::bit_cast<Bits>(x[i]) ^ Bits(1)) << i;
  }
}

TYPED_TEST(FloatOps, Clamp) {
  using T = TypeParam;
  auto results = runOps<T, T>(
      {"clamp"}, {{T(-1), T(-1), T(-1), T(2), T(0)}, {T(-3), T(0.5), T(3), T(1), T(nan)}, {1, 1, 1, 1, 1}});
  std::vector<double> expected = {-1, 0.5, 1, 1, nan}; // max wins where it is below min
  for (size_t j = 0; j < expected.size(); ++j)
    expectClose<T>(results[0].at(j), expected[j], 0, "clamp " + std::to_string(j));
}

} // namespace
