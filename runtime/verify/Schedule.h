// Whether two plans have the same schedule but for sizes.
#pragma once

#include "runtime/artifact/Reader.h"

#include "absl/status/statusor.h"

#include <string>

namespace dgc::verify {

/// What is looked at, each with what is before it.
///   Values: the mesh and the groups of workers; variables, inputs and outputs, and how they are cut; transfers in their
///     order; how many collectives and library calls of each kind there are, with axes, reductions and types, where one of
///     several values counts as several
///   Communication: the order of all these, and which collectives are one
///   All: buffers and every step with its operands and waits, and what kernels compute, but for constants and extents
enum class SchedulePart : uint8_t { Values, Communication, All };

/// The first thing in which two plans differ that is no size, offset or number that depends on these; empty: there is none.
/// Fails where a plan does not say what its kernels compute.
absl::StatusOr<std::string> differenceOfSchedules(const rt::Artifact &plan, const rt::Artifact &other,
                                                  SchedulePart part);

} // namespace dgc::verify
