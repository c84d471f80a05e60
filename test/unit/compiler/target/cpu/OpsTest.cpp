//===- OpsTest.cpp - kernels of dgc ops, executed -------------------------===//
//
// What kernel formation may put together: every element type, reductions over each axis, values of several loops.
//
//===----------------------------------------------------------------------===//

#include "LoadedKernels.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>

using namespace dgc::test;

namespace {

float fromBf16(uint16_t bits) { return llvm::bit_cast<float>(uint32_t(bits) << 16); }
uint16_t toBf16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

// Intermediate values may be kept in f32.
TEST(Types, Bf16) {
  LoadedKernels kernels("func.func @k(%a: tensor<100xbf16>, %b: tensor<100xbf16>) -> tensor<100xbf16> {"
                        " %0 = dgc.add %a, %b : tensor<100xbf16>\n %1 = dgc.multiply %0, %b : tensor<100xbf16>\n"
                        " return %1 : tensor<100xbf16> }");
  ASSERT_TRUE(kernels.ok());
  Buffer<uint16_t> a(100), b(100), r(100);
  for (int i = 0; i < 100; ++i) {
    a[i] = toBf16(sample(i));
    b[i] = toBf16(sample(i + 3));
  }
  kernels.call({a.data(), b.data(), r.data()});
  for (int i = 0; i < 100; ++i) {
    float expected = (fromBf16(a[i]) + fromBf16(b[i])) * fromBf16(b[i]);
    ASSERT_NEAR(fromBf16(r[i]), expected, std::abs(expected) / 128) << i;
  }
}

// Elements that are chosen keep their bits. In the reference they are numbers.
TEST(Types, ChosenBf16KeepsItsBits) {
  for (const char *target : {"cpu", "x86-64-v3"}) {
    LoadedKernels kernels("func.func @k(%a: tensor<37xbf16>, %b: tensor<37xbf16>, %p: tensor<37xi1>)"
                          " -> (tensor<37xbf16>, tensor<37xi1>) {"
                          " %0 = dgc.select %p, %a, %b : tensor<37xi1>, tensor<37xbf16>, tensor<37xbf16>\n"
                          " %1 = dgc.select %p, %b, %a : tensor<37xi1>, tensor<37xbf16>, tensor<37xbf16>\n"
                          " %2 = dgc.compare lt %0, %1 : tensor<37xbf16>\n"
                          " return %0, %2 : tensor<37xbf16>, tensor<37xi1> }",
                          target);
    ASSERT_TRUE(kernels.ok());
    Buffer<uint16_t> a(37), b(37), chosen(37);
    Buffer<uint8_t> p(37), isLess(37);
    for (int i = 0; i < 37; ++i) {
      a[i] = toBf16(sample(i));
      b[i] = toBf16(sample(i + 3));
      p[i] = i % 3 == 0;
    }
    kernels.call({a.data(), b.data(), p.data(), chosen.data(), isLess.data()});
    for (int i = 0; i < 37; ++i) {
      ASSERT_EQ(chosen[i], p[i] ? a[i] : b[i]) << i;
      ASSERT_EQ(isLess[i], fromBf16(chosen[i]) < fromBf16(p[i] ? b[i] : a[i])) << i;
    }
  }
}

// Rounded once: the f32 in between would be half way between two bf16, and go to the even one.
TEST(Types, F64ToBf16) {
  LoadedKernels kernels("func.func @k(%a: tensor<6xf64>) -> tensor<6xbf16> {"
                        " %0 = dgc.convert %a to bf16 : tensor<6xf64>\n return %0 : tensor<6xbf16> }");
  ASSERT_TRUE(kernels.ok());
  const double tie = 1 + 0x1p-8, nextToTie = tie + 0x1p-40;
  const double values[] = {tie, nextToTie, -nextToTie, tie - 0x1p-40, 1e300, 0.1};
  const float rounded[] = {1, 1 + 0x1p-7f, -(1 + 0x1p-7f), 1, INFINITY, 0.10009765625f};
  Buffer<double> a(6);
  Buffer<uint16_t> r(6);
  for (int i = 0; i < 6; ++i)
    a[i] = values[i];
  kernels.call({a.data(), r.data()});
  for (int i = 0; i < 6; ++i)
    ASSERT_EQ(fromBf16(r[i]), rounded[i]) << i;
}

TEST(Types, F16) {
  LoadedKernels kernels("func.func @k(%a: tensor<100xf32>) -> tensor<100xf32> {"
                        " %0 = dgc.convert %a to f16 : tensor<100xf32>\n %1 = dgc.add %0, %0 : tensor<100xf16>\n"
                        " %2 = dgc.convert %1 to f32 : tensor<100xf16>\n return %2 : tensor<100xf32> }");
  ASSERT_TRUE(kernels.ok());
  auto a = samples<float>(100);
  Buffer<float> r(100);
  kernels.call({a.data(), r.data()});
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(r[i], 2 * float(_Float16(a[i]))) << i;
}

TEST(Types, BooleansAreBytes) {
  LoadedKernels kernels("func.func @k(%a: tensor<70xi32>, %p: tensor<70xi1>) -> (tensor<70xi1>, tensor<70xi32>) {"
                        " %0 = dgc.compare gt %a, %a : tensor<70xi32>\n %n = dgc.negate %a : tensor<70xi32>\n"
                        " %1 = dgc.compare lt %n, %a : tensor<70xi32>\n %2 = dgc.or %0, %1 : tensor<70xi1>\n"
                        " %3 = dgc.select %p, %a, %n : tensor<70xi1>, tensor<70xi32>, tensor<70xi32>\n"
                        " return %2, %3 : tensor<70xi1>, tensor<70xi32> }");
  ASSERT_TRUE(kernels.ok());
  Buffer<int32_t> a(70), s(70);
  Buffer<uint8_t> p(70), r(70, 9);
  for (int i = 0; i < 70; ++i) {
    a[i] = i % 7 - 3;
    p[i] = i % 3 == 0;
  }
  kernels.call({a.data(), p.data(), r.data(), s.data()});
  for (int i = 0; i < 70; ++i) {
    ASSERT_EQ(r[i], a[i] > 0 ? 1 : 0);
    ASSERT_EQ(s[i], i % 3 == 0 ? a[i] : -a[i]);
  }
}

template <typename T> void checkMaximum(const char *type) {
  std::string tensor = llvm::formatv("tensor<50x{0}>", type);
  LoadedKernels kernels(llvm::formatv("func.func @k(%a: {0}, %b: {0}) -> {0} {{ %0 = dgc.maximum %a, %b : {0}\n"
                                      " %1 = dgc.subtract %0, %b : {0}\n return %1 : {0} }",
                                      tensor));
  ASSERT_TRUE(kernels.ok());
  Buffer<T> a(50), b(50), r(50);
  for (int i = 0; i < 50; ++i) {
    a[i] = static_cast<T>(T(37) * i + 100);
    b[i] = static_cast<T>(T(91) * i + 5);
  }
  kernels.call({a.data(), b.data(), r.data()});
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(r[i], T(std::max(a[i], b[i]) - b[i])) << type << " " << i;
}
TEST(Types, Integers) {
  checkMaximum<int8_t>("i8");
  checkMaximum<int16_t>("i16");
  checkMaximum<int32_t>("i32");
  checkMaximum<int64_t>("i64");
  checkMaximum<uint8_t>("ui8");
  checkMaximum<uint16_t>("ui16");
  checkMaximum<uint32_t>("ui32");
  checkMaximum<uint64_t>("ui64");
}

/// Sums a tensor<5x7x11> over every set of its dimensions.
TEST(Reduction, OverEverySetOfAxes) {
  for (int set = 1; set < 8; ++set) {
    std::vector<std::string> dims, kept;
    int sizes[] = {5, 7, 11};
    for (int d = 0; d < 3; ++d)
      (set >> d & 1 ? dims : kept).push_back(std::to_string(set >> d & 1 ? d : sizes[d]));
    std::string result = "tensor<";
    int count = 1;
    for (auto &size : kept) {
      result += size + "x";
      count *= std::stoi(size);
    }
    result += "f32>";
    std::string list;
    for (auto &dim : dims)
      list += (list.empty() ? "" : ", ") + dim;
    LoadedKernels kernels("func.func @k(%a: tensor<5x7x11xf32>) -> " + result + " { %r = dgc.reduce sum %a dims [" +
                          list + "] : tensor<5x7x11xf32>\n return %r : " + result + " }");
    ASSERT_TRUE(kernels.ok());
    auto a = samples<float>(5 * 7 * 11);
    Buffer<float> r(count);
    kernels.call({a.data(), r.data()}, 2);
    std::vector<double> expected(count, 0.0);
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 7; ++j)
        for (int k = 0; k < 11; ++k) {
          int place = 0, index[] = {i, j, k};
          for (int d = 0; d < 3; ++d)
            if (!(set >> d & 1))
              place = place * sizes[d] + index[d];
          expected[place] += a[(i * 7 + j) * 11 + k];
        }
    for (int i = 0; i < count; ++i)
      ASSERT_NEAR(r[i], expected[i], 1e-4) << "set " << set;
  }
}

