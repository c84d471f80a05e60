// Puts the state of a job behind ports.
#include "runtime/monitor/Monitor.h"

#include "runtime/base/Status.h"
#include "runtime/monitor/Metrics.h"
#include "runtime/monitor/StatusPage.h"
#include "runtime/telemetry/TensorBoard.h"

using namespace dgc;
using namespace dgc::rt;

Monitor::Monitor(JobFacts given) : facts(std::move(given)), job(facts.workers.size(), realClock(), wallTime) {}

std::string Monitor::metrics() { return expose(facts, job.state(), wallTime()); }
std::string Monitor::json() { return statusJson(facts, job.state(), wallTime()); }

absl::StatusOr<std::unique_ptr<Monitor>> Monitor::start(const MonitorOptions &options, JobFacts facts,
                                                        const std::function<void(std::string_view)> &notice) {
  std::unique_ptr<Monitor> monitor(new Monitor(std::move(facts)));
  Monitor *self = monitor.get();
  const ServedPage metrics{"/metrics", kExpositionType, [self] { return self->metrics(); }};
  const ServedPage page{"/", "text/html; charset=utf-8", [] { return std::string(statusPage()); }};
  const ServedPage json{"/status.json", "application/json", [self] { return self->json(); }};
  auto serve = [&](const std::string &at, const std::string &flag, std::vector<ServedPage> pages,
                   std::string_view what) -> absl::Status {
    DGC_ASSIGN_OR_RETURN(const Address address, parseListen(at, flag));
    DGC_ASSIGN_OR_RETURN(auto server, PageServer::start(address, pages, flag));
    notice(str(what, " at http://", server->address().text(), pages.front().path));
    monitor->servers.push_back(std::move(server));
    return absl::OkStatus();
  };
  const bool isOne = options.metrics == options.status && options.metrics != "0"; // port for both
  if (!options.metrics.empty())
    DGC_RETURN_IF_ERROR(serve(options.metrics, "--metrics-port",
                              isOne ? std::vector{metrics, page, json} : std::vector{metrics}, "metrics"));
  if (!options.status.empty() && isOne)
    notice(str("status at http://", monitor->servers.back()->address().text(), "/"));
  else if (!options.status.empty())
    DGC_RETURN_IF_ERROR(serve(options.status, "--status-port", {page, json}, "status"));
  return monitor;
}
