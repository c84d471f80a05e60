// Times the steps of plans.
#include "tools/gpu-check/Timing.h"

#include "runtime/base/Clock.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"
#include "runtime/executor/Executor.h"
#include "tools/gpu-check/Compare.h"
#include "tools/gpu-check/Inputs.h"

#include <algorithm>
#include <cstring>
#include <thread>

using namespace dgc;
using namespace dgc::rt;

constexpr int kRounds = 5;
constexpr TimeNs kRound = 100'000'000; // the least that is timed at once

std::pair<double, double> workOf(const artifact::Program &program) {
  double bytes = 0, operations = 0;
  auto bufferOf = [&](uint32_t index) -> const artifact::Buffer & { return *program.buffers()->Get(index); };
  auto sizeOfBuffer = [&](uint32_t index) {
    return static_cast<double>(*byteSize(toDType(bufferOf(index).dtype()), toVector(bufferOf(index).shape())));
  };
  auto elementsOf = [&](uint32_t index) {
    return sizeOfBuffer(index) / static_cast<double>(sizeOf(toDType(bufferOf(index).dtype())));
  };
  for (const artifact::Step *step : *program.steps()) {
    if (const artifact::KernelCall *call = step->action_as_KernelCall())
      for (uint32_t i = 0; call->args() && i < call->args()->size(); ++i)
        bytes += sizeOfBuffer(call->args()->Get(i));
    else if (const artifact::Copy *copy = step->action_as_Copy())
      bytes += sizeOfBuffer(copy->src()) + sizeOfBuffer(copy->dst());
    else if (const artifact::Fill *fill = step->action_as_Fill())
      bytes += sizeOfBuffer(fill->dst());
    else if (const artifact::Matmul *matmul = step->action_as_Matmul())
      operations += 2.0 * static_cast<double>(matmul->batch()) * static_cast<double>(matmul->m()) *
                    static_cast<double>(matmul->n()) * static_cast<double>(matmul->k());
    else if (const artifact::Convolution *c = step->action_as_Convolution()) // each output: a filter
      operations += 2.0 * elementsOf(c->dst()) * elementsOf(c->weights()) /
                    static_cast<double>(toVector(bufferOf(c->dst()).shape()).back());
    else if (const artifact::Attention *a = step->action_as_Attention()) { // two products, or five for the gradient
      double places = static_cast<double>(toVector(bufferOf(a->key()).shape())[1]);
      operations += (a->backward() ? 10.0 : 4.0) * elementsOf(a->query()) * places / (a->causal() ? 2 : 1);
    }
  }
  return {bytes, operations};
}

/// A program that is submitted as in training: so many steps ahead as it can be, its batch written before each.
class Steps {
public:
  Steps(ProgramRunner &runner, int32_t batchSize) : runner(runner), batchSize(batchSize) {
    for (const InputView &input : runner.inputs())
      if (input.role == artifact::InputRole::Data)
        batch.emplace_back(input.memory, makeInput(input.dtype, input.globalShape, input.indexLimit, 0));
  }

  absl::StatusOr<TimeNs> time(int steps) {
    TimeNs begin = realClock().now();
    size_t running = 0;
    for (int i = 0; i < steps; ++i) {
      for (const auto &[memory, values] : batch)
        std::memcpy(memory.data(), values.bytes.data(), memory.size());
      runner.setValidCount(batchSize); // its memory is used again as well
      DGC_RETURN_IF_ERROR(runner.submit(static_cast<uint64_t>(done++)));
      if (++running < runner.depth())
        continue;
      DGC_RETURN_IF_ERROR(runner.collect());
      --running;
    }
    for (; running > 0; --running)
      DGC_RETURN_IF_ERROR(runner.collect());
    return realClock().now() - begin;
  }

  /// An error if an output of the last step is not finite.
  absl::Status checkOutputs() const {
    for (const OutputView &output : runner.outputs())
      if (!isFinite({output.dtype, {}, {output.memory.begin(), output.memory.end()}}))
        return absl::OutOfRangeError(str("'", output.name, "' is not finite after ", done, " steps"));
    return absl::OkStatus();
  }

private:
  ProgramRunner &runner;
  int32_t batchSize;
  std::vector<std::pair<std::span<std::byte>, HostArray>> batch;
  int done = 0;
};

/// Fills in what a step takes.
static absl::Status timeProgram(const artifact::Plan &plan, const artifact::Program &program, ProgramRunner &runner,
                                Row &row) {
  std::fprintf(stderr, "timing %s\n", row.what.c_str()); // what is said of a process that does not end
  Steps timed(runner, static_cast<int32_t>(plan.global_batch()));
  DGC_RETURN_IF_ERROR(timed.time(2).status());
  DGC_ASSIGN_OR_RETURN(TimeNs five, timed.time(5));
  int steps = static_cast<int>(std::clamp<TimeNs>(5 * kRound / std::max<TimeNs>(five, 1), 5, 10000));
  TimeNs best = INT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    DGC_ASSIGN_OR_RETURN(TimeNs taken, timed.time(steps));
    best = std::min(best, taken);
  }
  DGC_RETURN_IF_ERROR(timed.checkOutputs());
  const double seconds = static_cast<double>(best) / steps * 1e-9;
  row.microseconds = seconds * 1e6;
  if (plan.global_batch() > 0)
    row.samples = static_cast<double>(plan.global_batch()) / seconds;
  auto [bytes, operations] = workOf(program);
  row.gigabytes = bytes / seconds * 1e-9;
  row.teraflops = operations / seconds * 1e-12;
  return absl::OkStatus();
}

/// All programs share one executor, as each would load the plan and fill its variables anew.
static absl::Status timePrograms(const std::filesystem::path &path, absl::FunctionRef<void(const Row &)> add) {
  DGC_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, readPlan(path));
  DGC_ASSIGN_OR_RETURN(auto artifact, loadBytes(bytes));
  const artifact::Plan &plan = artifact->plan();
  std::vector<std::string> names;
  for (const artifact::Program *program : *plan.programs())
    if (std::string name = program->name()->str(); name != "evaluate" && name != "predict")
      names.push_back(name);
  Abort abort;
  TransportOptions transportOptions;
  transportOptions.sharedBytes = plan.shared_bytes();
  DGC_ASSIGN_OR_RETURN(auto transports, createInProcessTransports(1, transportOptions, abort));
  ExecutorOptions options;
  options.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency())); // for initial values
  DGC_ASSIGN_OR_RETURN(auto executor, Executor::create(*artifact, *transports[0], options, names));
  DGC_RETURN_IF_ERROR(executor->initializeVariables());
  for (const artifact::Program *program : *plan.programs()) {
    ProgramRunner *runner = executor->program(program->name()->string_view());
    if (!runner)
      continue;
    Row row{caseOf(path), program->name()->str()};
    absl::Status status = timeProgram(plan, *program, *runner, row);
    row.detail = std::string(status.message());
    row.outcome = status.ok() ? Outcome::Passed : outcomeOfError(row.detail);
    add(row);
  }
  return absl::OkStatus();
}

void timePlan(const std::filesystem::path &path, absl::FunctionRef<void(const Row &)> add) {
  absl::Status status = timePrograms(path, add);
  if (!status.ok()) {
    const std::string message(status.message());
    add({caseOf(path), "load", outcomeOfError(message), message});
  }
}