/// Sums of one tensor over different axes, in one traversal: what is reduced for one is not for the other.
TEST(Reduction, OverTwoSetsOfAxesAtOnce) {
  const int sizes[] = {3, 4, 8};
  LoadedKernels kernels("func.func @k(%a: tensor<3x4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {\n"
                        " %0 = dgc.reduce sum %a dims [0] : tensor<3x4x8xf32>\n"
                        " %1 = dgc.reduce sum %a dims [0, 1] : tensor<3x4x8xf32>\n"
                        " return %0, %1 : tensor<4x8xf32>, tensor<8xf32>\n}");
  ASSERT_TRUE(kernels.ok());
  auto a = samples<float>(3 * 4 * 8);
  Buffer<float> r(32, -1), s(8, -1);
  kernels.call({a.data(), r.data(), s.data()}, 1);
  for (int j = 0; j < sizes[2]; ++j) {
    double all = 0;
    for (int i = 0; i < sizes[1]; ++i) {
      double sum = 0;
      for (int k = 0; k < sizes[0]; ++k)
        sum += a[(k * sizes[1] + i) * sizes[2] + j];
      ASSERT_NEAR(r[i * sizes[2] + j], sum, 1e-5);
      all += sum;
    }
    ASSERT_NEAR(s[j], all, 1e-5);
  }
}

