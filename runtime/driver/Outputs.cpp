// Compares outputs with each other and with inputs.
#include "runtime/driver/Outputs.h"

#include "runtime/artifact/Numerics.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/data/Dataset.h"
#include "runtime/driver/Predictions.h"

#include <algorithm>
#include <set>

using namespace dgc;
using namespace dgc::rt;

namespace {
struct NamedFile {
  std::string what; // "--save", "the plan"
  std::string path;
};
} // namespace

static bool isFile(const std::string &path) { return !path.empty() && path != "-"; }

static std::vector<NamedFile> outputsOf(const artifact::Plan &plan, const RunOptions &options, Disk &disk) {
  std::vector<NamedFile> files;
  for (auto [flag, path] : {std::pair("--save", &options.save),
                            {"--log-json", &options.logJson},
                            {"--trace", &options.trace},
                            {"--fetch", &options.fetch},
                            {"--dump", &options.dump}})
    if (isFile(*path) && disk.isReplaceable(*path))
      files.push_back({flag, *path});
  std::set<std::string> predicted; // each rank has its programs
  for (const artifact::Program *program : *plan.programs())
    if (!options.predictions.empty() && program->name()->string_view() == options.entry && program->outputs())
      for (const artifact::Output *output : *program->outputs())
        if (std::string path = predictionPath(options.predictions, output->name()->str());
            output->role() == artifact::OutputRole::Prediction && !isNumericsOutput(*output) &&
            predicted.insert(path).second)
          files.push_back({"--predictions", path});
  return files;
}

/// The checkpoints that are read. --save may replace them, as their bytes are in memory before it writes.
static std::vector<NamedFile> checkpointsOf(const RunOptions &options) {
  std::vector<NamedFile> files;
  for (auto [flag, path] : {std::pair("--load", &options.load), {"--load-weights", &options.loadWeights}})
    if (isFile(*path))
      files.push_back({flag, *path});
  return files;
}

/// What is read, apart from checkpoints.
static std::vector<NamedFile> inputsOf(const artifact::Plan &plan, const RunOptions &options, Disk &disk) {
  std::vector<NamedFile> files;
  if (isFile(options.plan))
    files.push_back({"the plan", options.plan});
  for (const std::string &path : options.feed)
    files.push_back({"a file of --feed", path});
  auto dataset = options.data.empty() ? absl::NotFoundError("") : Dataset::open(disk, options.data);
  if (!dataset.ok()) // the run will say that
    return files;
  std::set<std::string> names;
  for (const artifact::Program *program : *plan.programs())
    for (uint32_t i = 0; program->inputs() && i < program->inputs()->size(); ++i)
      names.merge(dataset->filesOf(program->inputs()->Get(i)->name()->str()));
  for (uint32_t i = 0; plan.variables() && i < plan.variables()->size(); ++i)
    if (const auto *file = plan.variables()->Get(i)->file())
      names.insert(file->str());
  for (const std::string &name : names)
    files.push_back({"a file of --data", str(options.data, "/", name)});
  return files;
}

absl::Status dgc::rt::checkOutputs(const artifact::Plan &plan, const RunOptions &options, Disk &disk) {
  std::vector<NamedFile> outputs = outputsOf(plan, options, disk), inputs = inputsOf(plan, options, disk);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto &[flag, path] = outputs[i];
    for (size_t j = 0; j < i; ++j)
      if (disk.isSame(path, outputs[j].path))
        return usageError(str(outputs[j].what, " and ", flag, " both write ", path, ": give each a file of its own"));
    for (const NamedFile &input : inputs)
      if (disk.isSame(path, input.path))
        return usageError(
            str(flag, " ", path, " would replace ", input.what, ", which this run reads: name another file"));
    for (const auto &[loading, checkpoint] : checkpointsOf(options))
      if (flag != "--save" && disk.isSame(path, checkpoint))
        return usageError(str(flag, " ", path, " would replace the checkpoint of ", loading, ": name another file"));
  }
  return absl::OkStatus();
}

bool dgc::rt::mayReplaceLog(const RunOptions &options, Disk &disk) {
  if (!isFile(options.logJson) || !disk.isReplaceable(options.logJson) || !disk.exists(options.logJson))
    return true;
  std::vector<NamedFile> inputs = checkpointsOf(options);
  if (isFile(options.plan))
    inputs.push_back({"the plan", options.plan});
  for (const std::string &path : options.feed)
    inputs.push_back({"a file of --feed", path});
  if (auto names = disk.list(options.data); !options.data.empty() && names.ok())
    for (const std::string &name : *names)
      inputs.push_back({"a file of --data", str(options.data, "/", name)});
  return std::none_of(inputs.begin(), inputs.end(),
                      [&](const NamedFile &input) { return disk.isSame(options.logJson, input.path); });
}

std::vector<std::string> dgc::rt::outputFiles(const artifact::Plan &plan, const RunOptions &options, Disk &disk) {
  std::vector<std::string> paths;
  for (NamedFile &file : outputsOf(plan, options, disk))
    paths.push_back(std::move(file.path));
  return paths;
}
