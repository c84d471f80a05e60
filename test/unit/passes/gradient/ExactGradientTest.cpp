// Every gradient against forward mode, exactly (docs/design/exact-verification.md).
#include "test/unit/passes/gradient/GradientCases.h"
#include "test/unit/passes/gradient/GradientModel.h"
#include "gmock/gmock.h"

using namespace dgc;
using namespace dgc::test;
using ::testing::HasSubstr;

namespace {

absl::StatusOr<verify::GradientCheckResult> check(const GradientCase &row, const GradientChange &change = {}) {
  absl::StatusOr<verify::Model> model = gradientModel(row, change);
  return model.ok() ? verify::checkGradient(*model, {}) : model.status();
}

class ExactGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(ExactGradient, IsThatOfForwardMode) {
  const absl::StatusOr<verify::GradientCheckResult> verdict = check(GetParam());
  if (std::string(GetParam().name) == "reduce_precision") { // a function of the bits
    EXPECT_THAT(std::string(verdict.status().message()),
                HasSubstr("takes the bits of a floating-point number that is no constant"));
    return;
  }
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->difference, "");
}

INSTANTIATE_TEST_SUITE_P(Table, ExactGradient, testing::ValuesIn(gradientCases),
                         [](const auto &info) { return std::string(info.param.name); });

//===-- Wrong ones ------------------------------------------------------===//

struct WrongGradient {
  const char *name;
  GradientCase row;
  GradientChange change;
};

mlir::Value scaled(mlir::OpBuilder &builder, unsigned argument, mlir::Value gradient) {
  auto type = mlir::cast<mlir::RankedTensorType>(gradient.getType());
  auto factor = mlir::DenseElementsAttr::get(type, builder.getF64FloatAttr(1 + 0x1p-40).getValue());
  mlir::Value constant = ConstantOp::create(builder, gradient.getLoc(), factor);
  return argument ? gradient : MultiplyOp::create(builder, gradient.getLoc(), gradient, constant).getResult();
}

mlir::Value transposed(mlir::OpBuilder &builder, unsigned argument, mlir::Value gradient) {
  return argument
             ? gradient
             : TransposeOp::create(builder, gradient.getLoc(), gradient, llvm::ArrayRef<int64_t>{1, 0}).getResult();
}

mlir::Value negated(mlir::OpBuilder &builder, unsigned argument, mlir::Value gradient) {
  return argument ? gradient : NegateOp::create(builder, gradient.getLoc(), gradient).getResult();
}

const WrongGradient wrongGradients[] = {
    {"tanh_scaled", {"", "%x: tensor<3x5xf64>", "%y = dgc.tanh %x : tensor<3x5xf64>"}, scaled},
    {"softmax_scaled", {"", "%x: tensor<3x4xf64>", "%y = dgc.softmax %x : tensor<3x4xf64>"}, scaled},
    {"layer_norm_scaled",
     {"", "%x: tensor<3x4xf64>, %s: tensor<4xf64>, %o: tensor<4xf64>",
      "%y = dgc.layer_norm %x, %s, %o epsilon 0.01 : tensor<3x4xf64>, tensor<4xf64>, tensor<4xf64>"},
     scaled},
    {"maximum_negated",
     {"", "%x: tensor<7xf64>, %z: tensor<7xf64>", "%y = dgc.maximum %x, %z : tensor<7xf64>"},
     negated},
    {"product_transposed",
     {"", "%x: tensor<3x3xf64>, %w: tensor<3x3xf64>",
      "%y = dgc.dot_general %x, %w contract [1] x [0] : tensor<3x3xf64>, tensor<3x3xf64>"},
     transposed},
    // What is stopped is a term that is missing.
    {"product_without_one_factor",
     {"", "%x: tensor<5xf64>", "%s = dgc.stop_gradient %x : tensor<5xf64>\n%y = dgc.multiply %x, %s : tensor<5xf64>"},
     {}},
    {"softmax_without_its_sum",
     {"", "%x: tensor<3x4xf64>",
      "%e = dgc.exponential %x : tensor<3x4xf64>\n%n = dgc.reduce sum %e dims [1] : tensor<3x4xf64>\n"
      "%s = dgc.stop_gradient %n : tensor<3xf64>\n"
      "%b = dgc.broadcast_in_dim %s dims [0] to [3, 4] : tensor<3xf64>\n%y = dgc.divide %e, %b : tensor<3x4xf64>"},
     {}},
    {"variance_without_its_mean",
     {"", "%x: tensor<5x3xf64>",
      "%z = dgc.constant dense<0.2> : tensor<3xf64>\n%n = dgc.reduce sum %x dims [0] : tensor<5x3xf64>\n"
      "%m = dgc.multiply %n, %z : tensor<3xf64>\n%t = dgc.stop_gradient %m : tensor<3xf64>\n"
      "%b = dgc.broadcast_in_dim %t dims [1] to [5, 3] : tensor<3xf64>\n%d = dgc.subtract %x, %b : tensor<5x3xf64>\n"
      "%q = dgc.multiply %d, %d : tensor<5x3xf64>\n%y = dgc.multiply %q, %d : tensor<5x3xf64>"},
     {}},
};

void PrintTo(const WrongGradient &wrong, std::ostream *os) { *os << wrong.name; }

class Wrong : public testing::TestWithParam<WrongGradient> {};

TEST_P(Wrong, IsFound) {
  const absl::StatusOr<verify::GradientCheckResult> verdict = check(GetParam().row, GetParam().change);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_THAT(verdict->difference, HasSubstr("the gradient is not the derivative of the loss for 'arg0'"));
}

INSTANTIATE_TEST_SUITE_P(Table, Wrong, testing::ValuesIn(wrongGradients),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
