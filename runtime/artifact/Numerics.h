// What programs find of the values that they check, dgc-compile --check-numerics: an output with a row for each of these
// values. The compiler writes what the rows are, as text, and the runtime reads it. Without FlatBuffers, MLIR and LLVM.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// The name of the output.
inline constexpr std::string_view kNumericsOutput = "check_numerics";

/// Whether an output of a plan (artifact::Output) is that; Output.over has what the rows are.
template <class Output> bool isNumericsOutput(const Output &output) {
  return output.over() && output.name()->string_view() == kNumericsOutput;
}

/// The numbers of a row, each an i64: how many elements are not finite; 4 * i + k, where i is the row-major index of the
/// first of them and k what it is; and the round of `CheckedValue::loops` in which that was. Where the count is 0 the others
/// mean nothing.
enum NumericsColumn { kCountColumn, kFirstColumn, kRoundColumn, kNumericsColumns };
enum class NotFiniteKind { NaN, Infinity, MinusInfinity };

/// What a row is about.
struct CheckedValue {
  std::string name; // the op that computes it, and where that is in the model
  std::string what; // what it is to the model: "the new value of w"; may be empty
  std::string dtype;
  std::vector<int64_t> shape; // of the part that a worker has
  int64_t order = 0; // among all values that the programs of a name check: computed before those of a larger one
  int64_t scope = 0; // the order of the outermost loop around it; outside of loops `order`
  /// The rounds of the loops around it, the outermost first; 0: not known, of the first alone. A round of all of them is one
  /// number, in which that of the last varies fastest.
  std::vector<int64_t> loops;
  bool isLeast = false; // the count is that of some of its elements: at least so many are not finite
};

/// One line for each.
std::string describeChecks(std::span<const CheckedValue> values);

/// The opposite; nothing for a text that describeChecks does not give.
std::optional<std::vector<CheckedValue>> readChecks(std::string_view text);

} // namespace dgc::rt
