//===- RulesTest.cpp - sharding rules and costs of the ops -----------------===//
//
// A rule is written like an einsum: the factors of every dimension of the operands, "->", those of the results. Letters
// are factors, in the order of the rule; several in one dimension are in parentheses, major first; "1" is none. What is
// not passed through is listed behind it: a reduction by its kind, "whole" for what must not be cut, "moves" for what
// can be cut at the price of moving elements.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"

#include "dialects/dgc/DGC.h"
#include "test/unit/compiler/target/cpu/LoadedKernels.h"

using namespace mlir;
using namespace dgc;

namespace {

std::string describe(const TensorFactors &tensor) {
  std::string text = "[";
  for (const auto &factors : tensor.dims) {
    std::string dim;
    for (unsigned factor : factors)
      dim += char('a' + factor);
    text += text.size() > 1 ? " " : "";
    text += dim.empty() ? "1" : dim.size() == 1 ? dim : "(" + dim + ")";
  }
  return text + "]";
}

std::string describe(const ShardingRule &rule) {
  std::string text;
  for (const TensorFactors &tensor : rule.operands)
    text += describe(tensor) + " ";
  text += "->";
  for (const TensorFactors &tensor : rule.results)
    text += " " + describe(tensor);
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    std::string name(1, char('a' + i));
    if (factor.kind == FactorKind::Reduction)
      text += ", " + name + " " + stringifyEnum(factor.reduction).str();
    if (factor.kind == FactorKind::NeedReplication)
      text += ", " + name + " whole";
    if (factor.kind == FactorKind::Permutation)
      text += ", " + name + " moves";
  }
  return text;
}

/// Every dimension's factors must multiply to its size; what a window moves along is as long as each tensor has it.
void expectSizes(const ShardingRule &rule, ArrayRef<TensorFactors> tensors, TypeRange types) {
  for (auto [tensor, type] : llvm::zip_equal(tensors, types))
    for (auto [factors, size] : llvm::zip_equal(tensor.dims, cast<RankedTensorType>(type).getShape())) {
      int64_t product = 1;
      for (unsigned factor : factors)
        product *= rule.factors[factor].kind == FactorKind::Permutation ? size : rule.factors[factor].size;
      EXPECT_EQ(product, size) << describe(rule);
    }
}

struct RuleCase {
  const char *name, *arguments, *op, *rule;
  uint64_t flops;
};

void PrintTo(const RuleCase &c, std::ostream *os) { *os << c.name; }

