// Passes that somebody else runs between the phases: `dgc-compile --insert-pass=after:shard=my-pass`.

#ifndef DGC_COMPILER_DRIVER_INSERTEDPASSES_H
#define DGC_COMPILER_DRIVER_INSERTEDPASSES_H

#include "compiler/driver/Phases.h"

namespace dgc {

/// Passes behind a phase, as a textual pipeline of MLIR.
struct InsertedPasses {
  Phase after;
  std::string passes;
};

/// Parses each "after:PHASE=PASS,..", for the phases from `first` to `last`, which run; checks that there are such
/// passes. Nothing, with what is accepted in `error`, where something is wrong. `texts` may have been split at commas.
std::optional<std::vector<InsertedPasses>> parseInsertedPasses(llvm::ArrayRef<std::string> texts, Phase first,
                                                               Phase last, std::string &error);

/// Builds a phase with what is inserted behind it, and the verifier of the phase once more behind that: what the phase
/// promises holds for whatever comes next.
void buildPhase(mlir::OpPassManager &manager, const PhaseInfo &phase, const PhaseOptions &options,
                llvm::ArrayRef<InsertedPasses> inserted);

/// The passes of buildPhase as options of dgc-opt.
std::string commandOf(const PhaseInfo &phase, const PhaseOptions &options, llvm::ArrayRef<InsertedPasses> inserted);

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_INSERTEDPASSES_H
