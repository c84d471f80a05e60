// What rank 0 serves of a job while it runs: metrics for Prometheus, a page for a browser.
#pragma once

#include "runtime/monitor/JobFacts.h"
#include "runtime/monitor/Server.h"
#include "runtime/telemetry/JobStatus.h"

#include <string_view>

namespace dgc::rt {

/// [ADDRESS:]PORT of each; empty: not served.
struct MonitorOptions {
  std::string metrics, status;
  bool isAskedFor() const { return !metrics.empty() || !status.empty(); }
};

class Monitor {
public:
  /// Serves, and says where. `notice` gets lines without a line feed.
  static absl::StatusOr<std::unique_ptr<Monitor>> start(const MonitorOptions &options, JobFacts facts,
                                                        const std::function<void(std::string_view)> &notice);

  JobStatus &status() { return job; }

private:
  explicit Monitor(JobFacts facts);
  std::string metrics();
  std::string json();

  JobFacts facts;
  JobStatus job;
  std::vector<std::unique_ptr<PageServer>> servers; // which end first
};

} // namespace dgc::rt