/// Two results of one traversal: a product and its sums over rows.
TEST(Reduction, ColumnsWithTheirTerms) {
  LoadedKernels kernels(
      "func.func @k(%a: tensor<37x1003xf32>, %b: tensor<37x1003xf32>) -> (tensor<37x1003xf32>, tensor<1003xf32>)"
      " { %0 = dgc.multiply %a, %b : tensor<37x1003xf32>\n"
      " %1 = dgc.reduce sum %0 dims [0] : tensor<37x1003xf32>\n"
      " return %0, %1 : tensor<37x1003xf32>, tensor<1003xf32> }");
  ASSERT_TRUE(kernels.ok());
  if (!LoadedKernels::onReference())
    EXPECT_GT(kernels.info().extent, 1);
  auto a = samples<float>(37 * 1003), b = samples<float>(37 * 1003, 11);
  Buffer<float> r(37 * 1003), s(1003, 5);
  kernels.call({a.data(), b.data(), r.data(), s.data()}, 3);
  for (int j = 0; j < 1003; ++j) {
    double sum = 0;
    for (int i = 0; i < 37; ++i) {
      ASSERT_EQ(r[i * 1003 + j], a[i * 1003 + j] * b[i * 1003 + j]);
      sum += r[i * 1003 + j];
    }
    ASSERT_NEAR(s[j], sum, 1e-4);
  }
}

