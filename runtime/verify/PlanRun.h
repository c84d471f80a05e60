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

struct PlanRunOptions {
  const Functions &functions;
  Counts &counts;
  int threads = 1;
  uint64_t order = 0; // chooses the order in which workers go on where they do not wait for each other
};

class WorkerRun;
class Rendezvous;

class PlanRun {
public:
  /// `artifact` and what the options refer to outlive it. Fails where the artifact does not say what its kernels mean.
  static absl::StatusOr<std::unique_ptr<PlanRun>> create(const rt::Artifact &artifact, const PlanRunOptions &options);
  ~PlanRun();

  /// Fails, naming worker and step, where a step reads what is not there or not written for it, or uses what a collective
  /// that goes on works on; and where workers wait for each other.
  absl::Status run(const Call &call);

  /// What the workers that have it hold after the run.
  std::vector<Part> variable(const std::string &name) const;
  std::vector<Part> output(const std::string &name) const;

private:
  friend class WorkerRun;
  PlanRun(const rt::Artifact &artifact, const PlanRunOptions &options);

  /// A kernel or the meaning of another action, and the buffers that it works on.
  struct Work {
    const reference::Kernel *kernel = nullptr;
    std::vector<uint32_t> inputs, results;
    std::vector<uint8_t> bytes; // of a meaning
  };
  absl::Status findKernels();
  InterpreterOptions interpreterOptions() const {
    return {options.functions, options.counts, options.threads, false, undefinedIn(runs)};
  }
  absl::StatusOr<const Work *> workOf(const artifact::Program &program, const artifact::Step &step);
  absl::StatusOr<TensorRef> constant(const artifact::Buffer &buffer);

  const rt::Artifact &artifact;
  PlanRunOptions options;
  std::vector<const reference::Kernel *> kernels; // by Plan.kernels
  std::map<const artifact::Step *, Work> work;
  std::map<std::pair<uint64_t, artifact::DType>, TensorRef> constants;
  std::vector<std::unique_ptr<WorkerRun>> workers;
  uint64_t runs = 0;
  std::string program; // of the last run
};

} // namespace dgc::verify
