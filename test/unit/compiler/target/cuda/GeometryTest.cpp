//===- GeometryTest.cpp - the grids of kernels --------------------------------===//
//
// How many blocks of how many threads a kernel has tells how its threads share it: which have points of their own, which
// a row or some columns, and which a tile. What the kernels compute is tested with those of the CPU.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/Lowering.h"
#include "compiler/target/cuda/GridEmitter.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace dgc;
using llvm::divideCeil;
using llvm::formatv;
using testing::ElementsAre;

namespace {

/// The threads of a block where each has points of its own, and of a warp.
constexpr uint32_t kThreads = 256, kWarp = 32;

/// Blocks and threads of each grid of a kernel.
using Grids = std::vector<std::pair<uint32_t, uint32_t>>;

Grids gridsOf(const std::string &text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadKernelDialects(context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return {};
  auto func = *module->getOps<mlir::func::FuncOp>().begin();
  if (failed(lowerKernelToLinalg(func)))
    return {};
  mlir::FailureOr<CompiledKernel> kernel = lowerKernelToGrids(func);
  Grids grids;
  if (succeeded(kernel))
    for (const KernelLaunch &launch : kernel->launches)
      grids.emplace_back(launch.grid, launch.block);
  return grids;
}

/// One grid in which each thread has `vector` of the points.
auto eachPoint(int64_t points, int64_t vector) {
  return ElementsAre(std::pair<uint32_t, uint32_t>(divideCeil(divideCeil(points, vector), kThreads), kThreads));
}

/// The tiles of two loops with so many points on each side.
int64_t tiles(int64_t from, int64_t to, int64_t side = 32) { return divideCeil(from, side) * divideCeil(to, side); }

/// One grid with so many blocks, each with a tile.
auto oneGrid(int64_t blocks) { return ElementsAre(std::pair<uint32_t, uint32_t>(blocks, kThreads)); }

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

// Accesses of the wider type are of 16 bytes; arrays that this does not divide have no fewer points a thread.
TEST(Points, OfOneArray) {
  for (int n : {1, 5, 8, 1027, 4099, 6145})
    EXPECT_THAT(gridsOf(formatv(R"(
      func.func @k(%a: tensor<{0}xbf16>, %b: tensor<{0}xf32>) -> (tensor<{0}xf32>, tensor<{0}xbf16>) {{
        %x = dgc.convert %a to f32 : tensor<{0}xbf16>
        %r = dgc.add %x, %b : tensor<{0}xf32>
        %h = dgc.convert %r to bf16 : tensor<{0}xf32>
        return %r, %h : tensor<{0}xf32>, tensor<{0}xbf16>
      })",
                                n)),
                eachPoint(n, 4))
        << n;
}

// Arrays that are not related have ranges of blocks in one grid.
TEST(Points, OfSeveralArrays) {
  EXPECT_THAT(gridsOf(R"(
    func.func @k(%a: tensor<1000xf32>, %b: tensor<512x8xf32>) -> (tensor<1000xf32>, tensor<512x8xf32>) {
      %0 = dgc.add %a, %a : tensor<1000xf32>
      %1 = dgc.add %b, %b : tensor<512x8xf32>
      return %0, %1 : tensor<1000xf32>, tensor<512x8xf32>
    })"),
              oneGrid(1 + 512 * 8 / 4 / kThreads));
}

//===----------------------------------------------------------------------===//
// Rows and columns
//===----------------------------------------------------------------------===//

Grids softmax(int rows, int n) {
  return gridsOf(formatv(R"(
    func.func @k(%x: tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32> {{
      %m = dgc.reduce max %x dims [1] : tensor<{0}x{1}xf32>
      %mb = dgc.broadcast_in_dim %m dims [0] to [{0}, {1}] : tensor<{0}xf32>
      %s = dgc.subtract %x, %mb : tensor<{0}x{1}xf32>
      %e = dgc.exponential %s : tensor<{0}x{1}xf32>
      %t = dgc.reduce sum %e dims [1] : tensor<{0}x{1}xf32>
      %tb = dgc.broadcast_in_dim %t dims [0] to [{0}, {1}] : tensor<{0}xf32>
      %r = dgc.divide %e, %tb : tensor<{0}x{1}xf32>
      return %r : tensor<{0}x{1}xf32>
    })",
                         rows, n));
}

Grids sum(int rows, int columns, const std::string &dims, const std::string &result) {
  return gridsOf(formatv(R"(
    func.func @k(%x: tensor<{0}x{1}xf32>) -> tensor<{2}> {{
      %r = dgc.reduce sum %x dims [{3}] : tensor<{0}x{1}xf32>
      return %r : tensor<{2}>
    })",
                         rows, columns, result, dims));
}

// Eight rows for each block while a warp can keep one, then one.
TEST(Rows, AreOfAWarpOrABlock) {
  EXPECT_THAT(softmax(64, 1000), oneGrid(64 * kWarp / kThreads));
  EXPECT_THAT(softmax(67, 1000), oneGrid(divideCeil(67 * kWarp, kThreads)));
  EXPECT_THAT(softmax(64, 3000), oneGrid(64));
  Grids tooLongToBeKept = softmax(16, 50257);
  ASSERT_EQ(tooLongToBeKept.size(), 1u);
  EXPECT_EQ(tooLongToBeKept[0].first, 16u);
  EXPECT_GT(tooLongToBeKept[0].second, kThreads);
  EXPECT_THAT(sum(16, 8192, "1", "16xf32"), oneGrid(16));
}

// Neighbours in a warp have neighbouring columns.
TEST(Columns, AreOfAWarpEach) { EXPECT_THAT(sum(128, 512, "0", "512xf32"), oneGrid(512 / kWarp)); }

// Where rows or columns alone do not keep a GPU busy, blocks share them, each with no fewer than 8192 addends of a row or
// 128 rows of a column, and a second grid adds up what they have.
TEST(SharedSums, HaveASecondGrid) {
  Grids columns = sum(8192, 768, "0", "768xf32");
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].first % (768 / kWarp), 0u); // as many for each 32 columns
  EXPECT_GT(columns[0].first, 768 / kWarp);
  EXPECT_LE(columns[0].first, 768 / kWarp * 8192 / 128);
  EXPECT_EQ(columns[1], std::make_pair(768 / kThreads, kThreads));

  Grids all = sum(4096, 768, "0, 1", "f32");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].first, 4096u * 768 / 8192);
  EXPECT_EQ(all[1].first, 1u);
  EXPECT_EQ(sum(64, 256, "0, 1", "f32").size(), 1u); // few addends
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

