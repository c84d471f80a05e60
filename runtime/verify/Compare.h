// Compares what workers hold with what the model has.
#pragma once

#include "runtime/verify/PlanRun.h"

#include <span>
#include <utility>

namespace dgc::verify {

/// A value of the model and the parts of it that workers have.
struct Comparison {
  std::string what; // "variable 'w1'"
  std::vector<int64_t> shape;
  TensorRef expected;
  TensorRef before; // of a variable: its value before the run; else null
  int batchDim = -1;
  int64_t validCount = 0; // examples of the batch that are real
  // For explanations: what else there is in the run, by name, and the line of the model that computes the value.
  std::span<const std::pair<std::string, TensorRef>> others = {};
  std::string location = {};
};

/// An element of a part and the element of the whole that it should be.
struct ElementPair {
  size_t local = 0, global = 0;
};

/// What differs first.
struct Difference {
  std::string what;   // "variable 'w1'"
  std::string where;  // the elements and the worker
  std::string reason; // the nearest explanation; empty: none is known
  std::string origin; // who wrote it, and which line of the model computes it
  bool isNone() const { return what.empty() && reason.empty(); }
  /// All of it, on one line.
  std::string text() const;
};

/// Whether an element is infinite or no number.
bool isUndefined(const Tensor &tensor);

/// What differs first, or is on no worker. The parts are of the shape that the comparison has. Adds to `compared` the elements
/// that were.
Difference compare(const Comparison &comparison, const std::vector<Part> &parts, const artifact::Plan &plan,
                   uint64_t &compared);

/// The box around elements: "[50..63, 0..9]"; of a scalar "".
std::string boxOf(std::span<const ElementPair> pairs, const std::vector<int64_t> &shape);

} // namespace dgc::verify
