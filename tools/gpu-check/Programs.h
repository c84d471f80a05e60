// Starts programs and watches them.
#pragma once

#include "runtime/base/Clock.h"

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

struct Ended {
  int code = -1; // its exit code; 128 + the signal that ended it
  bool timedOut = false;
  std::string output; // standard output and error together
  dgc::rt::TimeNs at = 0;
};

/// Runs `words[0]` until it ends; after `limit` it is killed, with all that it started. `watch` is called whenever it
/// has printed something.
Ended runProgram(const std::vector<std::string> &words, dgc::rt::TimeNs limit,
                 const std::function<void(pid_t, const std::string &output)> &watch = {});

/// Processes that `parent` has started and that run.
std::vector<pid_t> childrenOf(pid_t parent);

/// The last line of a text that is not empty.
std::string lastLine(const std::string &text);
