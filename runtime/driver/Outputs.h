// The files that a run writes, compared with those that it reads.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/base/Disk.h"
#include "runtime/driver/RunOptions.h"

namespace dgc::rt {

/// Refuses flags that would write one file twice, or over the plan, the data that the plan reads, or a checkpoint that
/// is loaded. --save may have the name of --load or --load-weights: these are read before. An error of wrong usage,
/// before anything is opened.
absl::Status checkOutputs(const artifact::Plan &plan, const RunOptions &options, Disk &disk);

/// Whether --log-json names none of the files that the run may read, as far as the command line tells: without a plan
/// each file in the folder of --data counts.
bool mayReplaceLog(const RunOptions &options, Disk &disk);

/// The files that the run replaces: not standard output, devices or pipes.
std::vector<std::string> outputFiles(const artifact::Plan &plan, const RunOptions &options, Disk &disk);

} // namespace dgc::rt
