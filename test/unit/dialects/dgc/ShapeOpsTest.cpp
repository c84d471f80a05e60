// Ops that move, repeat or choose elements, executed: each element of a result against the operand's at the place where
// it must come from. Operands hold their own places.

#include "RunOps.h"
#include <functional>

using namespace dgc::test;

namespace {

using Index = std::vector<int64_t>;

int64_t countOf(const Index &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string typeOf(const Index &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "i32>";
}

/// One op on %x, whose element at row-major place p is p + 1. `source` gives for each place in the result the place in
/// the operand, or nothing where the element is `otherwise`.
struct ShapeCase {
  std::string name;
  Index operand;
  std::string op; // of %x, with the padding value %v, a tensor<i32> of -5
  Index result;
  std::function<Index(const Index &)> source;
  int32_t otherwise = -5;
};
void PrintTo(const ShapeCase &row, std::ostream *os) { *os << row.name; }

int64_t placeOf(const Index &index, const Index &shape) {
  int64_t place = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    place = place * shape[dim] + index[dim];
  return place;
}

Index indexOf(int64_t place, const Index &shape) {
  Index index(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; place /= shape[dim])
    index[dim] = place % shape[dim];
  return index;
}

const ShapeCase kCases[] = {
    {"BroadcastScalar", {}, "broadcast_in_dim %x dims [] to [3, 5]", {3, 5}, [](const Index &) { return Index(); }},
    {"BroadcastRow", {5}, "broadcast_in_dim %x dims [1] to [3, 5]", {3, 5}, [](const Index &i) { return Index{i[1]}; }},
    {"BroadcastColumn",
     {3},
     "broadcast_in_dim %x dims [0] to [3, 5]",
     {3, 5},
     [](const Index &i) { return Index{i[0]}; }},
    {"BroadcastOne",
     {3, 1},
     "broadcast_in_dim %x dims [0, 2] to [3, 2, 5]",
     {3, 2, 5},
     [](const Index &i) { return Index{i[0], 0}; }},
    {"Transpose",
     {2, 3, 5},
     "transpose %x permutation [2, 0, 1]",
     {5, 2, 3},
     [](const Index &i) { return Index{i[1], i[2], i[0]}; }},
    {"Reverse",
     {3, 5, 2},
     "reverse %x dims [1, 2]",
     {3, 5, 2},
     [](const Index &i) { return Index{i[0], 4 - i[1], 1 - i[2]}; }},
    {"Slice",
     {5, 9},
     "slice %x from [1, 2] to [4, 7]",
     {3, 5},
     [](const Index &i) { return Index{i[0] + 1, i[1] + 2}; }},
    {"SliceStrides",
     {7, 9},
     "slice %x from [1, 0] to [7, 8] strides [2, 3]",
     {3, 3},
     [](const Index &i) { return Index{1 + 2 * i[0], 3 * i[1]}; }},
    {"ReshapeSplit",
     {6, 5},
     "reshape %x to [2, 3, 5]",
     {2, 3, 5},
     [](const Index &i) { return Index{3 * i[0] + i[1], i[2]}; }},
    {"ReshapeMerge",
     {2, 3, 5},
     "reshape %x to [2, -1]",
     {2, 15},
     [](const Index &i) { return Index{i[0], i[1] / 5, i[1] % 5}; }},
    {"ReshapeAcross",
     {4, 6},
     "reshape %x to [6, 4]",
     {6, 4},
     [](const Index &i) {
       int64_t place = 4 * i[0] + i[1];
       return Index{place / 6, place % 6};
     }},
    {"ReshapeScalar", {1, 1}, "reshape %x to []", {}, [](const Index &) { return Index{0, 0}; }},
    {"Pad",
     {3, 4},
     "pad %x, %v low [1, 2] high [0, 3]",
     {4, 9},
     [](const Index &i) { return i[0] >= 1 && i[1] >= 2 && i[1] < 6 ? Index{i[0] - 1, i[1] - 2} : Index{-1}; }},
    {"PadInterior",
     {3, 4},
     "pad %x, %v low [0, 1] high [2, 0] interior [2, 1]",
     {9, 8},
     [](const Index &i) {
       return i[0] % 3 == 0 && i[0] < 9 && i[0] / 3 < 3 && i[1] >= 1 && (i[1] - 1) % 2 == 0
                  ? Index{i[0] / 3, (i[1] - 1) / 2}
                  : Index{-1};
     }},
    {"PadNegative",
     {4, 5},
     "pad %x, %v low [-1, 1] high [2, -2] interior [0, 1]",
     {5, 8},
     [](const Index &i) {
       return i[0] < 3 && i[1] >= 1 && i[1] % 2 == 1 ? Index{i[0] + 1, (i[1] - 1) / 2} : Index{-1};
     }},
};

class ShapeOps : public testing::TestWithParam<ShapeCase> {};

TEST_P(ShapeOps, EachElementComesFromItsPlace) {
  const ShapeCase &row = GetParam();
  std::string from = typeOf(row.operand), to = typeOf(row.result);
  std::string types = row.op.find("%v") == std::string::npos ? from : from + ", tensor<i32>";
  LoadedKernels kernels("func.func @k(%x: " + from + ", %v: tensor<i32>) -> " + to + " {\n  %r = dgc." + row.op +
                        " : " + types + "\n  return %r : " + to + "\n}");
  ASSERT_TRUE(kernels.ok());
  Buffer<int32_t> x(countOf(row.operand)), v(1, -5), r(countOf(row.result));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i + 1;
  kernels.call({x.data(), v.data(), r.data()}, 2);
  for (size_t place = 0; place < r.size(); ++place) {
    Index source = row.source(indexOf(place, row.result));
    bool isInside = source.empty() || source[0] >= 0;
    EXPECT_EQ(r[place], isInside ? placeOf(source, row.operand) + 1 : row.otherwise) << "at " << place;
  }
}
INSTANTIATE_TEST_SUITE_P(All, ShapeOps, testing::ValuesIn(kCases), [](const auto &info) { return info.param.name; });

TEST(ShapeOps, Concatenate) {
  LoadedKernels kernels(R"(
    func.func @k(%x: tensor<2x3xi32>, %y: tensor<2x1xi32>, %z: tensor<2x4xi32>) -> tensor<2x8xi32> {
      %r = dgc.concatenate %x, %y, %z dim 1 : tensor<2x3xi32>, tensor<2x1xi32>, tensor<2x4xi32>
      return %r : tensor<2x8xi32>
    })");
  ASSERT_TRUE(kernels.ok());
  std::vector<int32_t> x = {1, 2, 3, 4, 5, 6}, y = {10, 11}, z = {20, 21, 22, 23, 24, 25, 26, 27};
  Buffer<int32_t> r(16);
  kernels.call({x.data(), y.data(), z.data(), r.data()});
  std::vector<int32_t> expected = {1, 2, 3, 10, 20, 21, 22, 23, 4, 5, 6, 11, 24, 25, 26, 27};
  EXPECT_EQ(std::vector<int32_t>(r.data(), r.data() + 16), expected);
}

TEST(ConstantOps, IotaAndConstant) {
  LoadedKernels kernels(R"(
    func.func @k(%from: tensor<i64>, %x: tensor<2x2xi32>) -> (tensor<3x4xi32>, tensor<3x4xf32>, tensor<5xui8>, tensor<2x2xi32>) {
      %0 = dgc.iota dim 1 : tensor<3x4xi32>
      %1 = dgc.iota dim 0 from %from : tensor<3x4xf32>
      %2 = dgc.iota dim 0 : tensor<5xui8>
      %c = dgc.constant dense<[[3, 1], [4, 1]]> : tensor<2x2xi32>
      %3 = dgc.multiply %x, %c : tensor<2x2xi32>
      return %0, %1, %2, %3 : tensor<3x4xi32>, tensor<3x4xf32>, tensor<5xui8>, tensor<2x2xi32>
    })");
  ASSERT_TRUE(kernels.ok());
  int64_t from = 100;
  Buffer<int32_t> a(12), d(4);
  Buffer<float> b(12);
  Buffer<uint8_t> c(5);
  std::vector<int32_t> x = {1, 2, 3, 4};
  kernels.call({&from, x.data(), a.data(), b.data(), c.data(), d.data()});
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(a[i], i % 4);
    EXPECT_EQ(b[i], 100 + i / 4);
  }
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(c[i], i);
  EXPECT_EQ(std::vector<int32_t>(d.data(), d.data() + 4), (std::vector<int32_t>{3, 2, 12, 4}));
}

} // namespace
