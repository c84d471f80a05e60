// What the command line of dgc-run asks for, apart from who this process is.
#pragma once

#include "runtime/data/Order.h"
#include "runtime/device/Device.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dgc::rt {

/// What a loss that is not finite does: it ends the job, or is logged.
enum class OnNan { Stop, Warn };

struct RunOptions {
  std::string plan;                     // path, for messages
  std::string data;                     // folder; empty: none
  std::string entry;                    // program; empty: train
  std::optional<int64_t> epochs, steps; // at most one; neither: one epoch
  std::optional<uint64_t> seed;         // none: that of the checkpoint that is loaded, or 0
  bool shuffle = true;
  LastBatch lastBatch = LastBatch::Drop;
  OnNan onNan = OnNan::Stop;
  bool evaluate = true;                   // after each epoch of training
  int64_t evaluateEvery = 0;              // and after so many steps, and at the end; 0: not
  int threads = 1;                        // of each worker
  uint64_t memoryLimit = 0;               // of each worker on its device, in bytes; 0: none
  std::string load, save, logJson, trace; // paths; empty: none. "-": standard output
  std::string tensorboard;                // folder for event files while it trains; empty: none
  int64_t tensorboardHistograms = 0;      // histograms of the variables after so many steps; 0: none
  std::string checkpoint;                 // folder for checkpoints while it trains; empty: none
  int64_t checkpointSteps = 0;            // one before each step that this divides; 0: not by steps
  int64_t checkpointPeriod = 0;           // one each time so many nanoseconds have passed; 0: not by time
  int64_t checkpointKeep = 3;             // complete ones that stay; 0: all
  std::string keepBest;                   // the checkpoint with the best value of this metric stays, too; empty: none
  bool isLargerBetter = false;            // of that metric
  int64_t stopAfter = 0;                  // evaluations without a better value end the training; 0: none does
  int replicas = 0;                       // other workers that have a copy of each share while it trains: 0 or 1
  int64_t replicateEvery = 1;             // copies are made before each step that this divides
  bool resume = false;                    // from the newest checkpoint of `checkpoint` that is whole, if there is one
  std::string replay;                     // folder of checkpoints, from one of which a step is run again; empty: none
  int64_t replayStep = 0;                 // that step
  std::string dump;                       // path of what an op of it works on; empty: none
  uint32_t dumpOp = 0, dumpRank = 0;      // that op, by Position::op, and on which rank
  std::string follow;            // folder of checkpoints that another job writes, to evaluate each; empty: none
  std::string loadWeights;       // path of a checkpoint whose weights alone are taken; not together with `load`
  MakeDevice makeDevice;         // null: createDevice
  std::string predictions;       // folder for the outputs of an entry; empty: none
  std::vector<std::string> feed; // .npz files: one call of the entry for each, instead of running over a data set
  std::string fetch;             // path of the results of the last of these calls; empty: none
};

} // namespace dgc::rt
