// Compares outputs with each other and with inputs.
#include "runtime/driver/Outputs.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/data/Dataset.h"
#include "runtime/driver/Predictions.h"

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
  for (auto [flag, path] :
       {std::pair("--save", &options.save), {"--log-json", &options.logJson}, {"--trace", &options.trace}})
    if (isFile(*path) && disk.isReplaceable(*path))
      files.push_back({flag, *path});
  std::set<std::string> predicted; // each rank has its programs
  for (const artifact::Program *program : *plan.programs())
    if (!options.predictions.empty() && program->name()->string_view() == options.entry && program->outputs())
      for (const artifact::Output *output : *program->outputs())
        if (std::string path = predictionPath(options.predictions, output->name()->str());
            output->role() == artifact::OutputRole::Prediction && predicted.insert(path).second)
          files.push_back({"--predictions", path});
  return files;
}

/// What is read; not --load, as its bytes are in memory before --save writes.
static std::vector<NamedFile> inputsOf(const artifact::Plan &plan, const RunOptions &options, Disk &disk) {
  std::vector<NamedFile> files;
  if (isFile(options.plan))
    files.push_back({"the plan", options.plan});
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

static absl::Status usage(const std::string &message) {
  return withExitCode(absl::InvalidArgumentError(message), ExitCode::Usage);
}

absl::Status dgc::rt::checkOutputs(const artifact::Plan &plan, const RunOptions &options, Disk &disk) {
  std::vector<NamedFile> outputs = outputsOf(plan, options, disk), inputs = inputsOf(plan, options, disk);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto &[flag, path] = outputs[i];
    for (size_t j = 0; j < i; ++j)
      if (disk.isSame(path, outputs[j].path))
        return usage(str(outputs[j].what, " and ", flag, " both write ", path, ": give each a file of its own"));
    for (const NamedFile &input : inputs)
      if (disk.isSame(path, input.path))
        return usage(str(flag, " ", path, " would replace ", input.what, ", which this run reads: name another file"));
    if (flag != "--save" && isFile(options.load) && disk.isSame(path, options.load))
      return usage(str(flag, " ", path, " would replace the checkpoint of --load: name another file"));
  }
  return absl::OkStatus();
}
