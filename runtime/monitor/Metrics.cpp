// The table of metrics. docs/reference/metrics.md is generated from it.
#include "runtime/monitor/Metrics.h"

#include "runtime/base/Printable.h"
#include "runtime/base/Status.h"

#include <prometheus/text_serializer.h>

using namespace dgc::rt;

namespace {
using Type = prometheus::MetricType;

/// What a row takes its values from.
struct Source {
  const JobFacts &facts;
  const JobState &state;
  double wallTime;
};

/// The values of a row.
class Values {
public:
  explicit Values(prometheus::MetricFamily &family) : family(family) {}

  void add(double value, std::initializer_list<std::pair<const char *, std::string>> labels = {}) {
    prometheus::ClientMetric metric;
    for (const auto &[name, text] : labels)
      metric.label.push_back({name, text});
    (family.type == Type::Counter ? metric.counter.value : metric.gauge.value) = value;
    family.metric.push_back(std::move(metric));
  }
  void add(uint64_t value, std::initializer_list<std::pair<const char *, std::string>> labels = {}) {
    add(static_cast<double>(value), labels);
  }
  void add(const std::optional<double> &value) {
    if (value)
      add(*value);
  }
  void add(const TimeHistogram &histogram) {
    prometheus::ClientMetric metric;
    uint64_t below = 0;
    for (size_t i = 0; i < TimeHistogram::bounds.size(); ++i) {
      below += histogram.counts[i];
      metric.histogram.bucket.push_back({below, TimeHistogram::bounds[i]});
    }
    metric.histogram.sample_count = histogram.count;
    metric.histogram.sample_sum = histogram.sum;
    family.metric.push_back(std::move(metric));
  }
  /// Calls `use(worker, its rank as text)` for each.
  template <typename Workers, typename F> static void forEach(const Workers &workers, F use) {
    for (size_t rank = 0; rank < workers.size(); ++rank)
      use(workers[rank], std::to_string(rank));
  }

private:
  prometheus::MetricFamily &family;
};

struct Row {
  const char *name;
  Type type;
  const char *labels; // for people
  const char *help;
  void (*fill)(const Source &from, Values &to);
};
} // namespace

static double seconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

