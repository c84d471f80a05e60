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

void dgc::tool::addSecurityFlags(CLI::App &app, Flags &flags) {
  const std::string group = "Security";
  app.add_option("--require-signature", flags.signers,
                 "Run the plan only if it was signed (dgc-compile --sign) by the owner of this public key of Ed25519; "
                 "repeatable: by one of them")
      ->type_name("PUBLIC.pem")
      ->allow_extra_args(false)
      ->group(group);
  TlsFiles &tls = flags.credentials.tls;
  app.add_option("--tls-cert", tls.certificate, "Certificate of this worker, by which the others know it")
      ->type_name("FILE.pem")
      ->group(group);
  app.add_option("--tls-key", tls.key, "Its private key")->type_name("FILE.pem")->group(group);
  app.add_option("--tls-ca", tls.authority, "Certificate of the authority that has signed those of all workers")
      ->type_name("FILE.pem")
      ->group(group);
  app.add_option("--job-secret", flags.credentials.secret,
                 "File with a secret that all workers of the job have, in place of certificates (or: "
                 "$DGC_JOB_SECRET); a job that dgc-run starts itself makes one")
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--insecure", flags.insecure,
               "Accept addresses other than loopback without certificates and secret: every process that reaches the "
               "coordinator may join, and read and change what workers say. Only in a network that you trust")
      ->group(group);
  app.add_option("--data-encryption", flags.dataEncryption,
                 "Encrypt tensors on their way between workers: auto, between machines where there are certificates or "
                 "a secret; on; off. The same for all workers")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--sandbox", flags.sandbox,
                 "Keep the code of the plan from starting programs and from writing outside of the folders of the "
                 "outputs: auto, with what this kernel has; on, or end with code 7; off")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str()
      ->group(group);
}

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
