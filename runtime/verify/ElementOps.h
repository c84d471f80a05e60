// The operations of the bytecode over numbers of the fields, for elements one after the other.
#pragma once

#include "runtime/verify/Interpreter.h"
#include "runtime/verify/Planes.h"

#include "absl/status/status.h"

namespace dgc::verify {

class ElementOps {
public:
  /// What the options refer to outlives it.
  explicit ElementOps(const InterpreterOptions &options);
  /// Adds what was counted to the counts of the options.
  ~ElementOps();
  ElementOps(const ElementOps &) = delete;
  ElementOps &operator=(const ElementOps &) = delete;

  /// An operation on operands that are no source (Constant, Load, LoadAt, Index, Current).
  struct Operation {
    reference::Opcode opcode;
    reference::Type type, from; // of the result, of the first operand
  };
  /// to[k] from a[k], b[k], c[k], as far as the operation has them, for `n` elements. `to` may be one of the operands. Fails
  /// where an operation has no meaning in the fields, as a bitcast of a number that is no constant.
  absl::Status run(const Operation &op, int64_t n, Planes to, Planes a, Planes b, Planes c);

private:
  absl::Status toInteger(const Operation &op, Planes to, Planes a, Planes b, Planes c);
  absl::Status toFloat(const Operation &op, Planes to, Planes a, Planes b, Planes c);
  absl::Status bitcast(const Operation &op, Planes to, Planes a) const;
  void sumWithLogarithms(bool isDifference, Planes to, Planes a, Planes b);
  void function(const Operation &op, Planes to, Planes a, Planes b);
  void compare(reference::Opcode opcode, Planes to, Planes a, Planes b);
  void choose(reference::Opcode opcode, Planes to, Planes a, Planes b);
  bool isLess(const Number &a, const Number &b);

  const InterpreterOptions &options;
  const bool vectors;
  int64_t size = 0;
  uint64_t functions = 0, exponentials = 0, nearTies = 0;
};

} // namespace dgc::verify
