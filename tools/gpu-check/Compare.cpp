// Compares what plans compute, three steps with the same inputs, and times their steps.
#include "tools/gpu-check/Compare.h"

#include "runtime/artifact/Reader.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Disk.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"
#include "runtime/executor/Executor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

using namespace dgc;
using namespace dgc::rt;

constexpr int kSteps = 3, kRounds = 5;
constexpr TimeNs kRound = 100'000'000; // the least that is timed at once

double toleranceOf(const artifact::Plan &plan) {
  std::string precision;
  for (uint32_t i = 0; plan.options() && i < plan.options()->size(); ++i)
    if (const artifact::CompilerOption &option = *plan.options()->Get(i);
        option.name()->string_view() == "precision" && option.value())
      precision = option.value()->str();
  return precision == "bf16" ? 3e-2 : precision == "f16" || precision == "tf32" ? 4e-3 : 1e-4;
}

/// An input of any type: bytes of images up to 250, other integers below 10, floating-point numbers in [-1, 1].
static HostArray makeInput(DType dtype, const std::vector<int64_t> &shape, int step) {
  HostArray array{dtype, shape, {}};
  size_t count = 1, size = sizeOf(dtype);
  for (int64_t extent : shape)
    count *= static_cast<size_t>(extent);
  array.bytes.resize(count * size);
  for (size_t i = 0; i < count; ++i) {
    size_t mixed = (i * 7919 + static_cast<size_t>(step) * 104729 + 13) % 1009;
    std::byte *at = array.bytes.data() + i * size;
    auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
    double real = static_cast<double>(mixed) / 504.5 - 1;
    if (dtype == DType::F32)
      put(static_cast<float>(real));
    else if (dtype == DType::F64)
      put(real);
    else if (dtype == DType::BF16)
      put(toBF16(static_cast<float>(real)));
    else if (dtype == DType::F16)
      put(toF16(static_cast<float>(real)));
    else if (dtype == DType::I1)
      put(static_cast<uint8_t>(mixed % 2));
    else {
      uint64_t whole = dtype == DType::U8 && shape.size() > 1 ? mixed % 251 : mixed % 10;
      std::memcpy(at, &whole, size);
    }
  }
  return array;
}

double difference(const HostArray &a, const HostArray &b) {
  if (a.dtype != b.dtype || a.bytes.size() != b.bytes.size())
    return INFINITY;
  if (a.dtype != DType::F32)
    return a.bytes == b.bytes ? 0 : isFloat(a.dtype) ? 0 : 1;
  std::vector<float> x = a.as<float>(), y = b.as<float>();
  double most = 0, largest = 1e-30;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x[i]) != std::isfinite(y[i]))
      return INFINITY;
    if (!std::isfinite(x[i]))
      continue;
    most = std::max(most, std::abs(double(x[i]) - y[i]));
    largest = std::max(largest, std::abs(double(y[i])));
  }
  return most / largest;
}

absl::StatusOr<std::vector<uint8_t>> readPlan(const std::filesystem::path &path) {
  DGC_ASSIGN_OR_RETURN(std::string bytes, readFile(realDisk(), path.string()));
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

static RunOnceOptions optionsFor(const artifact::Program &program) {
  RunOnceOptions options;
  options.program = program.name()->str();
  options.steps = kSteps;
  options.inputsOfStep = [&program](int step) {
    NamedArrays inputs;
    for (uint32_t i = 0; program.inputs() && i < program.inputs()->size(); ++i) {
      const artifact::Input &input = *program.inputs()->Get(i);
      if (input.role() == artifact::InputRole::Data)
        inputs[input.name()->str()] =
            makeInput(toDType(program.buffers()->Get(input.buffer())->dtype()), toVector(input.global_shape()), step);
    }
    return inputs;
  };
  return options;
}

static absl::StatusOr<double> compare(const std::vector<uint8_t> &gpu, const std::vector<uint8_t> &cpu,
                                      const RunOnceOptions &options, std::string &worst) {
  DGC_ASSIGN_OR_RETURN(RunOnceResult expected, runOnce(cpu, {}, options));
  DGC_ASSIGN_OR_RETURN(RunOnceResult result, runOnce(gpu, {}, options));
  double most = 0;
  auto look = [&](const NamedArrays &actual, const NamedArrays &wanted) {
    for (const auto &[name, array] : wanted) {
      double d = actual.contains(name) ? difference(actual.at(name), array) : INFINITY;
      if (d > most)
        worst = name;
      most = std::max(most, d);
    }
  };
  for (size_t i = 0; i < expected.outputsOfStep.size(); ++i)
    look(result.outputsOfStep[i], expected.outputsOfStep[i]);
  look(result.variables, expected.variables);
  return most;
}

/// What a program's kernels and copies move at least, in bytes, and how many multiplications and additions its products,
/// convolutions and attention are.
static std::pair<double, double> workOf(const artifact::Program &program) {
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

/// Fills in what a step takes.
static absl::Status timeSteps(const std::vector<uint8_t> &plan, Row &row) {
  DGC_ASSIGN_OR_RETURN(auto artifact, loadBytes(plan));
  Abort abort;
  TransportOptions transportOptions;
  transportOptions.sharedBytes = artifact->plan().shared_bytes();
  DGC_ASSIGN_OR_RETURN(auto transports, createInProcessTransports(1, transportOptions, abort));
  ExecutorOptions options;
  options.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency())); // for initial values
  DGC_ASSIGN_OR_RETURN(auto executor, Executor::create(*artifact, *transports[0], options, {row.what}));
  DGC_RETURN_IF_ERROR(executor->initializeVariables());
  ProgramRunner &runner = *executor->program(row.what);
  runner.setValidCount(static_cast<int32_t>(artifact->plan().global_batch()));
  std::vector<std::pair<std::span<std::byte>, HostArray>> batch; // written before each step, as in training
  for (const InputView &input : runner.inputs())
    if (input.role == artifact::InputRole::Data)
      batch.emplace_back(input.memory, makeInput(input.dtype, input.globalShape, 0));
  auto time = [&](int steps) -> absl::StatusOr<TimeNs> {
    TimeNs begin = realClock().now();
    size_t running = 0; // as training does, so many ahead
    for (int i = 0; i < steps; ++i) {
      for (const auto &[memory, values] : batch)
        std::memcpy(memory.data(), values.bytes.data(), memory.size());
      DGC_RETURN_IF_ERROR(runner.submit(static_cast<uint64_t>(i)));
      if (++running < runner.depth())
        continue;
      DGC_RETURN_IF_ERROR(runner.collect());
      --running;
    }
    for (; running > 0; --running)
      DGC_RETURN_IF_ERROR(runner.collect());
    return realClock().now() - begin;
  };
  DGC_RETURN_IF_ERROR(time(2).status());
  DGC_ASSIGN_OR_RETURN(TimeNs five, time(5));
  int steps = static_cast<int>(std::clamp<TimeNs>(5 * kRound / std::max<TimeNs>(five, 1), 5, 10000));
  TimeNs best = INT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    DGC_ASSIGN_OR_RETURN(TimeNs taken, time(steps));
    best = std::min(best, taken);
  }
  const double seconds = static_cast<double>(best) / steps * 1e-9;
  row.microseconds = seconds * 1e6;
  if (artifact->plan().global_batch() > 0)
    row.samples = static_cast<double>(artifact->plan().global_batch()) / seconds;
  for (const artifact::Program *program : *artifact->plan().programs())
    if (program->name()->string_view() == row.what) {
      auto [bytes, operations] = workOf(*program);
      row.gigabytes = bytes / seconds * 1e-9;
      row.teraflops = operations / seconds * 1e-12;
    }
  return absl::OkStatus();
}

