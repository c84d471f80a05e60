// Which worker of a job is persistently slower than the others: it computes while they wait.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/cluster/Messages.h"

#include <map>
#include <optional>
#include <vector>

namespace dgc::rt {

/// Workers advance together, so their step times are equal; what differs is how long each of them computes. Heartbeats are
/// samples of that: a worker that waits says for whom.
class StragglerWatch {
public:
  struct Options {
    double factor = 1.5;    ///< a straggler computes so much longer than the median of the others; 0: no worker is one
    TimeNs window = 30_s;   ///< that samples are counted in
    int windows = 2;        ///< one after the other, in which it has to be the same worker
    TimeNs silence = 600_s; ///< before it is named again
  };
  struct Straggler {
    uint32_t rank = 0;
    double busy = 0, median = 0; ///< the share of the time in which it computes, and the median of the others
    TimeNs window = 0;
    Position position; ///< where it was most often
  };

  StragglerWatch(size_t worldSize, Options options, TimeNs now) : options(options), begin(now), workers(worldSize) {}

  void add(uint32_t rank, const HeartbeatMessage &sample);
  /// At the end of a window: the straggler, if there is one to be named.
  std::optional<Straggler> look(TimeNs now);

private:
  struct Worker {
    int samples = 0, busy = 0;
    std::map<uint32_t, std::pair<int, uint64_t>> ops; ///< how often it computed there, and the last step
    std::optional<TimeNs> named;
  };
  std::optional<Straggler> slowest() const;

  Options options;
  TimeNs begin;
  std::vector<Worker> workers;
  std::optional<uint32_t> suspect;
  int suspected = 0; ///< windows
};

} // namespace dgc::rt
