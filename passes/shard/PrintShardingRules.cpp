// Prints the sharding rule of every op as a remark.

#include "dialects/dgc/DGC.h"
#include "passes/shard/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace dgc {
#define GEN_PASS_DEF_PRINTSHARDINGRULESPASS
#include "passes/shard/Passes.h.inc"
} // namespace dgc

using namespace mlir;
using namespace dgc;

/// The name of a factor: a to z, then f26, f27, ...
static std::string nameOf(unsigned factor) {
  return factor < 26 ? std::string(1, char('a' + factor)) : "f" + std::to_string(factor);
}

/// The tensors one after the other, the dimensions of each in parentheses. Factors that share a dimension are written
/// without a space; a dimension without factors is 1.
static void print(ArrayRef<TensorFactors> tensors, llvm::raw_ostream &os) {
  llvm::interleaveComma(tensors, os, [&](const TensorFactors &tensor) {
    os << "(";
    llvm::interleave(
        tensor.dims, os,
        [&](ArrayRef<unsigned> factors) {
          for (unsigned factor : factors)
            os << nameOf(factor);
          if (factors.empty())
            os << "1";
        },
        " ");
    os << ")";
  });
}

static void print(const Factor &factor, llvm::raw_ostream &os) {
  os << factor.size;
  switch (factor.kind) {
  case FactorKind::PassThrough:
    return;
  case FactorKind::Reduction:
    os << " " << stringifyEnum(factor.reduction) << (factor.moves ? " moves" : "");
    return;
  case FactorKind::NeedReplication:
    os << " whole";
    return;
  case FactorKind::Permutation:
    os << " moves";
    return;
  }
}

static void print(ShardingRuleOpInterface op, llvm::raw_ostream &os) {
  ShardingRule rule = op.getShardingRule();
  print(rule.operands, os);
  os << " -> ";
  print(rule.results, os);
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    os << (index == 0 ? " with " : ", ") << nameOf(index) << "=";
    print(factor, os);
  }
  SmallVector<std::string> linear;
  if (op.isLinearIn(-1))
    linear.push_back("all");
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    if (op.isLinearIn(index))
      linear.push_back(std::to_string(index));
  if (!linear.empty())
    os << "; linear in " << llvm::join(linear, ", ");
}

namespace {
struct PrintShardingRules : dgc::impl::PrintShardingRulesPassBase<PrintShardingRules> {
  void runOnOperation() override {
    getOperation()->walk([](ShardingRuleOpInterface op) {
      if (!llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>))
        return;
      std::string text;
      llvm::raw_string_ostream os(text);
      print(op, os);
      op->emitRemark() << text;
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
