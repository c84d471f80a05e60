// What the Attributes.def of each dialect is made of: the places and the kinds of discardable attributes, and the check
// of an attribute against its row.

#ifndef DGC_DIALECTS_DGC_DISCARDABLEATTRIBUTES_H
#define DGC_DIALECTS_DGC_DISCARDABLEATTRIBUTES_H

#include "dialects/MLIR.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/BitmaskEnum.h"

namespace dgc::discardable {

LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();

/// What an attribute may be on.
enum class Place : unsigned {
  None = 0,
  Module = 1 << 0,
  Function = 1 << 1,
  Argument = 1 << 2,
  Result = 1 << 3,
  State = 1 << 4,
  Member = 1 << 5,
  Communication = 1 << 6,
  Program = 1 << 7,
  Op = 1 << 8, ///< Any op.
  LLVM_MARK_AS_BITMASK_ENUM(Op)
};

/// The places by name, for messages and for the reference.
inline constexpr std::pair<Place, llvm::StringLiteral> placeNames[] = {
    {Place::Module, "modules"},
    {Place::Function, "functions"},
    {Place::Argument, "arguments of functions"},
    {Place::Result, "results of functions"},
    {Place::State, "states"},
    {Place::Member, "inputs, variables and outputs of a model, states"},
    {Place::Communication, "collectives and transfers"},
    {Place::Program, "exec.program"},
    {Place::Op, "ops"},
};

/// The values that an attribute may have: `expected` completes "expected ...".
struct Kind {
  llvm::StringLiteral expected;
  bool (*accepts)(Attribute value);
};

bool isUnit(Attribute value);
bool isIndex(Attribute value);
bool isName(Attribute value);
bool isSymbol(Attribute value);
bool isRole(Attribute value);
bool isTensorType(Attribute value);
bool isIntegers(Attribute value);
bool isIndices(Attribute value);
bool isNames(Attribute value);
bool isDecisions(Attribute value);
bool isEncodings(Attribute value);
bool isRowBlock(Attribute value);
bool isLaunches(Attribute value);
bool isMeshBytes(Attribute value);
bool isPipeline(Attribute value);

inline constexpr Kind Unit{"no value", isUnit};
inline constexpr Kind Index{"an integer of 64 bits of at least 0", isIndex};
inline constexpr Kind Name{"a name, as a string", isName};
inline constexpr Kind Symbol{"the name of a symbol, as in @name", isSymbol};
inline constexpr Kind Role{"data, step, seed, valid_count, loss, metric or prediction, as a string", isRole};
inline constexpr Kind RankedTensor{"a tensor type", isTensorType};
inline constexpr Kind Integers{"array<i64: ..>", isIntegers};
inline constexpr Kind Indices{"an array of integers of at least 0", isIndices};
inline constexpr Kind Names{"a dictionary of strings", isNames};
inline constexpr Kind Decisions{"a dictionary of array<i1: ..>", isDecisions};
inline constexpr Kind Encodings{"an array with one entry for each result", isEncodings};
inline constexpr Kind RowBlock{"{of = string, first = integer, type = tensor type}", isRowBlock};
inline constexpr Kind Launches{"an array of [string, integer, integer]", isLaunches};
inline constexpr Kind MeshBytes{"a dictionary of array<i64: private, shared>", isMeshBytes};
inline constexpr Kind Pipeline{"a dictionary with schedule, positions, microbatches and chunks", isPipeline};

/// A row of an Attributes.def.
struct Row {
  llvm::StringLiteral name;
  Place places;
  const Kind &kind;
};

/// The places that `op` itself is, of those that every dialect knows: an op, a module, a function.
Place placesOf(Operation *op);

/// Checks the name, the place and the kind of `attribute`, which is on `op`, in one of the places `here`. `what` begins
/// the message: "argument 0: ", or nothing.
LogicalResult verify(Operation *op, NamedAttribute attribute, ArrayRef<Row> rows, Place here,
                     const llvm::Twine &what = "");

/// The same for an attribute of argument or result `index` of `op`, which must be a function.
LogicalResult verifyArgument(Operation *op, unsigned index, NamedAttribute attribute, ArrayRef<Row> rows);
LogicalResult verifyResult(Operation *op, unsigned index, NamedAttribute attribute, ArrayRef<Row> rows);

} // namespace dgc::discardable

#endif // DGC_DIALECTS_DGC_DISCARDABLEATTRIBUTES_H
