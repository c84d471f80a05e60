// Runs a plan with every rank as a thread of this process.
#include "runtime/executor/RunOnce.h"

#include "runtime/artifact/Reader.h"
#include "runtime/artifact/VariableParts.h"
#include "runtime/base/Limits.h"
#include "runtime/base/Status.h"
#include "runtime/data/Array.h"
#include "runtime/executor/Executor.h"

#include <algorithm>
#include <cstring>
#include <thread>

using namespace dgc;
using namespace dgc::rt;

namespace {
/// The run as all ranks see it. Ranks meet at `barrier` between phases.
class InProcessRun {
public:
  InProcessRun(const Artifact &artifact, const NamedArrays &inputs, const RunOnceOptions &options, std::string program)
      : artifact(artifact), options(options), program(std::move(program)), inputs(inputs) {}

  absl::StatusOr<RunOnceResult> run() {
    TransportOptions transport;
    transport.sharedBytes = artifact.plan().shared_bytes();
    int world = static_cast<int>(artifact.plan().world_size());
    DGC_ASSIGN_OR_RETURN(auto transports, createInProcessTransports(world, transport, abort));
    std::vector<std::thread> threads;
    for (std::unique_ptr<Transport> &t : transports)
      threads.emplace_back([&] { rankMain(*t); });
    for (std::thread &thread : threads)
      thread.join();
    if (abort.raised())
      return abort.status();
    return std::move(result);
  }

private:
  void rankMain(Transport &transport) {
    if (absl::Status s = catchExhaustion([&] { return runRank(transport); }); !s.ok())
      abort.raise(annotate(s, str("rank ", transport.rank())));
  }

  absl::Status runRank(Transport &transport) {
    ExecutorOptions executorOptions;
    executorOptions.threads = options.threads;
    executorOptions.seed = options.seed;
    executorOptions.memoryLimit = options.memoryLimit;
    executorOptions.makeDevice = options.makeDevice;
    DGC_ASSIGN_OR_RETURN(auto executor, Executor::create(artifact, transport, executorOptions, {program}));
    DGC_RETURN_IF_ERROR(setVariables(*executor));
    ProgramRunner &runner = *executor->program(program);
    DGC_RETURN_IF_ERROR(transport.barrier());
    for (int i = 0, collected = 0; i < options.steps; ++i) {
      // Before each step: the memory of an input is used again once it has been read.
      runner.setValidCount(options.validCount >= 0 ? options.validCount
                                                   : static_cast<int32_t>(artifact.plan().global_batch()));
      DGC_RETURN_IF_ERROR(setInputs(runner, i));
      DGC_RETURN_IF_ERROR(runner.submit(options.firstStep + static_cast<uint64_t>(i)));
      const int last = i + 1 == options.steps ? i : i + 1 - static_cast<int>(options.ahead ? runner.depth() : 1);
      for (; collected <= last; ++collected) {
        DGC_RETURN_IF_ERROR(runner.collect());
        DGC_RETURN_IF_ERROR(collectOutputs(transport, runner, collected));
      }
    }
    DGC_RETURN_IF_ERROR(executor->downloadVariables());
    return inTurn(transport, [&]() -> absl::Status {
      for (const VariableView &part : partsOf(executor->variables()))
        DGC_RETURN_IF_ERROR(collect(part, "variable", result.variables));
      return absl::OkStatus();
    });
  }

  absl::Status fill(const TensorView &view, const HostArray &array) const {
    if (array.dtype != view.dtype || array.shape != view.globalShape ||
        array.bytes.size() != byteSize(array.dtype, array.shape).value_or(~0u))
      return absl::InvalidArgumentError(str("'", view.name, "' must be ", rt::describe(view.dtype, view.globalShape),
                                            ", given is ", rt::describe(array.dtype, array.shape), " of ",
                                            array.bytes.size(), " bytes"));
    // Padding may hold anything: here what harms most, NaNs or -1.
    if (!view.slice.block.empty())
      std::memset(view.memory.data(), 0xff, view.memory.size());
    copySliceOut(array.bytes.data(), view.globalShape, view.slice, sizeOf(view.dtype), view.memory.data());
    return absl::OkStatus();
  }

  /// Whether the program of any group of workers reads an input of this name.
  bool isInput(const std::string &name) const {
    const auto &programs = *artifact.plan().programs();
    return std::any_of(programs.begin(), programs.end(), [&](const artifact::Program *p) {
      return p->name()->str() == program && p->inputs() &&
             std::any_of(p->inputs()->begin(), p->inputs()->end(),
                         [&](const artifact::Input *input) { return input->name()->str() == name; });
    });
  }

