// The loops that machine code for CPUs is made of compute what the ops of a kernel say, in exact arithmetic: for every
// kernel of plans of models.
#include "compiler/driver/Compile.h"
#include "compiler/driver/Registration.h"
#include "compiler/target/cpu/Lowering.h"
#include "compiler/verify/LoopsCheck.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace dgc {
namespace {

constexpr int64_t kFlops = 1 << 24;

struct Case {
  const char *name, *model, *mesh, *strategy;
  const char *precision = "f32";
};
void PrintTo(const Case &each, std::ostream *os) { *os << each.name; }

LogicalResult toLoops(func::FuncOp kernel) { return success(succeeded(lowerKernelToLoops(kernel))); }

/// What the phases give, with the kernels in dgc ops.
class Loops : public ::testing::TestWithParam<Case> {
protected:
  Loops() { registerAllDialects(registry); }

  ModuleOp kernelsOf(const Case &how) {
    CompileOptions options;
    std::string error;
    EXPECT_TRUE(readOption("x86-64-v3", options.target, error)) << error;
    EXPECT_TRUE(readOption(how.strategy, options.strategy, error)) << error;
    EXPECT_TRUE(readOption(how.mesh, options.mesh, error)) << error;
    EXPECT_TRUE(readOption(how.precision, options.precision, error)) << error;
    options.batch.value = 5;
    context.emplace(registry, MLIRContext::Threading::DISABLED);
    module = parseSourceFile<ModuleOp>(DGC_SOURCE_DIR "/" + std::string(how.model) + ".mlir", &*context);
    if (!module || failed(compile(*module, options)))
      return {};
    return module->lookupSymbol<ModuleOp>("kernels");
  }

  ModuleOp parse(const char *text) {
    module = {};
    context.emplace(registry, MLIRContext::Threading::DISABLED);
    module = parseSourceString<ModuleOp>(text, &*context);
    return module ? *module : ModuleOp();
  }