/// One that has no value yet is left out of the answer.
static constexpr Row table[] = {
    {"dgc_run_info", Type::Gauge, "model, plan, producer, workers",
     "What runs; always 1. The plan is the beginning of its SHA-256",
     [](const Source &from, Values &to) {
       to.add(1.0, {{"model", printable(from.facts.model)},
                    {"plan", from.facts.digest.substr(0, 12)},
                    {"producer", printable(from.facts.producer)},
                    {"workers", from.facts.workersText}});
     }},
    {"dgc_phase", Type::Gauge, "phase", "What the job does now; always 1",
     [](const Source &from, Values &to) { to.add(1.0, {{"phase", from.state.phase}}); }},
    {"dgc_steps_total", Type::Counter, "", "Training steps that this process has done",
     [](const Source &from, Values &to) { to.add(from.state.steps); }},
    {"dgc_samples_total", Type::Counter, "", "Real samples of these steps",
     [](const Source &from, Values &to) { to.add(from.state.samples); }},
    {"dgc_tokens_total", Type::Counter, "", "Tokens of these samples, where the model reads tokens",
     [](const Source &from, Values &to) {
       if (from.state.tokensPerSample > 0)
         to.add(static_cast<double>(from.state.samples) * from.state.tokensPerSample);
     }},
    {"dgc_flops_total", Type::Counter, "",
     "Operations on floating-point numbers of these steps, of all workers, as the plan counts them",
     [](const Source &from, Values &to) {
       if (from.facts.flopsPerStep > 0)
         to.add(static_cast<double>(from.state.steps) * from.facts.flopsPerStep);
     }},
    {"dgc_peak_flops", Type::Gauge, "",
     "Operations on floating-point numbers in a second that large products of f32 come to on the CPUs of all workers",
     [](const Source &from, Values &to) {
       if (from.state.peakFlops > 0)
         to.add(from.state.peakFlops);
     }},
    {"dgc_step_seconds", Type::Histogram, "", "Time of a training step",
     [](const Source &from, Values &to) { to.add(from.state.stepSeconds); }},
    {"dgc_step", Type::Gauge, "", "Training steps of the whole run, those before a restart or --resume included",
     [](const Source &from, Values &to) { to.add(static_cast<double>(from.state.step)); }},
    {"dgc_last_step", Type::Gauge, "", "The value of dgc_step at which the run ends",
     [](const Source &from, Values &to) { to.add(static_cast<double>(from.state.lastStep)); }},
    {"dgc_epoch", Type::Gauge, "", "The epoch, from 0",
     [](const Source &from, Values &to) { to.add(static_cast<double>(from.state.epoch)); }},
    {"dgc_loss", Type::Gauge, "", "Loss of the last training step",
     [](const Source &from, Values &to) { to.add(from.state.loss); }},
    {"dgc_metric", Type::Gauge, "name", "A metric of the last training step",
     [](const Source &from, Values &to) {
       for (const auto &[name, value] : from.state.metrics)
         to.add(value, {{"name", printable(name)}});
     }},
    {"dgc_evaluations_total", Type::Counter, "", "Evaluations that this process has done",
     [](const Source &from, Values &to) { to.add(from.state.evaluations); }},
    {"dgc_test_loss", Type::Gauge, "", "Loss of the last evaluation",
     [](const Source &from, Values &to) { to.add(from.state.testLoss); }},
    {"dgc_test_metric", Type::Gauge, "name", "A metric of the last evaluation",
     [](const Source &from, Values &to) {
       for (const auto &[name, value] : from.state.testMetrics)
         to.add(value, {{"name", printable(name)}});
     }},
    {"dgc_workers", Type::Gauge, "", "Workers that the plan has",
     [](const Source &from, Values &to) { to.add(static_cast<double>(from.facts.workers.size())); }},
    {"dgc_workers_present", Type::Gauge, "", "Workers that are in the job now",
     [](const Source &from, Values &to) {
       double present = 0;
       for (const WorkerState &worker : from.state.workers)
         present += worker.isPresent;
       to.add(present);
     }},
    {"dgc_restarts_total", Type::Counter, "",
     "How often the job has gone on after the loss of a worker, by --max-restarts",
     [](const Source &from, Values &to) { to.add(static_cast<double>(from.state.restarts)); }},
    {"dgc_worker_step", Type::Gauge, "worker", "The training step that a worker runs",
     [](const Source &from, Values &to) {
       Values::forEach(from.state.workers, [&](const WorkerState &worker, const std::string &rank) {
         to.add(static_cast<double>(worker.step), {{"worker", rank}});
       });
     }},
    {"dgc_memory_planned_bytes", Type::Gauge, "worker",
     "Memory that the plan has for a worker, of its device where that has its own",
     [](const Source &from, Values &to) {
       Values::forEach(from.facts.workers, [&](const JobFacts::Worker &worker, const std::string &rank) {
         to.add(worker.plannedBytes, {{"worker", rank}});
       });
     }},
    {"dgc_memory_used_bytes", Type::Gauge, "worker",
     "Memory that a worker takes of what the plan has; or of its device, where that has its own, with the libraries",
     [](const Source &from, Values &to) {
       Values::forEach(from.state.workers, [&](const WorkerState &worker, const std::string &rank) {
         if (worker.memory > 0)
           to.add(worker.memory, {{"worker", rank}});
       });
     }},
    {"dgc_process_resident_bytes", Type::Gauge, "worker",
     "Memory that the process of a worker takes, with data set, code and libraries",
     [](const Source &from, Values &to) {
       Values::forEach(from.state.workers, [&](const WorkerState &worker, const std::string &rank) {
         if (worker.resident > 0)
           to.add(worker.resident, {{"worker", rank}});
       });
     }},
    {"dgc_communication_bytes_total", Type::Counter, "worker, kind, direction",
     "Payload that the training steps of a worker gave (sent) and got (received), by the plan; loops of unknown length "
     "count once",
     [](const Source &from, Values &to) {
       Values::forEach(from.facts.workers, [&](const JobFacts::Worker &worker, const std::string &rank) {
         for (const auto &[kind, bytes] : worker.traffic)
           for (auto [direction, each] : {std::pair("sent", bytes.sent), {"received", bytes.received}})
             if (each > 0)
               to.add(each * from.state.steps, {{"worker", rank}, {"kind", kind}, {"direction", direction}});
       });
     }},
    {"dgc_socket_bytes_total", Type::Counter, "worker",
     "Bytes of tensors over sockets, both ways, of all that a worker did",
     [](const Source &from, Values &to) {
       Values::forEach(from.state.workers, [&](const WorkerState &worker, const std::string &rank) {
         to.add(worker.moved, {{"worker", rank}});
       });
     }},
    {"dgc_exposed_communication_seconds_total", Type::Counter, "worker",
     "Time in which a worker did nothing but communicate or wait for that, where the host communicates",
     [](const Source &from, Values &to) {
       Values::forEach(from.state.workers, [&](const WorkerState &worker, const std::string &rank) {
         to.add(seconds(worker.exposed), {{"worker", rank}});
       });
     }},
    {"dgc_worker_heartbeats_total", Type::Counter, "worker, state",
     "Heartbeats of a worker, by whether it was computing or waiting for another worker at that moment",
     [](const Source &from, Values &to) {
       Values::forEach(from.state.workers, [&](const WorkerState &worker, const std::string &rank) {
         if (worker.heartbeats == 0)
           return;
         to.add(worker.heartbeats - worker.waits, {{"worker", rank}, {"state", "computing"}});
         to.add(worker.waits, {{"worker", rank}, {"state", "waiting"}});
       });
     }},
    {"dgc_stragglers_total", Type::Counter, "worker",
     "How often a worker was named as slower than the others (--straggler-factor)",
     [](const Source &from, Values &to) {
       Values::forEach(from.state.stragglers, [&](const JobState::Straggler &straggler, const std::string &rank) {
         to.add(straggler.count, {{"worker", rank}});
       });
     }},
    {"dgc_checkpoints_total", Type::Counter, "", "Checkpoints that are complete",
     [](const Source &from, Values &to) { to.add(from.state.checkpoints.count); }},
    {"dgc_checkpoint_failures_total", Type::Counter, "", "Checkpoints that could not be written",
     [](const Source &from, Values &to) { to.add(from.state.checkpoints.failures); }},
    {"dgc_checkpoint_step", Type::Gauge, "", "The step of the last checkpoint",
     [](const Source &from, Values &to) {
       if (from.state.checkpoints.count > 0)
         to.add(static_cast<double>(from.state.checkpoints.step));
     }},
    {"dgc_checkpoint_timestamp_seconds", Type::Gauge, "", "When the last checkpoint was complete, since 1970",
     [](const Source &from, Values &to) {
       if (from.state.checkpoints.count > 0)
         to.add(from.state.checkpoints.writtenAt);
     }},
    {"dgc_checkpoint_age_seconds", Type::Gauge, "", "How long ago that is",
     [](const Source &from, Values &to) {
       if (from.state.checkpoints.count > 0)
         to.add(from.wallTime - from.state.checkpoints.writtenAt);
     }},
    {"dgc_checkpoint_duration_seconds", Type::Gauge, "",
     "From the step of the last checkpoint until it was complete; the training goes on meanwhile",
     [](const Source &from, Values &to) {
       if (from.state.checkpoints.count > 0)
         to.add(from.state.checkpoints.seconds);
     }},
};

std::string dgc::rt::expose(const JobFacts &facts, const JobState &state, double wallTime) {
  std::vector<prometheus::MetricFamily> families;
  const Source source{facts, state, wallTime};
  for (const Row &row : table) {
    prometheus::MetricFamily family{row.name, row.help, row.type, {}};
    Values values(family);
    row.fill(source, values);
    if (!family.metric.empty())
      families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}
