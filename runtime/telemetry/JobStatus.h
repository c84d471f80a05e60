// Where a job is, for those who watch it: --metrics-port, --status-port.
#pragma once

#include "runtime/base/Clock.h"
#include "runtime/telemetry/JsonLog.h"

#include <array>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dgc::rt {

/// A worker, as rank 0 knows it.
struct WorkerState {
  bool isPresent = false;
  int64_t step = 0;                   // that it runs
  int awaited = -1;                   // the rank that it waits for; -1: it computes
  uint64_t memory = 0;                // bytes that it takes for what a plan plans, or of its device
  uint64_t resident = 0;              // bytes of its process
  uint64_t exposed = 0;               // nanoseconds in which it did nothing but communicate
  uint64_t moved = 0;                 // bytes over sockets, both ways
  uint64_t heartbeats = 0, waits = 0; // how many there were, and in how many of them it waited
};

/// How many values are at most as large as each bound.
struct TimeHistogram {
  /// Seconds. Beyond the last one there is one more count.
  static constexpr std::array<double, 17> bounds = {.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05,
                                                    .1,    .25,    .5,    1,    2.5,   5,    10,  60};
  std::array<uint64_t, bounds.size() + 1> counts{}; // each in the first bound that it fits
  uint64_t count = 0;
  double sum = 0;

  void add(double seconds);
};

/// Values over steps, thinned out: means of so many steps that there are some hundreds of points.
class Curve {
public:
  struct Point {
    double step = 0, value = 0; // means
  };
  static constexpr size_t most = 600;

  void add(int64_t step, double value);
  /// The last one may be of fewer steps than the others.
  std::vector<Point> points() const;

private:
  std::vector<Point> whole;
  uint64_t stride = 1, taken = 0;
  Point sum;
};

/// All that is told of a job.
struct JobState {
  std::string phase = "starting";
  double seconds = 0;                               // since the process has begun
  int64_t firstStep = 0, step = 0, lastStep = 0;    // this run begins at, has done, and ends at
  int64_t epoch = 0;                                // from 0
  double peakFlops = 0;                             // of all workers, what large products come to; 0: not known
  int64_t restarts = 0;                             // how often it has gone on after the loss of a worker
  uint64_t steps = 0, samples = 0, evaluations = 0; // by this process
  TimeHistogram stepSeconds;
  std::optional<double> loss, testLoss;
  std::vector<std::pair<std::string, double>> metrics, testMetrics;
  std::vector<Curve::Point> losses, testLosses;
  double stepsPerSecond = 0, samplesPerSecond = 0; // of the last seconds
  double exposedShare = 0;                         // of the time of a worker, of the last seconds
  double tokensPerSample = 0;                      // 0: samples have no tokens
  struct {
    uint64_t count = 0, failures = 0;
    int64_t step = -1;                 // of the last one
    double seconds = 0, writtenAt = 0; // how long it took; since 1970
  } checkpoints;
  struct Straggler {
    uint64_t count = 0;
    double busy = 0, median = 0; // when it was named last
  };
  std::vector<Straggler> stragglers; // by rank
  std::vector<WorkerState> workers;  // by rank
  std::deque<std::string> warnings;  // the last ones
};

/// Used by any thread: the run writes into it, others take what is there.
class JobStatus {
public:
  /// `clock` outlives it. `wallTime`: seconds since 1970.
  JobStatus(size_t workers, Clock &clock, std::function<double()> wallTime);

  /// What the job does now: "training".
  void enter(std::string_view phase);
  /// The run goes from a step to another one.
  void beginsAt(int64_t step, int64_t lastStep, double tokensPerSample);
  /// What the log gets.
  void add(const LogEvent &event);
  /// How often the job has gone on after the loss of a worker.
  void setRestarts(int64_t restarts);
  /// Operations on floats in a second that all workers could come to.
  void setPeak(double flops);
  void setWorkers(std::vector<WorkerState> workers);
  /// Asked for the workers whenever somebody looks, in place of setWorkers().
  void sampleWorkersBy(std::function<std::vector<WorkerState>()> sample);
  void name(size_t straggler, double busy, double median);

  JobState state();

private:
  static constexpr TimeNs kSamplePeriod = 500_ms, kWindow = 10_s;
  static constexpr size_t kWarnings = 8;
  struct Sample {
    TimeNs at = 0;
    uint64_t steps = 0, samples = 0, exposed = 0; // `exposed` of all workers
  };
  void addStep(const LogEvent &event);
  void addEvaluation(const LogEvent &event);
  Sample sampleAt(TimeNs now);
  void addRates(JobState &copy, TimeNs now);

  Clock &clock;
  std::function<double()> wallTime;
  TimeNs begun;
  std::mutex mutex;
  JobState current;
  Curve losses, testLosses;
  std::deque<Sample> window;
  std::function<std::vector<WorkerState>()> sample;
};

} // namespace dgc::rt