TEST(Rows, LayerNormAndItsScale) {
  LoadedKernels kernels(R"(
    func.func @k(%x: tensor<9x33xf32>, %g: tensor<33xf32>) -> tensor<9x33xf32> {
      %n = dgc.constant dense<33.0> : tensor<9xf32>
      %eps = dgc.constant dense<1.0e-5> : tensor<9xf32>
      %s = dgc.reduce sum %x dims [1] : tensor<9x33xf32>
      %m = dgc.divide %s, %n : tensor<9xf32>
      %mb = dgc.broadcast_in_dim %m dims [0] to [9, 33] : tensor<9xf32>
      %d = dgc.subtract %x, %mb : tensor<9x33xf32>
      %d2 = dgc.multiply %d, %d : tensor<9x33xf32>
      %v = dgc.reduce sum %d2 dims [1] : tensor<9x33xf32>
      %v1 = dgc.divide %v, %n : tensor<9xf32>
      %v2 = dgc.add %v1, %eps : tensor<9xf32>
      %i = dgc.rsqrt %v2 : tensor<9xf32>
      %ib = dgc.broadcast_in_dim %i dims [0] to [9, 33] : tensor<9xf32>
      %y = dgc.multiply %d, %ib : tensor<9x33xf32>
      %gb = dgc.broadcast_in_dim %g dims [1] to [9, 33] : tensor<33xf32>
      %r = dgc.multiply %y, %gb : tensor<9x33xf32>
      return %r : tensor<9x33xf32>
    })");
  ASSERT_TRUE(kernels.ok());
  if (!LoadedKernels::onReference())
    EXPECT_EQ(kernels.info().extent, 9);
  auto x = samples<float>(9 * 33), g = samples<float>(33, 77);
  Buffer<float> r(9 * 33);
  kernels.call({x.data(), g.data(), r.data()}, 4);
  for (int i = 0; i < 9; ++i) {
    double mean = 0, variance = 0;
    for (int j = 0; j < 33; ++j)
      mean += x[i * 33 + j] / 33.0;
    for (int j = 0; j < 33; ++j)
      variance += (x[i * 33 + j] - mean) * (x[i * 33 + j] - mean) / 33.0;
    for (int j = 0; j < 33; ++j)
      ASSERT_NEAR(r[i * 33 + j], (x[i * 33 + j] - mean) / std::sqrt(variance + 1e-5) * g[j], 1e-5);
  }
}

/// Loops that need each other: everything divided by the sum of everything, and sums of that over rows.
TEST(Sequence, LaterLoopsSeeEarlierOnes) {
  LoadedKernels kernels(R"(
    func.func @k(%x: tensor<9x33xf32>) -> (tensor<9x33xf32>, tensor<33xf32>) {
      %s = dgc.reduce sum %x dims [0, 1] : tensor<9x33xf32>
      %b = dgc.broadcast_in_dim %s dims [] to [9, 33] : tensor<f32>
      %y = dgc.divide %x, %b : tensor<9x33xf32>
      %c = dgc.reduce sum %y dims [0] : tensor<9x33xf32>
      return %y, %c : tensor<9x33xf32>, tensor<33xf32>
    })");
  ASSERT_TRUE(kernels.ok());
  EXPECT_EQ(kernels.info().extent, 1);
  auto x = samples<float>(9 * 33);
  Buffer<float> y(9 * 33), c(33);
  kernels.call({x.data(), y.data(), c.data()});
  double sum = 0;
  for (int i = 0; i < 9 * 33; ++i)
    sum += x[i];
  for (int j = 0; j < 33; ++j) {
    double column = 0;
    for (int i = 0; i < 9; ++i) {
      ASSERT_NEAR(y[i * 33 + j], x[i * 33 + j] / sum, 1e-5 * std::abs(x[i * 33 + j] / sum) + 1e-6);
      column += x[i * 33 + j] / sum;
    }
    ASSERT_NEAR(c[j], column, 1e-4);
  }
}

