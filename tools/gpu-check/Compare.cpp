// Compares what plans compute, three steps with the same inputs.
#include "tools/gpu-check/Compare.h"

#include "runtime/base/Disk.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "tools/gpu-check/Inputs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <thread>

using namespace dgc;
using namespace dgc::rt;

constexpr int kSteps = 3;
constexpr std::string_view kEnding = ".cuda.dgcx";

//===-- Differences -----------------------------------------------------===//

double toleranceOf(const artifact::Plan &plan) {
  std::string precision;
  for (uint32_t i = 0; plan.options() && i < plan.options()->size(); ++i)
    if (const artifact::CompilerOption &option = *plan.options()->Get(i);
        option.name()->string_view() == "precision" && option.value())
      precision = option.value()->str();
  return precision == "bf16" ? 3e-2 : precision == "f16" || precision == "tf32" ? 4e-3 : 1e-4;
}

double toleranceOf(DType dtype) { return dtype == DType::BF16 ? 1e-2 : dtype == DType::F16 ? 2e-3 : 0; }

static std::vector<double> numbersOf(const HostArray &array) {
  std::vector<double> numbers;
  auto convert = [&]<typename T>(T, auto value) {
    for (T element : array.as<T>())
      numbers.push_back(value(element));
  };
  if (array.dtype == DType::F32)
    convert(float{}, [](float x) { return double{x}; });
  else if (array.dtype == DType::F64)
    convert(double{}, [](double x) { return x; });
  else if (array.dtype == DType::BF16)
    convert(uint16_t{}, [](uint16_t x) { return double{fromBF16(x)}; });
  else if (array.dtype == DType::F16)
    convert(uint16_t{}, [](uint16_t x) { return double{fromF16(x)}; });
  return numbers;
}

double largestOf(const HostArray &array) {
  double largest = 0;
  for (double x : numbersOf(array))
    if (std::isfinite(x))
      largest = std::max(largest, std::abs(x));
  return largest;
}

bool isFinite(const HostArray &array) {
  return std::ranges::all_of(numbersOf(array), [](double x) { return std::isfinite(x); });
}

double difference(const HostArray &array, const HostArray &wanted, double floor) {
  if (array.dtype != wanted.dtype || array.bytes.size() != wanted.bytes.size())
    return INFINITY;
  if (!isFloat(array.dtype))
    return array.bytes == wanted.bytes ? 0 : 1;
  std::vector<double> x = numbersOf(array), y = numbersOf(wanted);
  double most = 0, largest = std::max(floor, 1e-30);
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x[i]) != std::isfinite(y[i]))
      return INFINITY;
    if (!std::isfinite(x[i]))
      continue;
    most = std::max(most, std::abs(x[i] - y[i]));
    largest = std::max(largest, std::abs(y[i]));
  }
  return most / largest;
}

//===-- Plans -----------------------------------------------------------===//

absl::StatusOr<std::vector<uint8_t>> readPlan(const std::filesystem::path &path) {
  DGC_ASSIGN_OR_RETURN(std::string bytes, readFile(realDisk(), path.string()));
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

std::string caseOf(const std::filesystem::path &path) {
  std::string name = path.filename().string();
  return name.substr(0, name.size() - std::min(name.size(), kEnding.size()));
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
        inputs[input.name()->str()] = makeInput(toDType(program.buffers()->Get(input.buffer())->dtype()),
                                                toVector(input.global_shape()), input.index_limit(), step);
    }
    return inputs;
  };
  return options;
}

/// Fills in the difference that is largest for what is allowed.
static absl::Status compare(const std::vector<uint8_t> &gpu, const std::vector<uint8_t> &cpu,
                            const RunOnceOptions &options, double tolerance, Row &row) {
  DGC_ASSIGN_OR_RETURN(RunOnceResult result, runOnce(gpu, {}, options)); // first, as it may be refused at once
  RunOnceOptions onCpu = options;
  onCpu.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 4u));
  DGC_ASSIGN_OR_RETURN(RunOnceResult expected, runOnce(cpu, {}, onCpu));
  double worst = -1; // of what is allowed
  auto look = [&](const NamedArrays &actual, const NamedArrays &wanted, double floor) {
    for (const auto &[name, array] : wanted) {
      const double d = actual.contains(name) ? difference(actual.at(name), array, floor) : INFINITY;
      const double share = d / std::max(tolerance, toleranceOf(array.dtype));
      if (share <= worst)
        continue;
      worst = share;
      row.difference = d;
      row.detail = share > 1 ? "differs: " + name : "";
    }
  };
  row.difference = 0;
  for (size_t i = 0; i < expected.outputsOfStep.size(); ++i)
    look(result.outputsOfStep[i], expected.outputsOfStep[i], 0);
  double largest = 0;
  for (const auto &[name, array] : expected.variables) {
    if (!isFinite(array))
      return absl::OutOfRangeError(str("'", name, "' is not finite on the CPU either: nothing is compared"));
    largest = std::max(largest, largestOf(array));
  }
  look(result.variables, expected.variables, kFloor * largest);
  row.outcome = worst <= 1 ? Outcome::Passed : Outcome::Failed;
  return absl::OkStatus();
}

static Row compareProgram(const std::string &name, const std::vector<uint8_t> &gpu, const std::vector<uint8_t> &cpu,
                          const artifact::Plan &plan, const artifact::Program &program) {
  Row row{name, program.name()->str()};
  std::fprintf(stderr, "running %s\n", row.what.c_str()); // what is said of a process that does not end
  if (absl::Status s = compare(gpu, cpu, optionsFor(program), toleranceOf(plan), row); !s.ok()) {
    row.detail = std::string(s.message());
    row.outcome = outcomeOfError(row.detail);
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

void comparePlan(const std::filesystem::path &path, absl::FunctionRef<void(const Row &)> add) {
  const std::string name = caseOf(path);
  auto failed = [&](const absl::Status &status) {
    add({name, "load", Outcome::Failed, std::string(status.message())});
  };
  auto gpu = readPlan(path);
  if (!gpu.ok())
    return failed(gpu.status());
  if (name.starts_with("refused-"))
    return add(checkRefused(name, *gpu));
  auto artifact = loadBytes(*gpu);
  if (!artifact.ok())
    return failed(artifact.status());
  auto cpu = readPlan(path.parent_path() / (name + ".cpu.dgcx"));
  if (!cpu.ok())
    return failed(cpu.status());
  const artifact::Plan &plan = (*artifact)->plan();
  std::set<std::string> seen; // each group of workers has programs of its own
  for (const artifact::Program *program : *plan.programs()) {
    if (!seen.insert(program->name()->str()).second)
      continue;
    add(compareProgram(name, *gpu, *cpu, plan, *program));
    if (plan.world_size() == 1)
      continue;
    // Workers of one GPU communicate in its memory; by way of the host as well.
    ::setenv("DGC_CUDA_COMMUNICATION", "host", 1);
    Row row = compareProgram(name, *gpu, *cpu, plan, *program);
    ::unsetenv("DGC_CUDA_COMMUNICATION");
    row.what += ", host";
    add(row);
  }
}
