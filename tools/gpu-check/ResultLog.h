// The file of results, which is complete up to the case that runs whatever ends the program or the machine.
#pragma once

#include "tools/gpu-check/ResultTable.h"

#include "absl/status/status.h"

class ResultLog {
public:
  ResultLog() = default; // keeps nothing
  ~ResultLog();
  ResultLog(const ResultLog &) = delete;
  ResultLog &operator=(const ResultLog &) = delete;

  /// A new file, or the end of the one that is there.
  absl::Status open(const std::string &path, bool continues);
  absl::Status append(const std::string &line) const;

private:
  std::string path;
  int file = -1;
};
