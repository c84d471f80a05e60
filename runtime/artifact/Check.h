// The semantic checks of a plan: after them the executor may trust every index,
// size and shape. All arithmetic on sizes is checked.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>

namespace dgc::rt {

/// Everything: target, mesh, sections' indices, variables, programs. The
/// structure must have been checked. The message says where and what.
absl::Status checkPlan(const artifact::Plan &plan);

/// Programs use variables of the plan, each once, and their arguments and results have positions of their own. Names are
/// there.
absl::Status checkStates(const artifact::Plan &plan);

/// The dimensions that a variable is stacked along are there and whole on every worker, its name has a `*` for each, and
/// its parts can be counted.
absl::Status checkStacked(const artifact::Variable &variable);

/// Blocks of rows make up their variables, parts of stacked variables have names of their own, and no variable is in the
/// memory of another one. Each by itself has been checked.
absl::Status checkVariables(const artifact::Plan &plan);

/// What the checks of one program need to know of their surroundings.
struct ProgramContext {
  const artifact::Plan &plan;
  const artifact::Program &program;
};

/// The action of one step: its buffers, types and sizes. `context.program`'s
/// buffers have been checked.
absl::Status checkAction(const ProgramContext &context, const artifact::Step &step);

/// Each result of a call of a kernel, the last `results` arguments, is apart from all other arguments, or in the place of the
/// operand that the kernel says: code may write an element before it reads the next one. The arguments exist.
absl::Status checkResults(const artifact::Program &program, const artifact::Kernel &kernel,
                          const artifact::KernelCall &call, uint32_t results);

/// The steps of loops and branches are there, and workers that communicate in them come to it equally often. All steps have
/// been checked.
absl::Status checkControl(const ProgramContext &context);

/// What goes on beside others is waited for once, and nothing that it works on
/// is used meanwhile. All steps have been checked.
absl::Status checkOverlap(const artifact::Program &program);

/// Bytes of a shape, or an error when an extent is negative, the rank is above
/// 16 or the product overflows 2^62.
absl::StatusOr<uint64_t> checkedBytes(const flatbuffers::Vector<int64_t> *shape, artifact::DType dtype);

} // namespace dgc::rt
