#include "tools/dgc-run/Security.h"

#include "runtime/artifact/DeviceTraits.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Sandbox.h"
#include "runtime/base/Sanitizers.h"
#include "runtime/base/Status.h"
#include "runtime/driver/Outputs.h"

#include <filesystem>

using namespace dgc;
using namespace dgc::rt;

static int64_t threadsOfThisProcess() {
  std::error_code error;
  std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return std::distance(begin(tasks), end(tasks));
}

/// Whether the code of the plan runs in a sandbox; what keeps it from that is an error where --sandbox=on asks for one.
static absl::StatusOr<bool> isSandboxed(const Artifact &artifact, const tool::Flags &flags) {
  if (flags.sandbox == "off")
    return false;
  std::string why;
  if (isSanitized)
    why = "this dgc-run is built with a sanitizer, which starts processes";
  else if (traitsOf(artifact.plan(), -1).hasOwnMemory)
    why = "the libraries of GPUs need devices and files that are not known before";
  else if (flags.transport == "ucx")
    why = "UCX needs devices and files that are not known before; choose another --transport";
  else if (const SandboxSupport support = sandboxSupport(); flags.sandbox == "on" && !support.isWhole())
    why = str("this kernel lacks ", support.missing());
  if (!why.empty() && flags.sandbox == "on")
    return withExitCode(absl::FailedPreconditionError(str("--sandbox=on: ", why)), ExitCode::Machine);
  return why.empty();
}

/// The folders that the run writes into, which are made where they are not there, and the devices and pipes.
static SandboxRules rulesFor(const artifact::Plan &plan, const RunOptions &run, bool isFirst) {
  SandboxRules rules;
  for (const std::string &file : outputFiles(plan, run, realDisk())) {
    const std::string folder = std::filesystem::path(file).parent_path();
    rules.folders.push_back(folder.empty() ? "." : folder);
  }
  const bool hasSteps = run.steps.value_or(1) != 0 && run.epochs.value_or(1) != 0;
  for (auto [folder, isMadeHere] :
       {std::pair(&run.checkpoint, true), {&run.tensorboard, isFirst && hasSteps}, {&run.predictions, isFirst}})
    if (!folder->empty()) {
      if (isMadeHere)
        realDisk().makeDirectory(*folder).IgnoreError(); // said where it is written into
      rules.folders.push_back(*folder);
    }
  for (const std::string *file : {&run.save, &run.logJson, &run.trace, &run.fetch})
    if (!file->empty() && *file != "-" && !realDisk().isReplaceable(*file))
      rules.files.push_back(*file);
  return rules;
}

absl::Status dgc::tool::sandboxFor(const Artifact &artifact, const Flags &flags, bool isFirst) {
  DGC_ASSIGN_OR_RETURN(const bool isWanted, isSandboxed(artifact, flags));
  if (const int64_t threads = threadsOfThisProcess(); isWanted && flags.sandbox == "on" && threads > 1)
    return withExitCode(
        absl::FailedPreconditionError(str("--sandbox=on: ", threads - 1,
                                          " other threads run in this process already, which would stay "
                                          "outside: run without libraries of LD_PRELOAD")),
        ExitCode::Machine);
  return isWanted ? enterSandbox(rulesFor(artifact.plan(), flags.run, isFirst)) : absl::OkStatus();
}

absl::Status dgc::tool::dropNetwork(const Artifact &artifact, const Flags &flags) {
  DGC_ASSIGN_OR_RETURN(const bool isWanted, isSandboxed(artifact, flags));
  return isWanted ? closeNetwork() : absl::OkStatus();
}

absl::StatusOr<Signers> dgc::tool::signersOf(const Flags &flags) {
  Signers signers;
  for (const std::string &path : flags.signers) {
    absl::StatusOr<SigningKey> key = readSigningKey(realDisk(), path);
    if (!key.ok())
      return annotate(key.status(), "--require-signature");
    signers.push_back(*key);
  }
  return signers;
}
