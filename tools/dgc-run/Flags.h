// The command line of dgc-run.
#pragma once

#include "runtime/cluster/Credentials.h"
#include "runtime/driver/RunOptions.h"
#include "runtime/monitor/Monitor.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dgc::tool {

struct Flags {
  rt::RunOptions run;
  std::optional<int> threads; // not given: the cores, shared out
  std::string transport = "auto";
  std::optional<int> nproc, rank, worldSize;
  std::optional<std::string> coordinator;
  std::string listen;
  std::string role;           // "worker": of asynchronous parameter servers; empty: a rank of the plan
  std::optional<int> workers; // of asynchronous parameter servers, that are started here
  std::string dataAddress;
  double joinTimeout = 120, stallTimeout = 60; // seconds
  double stragglerFactor = 1.5;
  bool insecure = false;
  std::string dataEncryption = "auto";
  rt::CredentialFiles credentials;
  std::vector<std::string> signers; // files of public keys
  std::string sandbox = "auto";
  int maxRestarts = 0;                        // of local workers
  std::optional<std::pair<int, int>> elastic; // the fewest and the most workers that the job goes on with
  bool dryRun = false;
  rt::MonitorOptions monitor;
  // The state of this process, for the log: whether this process is rank 0 or starts it, and whether the workers have begun,
  // which log their own errors.
  bool isFirst = true, ran = false;
  bool mayReplaceLog = false; // --log-json names no file that the run reads
  // --call: one program once, on arrays from files
  std::string call, outputDir;
  std::vector<std::string> inputs;
};

/// Parses the command line. Returns an exit code when the process is to end
/// here (after --help, --version or an error, which it has printed).
std::optional<int> parseFlags(int argc, char **argv, Flags &flags);

} // namespace dgc::tool
