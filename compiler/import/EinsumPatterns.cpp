// From the einsums of StableHLO to products, sums and diagonals.

#include "compiler/import/Indexing.h"
#include "dialects/stablehlo/Einsum.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::import;
using dgc::stablehlo::Einsum;
using dgc::stablehlo::EinsumLabels;

namespace {

/// A tensor with a label for each dimension.
struct Labelled {
  Value value;
  EinsumLabels labels;

  int64_t size(int64_t label) const { return tensorOf(value).getDimSize(llvm::find(labels, label) - labels.begin()); }
};

/// The sum over dimensions, which lose their labels.
Labelled summed(TensorBuilder &b, Labelled x, ArrayRef<int64_t> dims) {
  Labelled sum{b.reduce(ReductionKind::Sum, x.value, dims), {}};
  for (auto [dim, label] : llvm::enumerate(x.labels))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      sum.labels.push_back(label);
  return sum;
}

/// The elements whose indices for a letter that is there twice are the same, with that letter once.
Labelled diagonal(TensorBuilder &b, Labelled x) {
  for (size_t j = 1; j < x.labels.size(); ++j) {
    const auto i = static_cast<size_t>(llvm::find(x.labels, x.labels[j]) - x.labels.begin());
    if (i == j)
      continue;
    ArrayRef<int64_t> shape = tensorOf(x.value).getShape();
    Type index = b.builder.getI32Type();
    Value isOn = b.equal(indicesAlong(b, shape, index, static_cast<int64_t>(i)),
                         indicesAlong(b, shape, index, static_cast<int64_t>(j)));
    Value zero = b.splat(0, x.value);
    x.value = b.select(isOn, x.value, zero);
    x = summed(b, x, {static_cast<int64_t>(j--)});
  }
  return x;
}

/// The sum over all labels that are in none of the lists.
Labelled summedButFor(TensorBuilder &b, Labelled x, ArrayRef<int64_t> kept, ArrayRef<int64_t> others = {}) {
  SmallVector<int64_t> dims;
  for (auto [dim, label] : llvm::enumerate(x.labels))
    if (!llvm::is_contained(kept, label) && !llvm::is_contained(others, label))
      dims.push_back(static_cast<int64_t>(dim));
  return summed(b, x, dims);
}

/// Without the dimensions of one element that are repeated to those of the other operand.
Labelled withoutRepeated(TensorBuilder &b, const Labelled &x, const Labelled &other) {
  Labelled result{x.value, {}};
  SmallVector<int64_t> shape;
  for (int64_t label : x.labels) {
    const bool isRepeated =
        label < 0 && x.size(label) == 1 && llvm::is_contained(other.labels, label) && other.size(label) != 1;
    if (isRepeated)
      continue;
    result.labels.push_back(label);
    shape.push_back(x.size(label));
  }
  result.value = b.reshape(x.value, shape);
  return result;
}

/// The dimensions in the order of the labels.
Value inOrder(TensorBuilder &b, const Labelled &x, ArrayRef<int64_t> labels) {
  return b.transpose(x.value, llvm::map_to_vector(labels, [&](int64_t label) {
                       return static_cast<int64_t>(llvm::find(x.labels, label) - x.labels.begin());
                     }));
}

/// The product, whose labels are those of both operands that are to be kept. It adds up the others.
Labelled multiply(TensorBuilder &b, const Labelled &x, const Labelled &y, ArrayRef<int64_t> kept, Type element) {
  EinsumLabels batch;
  SmallVector<int64_t> xBatch, yBatch, xContract, yContract, shape;
  for (auto [dim, label] : llvm::enumerate(x.labels)) {
    const auto *other = llvm::find(y.labels, label);
    if (other == y.labels.end())
      continue;
    const bool isBatch = llvm::is_contained(kept, label);
    (isBatch ? xBatch : xContract).push_back(static_cast<int64_t>(dim));
    (isBatch ? yBatch : yContract).push_back(other - y.labels.begin());
    if (isBatch)
      batch.push_back(label);
  }
  Labelled product{Value(), batch};
  for (const Labelled *each : {&x, &y})
    for (int64_t label : each->labels)
      if (!llvm::is_contained(x.labels, label) || !llvm::is_contained(y.labels, label))
        product.labels.push_back(label);
  for (int64_t label : product.labels)
    shape.push_back(llvm::is_contained(x.labels, label) ? x.size(label) : y.size(label));
  Builder &builder = b.builder;
  auto list = [&](StringRef name, ArrayRef<int64_t> dims) {
    return NamedAttribute(builder.getStringAttr(name), builder.getDenseI64ArrayAttr(dims));
  };
  auto dims = stablehlo::DotDimsAttr::get(
      builder.getContext(),
      builder.getDictionaryAttr({list("lhs_batching_dimensions", xBatch), list("rhs_batching_dimensions", yBatch),
                                 list("lhs_contracting_dimensions", xContract),
                                 list("rhs_contracting_dimensions", yContract)}));
  product.value = stablehlo::DotGeneralOp::create(b.builder, b.location, RankedTensorType::get(shape, element), x.value,
                                                  y.value, dims, ArrayAttr(), stablehlo::DotAlgorithmAttr());
  return product;
}

struct EinsumLowering : Lowering<stablehlo::EinsumOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::EinsumOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    Type element = elementOf(op.getResult());
    if (element.isInteger(1) || elementOf(op.getLhs()).isInteger(1) || elementOf(op.getRhs()).isInteger(1))
      return refuse(reason, "a product of booleans");
    Einsum einsum = *stablehlo::parseEinsum(op, op.getEinsumConfig(), op->getOperandTypes());
    Labelled x = diagonal(b, {op.getLhs(), einsum.operands[0]}), y = diagonal(b, {op.getRhs(), einsum.operands[1]});
    x = summedButFor(b, x, einsum.result, y.labels);
    y = summedButFor(b, y, einsum.result, x.labels);
    Labelled product =
        multiply(b, withoutRepeated(b, x, y), withoutRepeated(b, y, x), einsum.result, elementOf(op.getResult()));
    results.push_back(inOrder(b, product, einsum.result));
    return success();
  }
};

struct UnaryEinsumLowering : Lowering<stablehlo::UnaryEinsumOp> {
  using Lowering::Lowering;
  LogicalResult lower(stablehlo::UnaryEinsumOp op, TensorBuilder &b, SmallVectorImpl<Value> &results,
                      std::string &reason) const override {
    Einsum einsum = *stablehlo::parseEinsum(op, op.getEinsumConfig(), op->getOperandTypes());
    if (elementOf(op.getOperand()).isInteger(1) && einsum.operands[0].size() != einsum.result.size())
      return refuse(reason, "a sum of booleans");
    Labelled x = summedButFor(b, diagonal(b, {op.getOperand(), einsum.operands[0]}), einsum.result);
    results.push_back(b.convert(inOrder(b, x, einsum.result), elementOf(op.getResult())));
    return success();
  }
};

} // namespace

void dgc::import::addEinsumPatterns(RewritePatternSet &patterns) {
  patterns.add<EinsumLowering, UnaryEinsumLowering>(patterns.getContext());
}
