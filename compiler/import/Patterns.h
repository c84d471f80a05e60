// The patterns of stablehlo-to-dgc, by family.

#ifndef DGC_COMPILER_IMPORT_PATTERNS_H
#define DGC_COMPILER_IMPORT_PATTERNS_H

#include "dialects/dgc/DGC.h"
#include "dialects/dgc/TensorBuilder.h"
#include "dialects/stablehlo/StableHLO.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace dgc::import {

void addBatchNormPatterns(RewritePatternSet &patterns);
void addChloPatterns(RewritePatternSet &patterns);
void addCollectivePatterns(RewritePatternSet &patterns);
/// Whether it is a collective of StableHLO.
bool isCollective(Operation *op);
void addContractionPatterns(RewritePatternSet &patterns);
void addControlPatterns(RewritePatternSet &patterns);
void addDynamicShapePatterns(RewritePatternSet &patterns);
/// Whether it is an op of StableHLO that takes a shape, sizes or places as an operand, and becomes one that does not.
bool isDynamicShape(Operation *op);
void addEinsumPatterns(RewritePatternSet &patterns);
void addElementwisePatterns(RewritePatternSet &patterns);
void addIndexPatterns(RewritePatternSet &patterns);
void addRandomPatterns(RewritePatternSet &patterns);
void addReductionPatterns(RewritePatternSet &patterns);
void addScatterPatterns(RewritePatternSet &patterns);
void addShapePatterns(RewritePatternSet &patterns);
void addSortPatterns(RewritePatternSet &patterns);
void addSpecialFunctionPatterns(RewritePatternSet &patterns);
void addWindowPatterns(RewritePatternSet &patterns);

/// Replaces the elements of tuples that are made in the function, also of tuples in tuples, by what is put in.
void resolveTuples(func::FuncOp function);

/// Computes without tensors that have no elements what is computed with them, where that is known.
void resolveEmptyTensors(func::FuncOp function);

inline RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }
inline Type elementOf(Value value) { return tensorOf(value).getElementType(); }

/// The numbers from 0 on, `count` of them.
SmallVector<int64_t> firstNumbers(int64_t count);

/// The constant that the value is, or null.
DenseElementsAttr constantOf(Value value);

/// The rows of an attribute of two dimensions, of an op that is not registered; empty where it is none.
SmallVector<SmallVector<int64_t>> rowsOf(Operation *op, StringRef name);

/// How an op combines two elements of its type: Sum for an addition, and so on.
std::optional<ReductionKind> combinationOf(Operation *op);

/// How a region of two arguments that is one op combines them.
std::optional<ReductionKind> combinationOf(Region &region);

/// Sums and maxima of truth values are Or, products and minima And.
ReductionKind kindFor(ReductionKind kind, Type element);

/// Combines two tensors of one type as the reduction does.
Value combine(TensorBuilder &b, ReductionKind kind, Value x, Value y);

/// The `k` largest elements along the last dimension in their order, of equal ones the first, and where they are: in each of
/// so many rounds the largest one that is left.
std::pair<Value, Value> largestElements(TensorBuilder &b, Value x, int64_t k, Type indexElement);
inline constexpr int64_t kMostLargest = 128;

/// Whether the value is a constant whose elements are the identity of the reduction.
bool isIdentity(Value value, ReductionKind kind);

/// A reduction, and what it begins with unless that is its identity.
Value withInitial(TensorBuilder &b, ReductionKind kind, Value reduced, Value init);

/// A pattern for one op that says why it does not apply by `refuse`.
template <class Op> class Lowering : public OpRewritePattern<Op> {
public:
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const final {
    TensorBuilder b(rewriter, op.getLoc());
    std::string reason;
    SmallVector<Value> results;
    if (failed(lower(op, b, results, reason)))
      return rewriter.notifyMatchFailure(op, reason);
    rewriter.replaceOp(op, results);
    return success();
  }

protected:
  /// Gives the values that replace the results; or a reason, before it creates anything.
  virtual LogicalResult lower(Op op, TensorBuilder &b, SmallVectorImpl<Value> &results, std::string &reason) const = 0;

  static LogicalResult refuse(std::string &reason, const Twine &text) {
    reason = text.str();
    return failure();
  }
};

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_PATTERNS_H
