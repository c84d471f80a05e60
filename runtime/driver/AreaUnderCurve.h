// The exact area under the receiver operating characteristic of all examples of an evaluation.
//
// It needs all logits at once, in order, and is formed here and not by the program: only dgc-run knows which batch is the
// last one. A program would keep them in a state of a size that is fixed when it is compiled, and would gather and sort all
// of them on every worker in each batch. The area of given logits and labels does not depend on the number of workers: it is
// a quotient of two counts of pairs.
#pragma once

#include "runtime/driver/SampleRows.h"
#include "runtime/telemetry/Progress.h"

namespace dgc::rt {

/// Elements in any type, row-major.
struct ElementsView {
  DType dtype;
  std::span<const std::byte> bytes;
};

/// How often the logit of a positive element is above that of a negative one, over all pairs of them; a pair of equal logits
/// counts as half. A label is positive that is not 0, or as a float above 0.5. An element whose logit is NaN is left out. 0
/// where there are no positives or no negatives. There are as many labels as logits.
double areaUnderCurve(const ElementsView &logits, const ElementsView &labels);

/// The metrics of a program that are areas under curves, over the batches that are added.
class AreaMetrics {
public:
  AreaMetrics(const artifact::Plan &plan, const ProgramRunner &runner, int rank);

  /// Takes the logits and labels of the batch that ran last, `valid` samples of which are real.
  void add(int64_t valid);

  /// Every rank calls it; rank 0 gets the metrics, the others none. The names are valid as long as the object.
  absl::StatusOr<std::vector<Metric>> gather(const GatherBytes &gather) const;

private:
  SampleRows rows;
};

} // namespace dgc::rt
