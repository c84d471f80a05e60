#include "passes/gradient/Phase.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/gradient/Passes.h"

using namespace dgc;

void dgc::buildGradientPhase(mlir::OpPassManager &manager, const GradientOptions &options) {
  llvm::SmallVector<std::string> keep(options.keep.begin(), options.keep.end());
  manager.addPass(createCountLoopsPass());
  if (!options.recompute.patterns.empty()) // what is written out is computed again op by op
    manager.addPass(createBlockScansPass({.values = options.recompute, .unrollDisabledOnly = options.unrollScans > 0}));
  manager.addPass(createGradientPass());
  manager.addPass(createHoistSumsPass());
  if (options.unrollScans) {
    // Those that composites become, too.
    llvm::SmallVector<std::string> keepScans(keep);
    keepScans.push_back("dgc.scan");
    manager.addPass(createDecomposePass({.keep = keepScans}));
    manager.addPass(createUnrollScansPass({.maxOps = options.unrollScans}));
  }
  manager.addPass(createDecomposePass({.keep = keep}));
  manager.addPass(mlir::createCanonicalizerPass());
  // In a round of a loop it is computed again what it is without loops, too.
  const bool areRounds = options.loopFrom && options.microbatches >= options.loopFrom;
  if (areRounds && !options.recompute.patterns.empty())
    manager.addPass(createRecomputePass({.values = options.recompute}));
  if (options.microbatches)
    manager.addPass(createSplitMicrobatchesPass({.count = options.microbatches,
                                                 .loopFrom = options.loopFrom,
                                                 .workers = options.loopWorkers,
                                                 .pairwise = options.pairwise}));
  if (!areRounds && !options.recompute.patterns.empty())
    manager.addPass(createRecomputePass({.values = options.recompute}));
  manager.addPass(createHoistInvariantsPass());
  manager.addPass(mlir::createCSEPass());
  manager.addPass(createCompleteStagesPass());
  manager.addPass(createReassociateStageSumsPass({.positions = options.stages}));
  manager.addPass(createVerifyGradientPass({.keep = keep}));
}
