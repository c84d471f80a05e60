#include "runtime/cluster/SoleCluster.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/cluster/Signals.h"
#include "runtime/cluster/Watchdog.h"

namespace dgc::rt {
namespace {

class SoleCluster final : public Cluster {
public:
  explicit SoleCluster(const ClusterOptions &options) : watchdog(options.abortGraceSeconds) {}

  absl::Status start(const ClusterOptions &options) {
    auto transports = createInProcessTransports(1, options.transport, flag);
    if (!transports.ok())
      return withExitCode(transports.status(), ExitCode::Machine);
    link = std::move(transports->front());
    if (options.handleSignals)
      signals = std::make_unique<SignalWatcher>([this](int signal) {
        absl::Status s = jobStatus(interruptionError(signal), nullptr);
        flag.raise(s);
        watchdog.arm(s);
      });
    return absl::OkStatus();
  }

  int rank() const override { return 0; }
  int worldSize() const override { return 1; }
  Transport &transport() override { return *link; }
  Abort &abort() override { return flag; }
  absl::Status fail(absl::Status error) override {
    flag.raise(std::move(error));
    watchdog.told();
    return flag.status();
  }
  absl::StatusOr<std::vector<std::string>> gather(const std::string &bytes) override {
    return std::vector<std::string>{bytes};
  }
  absl::Status leave() override {
    watchdog.told();
    return flag.status();
  }

private:
  Abort flag;
  std::unique_ptr<Transport> link;
  Watchdog watchdog;
  std::unique_ptr<SignalWatcher> signals; // last made, first to go
};

} // namespace

absl::StatusOr<std::unique_ptr<Cluster>> createSoleCluster(const ClusterOptions &options) {
  auto sole = std::make_unique<SoleCluster>(options);
  DGC_RETURN_IF_ERROR(sole->start(options));
  return sole;
}

} // namespace dgc::rt
