// What the recognition of attention and of its gradient share.

#ifndef DGC_COMPILER_IMPORT_RAISE_ATTENTION_H
#define DGC_COMPILER_IMPORT_RAISE_ATTENTION_H

#include "compiler/import/raise/Expression.h"

namespace dgc::import::raise {

/// The role of a dimension of a tensor of attention: one of the dimensions of the scores, which are of batch, heads, places of
/// the query or of the key; or one of these.
inline constexpr int64_t kUnit = -1;          // of one element
inline constexpr int64_t kFeature = 100;      // of queries and keys
inline constexpr int64_t kValueFeature = 101; // of values and of the result

using Roles = SmallVector<int64_t>;

/// A tensor with the role of each of its dimensions.
struct Operand {
  Value value;
  Roles roles;

  bool operator==(const Operand &other) const { return value == other.value && roles == other.roles; }
  bool has(int64_t role) const { return llvm::is_contained(roles, role); }
  /// The number of elements along the dimension of the role, 1 where there is none.
  int64_t sizeOf(int64_t role) const;
};

struct Attention {
  Operand q, k, v;
  double scale = 1;
  /// The roles of the scores; kUnit where there is no dimension of more than one element. A group is of heads of the query that
  /// share one of the key.
  int64_t example = kUnit, head = kUnit, place = kUnit, group = kUnit, key = kUnit;
  bool isCausal = false;
  /// A mask of truth values, with the score of what is hidden, and what is added to scores; without a value where there is none.
  Expression mask, bias;
  bool isInverted = false;
  double fill = 0;
  Expression predicate;     // by which scores are hidden; without a value where none are
  unsigned hiddenIndex = 0; // the operand of the select that hides them
  SoftmaxOp weights;
  DotGeneralOp output;
  Roles outputRoles;

  /// The roles of the batch of all products, and of the places of the query.
  Roles batch() const;
  Roles query() const;
  /// The order in which `dgc.attention` has dimensions, `own` behind the heads.
  Roles order(int64_t places, bool isGrouped, int64_t own) const;
};

/// The products of the gradient, and the roles of their results.
struct AttentionGradient {
  Operand ofOutput;
  std::array<DotGeneralOp, 3> products; // of query, key and value
  std::array<Roles, 3> roles;

  /// The gradient of attention, if it is there.
  static std::optional<AttentionGradient> of(Attention &parts);
};

/// The dimensions of one operand of a product.
struct Side {
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> free;
  int64_t firstFree; // of the result

  Side(DotGeneralOp dot, unsigned index);
};

/// The operand of a product behind what only moves it, given the roles of its dimensions as it stands there. What repeats it stays.
Operand baseOf(Value value, ArrayRef<int64_t> roles);

/// The roles of an operand of a product, where those of the result and of what is added up are known.
Roles rolesFromResult(DotGeneralOp dot, unsigned index, ArrayRef<int64_t> result, int64_t contracted);

/// The roles of an operand of a product, where those of the other one are known; its own dimensions have the role `free`.
Roles rolesFromOther(DotGeneralOp dot, unsigned index, ArrayRef<int64_t> other, int64_t free);

/// The roles of the result of a product, given those of its operands as they stand there.
Roles resultRoles(DotGeneralOp dot, ArrayRef<int64_t> left, ArrayRef<int64_t> right);

/// The roles of the dimensions of a value behind which, moved, the tensor `x` of the scores is; none where it is repeated.
Roles rolesThrough(Value value, const Expression &x);

/// Whether the dimensions are these roles, each once, and dimensions of one element.
bool areRoles(ArrayRef<int64_t> dims, ArrayRef<int64_t> ofDims, ArrayRef<int64_t> roles);

/// Whether the product has these roles as its batch, and adds those up, given the roles of one operand.
bool isProductOver(DotGeneralOp dot, unsigned index, ArrayRef<int64_t> roles, ArrayRef<int64_t> batch,
                   ArrayRef<int64_t> contracted);

/// The truth value behind a negation of it, or a comparison that asks for it.
Expression truthOf(Expression x, bool &isInverted);

} // namespace dgc::import::raise

#endif // DGC_COMPILER_IMPORT_RAISE_ATTENTION_H
