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

TEST(Shrink, KeepsWindowsAndWhatMoves) {
  EXPECT_EQ(sizesOf(R"(
    %x = dgc.input "x" : tensor<64x12x12x32xf32>
    %k = dgc.variable "k" zeros frozen : tensor<3x3x32x48xf32>
    %c = dgc.conv2d %x, %k
    %p = dgc.max_pool %c window [2, 2]
    dgc.output "p" %p
  )",
                    1),
            "32 -> 2, 48 -> 3, 64 -> 4");
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
