// Plans of GPUs against the same plans of CPUs, in this process.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/executor/RunOnce.h"
#include "tools/gpu-check/ResultTable.h"

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include <filesystem>

/// The largest absolute value of an array of floating-point numbers; 0 of others.
double largestOf(const dgc::rt::HostArray &array);

/// Whether all are finite; of floating-point numbers.
bool isFinite(const dgc::rt::HostArray &array);

/// The largest difference, relative to the largest value of `wanted` or `floor`, whichever is more; infinite where one is
/// finite and the other is not.
double difference(const dgc::rt::HostArray &array, const dgc::rt::HostArray &wanted, double floor = 0);

/// The share of the largest value of all weights that the differences of each are relative to at least: a weight that
/// would be 0 in exact arithmetic has nothing but noise.
inline constexpr double kFloor = 1e-3;

/// How far results may be apart, relative to the largest value: f32 sums are added in another order; products of 16 bits
/// are rounded to so many.
double toleranceOf(const dgc::artifact::Plan &plan);

/// How much more is allowed where the results themselves have 16 bits: the rounding of one.
double toleranceOf(dgc::rt::DType dtype);

absl::StatusOr<std::vector<uint8_t>> readPlan(const std::filesystem::path &path);

/// A row for each program of NAME.cuda.dgcx, compared with NAME.cpu.dgcx; with several workers, another one by way of the
/// host. For refused-*: one row, this GPU must refuse it.
void comparePlan(const std::filesystem::path &path, absl::FunctionRef<void(const Row &)> add);

/// NAME of the path of NAME.cuda.dgcx.
std::string caseOf(const std::filesystem::path &path);
