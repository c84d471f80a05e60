// The files that a run writes, compared with those that it reads.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/base/Disk.h"
#include "runtime/driver/RunOptions.h"

namespace dgc::rt {

/// Refuses flags that would write one file twice, or over the plan or the data that the plan reads. --save may have the
/// name of --load: it is read before. An error of wrong usage, before anything is opened.
absl::Status checkOutputs(const artifact::Plan &plan, const RunOptions &options, Disk &disk);

} // namespace dgc::rt
