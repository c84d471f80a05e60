// gpu-check: runs plans for a GPU beside the same plans for the CPU, compares what they compute, and times steps.
//
// Its folder has NAME.cuda.dgcx and NAME.cpu.dgcx; timed-*.cuda.dgcx, which have nothing to compare with; and
// refused-*.cuda.dgcx, which this GPU must refuse. It needs nothing of the compiler. Ends in a table and, with --json,
// a file; exit status 0 when all is as it should be.
#include "runtime/artifact/Reader.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Disk.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/device/Plugin.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/RunOnce.h"

#include "CLI/CLI.hpp"
#include "nlohmann/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

using namespace dgc;
using namespace dgc::rt;

namespace {

constexpr int kSteps = 3, kRounds = 5;
constexpr TimeNs kRound = 500'000'000; // the least that is timed at once

/// How far results may be apart, relative to the largest value: f32 sums are added in another order; products of 16
/// bits are rounded to so many.
double toleranceOf(const artifact::Plan &plan) {
  std::string precision;
  for (uint32_t i = 0; plan.attributes() && i < plan.attributes()->size(); ++i)
    if (plan.attributes()->Get(i)->key()->string_view() == "precision")
      precision = plan.attributes()->Get(i)->value()->str();
  return precision == "bf16" ? 3e-2 : precision == "f16" ? 4e-3 : 1e-4;
}

struct Row {
  std::string name, what;
  bool ok = false;
  std::string detail;
  double difference = -1, microseconds = -1;
};

/// An input of any type: bytes of images up to 250, other integers below 10, floating-point numbers in [-1, 1].
HostArray makeInput(DType dtype, const std::vector<int64_t> &shape, int step) {
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

/// The largest difference, relative to the largest value; infinite where one is not finite and the other is.
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

absl::StatusOr<std::vector<uint8_t>> readPlan(const std::string &path) {
  DGC_ASSIGN_OR_RETURN(std::string bytes, readFile(realDisk(), path));
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

RunOnceOptions optionsFor(const artifact::Program &program) {
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

absl::StatusOr<double> compare(const std::vector<uint8_t> &gpu, const std::vector<uint8_t> &cpu,
                               const RunOnceOptions &options, std::string &worst) {
  DGC_ASSIGN_OR_RETURN(RunOnceResult expected, runOnce(cpu, {}, options));
  DGC_ASSIGN_OR_RETURN(RunOnceResult result, runOnce(gpu, {}, options));
  double most = 0;
  auto look = [&](const NamedArrays &actual, const NamedArrays &wanted) {
    for (const auto &[name, array] : wanted) {
      double d = actual.count(name) ? difference(actual.at(name), array) : INFINITY;
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

/// Microseconds of a step, the copies of its inputs and outputs included.
absl::StatusOr<double> timeSteps(const std::vector<uint8_t> &plan, const std::string &program) {
  DGC_ASSIGN_OR_RETURN(auto artifact, loadBytes(plan));
  Abort abort;
  TransportOptions transportOptions;
  transportOptions.sharedBytes = artifact->plan().shared_bytes();
  DGC_ASSIGN_OR_RETURN(auto transports, createInProcessTransports(1, transportOptions, abort));
  DGC_ASSIGN_OR_RETURN(auto executor, Executor::create(*artifact, *transports[0], {}, {program}));
  DGC_RETURN_IF_ERROR(executor->initializeVariables());
  ProgramRunner &runner = *executor->program(program);
  runner.setValidCount(static_cast<int32_t>(artifact->plan().global_batch()));
  auto time = [&](int steps) -> absl::StatusOr<TimeNs> {
    TimeNs begin = realClock().now();
    for (int i = 0; i < steps; ++i)
      DGC_RETURN_IF_ERROR(runner.run(static_cast<uint64_t>(i)));
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
  return static_cast<double>(best) / steps * 1e-3;
}

Row checkProgram(const std::string &name, const std::vector<uint8_t> &gpu, const std::vector<uint8_t> &cpu,
                 const artifact::Plan &plan, const artifact::Program &program) {
  Row row{name, program.name()->str()};
  std::string worst;
  absl::StatusOr<double> most = compare(gpu, cpu, optionsFor(program), worst);
  if (!most.ok()) {
    row.detail = std::string(most.status().message());
    return row;
  }
  row.difference = *most;
  row.ok = *most <= toleranceOf(plan);
  if (!row.ok)
    row.detail = "differs: " + worst;
  if (plan.world_size() > 1)
    return row;
  if (absl::StatusOr<double> us = timeSteps(gpu, row.what); us.ok())
    row.microseconds = *us;
  return row;
}

Row timeProgram(const std::string &name, const std::vector<uint8_t> &gpu, const artifact::Program &program) {
  Row row{name, program.name()->str()};
  absl::StatusOr<double> us = timeSteps(gpu, row.what);
  row.ok = us.ok();
  row.detail = std::string(us.status().message());
  if (us.ok())
    row.microseconds = *us;
  return row;
}

void checkCase(const std::filesystem::path &path, std::vector<Row> &rows) {
  std::string file = path.string(), stem = file.substr(0, file.size() - std::string(".cuda.dgcx").size());
  std::string name = std::filesystem::path(stem).filename().string();
  auto gpu = readPlan(file);
  if (name.starts_with("refused-")) {
    auto artifact = loadBytes(*gpu);
    absl::Status status = artifact.ok() ? createDevice(**artifact, 1, 0).status() : artifact.status();
    bool refused =
        exitCodeOf(status) == ExitCode::Machine && status.message().find("--target=cuda") != std::string::npos;
    rows.push_back({name, "load", refused, status.ok() ? "was not refused" : std::string(status.message())});
    return;
  }
  bool isTimed = name.starts_with("timed-");
  auto cpu = isTimed ? std::vector<uint8_t>() : readPlan(stem + ".cpu.dgcx");
  auto artifact = gpu.ok() ? loadBytes(*gpu) : gpu.status();
  if (!cpu.ok() || !artifact.ok()) {
    rows.push_back({name, "load", false, std::string((cpu.ok() ? artifact.status() : cpu.status()).message())});
    return;
  }
  for (const artifact::Program *program : *(*artifact)->plan().programs())
    rows.push_back(isTimed ? timeProgram(name, *gpu, *program)
                           : checkProgram(name, *gpu, *cpu, (*artifact)->plan(), *program));
}

void print(const std::vector<Row> &rows) {
  std::printf("%-24s %-10s %-6s %-12s %-12s %s\n", "case", "program", "ok", "difference", "us a step", "");
  for (const Row &row : rows) {
    char difference[32] = "-", microseconds[32] = "-";
    if (row.difference >= 0)
      std::snprintf(difference, sizeof difference, "%.2e", row.difference);
    if (row.microseconds >= 0)
      std::snprintf(microseconds, sizeof microseconds, "%.1f", row.microseconds);
    std::printf("%-24s %-10s %-6s %-12s %-12s %s\n", row.name.c_str(), row.what.c_str(), row.ok ? "ok" : "FAILED",
                difference, microseconds, row.detail.c_str());
  }
}

std::string asJson(const std::vector<Row> &rows, const std::vector<std::string> &device) {
  nlohmann::json json{{"device", device}, {"rows", nlohmann::json::array()}};
  for (const Row &row : rows)
    json["rows"].push_back({{"case", row.name},
                            {"program", row.what},
                            {"ok", row.ok},
                            {"detail", row.detail},
                            {"difference", row.difference},
                            {"microseconds", row.microseconds}});
  return json.dump(1) + "\n";
}

} // namespace

int main(int argc, char **argv) {
  std::string folder, json;
  CLI::App app{"Compares plans for a GPU with those for the CPU, and times them.", "gpu-check"};
  app.add_option("cases", folder,
                 "Folder with NAME.cuda.dgcx and NAME.cpu.dgcx, timed-*.cuda.dgcx and refused-*.cuda.dgcx (default: "
                 "../cases beside the program)");
  app.add_option("--json", json, "Write the results here as well");
  CLI11_PARSE(app, argc, argv);
  std::error_code error;
  if (folder.empty())
    folder = (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "../cases").string();
  std::vector<std::string> device;
  if (auto plugin = openPlugin("cuda"); plugin.ok())
    device = (*plugin)->describe();
  else
    device.push_back(std::string(plugin.status().message()));
  for (const std::string &line : device)
    std::printf("%s\n", line.c_str());
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().string().ends_with(".cuda.dgcx"))
      files.push_back(entry.path());
  if (error || files.empty()) {
    std::fprintf(stderr, "gpu-check: error: %s has no plans\n", folder.c_str());
    return 2;
  }
  std::sort(files.begin(), files.end());
  std::vector<Row> rows;
  for (const auto &file : files)
    checkCase(file, rows);
  print(rows);
  if (!json.empty())
    if (absl::Status s = writeFileAtomically(realDisk(), json, asJson(rows, device)); !s.ok())
      std::fprintf(stderr, "gpu-check: error: %s\n", std::string(s.message()).c_str());
  auto failed = std::count_if(rows.begin(), rows.end(), [](const Row &row) { return !row.ok; });
  std::printf("%zu passed, %ld failed\n", rows.size() - static_cast<size_t>(failed), static_cast<long>(failed));
  return failed ? 1 : 0;
}