  absl::Status setVariables(Executor &executor) {
    auto given = [&](const VariableView &view) -> absl::Status {
      auto it = options.variables.find(view.name);
      if (it == options.variables.end())
        return absl::InvalidArgumentError("its value is not given");
      return fill(view, it->second);
    };
    DGC_RETURN_IF_ERROR(executor.initializeVariables(given));
    const std::vector<VariableView> views = partsOf(executor.variables());
    for (const auto &[name, array] : options.variables) {
      auto view = std::find_if(views.begin(), views.end(), [&](const auto &v) { return v.name == name; });
      if (view != views.end()) {
        DGC_RETURN_IF_ERROR(fill(*view, array));
        DGC_RETURN_IF_ERROR(executor.upload(*view));
      } else if (!hasVariable(artifact.plan(), name)) // no worker has it
        return absl::NotFoundError(str("the plan has no variable '", name, "'"));
    }
    return absl::OkStatus();
  }

  absl::Status setInputs(ProgramRunner &runner, int i) const {
    NamedArrays own;
    if (options.inputsOfStep)
      own = options.inputsOfStep(i);
    const NamedArrays &arrays = options.inputsOfStep ? own : inputs;
    for (const auto &[name, array] : arrays) {
      if (!isInput(name))
        return absl::NotFoundError(str("program '", program, "' has no input '", name, "'"));
    }
    for (const InputView &view : runner.inputs()) {
      if (view.role == artifact::InputRole::AxisIndex) // its name is that of an axis
        continue;
      auto it = arrays.find(view.name);
      if (it != arrays.end())
        DGC_RETURN_IF_ERROR(fill(view, it->second));
      else if (view.role == artifact::InputRole::Data)
        return absl::NotFoundError(str("input '", view.name, "' is not given"));
    }
    return absl::OkStatus();
  }

  /// Calls f on one rank after the other.
  template <typename F> absl::Status inTurn(Transport &transport, F f) {
    for (int rank = 0; rank < transport.worldSize(); ++rank) {
      if (rank == transport.rank())
        DGC_RETURN_IF_ERROR(f());
      DGC_RETURN_IF_ERROR(transport.barrier());
    }
    return absl::OkStatus();
  }

  absl::Status collectOutputs(Transport &transport, ProgramRunner &runner, int i) {
    return inTurn(transport, [&]() -> absl::Status {
      if (transport.rank() == 0) {
        result.outputs.clear();
        seen.clear();
      }
      for (const OutputView &view : runner.outputs())
        DGC_RETURN_IF_ERROR(collect(view, "output", result.outputs));
      if (transport.rank() == transport.worldSize() - 1)
        result.outputsOfStep.push_back(result.outputs);
      return absl::OkStatus();
    });
  }

  /// Puts this rank's part of a tensor in its place. Parts that were put there
  /// before must have the same bits.
  absl::Status collect(const TensorView &view, const char *kind, NamedArrays &into) {
    HostArray &array = into[view.name];
    size_t size = sizeOf(view.dtype);
    if (array.bytes.empty()) {
      array.dtype = view.dtype;
      array.shape = view.globalShape;
      array.bytes.resize(byteSize(view.dtype, view.globalShape).value_or(0));
    }
    std::vector<Slice> &earlier = seen[str(kind, " ", view.name)];
    if (options.checkReplicas && std::count(earlier.begin(), earlier.end(), view.slice)) {
      Slice dense{view.slice.offsets, view.slice.sizes, {}};
      std::vector<std::byte> other(static_cast<size_t>(dense.numElements()) * size);
      copySliceOut(array.bytes.data(), view.globalShape, dense, size, other.data());
      if (other != packed(view.memory.data(), view.slice, size))
        return absl::InternalError(str(kind, " '", view.name,
                                       "' differs from that of an earlier "
                                       "rank that holds the same part"));
    }
    earlier.push_back(view.slice);
    copySliceIn(view.memory.data(), view.globalShape, view.slice, size, array.bytes.data());
    return absl::OkStatus();
  }

  const Artifact &artifact;
  const RunOnceOptions &options;
  std::string program;
  const NamedArrays &inputs;
  Abort abort;
  RunOnceResult result; // written by the rank whose turn it is
  std::map<std::string, std::vector<Slice>> seen;
};
} // namespace

absl::StatusOr<RunOnceResult> dgc::rt::runOnce(std::span<const uint8_t> plan, const NamedArrays &inputs,
                                               const RunOnceOptions &options) {
  DGC_ASSIGN_OR_RETURN(auto artifact, loadBytes(plan));
  const auto *programs = artifact->plan().programs();
  std::string program = options.program;
  if (program.empty() && programs && programs->size() &&
      std::all_of(programs->begin(), programs->end(), [&](const artifact::Program *p) {
        return p->name()->string_view() == programs->Get(0)->name()->string_view();
      }))
    program = programs->Get(0)->name()->str();
  if (!artifact->program(program)) {
    std::string names;
    for (uint32_t i = 0; programs && i < programs->size(); ++i)
      names += str(i ? ", " : "", programs->Get(i)->name()->str());
    return absl::NotFoundError(str("the plan has no program '", program, "'; it has ", names));
  }
  if (options.worldSize && options.worldSize != artifact->plan().world_size())
    return absl::InvalidArgumentError(
        str("the plan is for ", artifact->plan().world_size(), " workers, not ", options.worldSize));
  return InProcessRun(*artifact, inputs, options, program).run();
}
