// The flags for watching a run.
#include "tools/dgc-run/FlagGroups.h"

#include "runtime/monitor/Server.h"

using namespace dgc;
using namespace dgc::tool;

/// Accepts what the server takes.
static CLI::Validator listenAddress(const std::string &flag) {
  return CLI::Validator(
      [flag](const std::string &text) {
        const std::string prefix = flag + ": ";
        auto address = rt::parseListen(text, flag);
        return address.ok() ? std::string() : std::string(address.status().message()).substr(prefix.size());
      },
      "");
}

void dgc::tool::addWatchFlags(CLI::App &app, Flags &flags) {
  const std::string group = "Watching";
  app.add_option(
         "--metrics-port", flags.monitor.metrics,
         "Serve metrics of the whole job to Prometheus, on rank 0, at http://ADDRESS:PORT/metrics; 0: a free port, "
         "which is printed. Without an address on this machine alone")
      ->check(listenAddress("--metrics-port"))
      ->type_name("[ADDRESS:]PORT")
      ->group(group);
  app.add_option("--status-port", flags.monitor.status,
                 "Serve a page that shows the job to browsers, in the same way; the port may be that of --metrics-port")
      ->check(listenAddress("--status-port"))
      ->type_name("[ADDRESS:]PORT")
      ->group(group);
  app.add_option(
         "--tensorboard-histograms", flags.run.tensorboardHistograms,
         "With --tensorboard: write histograms of all variables as they begin, and after so many steps, each time")
      ->check(wholeNumber(1))
      ->type_name("STEPS")
      ->needs(app.get_option("--tensorboard"))
      ->group(group);
}
