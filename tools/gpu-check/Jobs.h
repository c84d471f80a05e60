// Plans run by dgc-run, as users run them: processes, data, limits, faults. All end before `deadline`.
#pragma once

#include "runtime/base/Clock.h"
#include "tools/gpu-check/ResultTable.h"

#include <filesystem>

struct Places {
  std::filesystem::path bin;   // dgc-run, gpu-check
  std::filesystem::path cases; // plans
  std::filesystem::path data;  // mnist/
};

/// A folder that is gone afterwards.
class Scratch {
public:
  Scratch();
  ~Scratch();
  std::filesystem::path path;
};

/// For NAME = mnist_..: NAME.cuda.dgcx trains 20 steps with the processes that it needs, and ends with the weights of
/// NAME.cpu.dgcx, or unless `isSmall` with its losses; for `isLong` also 100 steps and their losses.
void checkTraining(const Places &places, const std::string &name, bool isSmall, bool isLong, dgc::rt::TimeNs deadline,
                   std::vector<Row> &rows);

/// Of a plan of two workers: one that is killed ends the other, with its name, soon; too little memory is said before
/// anything runs; what is enough is kept to.
void checkFaults(const Places &places, const std::string &name, dgc::rt::TimeNs deadline, std::vector<Row> &rows);
