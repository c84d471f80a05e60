// Runs one program once on arrays from files.
#include "tools/dgc-run/Call.h"

#include "runtime/artifact/Reader.h"
#include "runtime/artifact/VariableParts.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/data/Npy.h"
#include "runtime/executor/RunOnce.h"
#include "tools/dgc-run/Security.h"

using namespace dgc;
using namespace dgc::rt;

static absl::StatusOr<HostArray> readArray(const std::string &path) {
  DGC_ASSIGN_OR_RETURN(Array array, readArray(realDisk(), path, npyFormat));
  std::span<const std::byte> data = array.bytes();
  return HostArray{array.dtype, array.shape, {data.begin(), data.end()}};
}

absl::Status dgc::tool::callProgram(Flags flags) {
  if (flags.outputDir.empty())
    return withExitCode(absl::InvalidArgumentError("--call needs --output-dir DIR"), ExitCode::Usage);
  if (!flags.run.load.empty() || !flags.run.loadWeights.empty())
    return withExitCode(
        absl::InvalidArgumentError("--call does not take --load: give variables with --input NAME=FILE.npy"),
        ExitCode::Usage);
  DGC_ASSIGN_OR_RETURN(std::string bytes, readFile(realDisk(), flags.run.plan));
  std::span<const uint8_t> plan(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  DGC_ASSIGN_OR_RETURN(const Signers signers, signersOf(flags));
  DGC_ASSIGN_OR_RETURN(auto artifact, loadBytes(plan, flags.run.plan, signers));
  RunOnceOptions options;
  options.program = flags.call;
  options.seed = flags.run.seed.value_or(0);
  options.threads = flags.threads.value_or(1);
  NamedArrays inputs;
  for (const std::string &input : flags.inputs) {
    size_t equals = input.find('=');
    if (equals == std::string::npos)
      return withExitCode(absl::InvalidArgumentError(str("--input takes NAME=FILE.npy, not '", input, "'")),
                          ExitCode::Usage);
    std::string name = input.substr(0, equals);
    auto array = readArray(input.substr(equals + 1));
    if (!array.ok())
      return withExitCode(annotate(array.status(), "--input"), ExitCode::BadData);
    (hasVariable(artifact->plan(), name) ? options.variables : inputs)[name] = *std::move(array);
  }
  flags.run.predictions = flags.outputDir;
  DGC_RETURN_IF_ERROR(sandboxFor(*artifact, flags, /*isFirst=*/true));
  DGC_ASSIGN_OR_RETURN(RunOnceResult result, runOnce(plan, inputs, options));
  auto output = [](const absl::Status &status) {
    return withExitCode(annotate(status, "--output-dir"), ExitCode::BadData);
  };
  DGC_RETURN_IF_ERROR(output(realDisk().makeDirectory(flags.outputDir)));
  for (const NamedArrays *arrays : {&result.outputs, &result.variables})
    for (const auto &[name, array] : *arrays)
      DGC_RETURN_IF_ERROR(
          output(writeNpy(realDisk(), str(flags.outputDir, "/", name, ".npy"), array.dtype, array.shape, array.bytes)));
  return absl::OkStatus();
}
