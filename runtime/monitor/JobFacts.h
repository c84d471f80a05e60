// What a plan says of a job before it runs, for those who watch it.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dgc::rt {

struct JobFacts {
  /// The payload of communication of one kind in a step of training, as Traffic.h counts it: what the worker gives and gets.
  struct Bytes {
    uint64_t sent = 0, received = 0;
  };
  struct Worker {
    uint64_t plannedBytes = 0;
    std::map<std::string, Bytes> traffic; // by kind: "all_reduce", "send"
  };

  std::string model, producer, digest;
  std::string workersText;                                  // "2 workers, mesh data=2, global batch 128"
  std::string summary;                                      // as --dry-run prints it
  std::vector<std::pair<std::string, std::string>> options; // of the compiler
  uint64_t globalBatch = 0;
  std::vector<Worker> workers; // by rank
  double flopsPerStep = 0;     // operations on floats of all workers in a step of training, where they can be counted
};

/// `plan` was checked by load().
JobFacts factsOf(const artifact::Plan &plan, const std::string &digest);

} // namespace dgc::rt
