// Steps of the loops of random programs.
#pragma once

#include "test/unit/fuzz/PrimitiveOps.h"

#include <algorithm>

namespace dgc::testing {

struct PrimitiveLoopMaker : PrimitiveMaker {
  /// Ops of a loop that make the next value of `state` from it and from `input`; `text` gets them.
  std::string step(const std::string &state, const std::string &input, const Value &of, const std::string &type,
                   std::string &text, const std::string &dialect = "dgc") {
    const std::string c = "%" + w.freshName(), scaled = "%" + w.freshName(), next = "%" + w.freshName();
    if (isBool(of.element)) {
      text += join("    ", scaled, " = ", dialect, ".xor ", state, ", ", input, " : ", type, "\n    ", next, " = ",
                   dialect, ".not ", scaled, " : ", type, "\n");
      return next;
    }
    const std::string op = isFloat(of.element) ? "add" : w.choose({"add", "xor", "subtract"});
    text += join("    ", c, " = ", dialect, ".constant dense<", isFloat(of.element) ? "0.5" : "3", "> : ", type,
                 "\n    ", scaled, " = ", dialect, ".multiply ", state, ", ", c, " : ", type, "\n    ", next, " = ",
                 dialect, ".", op, " ", scaled, ", ", input, " : ", type, "\n");
    return next;
  }

  /// What so many steps give; false where it does not fit.
  bool afterSteps(Value &state, const Value &input, int64_t count) {
    if (!isFloat(state.element))
      return true;
    state.bound += 2 * input.bound;
    state.error = 2 * (state.error + input.error) + 0.5 * count * epsilonOf(state.element) * std::max(1.0, state.bound);
    state.tolerance = std::max({state.tolerance, input.tolerance, toleranceOf(state.element)});
    state.onGrid = false;
    return PrimitiveWriter::fits(state.element, state.bound, state.error, state.tolerance);
  }
};

} // namespace dgc::testing
