// Collects predictions and writes them.
#include "runtime/driver/Predictions.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"
#include "runtime/data/Npy.h"

using namespace dgc;
using namespace dgc::rt;

absl::StatusOr<Predictions> Predictions::create(const Artifact &artifact, const ProgramRunner &runner, int rank) {
  OutputParts given(artifact.plan(), runner.name());
  given.keep([](const WholeOutput &output) { return output.role == artifact::OutputRole::Prediction; });
  if (given.outputs().empty())
    return usageError(
        str("program '", runner.name(),
            "' has no predictions to write: leave out --predictions, or use --entry with one that has dgc.output"));
  return Predictions(SampleRows(std::move(given), runner, rank), rank);
}

std::string dgc::rt::predictionPath(const std::string &folder, std::string name) {
  for (char &c : name)
    if (c == '/' || static_cast<unsigned char>(c) < 32)
      c = '_';
  return str(folder, "/", name, ".npy");
}

absl::Status Predictions::reserve(Disk &disk, const std::string &folder) {
  if (rank != 0)
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(disk.makeDirectory(folder));
  std::span<const WholeOutput> outputs = rows.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string path = predictionPath(folder, outputs[i].name);
    for (size_t j = 0; j < i; ++j)
      if (path == predictionPath(folder, outputs[j].name))
        return badData(str("the outputs '", outputs[j].name, "' and '", outputs[i].name, "' would both go to ", path));
    DGC_ASSIGN_OR_RETURN(OutputFile file, OutputFile::reserve(disk, path));
    files.push_back(std::move(file));
  }
  return absl::OkStatus();
}

absl::Status Predictions::write(const GatherBytes &gather) {
  DGC_ASSIGN_OR_RETURN(std::vector<std::vector<std::byte>> whole, rows.gather(gather));
  for (size_t i = 0; i < whole.size(); ++i) {
    const WholeOutput &output = rows.outputs()[i];
    DGC_RETURN_IF_ERROR(
        writeNpy(files[i], npyType(output.dtype), rows.shapeOf(output), toNpyType(output.dtype, std::move(whole[i]))));
  }
  return absl::OkStatus();
}

std::string Predictions::describe() const {
  std::string text;
  for (const WholeOutput &output : rows.outputs())
    text += str(text.empty() ? "" : ", ", output.name, " ", rt::describe(npyType(output.dtype), rows.shapeOf(output)));
  return text;
}