  DialectRegistry registry;
  std::optional<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
};

TEST_P(Loops, ComputeWhatTheOpsSay) {
  ModuleOp kernels = kernelsOf(GetParam());
  ASSERT_TRUE(kernels);
  FailureOr<LoopsCheckResult> result = checkLoops(kernels, toLoops, 7, kFlops);
  ASSERT_TRUE(succeeded(result));
  EXPECT_EQ(result->difference, "");
  EXPECT_EQ(result->tooLarge, 0u);
  EXPECT_GT(result->kernels, 3u);
  EXPECT_GT(result->values, 100u);
}

const Case cases[] = {
    {"Transformer", "benchmarks/exact/models/transformer", "data=2", "zero2"},
    {"TransformerRecomputed", "benchmarks/exact/models/transformer", "data=3", "data-parallel,recompute=layer.*"},
    {"TransformerInHalves", "benchmarks/exact/models/transformer", "data=2", "data-parallel", "bf16"},
    {"Convolutions", "benchmarks/exact/models/convolutions", "data=2", "data-parallel"},
    {"OverBatch", "benchmarks/exact/models/over_batch", "data=2", "data-parallel"},
    {"Operands", "benchmarks/exact/models/operands", "data=2", "accumulate=2"},
    {"Perceptron", "examples/mnist_mlp", "data=3", "zero3"},
};
INSTANTIATE_TEST_SUITE_P(All, Loops, ::testing::ValuesIn(cases), [](const auto &each) { return each.param.name; });

TEST_F(Loops, ThatAreTooLargeAreLeftOut) {
  ModuleOp kernels = kernelsOf(cases[0]);
  ASSERT_TRUE(kernels);
  FailureOr<LoopsCheckResult> result = checkLoops(kernels, toLoops, 7, /*maxFlops=*/100);
  ASSERT_TRUE(succeeded(result));
  EXPECT_GT(result->kernels, 0u);
  EXPECT_GT(result->tooLarge, 0u);
}

/// The first sum of floating-point numbers becomes a difference.
LogicalResult toLoopsWithAWrongSign(func::FuncOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  if (failed(lowerKernelToLoops(kernel)))
    return failure();
  module.walk([](arith::AddFOp sum) {
    OpBuilder builder(sum);
    auto difference = arith::SubFOp::create(builder, sum.getLoc(), sum.getLhs(), sum.getRhs());
    sum.replaceAllUsesWith(difference.getResult());
    sum.erase();
    return WalkResult::interrupt();
  });
  return success();
}

/// One iteration of the innermost loops is left out.
LogicalResult toLoopsThatEndEarly(func::FuncOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  if (failed(lowerKernelToLoops(kernel)))
    return failure();
  module.walk([](Operation *op) {
    if (op->getName().getStringRef() != "scf.for")
      return;
    OpBuilder builder(op);
    Value end = op->getOperand(1);
    Value one = arith::ConstantOp::create(builder, op->getLoc(), builder.getIntegerAttr(end.getType(), 1));
    op->setOperand(1, arith::SubIOp::create(builder, op->getLoc(), end, one));
  });
  return success();
}

TEST_F(Loops, ThatAreWrongAreNoticed) {
  ModuleOp kernels = kernelsOf(cases[0]);
  ASSERT_TRUE(kernels);
  for (LoopLowering lower : {toLoopsWithAWrongSign, toLoopsThatEndEarly}) {
    FailureOr<LoopsCheckResult> result = checkLoops(kernels, lower, 7, kFlops);
    ASSERT_TRUE(succeeded(result));
    EXPECT_NE(result->difference, "");
  }
}

// Of negative numbers they are none, and what is computed of them is equal.
TEST_F(Loops, OfLogarithmsThatAreWrongAreNoticed) {
  ModuleOp kernels = parse(R"(
    func.func @k(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<f32> {
      %0 = dgc.log %a : tensor<64xf32>
      %1 = dgc.add %0, %b : tensor<64xf32>
      %2 = dgc.reduce sum %1 dims [0] : tensor<64xf32>
      return %2 : tensor<f32>
    })");
  ASSERT_TRUE(kernels);
  FailureOr<LoopsCheckResult> result = checkLoops(kernels, toLoopsWithAWrongSign, 7, kFlops);
  ASSERT_TRUE(succeeded(result));
  EXPECT_NE(result->difference, "");
}

TEST_F(Loops, ThatOverwriteWhatTheyStillReadAreNoticed) {
  const std::string text = R"(
    func.func @k(%a: tensor<8x8xf32>) -> tensor<8x8xf32> ATTRIBUTES {
      %0 = dgc.transpose %a permutation [1, 0] : tensor<8x8xf32>
      %1 = dgc.tanh %0 : tensor<8x8xf32>
      return %1 : tensor<8x8xf32>
    })";
  for (bool isInPlace : {false, true}) {
    std::string kernel = text;
    kernel.replace(kernel.find("ATTRIBUTES"), 10, isInPlace ? "attributes {dgc.inplace = array<i64: 0>}" : "");
    ModuleOp kernels = parse(kernel.c_str());
    ASSERT_TRUE(kernels);
    FailureOr<LoopsCheckResult> result = checkLoops(kernels, toLoops, 7, kFlops);
    ASSERT_TRUE(succeeded(result));
    EXPECT_EQ(result->difference.empty(), !isInPlace) << result->difference;
  }
}

/// Integers that are read are at most 1.
LogicalResult toLoopsOfOneExample(func::FuncOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  if (failed(lowerKernelToLoops(kernel)))
    return failure();
  module.walk([](LLVM::LoadOp load) {
    if (!load.getType().isInteger(32))
      return;
    OpBuilder builder(load->getBlock(), std::next(load->getIterator()));
    Value one = arith::ConstantOp::create(builder, load.getLoc(), builder.getI32IntegerAttr(1));
    auto least = arith::MinSIOp::create(builder, load.getLoc(), load.getResult(), one);
    load.getResult().replaceAllUsesExcept(least.getResult(), least);
  });
  return success();
}

TEST_F(Loops, ThatMaskManyExamplesWronglyAreNoticed) {
  ModuleOp kernels = parse(R"(
    func.func @k(%n: tensor<i32>, %x: tensor<16xf32>) -> tensor<16xf32> {
      %0 = dgc.iota dim 0 : tensor<16xi32>
      %1 = dgc.broadcast_in_dim %n dims [] to [16] : tensor<i32>
      %2 = dgc.compare lt %0, %1 : tensor<16xi32>
      %3 = dgc.constant dense<0.0> : tensor<16xf32>
      %4 = dgc.select %2, %x, %3 : tensor<16xi1>, tensor<16xf32>, tensor<16xf32>
      return %4 : tensor<16xf32>
    })");
  ASSERT_TRUE(kernels);
  for (LoopLowering lower : {toLoops, toLoopsOfOneExample}) {
    FailureOr<LoopsCheckResult> result = checkLoops(kernels, lower, 7, kFlops);
    ASSERT_TRUE(succeeded(result));
    EXPECT_EQ(result->difference.empty(), lower == static_cast<LoopLowering>(toLoops)) << result->difference;
  }
}

template <int64_t step> LogicalResult toLoopsWithStep(func::FuncOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  if (failed(lowerKernelToLoops(kernel)))
    return failure();
  module.walk([](Operation *op) {
    if (op->getName().getStringRef() != "scf.for")
      return;
    OpBuilder builder(op);
    op->setOperand(
        2, arith::ConstantOp::create(builder, op->getLoc(), builder.getIntegerAttr(op->getOperand(2).getType(), step)));
  });
  return success();
}

TEST_F(Loops, ThatCannotBeRunAreNoDifference) {
  ModuleOp kernels = kernelsOf(cases[0]);
  ASSERT_TRUE(kernels);
  std::string error;
  ScopedDiagnosticHandler errors(&*context, [&](Diagnostic &diagnostic) { error = diagnostic.str(); });
  for (LoopLowering lower : {toLoopsWithStep<0>, toLoopsWithStep<-1>}) {
    EXPECT_TRUE(failed(checkLoops(kernels, lower, 7, kFlops)));
    EXPECT_NE(error.find("the check of loops cannot go on: loops of kernel '"), std::string::npos) << error;
    EXPECT_NE(error.find("scf.for has a step of "), std::string::npos) << error;
  }
}

/// Elements of loops are read from behind their buffers.
LogicalResult toLoopsThatReadOutside(func::FuncOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  if (failed(lowerKernelToLoops(kernel)))
    return failure();
  module.walk([](scf::ForOp loop) {
    loop.walk([](LLVM::LoadOp load) {
      OpBuilder builder(load);
      auto outside = LLVM::GEPOp::create(builder, load.getLoc(), load.getAddr().getType(), load.getType(),
                                         load.getAddr(), ArrayRef<LLVM::GEPArg>{1 << 20});
      load.getAddrMutable().assign(outside);
    });
    return WalkResult::interrupt();
  });
  return success();
}

TEST_F(Loops, ThatLeaveTheirMemoryDiffer) {
  ModuleOp kernels = kernelsOf(cases[0]);
  ASSERT_TRUE(kernels);
  FailureOr<LoopsCheckResult> result = checkLoops(kernels, toLoopsThatReadOutside, 7, kFlops);
  ASSERT_TRUE(succeeded(result));
  EXPECT_NE(result->difference.find(" uses element "), std::string::npos) << result->difference;
}

} // namespace
} // namespace dgc