std::string joined(const std::vector<int64_t> &numbers, const char *between) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : between) + std::to_string(number);
  return text;
}

Grids transpose(const std::string &type, const std::vector<int64_t> &shape, const std::vector<int64_t> &permutation) {
  std::vector<int64_t> result;
  for (int64_t dim : permutation)
    result.push_back(shape[dim]);
  return gridsOf(formatv("func.func @k(%x: tensor<{0}x{2}>) -> tensor<{1}x{2}> {{\n"
                         "%r = dgc.transpose %x permutation [{3}] : tensor<{0}x{2}>\n"
                         "return %r : tensor<{1}x{2}> }",
                         joined(shape, "x"), joined(result, "x"), type, joined(permutation, ", ")));
}

TEST(Tiles, OfEveryType) {
  for (const char *type : {"f32", "f64", "i8", "i1", "bf16", "i64"})
    EXPECT_THAT(transpose(type, {131, 193}, {1, 0}), oneGrid(tiles(131, 193))) << type;
}

// Large ones of small elements are twice as long on each side, where pairs of elements are whole.
TEST(Tiles, AreWideWhereElementsAreSmall) {
  EXPECT_THAT(transpose("f16", {520, 514}, {1, 0}), oneGrid(tiles(520, 514, 64)));
  EXPECT_THAT(transpose("i8", {514, 1024}, {1, 0}), oneGrid(tiles(514, 1024, 64)));
  EXPECT_THAT(transpose("f16", {521, 514}, {1, 0}), oneGrid(tiles(521, 514)));
  EXPECT_THAT(transpose("f32", {520, 514}, {1, 0}), oneGrid(tiles(520, 514)));
  EXPECT_THAT(transpose("f16", {260, 514}, {1, 0}), oneGrid(tiles(260, 514))); // too few for a GPU
}