/// Adam's update of two variables, in place: new moments are used for the new weights.
TEST(Update, TwoVariablesInPlace) {
  auto one = [](const std::string &n, const std::string &type) {
    return "%m" + n + "1 = dgc.add %m" + n + ", %g" + n + " : " + type + "\n %w" + n + "1 = dgc.subtract %w" + n +
           ", %m" + n + "1 : " + type + "\n";
  };
  std::string a = "tensor<33x65xf32>", b = "tensor<7xf32>";
  LoadedKernels kernels("func.func @k(%wa: " + a + ", %ma: " + a + ", %ga: " + a + ", %wb: " + b + ", %mb: " + b +
                        ", %gb: " + b + ") -> (" + a + ", " + a + ", " + b + ", " + b +
                        ") attributes {dgc.inplace = array<i64: 0, 1, 3, 4>} {\n" + one("a", a) + one("b", b) +
                        "return %wa1, %ma1, %wb1, %mb1 : " + a + ", " + a + ", " + b + ", " + b + " }");
  ASSERT_TRUE(kernels.ok());
  if (!LoadedKernels::onReference())
    EXPECT_GE(kernels.info().extent, 2);
  int n = 33 * 65;
  auto wa = samples<float>(n), ma = samples<float>(n, 1), ga = samples<float>(n, 2), wb = samples<float>(7, 3),
       mb = samples<float>(7, 4), gb = samples<float>(7, 5);
  kernels.call(
      {wa.data(), ma.data(), ga.data(), wb.data(), mb.data(), gb.data(), wa.data(), ma.data(), wb.data(), mb.data()},
      2);
  for (int i = 0; i < n; ++i) {
    float m = float(sample(i + 1)) + float(sample(i + 2));
    ASSERT_EQ(ma[i], m);
    ASSERT_EQ(wa[i], float(sample(i)) - m);
  }
  for (int i = 0; i < 7; ++i)
    ASSERT_EQ(mb[i], float(sample(i + 4)) + float(sample(i + 5)));
}

/// Nothing is kept wider than its type says: every op on 16 bits rounds to them, also between ops of one kernel.
TEST(SixteenBits, EveryOpRounds) {
  for (const char *target : {"cpu", "x86-64-v3"})
    for (const char *type : {"bf16", "f16"}) {
      SCOPED_TRACE(std::string(target) + " " + type);
      std::string text = R"(
        func.func @k(%a: tensor<1003xT>, %b: tensor<1003xT>, %c: tensor<1003xT>) -> (tensor<1003xT>, tensor<1003xi1>) {
          %m = dgc.multiply %a, %b : tensor<1003xT>
          %s = dgc.add %m, %c : tensor<1003xT>
          %d = dgc.subtract %s, %a : tensor<1003xT>
          %r = dgc.multiply %d, %b : tensor<1003xT>
          %e = dgc.multiply %s, %s : tensor<1003xT>
          %g = dgc.compare lt %r, %e : tensor<1003xT>
          return %r, %g : tensor<1003xT>, tensor<1003xi1>
        })";
      for (size_t at; (at = text.find("xT>")) != std::string::npos;)
        text.replace(at + 1, 1, type);
      LoadedKernels kernels(text, target);
      ASSERT_TRUE(kernels.ok());
      const llvm::fltSemantics &semantics = type[0] == 'b' ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf();
      auto rounded = [&](double value) {
        llvm::APFloat number(value);
        bool lost;
        number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
        return number;
      };
      auto number = [&](double value) { return rounded(value).convertToDouble(); };
      Buffer<uint16_t> a(1003), b(1003), c(1003), r(1003);
      Buffer<int8_t> g(1003);
      auto bits = [&](size_t i) { return uint16_t(rounded(sample(i)).bitcastToAPInt().getZExtValue()); };
      for (int i = 0; i < 1003; ++i) {
        a[i] = bits(i);
        b[i] = bits(i + 1);
        c[i] = bits(i + 2);
      }
      kernels.call({a.data(), b.data(), c.data(), r.data(), g.data()});
      for (int i = 0; i < 1003; ++i) {
        double x = number(sample(i)), y = number(sample(i + 1)), z = number(sample(i + 2));
        double s = number(number(x * y) + z), expected = number(number(s - x) * y), square = number(s * s);
        ASSERT_EQ(r[i], uint16_t(rounded(expected).bitcastToAPInt().getZExtValue())) << i;
        ASSERT_EQ(g[i], expected < square) << i;
      }
    }
}

