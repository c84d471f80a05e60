// How long the steps of a plan take.
#pragma once

#include "runtime/artifact/Reader.h"
#include "tools/gpu-check/ResultTable.h"

#include "absl/functional/function_ref.h"

#include <filesystem>

/// A row for each program of a plan of one worker, but evaluate and predict: some steps, then rounds of a tenth of a
/// second, of which the best counts. What the last step gave must be finite.
void timePlan(const std::filesystem::path &path, absl::FunctionRef<void(const Row &)> add);

/// What a program's kernels and copies move at least, in bytes, and how many multiplications and additions its products,
/// convolutions and attention are.
std::pair<double, double> workOf(const dgc::artifact::Program &program);
