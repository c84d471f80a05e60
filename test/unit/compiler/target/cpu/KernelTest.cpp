//===- KernelTest.cpp - kernels against closed forms ----------------------===//
//
// The kernels are written in linalg, so that the tests do not depend on what a dgc op is lowered to.
//
//===----------------------------------------------------------------------===//

#include "LoadedKernels.h"
#include <cmath>

using namespace dgc::test;

namespace {

const char *const kMaps = R"(
#id1 = affine_map<(d0) -> (d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
#none1 = affine_map<(d0) -> ()>
#none2 = affine_map<(d0, d1) -> ()>
#tr = affine_map<(d0, d1) -> (d1, d0)>
)";

std::string withSizes(std::string text, std::vector<std::pair<std::string, std::string>> names) {
  for (auto &[from, to] : names)
    for (size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, from.size(), to);
  return kMaps + text;
}

TEST(Elementwise, AnySizeInAnyNumberOfPieces) {
  for (int n : {0, 1, 7, 64, 1000, 70001}) {
    LoadedKernels kernels(withSizes(R"(
      func.func @k(%a: tensor<Nxf32>, %b: tensor<Nxf32>) -> tensor<Nxf32> {
        %e = tensor.empty() : tensor<Nxf32>
        %r = linalg.generic {indexing_maps = [#id1, #id1, #id1], iterator_types = ["parallel"]}
            ins(%a, %b : tensor<Nxf32>, tensor<Nxf32>) outs(%e : tensor<Nxf32>) {
        ^bb0(%x: f32, %y: f32, %o: f32):
          %m = arith.mulf %x, %y : f32
          %s = arith.addf %m, %y : f32
          linalg.yield %s : f32
        } -> tensor<Nxf32>
        return %r : tensor<Nxf32>
      })",
                                    {{"Nx", std::to_string(n) + "x"}}));
    ASSERT_TRUE(kernels.ok());
    for (int pieces : {1, 3}) {
      auto a = samples<float>(n), b = samples<float>(n, 5);
      Buffer<float> r(n, -1);
      kernels.call({a.data(), b.data(), r.data()}, pieces);
      for (int i = 0; i < n; ++i)
        ASSERT_NEAR(r[i], double(a[i]) * b[i] + b[i], 1e-6) << i;
    }
  }
}

TEST(Elementwise, InPlace) {
  LoadedKernels kernels(withSizes(R"(
    func.func @k(%a: tensor<1003xf32>, %b: tensor<1003xf32>) -> tensor<1003xf32> attributes {dgc.inplace = array<i64: 0>} {
      %e = tensor.empty() : tensor<1003xf32>
      %r = linalg.generic {indexing_maps = [#id1, #id1, #id1], iterator_types = ["parallel"]}
          ins(%a, %b : tensor<1003xf32>, tensor<1003xf32>) outs(%e : tensor<1003xf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %s = arith.subf %x, %y : f32
        linalg.yield %s : f32
      } -> tensor<1003xf32>
      return %r : tensor<1003xf32>
    })",
                                  {}));
  ASSERT_TRUE(kernels.ok());
  auto a = samples<float>(1003), b = samples<float>(1003, 5), before = samples<float>(1003);
  kernels.call({a.data(), b.data(), a.data()});
  for (int i = 0; i < 1003; ++i)
    ASSERT_EQ(a[i], before[i] - b[i]);
}

std::string reduction(const char *result, const char *map, const char *kinds, const char *combiner, const char *init) {
  return withSizes(R"(
    func.func @k(%a: tensor<37x53xf32>) -> RESULT {
      %i = arith.constant INIT : f32
      %e = tensor.empty() : RESULT
      %f = linalg.fill ins(%i : f32) outs(%e : RESULT) -> RESULT
      %r = linalg.generic {indexing_maps = [#id2, MAP], iterator_types = [KINDS]}
          ins(%a : tensor<37x53xf32>) outs(%f : RESULT) {
      ^bb0(%x: f32, %o: f32):
        %s = COMBINER %o, %x : f32
        linalg.yield %s : f32
      } -> RESULT
      return %r : RESULT
    })",
                   {{"RESULT", result}, {"MAP", map}, {"KINDS", kinds}, {"COMBINER", combiner}, {"INIT", init}});
}

TEST(Reduction, Rows) {
  LoadedKernels kernels(reduction("tensor<37xf32>", "#row", "\"parallel\", \"reduction\"", "arith.addf", "0.0"));
  ASSERT_TRUE(kernels.ok());
  auto a = samples<float>(37 * 53);
  Buffer<float> r(37);
  kernels.call({a.data(), r.data()}, 2);
  for (int i = 0; i < 37; ++i) {
    double sum = 0;
    for (int j = 0; j < 53; ++j)
      sum += a[i * 53 + j];
    ASSERT_NEAR(r[i], sum, 1e-5);
  }
}

TEST(Reduction, Columns) {
  LoadedKernels kernels(reduction("tensor<53xf32>", "#col", "\"reduction\", \"parallel\"", "arith.addf", "0.0"));
  ASSERT_TRUE(kernels.ok());
  auto a = samples<float>(37 * 53);
  Buffer<float> r(53);
  kernels.call({a.data(), r.data()});
  for (int j = 0; j < 53; ++j) {
    double sum = 0;
    for (int i = 0; i < 37; ++i)
      sum += a[i * 53 + j];
    ASSERT_NEAR(r[j], sum, 1e-5);
  }
}

TEST(Reduction, EverythingAndNaN) {
  LoadedKernels kernels(
      reduction("tensor<f32>", "#none2", "\"reduction\", \"reduction\"", "arith.maximumf", "0xFF800000"));
  ASSERT_TRUE(kernels.ok());
  auto a = samples<float>(37 * 53);
  a[1000] = 5;
  Buffer<float> r(1);
  kernels.call({a.data(), r.data()});
  EXPECT_EQ(r[0], 5);
  a[1700] = NAN;
  kernels.call({a.data(), r.data()});
  EXPECT_TRUE(std::isnan(r[0]));
}

std::string softmax(int rows, int columns) {
  return withSizes(R"(
    func.func @k(%a: tensor<RxCxf32>) -> tensor<RxCxf32> {
      %ninf = arith.constant 0xFF800000 : f32
      %zero = arith.constant 0.0 : f32
      %e1 = tensor.empty() : tensor<Rxf32>
      %e2 = tensor.empty() : tensor<RxCxf32>
      %f0 = linalg.fill ins(%ninf : f32) outs(%e1 : tensor<Rxf32>) -> tensor<Rxf32>
      %max = linalg.generic {indexing_maps = [#id2, #row], iterator_types = ["parallel", "reduction"]}
          ins(%a : tensor<RxCxf32>) outs(%f0 : tensor<Rxf32>) {
      ^bb0(%x: f32, %o: f32):
        %s = arith.maximumf %o, %x : f32
        linalg.yield %s : f32
      } -> tensor<Rxf32>
      %shift = linalg.generic {indexing_maps = [#id2, #row, #id2], iterator_types = ["parallel", "parallel"]}
          ins(%a, %max : tensor<RxCxf32>, tensor<Rxf32>) outs(%e2 : tensor<RxCxf32>) {
      ^bb0(%x: f32, %m: f32, %o: f32):
        %s = arith.subf %x, %m : f32
        linalg.yield %s : f32
      } -> tensor<RxCxf32>
      %exp = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]}
          ins(%shift : tensor<RxCxf32>) outs(%e2 : tensor<RxCxf32>) {
      ^bb0(%x: f32, %o: f32):
        %s = math.exp %x : f32
        linalg.yield %s : f32
      } -> tensor<RxCxf32>
      %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<Rxf32>) -> tensor<Rxf32>
      %sum = linalg.generic {indexing_maps = [#id2, #row], iterator_types = ["parallel", "reduction"]}
          ins(%exp : tensor<RxCxf32>) outs(%f1 : tensor<Rxf32>) {
      ^bb0(%x: f32, %o: f32):
        %s = arith.addf %o, %x : f32
        linalg.yield %s : f32
      } -> tensor<Rxf32>
      %r = linalg.generic {indexing_maps = [#id2, #row, #id2], iterator_types = ["parallel", "parallel"]}
          ins(%exp, %sum : tensor<RxCxf32>, tensor<Rxf32>) outs(%e2 : tensor<RxCxf32>) {
      ^bb0(%x: f32, %m: f32, %o: f32):
        %s = arith.divf %x, %m : f32
        linalg.yield %s : f32
      } -> tensor<RxCxf32>
      return %r : tensor<RxCxf32>
    })",
                   {{"Rx", std::to_string(rows) + "x"}, {"Cx", std::to_string(columns) + "x"}});
}

TEST(Rows, Softmax) {
  for (auto [rows, columns] : {std::pair{1, 1}, {5, 10}, {33, 257}}) {
    LoadedKernels kernels(softmax(rows, columns));
    ASSERT_TRUE(kernels.ok());
    if (!LoadedKernels::onReference())
      EXPECT_EQ(kernels.info().extent, rows);
    auto a = samples<float>(rows * columns);
    Buffer<float> r(rows * columns);
    kernels.call({a.data(), r.data()}, 3);
    for (int i = 0; i < rows; ++i) {
      double max = -1e30, sum = 0;
      for (int j = 0; j < columns; ++j)
        max = std::max<double>(max, a[i * columns + j]);
      for (int j = 0; j < columns; ++j)
        sum += std::exp(a[i * columns + j] - max);
      for (int j = 0; j < columns; ++j)
        ASSERT_NEAR(r[i * columns + j], std::exp(a[i * columns + j] - max) / sum, 1e-6);
    }
  }
}

} // namespace