// Loops that follow each other in both arrays are one; others are outside of the tiles.
TEST(Tiles, AreOfTwoLoops) {
  EXPECT_THAT(transpose("f32", {3, 70, 90}, {0, 2, 1}), oneGrid(3 * tiles(70, 90)));
  EXPECT_THAT(transpose("f32", {40, 9, 70}, {2, 0, 1}), oneGrid(tiles(40 * 9, 70)));
  EXPECT_THAT(transpose("f32", {40, 9, 70}, {1, 2, 0}), oneGrid(tiles(40, 9 * 70)));
  EXPECT_THAT(transpose("f32", {4, 9, 9, 64}, {0, 3, 1, 2}), oneGrid(4 * tiles(9 * 9, 64)));
  EXPECT_THAT(transpose("f32", {5, 3, 40, 70}, {3, 1, 0, 2}), oneGrid(5 * 3 * tiles(40, 70)));
}

// What lies along the result's loop already, few elements, narrow ones.
TEST(Tiles, AreNotNeededEverywhere) {
  EXPECT_THAT(transpose("f32", {4, 20, 12, 64}, {0, 2, 1, 3}), eachPoint(4 * 20 * 12 * 64, 4));
  EXPECT_THAT(transpose("f32", {40, 3, 70, 2}, {2, 1, 0, 3}), eachPoint(40 * 3 * 70 * 2, 2)); // pairs stay together
  EXPECT_THAT(transpose("f32", {100, 100}, {1, 0}), eachPoint(100 * 100, 4));
  EXPECT_THAT(transpose("f32", {8192, 3}, {1, 0}), eachPoint(8192 * 3, 4));
  EXPECT_THAT(transpose("f32", {3, 8192}, {1, 0}), eachPoint(8192 * 3, 4));
}

// With ops before and after the transpose, also of a part of the array.
TEST(Tiles, OfWhatIsComputed) {
  EXPECT_THAT(gridsOf(R"(
    func.func @k(%a: tensor<150x133xf32>, %b: tensor<150x133xbf16>, %c: tensor<133x145xf32>) -> tensor<133x145xf32> {
      %0 = dgc.convert %b to f32 : tensor<150x133xbf16>
      %1 = dgc.multiply %a, %0 : tensor<150x133xf32>
      %2 = dgc.transpose %1 permutation [1, 0] : tensor<150x133xf32>
      %3 = dgc.slice %2 from [0, 5] to [133, 150] : tensor<133x150xf32>
      %4 = dgc.subtract %3, %c : tensor<133x145xf32>
      return %4 : tensor<133x145xf32>
    })"),
              oneGrid(tiles(145, 133)));
}

// Segments of a grid have tiles of their own sizes, or none.
TEST(Tiles, OfSegmentsOfOneGrid) {
  EXPECT_THAT(gridsOf(R"(
    func.func @k(%f: tensor<3x3x40x72xf32>, %v: tensor<5000xf32>, %g: tensor<512x512xbf16>, %x: tensor<200x200xf32>)
        -> (tensor<72x3x3x40xbf16>, tensor<5000xf32>, tensor<512x512xbf16>, tensor<200x200xf32>) {
      %h = dgc.convert %f to bf16 : tensor<3x3x40x72xf32>
      %t = dgc.transpose %h permutation [3, 0, 1, 2] : tensor<3x3x40x72xbf16>
      %w = dgc.add %v, %v : tensor<5000xf32>
      %u = dgc.transpose %g permutation [1, 0] : tensor<512x512xbf16>
      %y = dgc.transpose %x permutation [1, 0] : tensor<200x200xf32>
      return %t, %w, %u, %y : tensor<72x3x3x40xbf16>, tensor<5000xf32>, tensor<512x512xbf16>, tensor<200x200xf32>
    })"),
              oneGrid(tiles(3 * 3 * 40, 72) + divideCeil(5000, 4 * kThreads) + tiles(512, 512, 64) + tiles(200, 200)));
}

} // namespace