static Row checkProgram(const std::string &name, const std::vector<uint8_t> &gpu, const std::vector<uint8_t> &cpu,
                        const artifact::Plan &plan, const artifact::Program &program, bool isTimed) {
  Row row{name, program.name()->str()};
  std::string worst;
  absl::StatusOr<double> most = compare(gpu, cpu, optionsFor(program), worst);
  if (!most.ok()) {
    row.detail = std::string(most.status().message());
    return row;
  }
  row.difference = *most;
  row.outcome = *most <= toleranceOf(plan) ? Outcome::Passed : Outcome::Failed;
  if (row.outcome == Outcome::Failed)
    row.detail = "differs: " + worst;
  else if (isTimed && plan.world_size() == 1)
    if (absl::Status s = timeSteps(gpu, row); !s.ok()) {
      row.outcome = Outcome::Failed;
      row.detail = std::string(s.message());
    }
  return row;
}

/// That this machine refuses the plan, and says for which architecture to compile it.
static Row checkRefused(const std::string &name, const std::vector<uint8_t> &plan) {
  auto artifact = loadBytes(plan);
  absl::Status status = artifact.ok() ? createDevice(**artifact, 1, 0).status() : artifact.status();
  bool isRefused =
      exitCodeOf(status) == ExitCode::Machine && status.message().find("--target=cuda") != std::string::npos;
  return {name, "load", isRefused ? Outcome::Passed : Outcome::Failed,
          status.ok() ? "was not refused" : std::string(status.message())};
}

void checkPlan(const std::filesystem::path &path, bool isTimed, std::vector<Row> &rows) {
  std::string file = path.string(), stem = file.substr(0, file.size() - std::string(".cuda.dgcx").size());
  std::string name = std::filesystem::path(stem).filename().string();
  auto failed = [&](const absl::Status &status) {
    rows.push_back({name, "load", Outcome::Failed, std::string(status.message())});
  };
  auto gpu = readPlan(path);
  if (!gpu.ok())
    return failed(gpu.status());
  if (name.starts_with("refused-")) {
    rows.push_back(checkRefused(name, *gpu));
    return;
  }
  auto artifact = loadBytes(*gpu);
  if (!artifact.ok())
    return failed(artifact.status());
  const artifact::Plan &plan = (*artifact)->plan();
  if (name.starts_with("timed-")) {
    for (const artifact::Program *program : *plan.programs())
      if (program->name()->string_view() != "evaluate" && program->name()->string_view() != "predict" && isTimed) {
        Row row{name, program->name()->str()};
        absl::Status status = timeSteps(*gpu, row);
        row.outcome = status.ok() ? Outcome::Passed : Outcome::Failed;
        row.detail = std::string(status.message());
        rows.push_back(row);
      }
    return;
  }
  auto cpu = readPlan(stem + ".cpu.dgcx");
  if (!cpu.ok())
    return failed(cpu.status());
  std::set<std::string> seen; // each group of workers has programs of its own
  for (const artifact::Program *program : *plan.programs()) {
    if (!seen.insert(program->name()->str()).second)
      continue;
    rows.push_back(checkProgram(name, *gpu, *cpu, plan, *program, isTimed));
    if (plan.world_size() == 1)
      continue;
    // Workers of one GPU communicate in its memory; by way of the host as well.
    ::setenv("DGC_CUDA_COMMUNICATION", "host", 1);
    rows.push_back(checkProgram(name, *gpu, *cpu, plan, *program, isTimed));
    ::unsetenv("DGC_CUDA_COMMUNICATION");
    rows.back().what += ", host";
  }
}
