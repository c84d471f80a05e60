// What collectives of the dialect say of themselves is what the table of the runtime says of their kinds.
#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/base/Collective.h"

#include <gtest/gtest.h>
#include <set>

using namespace dgc;

namespace {

constexpr char text[] = R"(
dist.mesh @mesh <data = 2>
func.func @f(%x: tensor<4xf32>) {
  %0 = dist.all_reduce sum %x over @mesh ["data"] : tensor<4xf32>
  %1 = dist.reduce_scatter sum %x dim 0 over @mesh ["data"] : tensor<4xf32> to tensor<2xf32>
  %2 = dist.all_gather %x dim 0 over @mesh ["data"] : tensor<4xf32> to tensor<8xf32>
  %3 = dist.all_to_all %x split 0 concat 0 over @mesh ["data"] : tensor<4xf32> to tensor<4xf32>
  %4 = dist.permute %x targets [1, 0] over @mesh ["data"] : tensor<4xf32> to tensor<4xf32>
  %5 = dist.broadcast %x root 0 over @mesh ["data"] : tensor<4xf32> to tensor<4xf32>
  return
})";

TEST(Collectives, AreDescribedAsInTheRuntime) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<DGCDialect, dist::DistDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  std::set<rt::CollectiveKind> seen;
  module->walk([&](dist::CollectiveOpInterface op) {
    const dist::CollectiveDescription description = op.describe();
    const auto kind = static_cast<rt::CollectiveKind>(description.kind);
    const rt::CollectiveInfo &info = rt::infoOf(kind);
    SCOPED_TRACE(info.name);
    EXPECT_EQ(op->getName().stripDialect().str(), info.name);
    EXPECT_EQ(description.reduction.has_value(), info.reduces);
    EXPECT_EQ(description.inPlace, info.inPlace);
    EXPECT_EQ(description.makesEqual, info.makesEqual);
    seen.insert(kind);
  });
  EXPECT_EQ(static_cast<int>(seen.size()), rt::numCollectiveKinds);
}

} // namespace
