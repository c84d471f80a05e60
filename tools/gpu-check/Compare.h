// Plans of GPUs against the same plans of CPUs, in this process, and how long their steps take.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/executor/RunOnce.h"
#include "tools/gpu-check/ResultTable.h"

#include "absl/status/statusor.h"

#include <filesystem>

/// The largest difference, relative to the largest value; infinite where one is finite and the other is not.
double difference(const dgc::rt::HostArray &a, const dgc::rt::HostArray &b);

/// How far results may be apart, relative to the largest value: f32 sums are added in another order; products of 16 bits
/// are rounded to so many.
double toleranceOf(const dgc::artifact::Plan &plan);

absl::StatusOr<std::vector<uint8_t>> readPlan(const std::filesystem::path &path);

/// A row for each program of NAME.cuda.dgcx: compared with NAME.cpu.dgcx, or, for timed-*, only timed; one row for
/// refused-*, which this GPU must refuse. `isTimed`: whether to time steps at all.
void checkPlan(const std::filesystem::path &path, bool isTimed, std::vector<Row> &rows);
