//===- ShapesTest.cpp - kernels of ops that move elements, executed -------===//

#include "LoadedKernels.h"

using namespace dgc::test;

namespace {

/// Ops that move elements, computed as part of what uses them.
TEST(Shapes, PadSliceConcatenateReverseTranspose) {
  LoadedKernels kernels(R"(
    func.func @k(%x: tensor<5x7xf32>) -> (tensor<7x5xf32>, tensor<11x10xf32>, tensor<2x3xf32>, tensor<5x9xf32>, tensor<5x7xf32>) {
      %v = dgc.constant dense<9.0> : tensor<f32>
      %e = dgc.add %x, %x : tensor<5x7xf32>
      %t = dgc.transpose %e permutation [1, 0] : tensor<5x7xf32>
      %p = dgc.pad %e, %v low [1, 2] high [1, 1] interior [1, 0] : tensor<5x7xf32>, tensor<f32>
      %s = dgc.slice %e from [1, 0] to [5, 6] strides [2, 2] : tensor<5x7xf32>
      %h = dgc.slice %e from [0, 1] to [5, 3] : tensor<5x7xf32>
      %c = dgc.concatenate %h, %e dim 1 : tensor<5x2xf32>, tensor<5x7xf32>
      %r = dgc.reverse %e dims [0] : tensor<5x7xf32>
      return %t, %p, %s, %c, %r : tensor<7x5xf32>, tensor<11x10xf32>, tensor<2x3xf32>, tensor<5x9xf32>, tensor<5x7xf32>
    })");
  ASSERT_TRUE(kernels.ok());
  auto x = samples<float>(35);
  Buffer<float> t(35), p(110), s(6), c(45), r(35);
  kernels.call({x.data(), t.data(), p.data(), s.data(), c.data(), r.data()});
  auto e = [&](int i, int j) { return 2 * x[i * 7 + j]; };
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 7; ++j) {
      ASSERT_EQ(t[j * 5 + i], e(i, j));
      ASSERT_EQ(r[i * 7 + j], e(4 - i, j));
    }
  for (int i = 0; i < 11; ++i)
    for (int j = 0; j < 10; ++j) {
      bool inside = i >= 1 && i < 10 && i % 2 == 1 && j >= 2 && j < 9;
      ASSERT_EQ(p[i * 10 + j], inside ? e((i - 1) / 2, j - 2) : 9.0f) << i << " " << j;
    }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      ASSERT_EQ(s[i * 3 + j], e(1 + 2 * i, 2 * j));
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 9; ++j)
      ASSERT_EQ(c[i * 9 + j], j < 2 ? e(i, 1 + j) : e(i, j - 2));
}

/// The place in a part of a row that begins in the midst of it: what is divided is a difference.
TEST(Shapes, RowsThatBeginInTheMidst) {
  LoadedKernels kernels(R"(
    func.func @k(%x: tensor<2x6x3xi32>) -> tensor<2xi32> {
      %t = dgc.transpose %x permutation [1, 0, 2] : tensor<2x6x3xi32>
      %m = dgc.reshape %t to [6, 6] : tensor<6x2x3xi32>
      %h = dgc.slice %m from [0, 0] to [6, 5] : tensor<6x6xi32>
      %f = dgc.reshape %h to [30] : tensor<6x5xi32>
      %s = dgc.slice %f from [18] to [20] : tensor<30xi32>
      return %s : tensor<2xi32>
    })");
  ASSERT_TRUE(kernels.ok());
  Buffer<int32_t> x(36), s(2);
  for (int i = 0; i < 36; ++i)
    x[i] = i;
  kernels.call({x.data(), s.data()});
  ASSERT_EQ(s[0], 27);
  ASSERT_EQ(s[1], 28);
}

/// A result that another one is computed from, with a dimension of size 1 more, in the loops that it is computed in.
TEST(Shapes, OfWhatIsAResultToo) {
  LoadedKernels kernels(R"(
    func.func @k(%x: tensor<6x2xi16>) -> (tensor<2x2xi16>, tensor<2x2xi32>) {
      %one = dgc.constant dense<1> : tensor<i16>
      %p = dgc.pad %x, %one low [0, 1] high [0, 1] interior [0, 1] : tensor<6x2xi16>, tensor<i16>
      %s = dgc.slice %p from [0, 1] to [6, 4] strides [3, 2] : tensor<6x5xi16>
      %e = dgc.reshape %s to [2, 2, 1] : tensor<2x2xi16>
      %six = dgc.constant dense<6> : tensor<2x2x1xi16>
      %m = dgc.remainder %e, %six : tensor<2x2x1xi16>
      %r = dgc.reshape %m to [2, 2] : tensor<2x2x1xi16>
      %w = dgc.convert %r to i32 : tensor<2x2xi16>
      return %s, %w : tensor<2x2xi16>, tensor<2x2xi32>
    })");
  ASSERT_TRUE(kernels.ok());
  Buffer<int16_t> x(12), s(4, -1);
  Buffer<int32_t> w(4, -1);
  for (int i = 0; i < 12; ++i)
    x[i] = static_cast<int16_t>(i + 7);
  kernels.call({x.data(), s.data(), w.data()});
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(s[i], i < 2 ? i + 7 : i + 11) << i;
    ASSERT_EQ(w[i], s[i] % 6) << i;
  }
}

} // namespace
