// What a worker keeps while its job replaces a lost one, beside its process and the plan.
#pragma once

#include "runtime/data/Dataset.h"
#include "runtime/driver/Replicas.h"
#include "runtime/telemetry/JsonLog.h"
#include "runtime/telemetry/TensorBoard.h"

#include <memory>
#include <optional>

namespace dgc::rt {

struct Kept {
  /// The plan for a number of workers, where that may change; null: it does not.
  Replicas::PlanOf planOf;
  std::unique_ptr<Replicas> replicas; // with --replicas
  std::optional<Dataset> dataset;
  std::unique_ptr<JsonLog> jsonLog; // rank 0, as the next one
  std::unique_ptr<TensorBoard> board;
};

} // namespace dgc::rt
