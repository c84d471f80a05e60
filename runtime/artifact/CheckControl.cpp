// Loops and branches: that their steps are there, and that what decides them is the same for all that communicate.
#include "runtime/artifact/ActionCheck.h"
#include "runtime/artifact/Actions.h"
#include "runtime/artifact/Varying.h"

#include <string>

using namespace dgc::rt;
namespace a = dgc::artifact;

absl::Status ActionCheck::check(const a::While &op) const {
  if (op.counted() && op.rounds() == 0)
    return bad("a loop is counted, and has no number of rounds");
  return operand("the predicate", op.predicate(), 1, a::DType::I1);
}

absl::Status ActionCheck::check(const a::If &op) const {
  return operand("the predicate", op.predicate(), 1, a::DType::I1);
}

namespace {
class ControlCheck {
public:
  explicit ControlCheck(const a::Program &program) : program(program) {}

  absl::Status run() { return checkRange(0, sizeOf(program.steps()), 0, true); }

  bool communicatesInside = false; // in some loop or branch

private:
  static constexpr uint32_t mostNested = 64; // loops in loops: the executor calls itself for each

  /// The steps from `begin` to `end`, which are in `depth` loops and branches. `mayTransfer`: these are the bodies of loops
  /// that do a known number of rounds.
  absl::Status checkRange(uint64_t begin, uint64_t end, uint32_t depth, bool mayTransfer) {
    for (uint64_t i = begin; i < end; ++i) {
      const a::Step &step = *program.steps()->Get(static_cast<uint32_t>(i));
      const std::string where = str("step ", i);
      const ActionKind kind = infoOf(step.action_type()).kind;
      if (!mayTransfer && kind == ActionKind::Transfer)
        return bad(str(where,
                       " sends or receives in a branch, or in a loop that is not counted: the other end is in another "
                       "program, which may not come to it as often"));
      communicatesInside |= depth > 0 && communicates(kind);
      if (depth > 0 && (step.queue() != 0 || sizeOf(step.waits())))
        return bad(str(where, " is in a loop or a branch, and waits for others or is waited for"));
      uint64_t first = 0, second = 0;
      bool isCounted = false;
      if (const a::While *loop = step.action_as_While()) {
        first = loop->test_steps();
        second = loop->body_steps();
        isCounted = loop->counted();
      } else if (const a::If *branch = step.action_as_If()) {
        first = branch->then_steps();
        second = branch->else_steps();
      } else {
        continue;
      }
      if (depth == mostNested)
        return bad(str(where, " is in ", mostNested, " loops and branches, and may not be another one"));
      if (first + second > end - i - 1)
        return bad(str(where, " decides on ", first, " and ", second, " steps behind it, and there are ", end - i - 1));
      if (absl::Status s = checkRange(i + 1, i + 1 + first, depth + 1, false); !s.ok())
        return s;
      for (uint64_t test = i + 1; isCounted && test < i + 1 + first; ++test)
        if (communicates(infoOf(program.steps()->Get(static_cast<uint32_t>(test))->action_type()).kind))
          return bad(str(where, " is a counted loop, and communicates in its test, step ", test));
      if (absl::Status s = checkRange(i + 1 + first, i + 1 + first + second, depth + 1, mayTransfer && isCounted);
          !s.ok())
        return s;
      i += first + second;
    }
    return absl::OkStatus();
  }

  const a::Program &program;
};
} // namespace

absl::Status dgc::rt::checkControl(const ProgramContext &context) {
  ControlCheck check(context.program);
  if (absl::Status s = check.run(); !s.ok())
    return s;
  return check.communicatesInside ? checkUniform(context) : absl::OkStatus();
}
