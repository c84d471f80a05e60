// Which dimensions of a model may be smaller, and how small.
#include "compiler/verify/Shrink.h"
#include "compiler/driver/Registration.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace dgc {
namespace {

/// What changes in a model of these lines, on a mesh of so many workers along `data`.
std::string sizesOf(const std::string &lines, int64_t workers, int64_t least = 2) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>("dgc.model @m {\n" + lines + "}\n", &context, "model.mlir");
  CompilePlan plan;
  plan.mesh.axes.push_back({"data", workers});
  mlir::FailureOr<std::unique_ptr<Shrinker>> shrinker = Shrinker::create(*module, plan);
  if (failed(shrinker))
    return "none";
  mlir::FailureOr<ShrunkModel> shrunk = (*shrinker)->shrink(least);
  return succeeded(shrunk) ? shrunk->sizes : "none";
}

const std::string dense = R"(
  %x = dgc.input "x" : tensor<96x100xf32>
  %w = dgc.variable "w" zeros frozen : tensor<100x50xf32>
  %y = dgc.dense %x, %w
  dgc.output "y" %y
)";

TEST(Shrink, KeepsWhatDivides) {
  EXPECT_EQ(sizesOf(dense, 1), "50 -> 2, 96 -> 3, 100 -> 4");
  EXPECT_EQ(sizesOf(dense, 4), "50 -> 7, 96 -> 8, 100 -> 12"); // 50 leaves no worker without an element
  EXPECT_EQ(sizesOf(dense, 4, 20), "50 -> 21, 96 -> 24, 100 -> 28");
  EXPECT_EQ(sizesOf(dense, 4, 200), "");
}

TEST(Shrink, KeepsHeads) {
  EXPECT_EQ(sizesOf(R"(
    %x = dgc.input "x" : tensor<4x64x96xf32>
    %y = dgc.attention %x, %x, %x heads 3 causal
    dgc.output "y" %y
  )",
                    1),
            "4 -> 2, 64 -> 3, 96 -> 6");
}

// 224 is 32 times 7: at 96, which is 32 times 3, each window still begins and ends as before, and the last kernel fits.
const std::string residual = R"(
  %x = dgc.input "x" : tensor<16x224x192x3xf32>
  %k1 = dgc.variable "k1" zeros frozen : tensor<7x7x3x64xf32>
  %k2 = dgc.variable "k2" zeros frozen : tensor<3x3x64x128xf32>
  %k3 = dgc.variable "k3" zeros frozen : tensor<1x1x64x128xf32>
  %k4 = dgc.variable "k4" zeros frozen : tensor<3x3x128x128xf32>
  %w = dgc.variable "w" zeros frozen : tensor<128x1000xf32>
  %a = dgc.conv2d %x, %k1 strides 2 padding [[3, 3], [3, 3]]
  %b = dgc.max_pool %a window 3 strides 2 padding [[1, 1], [1, 1]]
  %c = dgc.conv2d %b, %k2 strides 2 padding [[1, 1], [1, 1]]
  %d = dgc.conv2d %b, %k3 strides 2
  %e = dgc.add %c, %d
  %f = dgc.max_pool %e window 2
  %g = dgc.max_pool %f window 2 padding same
  %h = dgc.conv2d %g, %k4 padding same
  %i = dgc.add %g, %h
  %j = dgc.avg_pool %i window [7, 6]
  %k = dgc.flatten %j
  %y = dgc.dense %k, %w
  dgc.output "y" %y
)";

TEST(Shrink, SlidesWindowsAsBefore) {
  EXPECT_EQ(sizesOf(R"(
    %x = dgc.input "x" : tensor<64x12x12x32xf32>
    %k = dgc.variable "k" zeros frozen : tensor<3x3x32x48xf32>
    %c = dgc.conv2d %x, %k
    %p = dgc.max_pool %c window [2, 2]
    dgc.output "p" %p
  )",
                    1),
            "12 -> 6, 32 -> 2, 48 -> 3, 64 -> 4");
  EXPECT_EQ(sizesOf(residual, 1), "3 -> 2, 16 -> 3, 64 -> 4, 128 -> 5, 192 -> 96, 224 -> 96, 1000 -> 6");
  EXPECT_EQ(sizesOf(residual, 1, 100), "128 -> 100, 192 -> 128, 224 -> 128, 1000 -> 101");
}

// What is flattened has a size for each of its parts.
TEST(Shrink, FlattensWhatFollowsFromWindows) {
  EXPECT_EQ(sizesOf(R"(
    %x = dgc.input "x" : tensor<8x12x20x1xf32>
    %k = dgc.variable "k" zeros frozen : tensor<3x3x1x6xf32>
    %w = dgc.variable "w" zeros frozen : tensor<270x10xf32>
    %c = dgc.conv2d %x, %k
    %p = dgc.max_pool %c window [2, 2]
    %f = dgc.flatten %p
    %y = dgc.dense %f, %w
    dgc.output "y" %y
  )",
                    1),
            "6 -> 2, 8 -> 2, 10 -> 3, 12 -> 6, 20 -> 6, 270 -> 8");
}

// A size that a second input has, too; one that a constant has; what is padded without a window.
TEST(Shrink, KeepsSizesThatDoNotFollow) {
  const std::string convolution = R"(
    %x = dgc.input "x" : tensor<16x12x12x1xf32>
    %k = dgc.variable "k" zeros frozen : tensor<3x3x1x1xf32>
    %c = dgc.conv2d %x, %k
  )";
  EXPECT_EQ(sizesOf(convolution + R"(
    %z = dgc.input "z" : tensor<16x10x10x1xf32>
    %y = dgc.add %c, %z
    dgc.output "y" %y
  )",
                    1),
            "10 -> 2, 12 -> 4, 16 -> 2");
  EXPECT_EQ(sizesOf(convolution + R"(
    %z = dgc.input "z" : tensor<16x12x12x1xf32>
    %d = dgc.conv2d %c, %k padding [[2, 2], [2, 2]]
    %y = dgc.add %d, %z
    dgc.output "y" %y
  )",
                    1),
            "12 -> 5, 16 -> 2");
  EXPECT_EQ(sizesOf(convolution + R"(
    %z = dgc.constant dense<[1., 2., 3., 4., 5., 6., 7., 8., 9., 10.]> : tensor<10xf32>
    %b = dgc.reshape %z to [10, 1]
    %y = dgc.add %c, %b
    dgc.output "y" %y
  )",
                    1),
            "12 -> 4, 16 -> 2");
  EXPECT_EQ(sizesOf(convolution + R"(
    %y = dgc.slice %c from [0, 1, 0, 0] to [16, 9, 10, 1]
    dgc.output "y" %y
  )",
                    1),
            "12 -> 4, 16 -> 2");
}

TEST(Shrink, AdaptsShapesThatAreWritten) {
  EXPECT_EQ(sizesOf(R"(
    %x = dgc.input "x" : tensor<16x40xf32>
    %y = dgc.reshape %x to [-1, 8, 5]
    dgc.output "y" %y
  )",
                    1),
            "16 -> 2, 40 -> 4");
}

TEST(Shrink, KeepsWhatConstantsHave) {
  EXPECT_EQ(sizesOf(R"(
    %x = dgc.input "x" : tensor<16x3xf32>
    %c = dgc.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %y = dgc.bias_add %x, %c
    dgc.output "y" %y
  )",
                    1),
            "16 -> 2");
}

} // namespace
} // namespace dgc