const RuleCase kCases[] = {
    {"reduce", "%x: tensor<4x5x6xf32>", "dgc.reduce max %x dims [0, 2] : tensor<4x5x6xf32>",
     "[a b c] -> [b], a max, c max", 120},
    {"matmul", "%x: tensor<4x5xf32>, %w: tensor<5x6xf32>",
     "dgc.dot_general %x, %w contract [1] x [0] : tensor<4x5xf32>, tensor<5x6xf32>", "[a c] [c b] -> [a b], c sum",
     240},
    {"batch_matmul", "%x: tensor<2x4x5xf32>, %w: tensor<6x2x5xf32>",
     "dgc.dot_general %x, %w batch [0] x [1] contract [2] x [2] : tensor<2x4x5xf32>, tensor<6x2x5xf32>",
     "[a b d] [c a d] -> [a b c], d sum", 480},
    {"gather", "%x: tensor<65x128xf32>, %i: tensor<12x64xi32>",
     "dgc.gather %x, %i dim 0 : tensor<65x128xf32>, tensor<12x64xi32>", "[d c] [a b] -> [a b c], d sum", 0},
    {"gather_inner", "%x: tensor<4x5x6xf32>, %i: tensor<7xi32>, %o: tensor<i64>",
     "dgc.gather %x, %i dim 1 from %o : tensor<4x5x6xf32>, tensor<7xi32>", "[a d c] [b] [] -> [a b c], d sum", 0},
    {"scatter_add", "%i: tensor<12x64xi32>, %u: tensor<12x64x128xf32>",
     "dgc.scatter_add %i, %u dim 0 size 65 : tensor<12x64xi32>, tensor<12x64x128xf32>",
     "[c d] [c d b] -> [a b], c sum, d sum", 12 * 64 * 128},
    {"scatter_add_inner", "%i: tensor<7xi32>, %u: tensor<4x7x6xf32>",
     "dgc.scatter_add %i, %u dim 1 size 5 : tensor<7xi32>, tensor<4x7x6xf32>", "[d] [a d c] -> [a b c], d sum",
     4 * 7 * 6},
    {"dynamic_update_slice", "%x: tensor<4x5x6xf32>, %u: tensor<4x2x6xf32>, %i: tensor<i32>",
     "dgc.dynamic_update_slice %x, %u at %i dim 1 : tensor<4x5x6xf32>, tensor<4x2x6xf32>, tensor<i32>",
     "[a b d] [a c d] [] -> [a b d], b whole, c whole", 0},
    // The rows are cut, and the columns of what it gives; the dimension that it goes over is not.
    {"scan_of_rows", "%x: tensor<4x7x5xf32>, %w: tensor<5x6xf32>",
     R"(dgc.scan () over (%s = %x) with (%m = %w) dim 1 : tensor<4x7x5xf32>, tensor<5x6xf32> -> tensor<4x7x6xf32> {
          %0 = dgc.dot_general %s, %m contract [1] x [0] : tensor<4x5xf32>, tensor<5x6xf32>
          dgc.yield %0 : tensor<4x6xf32>
        })",
     "[a b c] [d e] -> [a f e], b whole, c whole, d whole, f whole", 7 * 240},
    {"convolution", "%x: tensor<8x28x28x3xf32>, %w: tensor<3x5x3x16xf32>",
     "dgc.convolution %x, %w padding [[1, 1], [0, 0]] : tensor<8x28x28x3xf32>, tensor<3x5x3x16xf32>",
     "[a d e b] [f g b c] -> [a d e c], b sum, d moves, e moves, f whole, g whole",
     2ull * 8 * 28 * 24 * 16 * 3 * 5 * 3},
    {"convolution_strided", "%x: tensor<8x28x28x3xf32>, %w: tensor<3x1x3x16xf32>",
     "dgc.convolution %x, %w strides [2, 1] padding [[1, 0], [0, 0]] : tensor<8x28x28x3xf32>, tensor<3x1x3x16xf32>",
     "[a d e b] [f g b c] -> [a d e c], b sum, d moves, f whole, g whole", 2ull * 8 * 14 * 28 * 16 * 3 * 3},
    {"convolution_groups", "%x: tensor<8x9x6xf32>, %w: tensor<1x2x9xf32>",
     "dgc.convolution %x, %w groups 3 : tensor<8x9x6xf32>, tensor<1x2x9xf32>",
     "[a f b] [g c d] -> [a f e], b whole, c whole, d whole, e whole, g whole", 2ull * 8 * 9 * 9 * 2},
    // A channel is cut with its group.
    {"convolution_depthwise", "%x: tensor<8x9x6xf32>, %w: tensor<3x1x6xf32>",
     "dgc.convolution %x, %w padding [[1, 1]] groups 6 : tensor<8x9x6xf32>, tensor<3x1x6xf32>",
     "[a d b] [e c b] -> [a d b], c whole, d moves, e whole", 2ull * 8 * 9 * 6 * 3},
    {"convolution_weight_grad_depthwise", "%x: tensor<8x9x6xf32>, %dy: tensor<8x9x6xf32>",
     "dgc.convolution_weight_grad %x, %dy kernel_size [3] padding [[1, 1]] groups 6 : tensor<8x9x6xf32>, "
     "tensor<8x9x6xf32>",
     "[a d b] [a d b] -> [e c b], a sum, c whole, d sum, e whole", 2ull * 8 * 9 * 6 * 3},
    {"convolution_input_grad", "%x: tensor<8x28x16xf32>, %w: tensor<3x3x16xf32>",
     "dgc.convolution_input_grad %x, %w input_size [28] padding [[1, 1]] : tensor<8x28x16xf32>, tensor<3x3x16xf32>",
     "[a d c] [e b c] -> [a d b], c sum, d moves, e whole", 2ull * 8 * 28 * 16 * 3 * 3},
    {"convolution_weight_grad", "%x: tensor<8x28x3xf32>, %dy: tensor<8x28x16xf32>",
     "dgc.convolution_weight_grad %x, %dy kernel_size [3] padding [[1, 1]] : tensor<8x28x3xf32>, tensor<8x28x16xf32>",
     "[a d b] [a d c] -> [e b c], a sum, d sum, e whole", 2ull * 8 * 28 * 16 * 3 * 3},
    {"convolution_weight_grad_pointwise", "%x: tensor<8x28x3xf32>, %dy: tensor<8x28x16xf32>",
     "dgc.convolution_weight_grad %x, %dy kernel_size [1] : tensor<8x28x3xf32>, tensor<8x28x16xf32>",
     "[a d b] [a d c] -> [e b c], a sum, d sum, e whole", 2ull * 8 * 28 * 16 * 3},
    {"loop_of_rows", "%x: tensor<4x5xf32>, %w: tensor<5x5xf32>",
     R"(dgc.while (%a = %x) with (%m = %w) : tensor<4x5xf32>, tensor<5x5xf32> {
          %p = dgc.constant dense<true> : tensor<i1>
          dgc.condition %p : tensor<i1>
        } do {
          %0 = dgc.dot_general %a, %m contract [1] x [0] : tensor<4x5xf32>, tensor<5x5xf32>
          dgc.yield %0 : tensor<4x5xf32>
        })",
     "[a b] [c d] -> [a e], b whole, c whole, d whole, e whole", 200},
    // The condition looks at all rows.
    {"loop_that_mixes", "%x: tensor<4x5xf32>",
     R"(dgc.while (%a = %x) : tensor<4x5xf32> {
          %0 = dgc.reduce max %a dims [0] : tensor<4x5xf32>
          %1 = dgc.slice %0 from [0] to [1] : tensor<5xf32>
          %2 = dgc.reshape %1 to [] : tensor<1xf32>
          %zero = dgc.constant dense<0.0> : tensor<f32>
          %3 = dgc.compare gt %2, %zero : tensor<f32>
          dgc.condition %3 : tensor<i1>
        } do {
          %0 = dgc.negate %a : tensor<4x5xf32>
          dgc.yield %0 : tensor<4x5xf32>
        })",
     "[a b] -> [c d], a whole, b whole, c whole, d whole", 41},
    // Rows become columns: neither can be cut without the other.
    {"loop_that_swaps", "%x: tensor<4x4xf32>",
     R"(dgc.while (%a = %x) : tensor<4x4xf32> {
          %p = dgc.constant dense<true> : tensor<i1>
          dgc.condition %p : tensor<i1>
        } do {
          %0 = dgc.transpose %a permutation [1, 0] : tensor<4x4xf32>
          dgc.yield %0 : tensor<4x4xf32>
        })",
     "[a b] -> [c d], a whole, b whole, c whole, d whole", 0},
    {"branch", "%p: tensor<i1>, %x: tensor<4x5xf32>, %z: tensor<4xf32>",
     R"(dgc.if %p (%a = %x, %b = %z) : tensor<i1>, tensor<4x5xf32>, tensor<4xf32> -> tensor<4xf32> {
          %0 = dgc.reduce sum %a dims [1] : tensor<4x5xf32>
          dgc.yield %0 : tensor<4xf32>
        } else {
          dgc.yield %b : tensor<4xf32>
        })",
     "[] [a b] [a] -> [a], b whole", 20},
    {"max_pool", "%x: tensor<8x26x27x4xf32>",
     "dgc.reduce_window max %x window [1, 2, 2, 1] strides [1, 2, 2, 1] : tensor<8x26x27x4xf32>",
     "[a b c d] -> [a b c d], b moves, c moves", 8ull * 13 * 13 * 4 * 4},
    {"max_pool_grad", "%x: tensor<8x26x4xf32>, %dy: tensor<8x13x4xf32>",
     "dgc.max_pool_grad %x, %dy window [1, 2, 1] strides [1, 2, 1] : tensor<8x26x4xf32>, tensor<8x13x4xf32>",
     "[a b c] [a b c] -> [a b c], b moves", 8ull * 13 * 4 * 2},
    {"rng_bit_generator", "%s: tensor<i64>", "dgc.rng_bit_generator %s, %s id 1 : tensor<4x5xui32>", "[] [] -> [a b]",
     20 * 80},
};

class Rules : public ::testing::TestWithParam<RuleCase> {};

TEST_P(Rules, AreAsWritten) {
  MLIRContext context;
  loadKernelDialects(context);
  std::string text = std::string("func.func @f(") + GetParam().arguments + ") {\n%y = " + GetParam().op + "\nreturn\n}";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  Operation *op = &cast<func::FuncOp>(module->getBody()->front()).getBody().front().front();
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  EXPECT_EQ(describe(rule), GetParam().rule);
  expectSizes(rule, rule.operands, op->getOperandTypes());
  expectSizes(rule, rule.results, op->getResultTypes());
  EXPECT_EQ(cast<CostOpInterface>(op).getCost().flops, GetParam().flops);
}

INSTANTIATE_TEST_SUITE_P(Table, Rules, ::testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
