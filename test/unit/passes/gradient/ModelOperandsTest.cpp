// Gradients of what a model has as operands: numbers, and values that are broadcast.

#include "passes/model/Passes.h"
#include "test/unit/passes/gradient/GradientCheck.h"

using namespace dgc::test;

namespace {

/// Inputs of a model and what it computes from them, as the arguments and the body of a function: that of its predict.
struct Lowered {
  std::string arguments, body;

  Lowered(const std::string &inputs, const std::string &ops) {
    mlir::MLIRContext context;
    dgc::loadKernelDialects(context);
    std::string text = "dgc.model @m {\n" + inputs + "\n" + ops + "\ndgc.output \"y\" %y\n}";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    mlir::PassManager pm(&context);
    pm.addPass(dgc::createInferTypesPass());
    pm.addPass(dgc::createBuildEntryPointsPass());
    if (!module || failed(pm.run(*module))) {
      ADD_FAILURE() << text;
      return;
    }
    auto function = module->lookupSymbol<mlir::func::FuncOp>("predict");
    llvm::raw_string_ostream argumentText(arguments), bodyText(body);
    for (mlir::BlockArgument argument : function.getArguments())
      argumentText << (argument.getArgNumber() ? ", %arg" : "%arg") << argument.getArgNumber() << ": "
                   << argument.getType();
    for (mlir::Operation &op : function.getBody().front().without_terminator()) {
      op.print(bodyText);
      bodyText << "\n";
    }
  }
};

struct ModelCase {
  const char *name, *inputs, *ops;
  double low = -2, high = 2;
};

const char *kMatrixAndRow = R"(
  %x = dgc.input "x" : tensor<3x5xf64>
  %z = dgc.input "z" batch 0 : tensor<3x1xf64>
)";

const ModelCase kCases[] = {
    {"number_right", "%x = dgc.input \"x\" : tensor<3x5xf64>", "%y = dgc.multiply %x, -0.5"},
    {"number_left", "%x = dgc.input \"x\" : tensor<3x5xf64>", "%y = dgc.divide 3, %x", 0.5, 2},
    {"power", "%x = dgc.input \"x\" : tensor<3x5xf64>", "%y = dgc.power %x, 3", 0.4, 2},
    {"clamp", "%x = dgc.input \"x\" : tensor<3x5xf64>", "%y = dgc.clamp -1, %x, 1e0"},
    {"add", kMatrixAndRow, "%y = dgc.add %x, %z"},
    {"subtract", kMatrixAndRow, "%y = dgc.subtract %z, %x"},
    {"multiply", kMatrixAndRow, "%y = dgc.multiply %z, %x"},
    {"divide", kMatrixAndRow, "%y = dgc.divide %x, %z", 0.5, 2},
    {"power_broadcast", kMatrixAndRow, "%y = dgc.power %x, %z", 0.4, 2},
    {"atan2", kMatrixAndRow, "%y = dgc.atan2 %z, %x"},
    {"maximum", kMatrixAndRow, "%y = dgc.maximum %x, %z"},
    {"minimum", kMatrixAndRow, "%y = dgc.minimum %z, %x"},
    {"remainder", kMatrixAndRow, "%y = dgc.remainder %x, %z", 0.5, 3},
    {"select", kMatrixAndRow,
     "%i = dgc.iota dim 0 : tensor<5xi32>\n%p = dgc.compare lt %i, 2\n%y = dgc.select %p, %z, %x"},
    {"select_number", kMatrixAndRow, "%p = dgc.compare lt %x, %z\n%y = dgc.select %p, %x, 0"},
    {"clamp_broadcast", kMatrixAndRow, "%y = dgc.clamp %z, %x, 1.5"},
    // Each is larger than the other along a dimension.
    {"both_sides", R"(
  %x = dgc.input "x" : tensor<3x1xf64>
  %w = dgc.variable "w" zeros : tensor<4xf64>
)",
     "%y = dgc.multiply %x, %w"},
    {"scalar", R"(
  %x = dgc.input "x" : tensor<3x5xf64>
  %t = dgc.variable "t" constant 1 : tensor<f64>
)",
     "%y = dgc.multiply %t, %x"},
    {"three_ranks", R"(
  %x = dgc.input "x" : tensor<2x1x4xf64>
  %w = dgc.variable "w" zeros : tensor<3x1xf64>
  %v = dgc.variable "v" zeros : tensor<4xf64>
)",
     "%a = dgc.add %w, %v\n%y = dgc.multiply %a, %x"},
    {"constant_and_iota", "%x = dgc.input \"x\" : tensor<3x5xf64>",
     "%c = dgc.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf64>\n%i = dgc.iota dim 1 : tensor<3x5xf64>\n"
     "%a = dgc.multiply %x, %c\n%y = dgc.add %a, %i"},
};

class ModelOperands : public testing::TestWithParam<ModelCase> {};

TEST_P(ModelOperands, GradientAgreesWithCentralDifferences) {
  Lowered lowered(GetParam().inputs, GetParam().ops);
  GradientCase row{GetParam().name, lowered.arguments.c_str(), lowered.body.c_str(), GetParam().low, GetParam().high};
  EXPECT_LT(gradientError(row, row), row.tolerance) << lowered.body;
}

INSTANTIATE_TEST_SUITE_P(Table, ModelOperands, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

// What the comparison finds: a number that is another one.
TEST(ModelOperandsControl, AnotherNumberFails) {
  const char *input = "%x = dgc.input \"x\" : tensor<3x5xf64>";
  Lowered half(input, "%y = dgc.multiply %x, 0.5"), other(input, "%y = dgc.multiply %x, 0.501");
  GradientCase a{"half", half.arguments.c_str(), half.body.c_str()};
  GradientCase b{"other", other.arguments.c_str(), other.body.c_str()};
  EXPECT_GT(gradientError(a, b), 1e-4);
}

} // namespace
