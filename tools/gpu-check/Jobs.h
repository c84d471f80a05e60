// Plans run by dgc-run, as users run them: processes, data, limits, faults.
#pragma once

#include "tools/gpu-check/ResultTable.h"

#include <filesystem>

struct Places {
  std::filesystem::path bin;   // dgc-run, gpu-check
  std::filesystem::path cases; // plans
  std::filesystem::path data;  // mnist/
};

/// For NAME = mnist_..: NAME.cuda.dgcx trains with the processes that it needs, and ends with the weights of
/// NAME.cpu.dgcx.
void checkTraining(const Places &places, const std::string &name, std::vector<Row> &rows);

/// Of a plan of two workers: one that is killed ends the other, with its name, soon; too little memory is said before
/// anything runs; what is enough is kept to.
void checkFaults(const Places &places, const std::string &name, std::vector<Row> &rows);

/// All kernels under NVIDIA's compute-sanitizer, where there is one.
void checkSanitizer(const Places &places, const std::string &name, std::vector<Row> &rows);
