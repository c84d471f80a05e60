// Runs cases one after the other, or several at a time, each in a process and a time of its own.
#pragma once

#include "runtime/base/Clock.h"
#include "tools/gpu-check/Cases.h"
#include "tools/gpu-check/Jobs.h"
#include "tools/gpu-check/ResultLog.h"

struct ScheduleOptions {
  Places places;
  dgc::rt::TimeNs begin = 0;     // of the program
  dgc::rt::TimeNs caseLimit = 0; // of a case; four times that under compute-sanitizer
  dgc::rt::TimeNs deadline = 0;  // from `begin`; 0: none
  int jobs = 1;                  // at a time, but for those that are alone
};

/// What came of each case, in order. Those in `known` are taken from there; a case that could last beyond the deadline
/// does not begin, and is a row that is left out. `log` gets the result of each case when it ends.
std::vector<CaseResult> runCases(const std::vector<Case> &cases, const ScheduleOptions &options,
                                 const std::map<std::string, CaseResult> &known, ResultLog &log);

/// The case in this process: its rows go to `add` as they come. For those of runCases() that are processes: what is
/// compared or timed, and the self test.
void runHere(const Case &one, const Places &places, absl::FunctionRef<void(const Row &)> add);
