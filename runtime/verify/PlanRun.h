// Runs a plan over the numbers of the exact check: every worker in one process, each with its arenas at the planned
// offsets, its steps in their order, and collectives and transfers as they meet.
#pragma once

#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Reader.h"
#include "runtime/verify/Interpreter.h"
#include "runtime/verify/Meaning.h"
#include "runtime/verify/Memory.h"

#include "absl/status/statusor.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace dgc::verify {

/// Whole tensors by name.
using Values = std::map<std::string, TensorRef>;

/// One run of a program.
struct Call {
  std::string program;
  Values variables; // their values before it; those that are not here keep what they have
  Values inputs;    // of role Data
  int64_t validCount = 0, step = 0, seed = 0;
};

/// The part of a variable or an output that one worker has.
struct Part {
  uint32_t rank = 0;
  rt::Slice slice;
  TensorRef value;                             // of slice.extents()
  std::function<std::string(size_t)> writerOf; // who wrote an element of it; to be asked before the next run
  absl::Status unreadable;                     // why there is no value
};

/// What can happen next in a run: a worker does its next step, or a collective at which all members are has its effect.
struct Event {
  static constexpr int64_t kStep = -1;

  uint32_t worker = 0;        // of a collective the first member
  int64_t collective = kStep; // its number
  std::vector<uint32_t> workers;
  bool operator==(const Event &) const = default;
};

struct PlanRunOptions {
  const Functions &functions;
  Counts &counts;
  int threads = 1;
  uint64_t order = 0;                                        // chooses what happens next, of what can
  std::function<size_t(std::span<const Event>)> choose = {}; // does so instead
  bool checksOrder = true;                                   // that accesses of the same bytes are ordered
};

/// What is run: an artifact, or its parts before they were checked.
struct PlanParts {
  PlanParts(const rt::Artifact &artifact)
      : plan(artifact.plan()), semantics(artifact.semantics()), constants(artifact.constants()) {}
  PlanParts(const artifact::Plan &plan, std::span<const std::byte> semantics, std::span<const std::byte> constants)
      : plan(plan), semantics(semantics), constants(constants) {}

  const artifact::Plan &plan;
  std::span<const std::byte> semantics, constants;
};

class WorkerRun;
class Rendezvous;

class PlanRun {
public:
  /// What the parts and the options refer to outlives it. Fails where the artifact does not say what its kernels mean.
  static absl::StatusOr<std::unique_ptr<PlanRun>> create(const PlanParts &parts, PlanRunOptions options);
  ~PlanRun();

  /// Fails, naming worker and step, where a step reads what is not there or not written for it, where two steps access the
  /// same bytes and nothing orders them, and where workers wait for each other.
  absl::Status run(const Call &call);

  /// What the workers that have it hold after the run.
  std::vector<Part> variable(const std::string &name) const;
  std::vector<Part> output(const std::string &name) const;

private:
  friend class WorkerRun;
  PlanRun(const PlanParts &parts, PlanRunOptions options);

  /// A kernel or the meaning of another action, and the buffers that it works on.
  struct Work {
    const reference::Kernel *kernel = nullptr;
    std::vector<uint32_t> inputs, results;
    std::vector<uint8_t> bytes; // of a meaning
  };
  absl::Status findKernels();
  InterpreterOptions interpreterOptions() const {
    return {options.functions, options.counts, threadsOfWorker, false, undefinedIn(runs)};
  }
  /// Workers do steps that concern nobody else, in threads, each up to a step that does or to a random number.
  absl::Status computeSteps(std::mt19937_64 &random);
  absl::StatusOr<const Work *> workOf(const artifact::Program &program, const artifact::Step &step);
  absl::StatusOr<TensorRef> constant(const artifact::Buffer &buffer);
  std::vector<Event> possibleEvents(const Rendezvous &rendezvous) const;
  absl::Status perform(const Event &event, Rendezvous &rendezvous);

  const PlanParts parts;
  const artifact::Plan &plan;
  PlanRunOptions options;
  std::vector<const reference::Kernel *> kernels; // by Plan.kernels
  std::mutex mutex;                               // of what follows, which threads of workers add to
  std::map<const artifact::Step *, Work> work;
  std::map<std::pair<uint64_t, artifact::DType>, TensorRef> constants;
  std::vector<std::unique_ptr<WorkerRun>> workers;
  int threadsOfWorker = 1;
  uint64_t runs = 0;
  std::string program; // of the last run
};

} // namespace dgc::verify