/// Constants that a kernel gives as they are, and that it reads by its own index.
TEST(Constants, AreResults) {
  LoadedKernels kernels(R"(
    func.func @k(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<2x2xi32>, tensor<4xi1>, tensor<3xf32>, tensor<2xf64>) {
      %a = dgc.constant dense<[1.0, -2.5, 4.0]> : tensor<3xf32>
      %b = dgc.constant dense<[[1, 2], [-3, 4]]> : tensor<2x2xi32>
      %c = dgc.constant dense<[true, false, false, true]> : tensor<4xi1>
      %d = dgc.constant dense<7.0> : tensor<2xf64>
      %s = dgc.add %x, %a : tensor<3xf32>
      return %a, %b, %c, %s, %d : tensor<3xf32>, tensor<2x2xi32>, tensor<4xi1>, tensor<3xf32>, tensor<2xf64>
    })");
  ASSERT_TRUE(kernels.ok());
  auto x = samples<float>(3);
  Buffer<float> a(3), s(3);
  Buffer<int32_t> b(4);
  Buffer<int8_t> c(4);
  Buffer<double> d(2);
  kernels.call({x.data(), a.data(), b.data(), c.data(), s.data(), d.data()});
  const float expectedA[] = {1.0f, -2.5f, 4.0f};
  const int32_t expectedB[] = {1, 2, -3, 4};
  const int8_t expectedC[] = {1, 0, 0, 1};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(a[i], expectedA[i]);
    EXPECT_EQ(s[i], x[i] + expectedA[i]);
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(b[i], expectedB[i]);
    EXPECT_EQ(c[i], expectedC[i]);
  }
  EXPECT_EQ(d[0], 7.0);
  EXPECT_EQ(d[1], 7.0);
}

/// What no library does: an f64 product.
TEST(Contraction, F64) {
  LoadedKernels kernels("func.func @k(%a: tensor<5x9xf64>, %b: tensor<9x13xf64>) -> tensor<5x13xf64> {"
                        " %r = dgc.dot_general %a, %b contract [1] x [0] : tensor<5x9xf64>, tensor<9x13xf64>\n"
                        " return %r : tensor<5x13xf64> }");
  ASSERT_TRUE(kernels.ok());
  auto a = samples<double>(45), b = samples<double>(117, 3);
  Buffer<double> r(65);
  kernels.call({a.data(), b.data(), r.data()}, 2);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 13; ++j) {
      double sum = 0;
      for (int k = 0; k < 9; ++k)
        sum += a[i * 9 + k] * b[k * 13 + j];
      ASSERT_NEAR(r[i * 13 + j], sum, 1e-12);
    }
}

TEST(Target, EveryNameAndAnUnknownOne) {
  for (const char *name : {"cpu", "x86-64-v3"}) {
    LoadedKernels kernels("func.func @k(%a: tensor<9xf32>) -> tensor<9xf32> { %r = dgc.tanh %a : tensor<9xf32>\n "
                          "return %r : tensor<9xf32> }",
                          name);
    ASSERT_TRUE(kernels.ok());
    EXPECT_NE(kernels.compiled.features.empty(), !LoadedKernels::onGpu() && !LoadedKernels::onReference());
  }
  std::string message;
  EXPECT_FALSE(dgc::CpuTarget::parse("gpu", message));
  EXPECT_EQ(message, "unknown target 'gpu'; for CPUs there are cpu (this machine), x86-64-v3 and x86-64-v4");
}

} // namespace
