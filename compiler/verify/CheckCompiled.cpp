#include "compiler/verify/CheckCompiled.h"
#include "compiler/verify/LoopsCheck.h"
#include "compiler/verify/Model.h"
#include "compiler/verify/ShrunkPlan.h"
#include "runtime/artifact/Writer.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/verify/Check.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <thread>

namespace dgc {

static int fail(llvm::StringRef message, int code) {
  llvm::errs() << "dgc-compile: --verify: " << message << "\n";
  return code;
}

/// The check cannot decide. The codes are those of dgc-compile: a plan that was just compiled is no damaged file.
static int fail(const absl::Status &status) {
  const bool isLimit = rt::exitCodeOf(status) == rt::ExitCode::Machine;
  return fail(std::string(status.message()),
              static_cast<int>(isLimit ? rt::ExitCode::Machine : rt::ExitCode::Internal));
}

/// Puts the record of a check into a plan.
static absl::Status record(artifact::VerifiedT found, std::unique_ptr<rt::Artifact> &artifact,
                           std::vector<uint8_t> &bytes) {
  DGC_ASSIGN_OR_RETURN(bytes, rt::withRecord(artifact->plan(), std::move(found)));
  DGC_ASSIGN_OR_RETURN(artifact, rt::loadBytes(bytes, "the compiled plan"));
  return absl::OkStatus();
}

/// Compares a plan with its model, and prints what is found (stderr), behind `about`. Gives the exit status; `record` is that of
/// a plan that is equal.
static int checkAgainst(mlir::ModuleOp model, llvm::StringRef text, const rt::Artifact &artifact,
                        const CompileOptions &asked, const std::string &about, artifact::VerifiedT &record) {
  std::string error;
  std::optional<CompileOptions> options = optionsFor(artifact.plan(), error);
  if (!options)
    return fail(error, 1);
  mlir::FailureOr<verify::Model> reference = modelOf(model, *options);
  if (failed(reference))
    return 1;
  verify::CheckOptions check;
  check.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  absl::StatusOr<verify::CheckResult> verdict = verify::check(artifact, *reference, check);
  if (!verdict.ok())
    return fail(verdict.status());
  if (!verdict->isEqual()) {
    const std::string who = asked.insertPass.empty()
                                ? "the plan"
                                : "after the inserted passes " + llvm::join(asked.insertPass, ",") + " the plan";
    fail(who + " is not written", 1);
    llvm::errs() << about << verify::describe(*verdict);
    return static_cast<int>(rt::ExitCode::Different);
  }
  llvm::errs() << about << verify::describe(*verdict);
  record = verify::recordOf(*verdict, check, text);
  return 0;
}

/// The same with a plan for smaller dimensions in place of the plan. `isOfPlan`: there are none, and it is of the plan.
static int checkShrunk(const ModelText &model, const rt::Artifact &artifact, const CompilePlan &plan,
                       mlir::ModuleOp compiled, artifact::VerifiedT &record, bool &isOfPlan) {
  mlir::FailureOr<ShrunkPlan> shrunk = shrinkPlan(*model.module, plan, compiled, artifact);
  if (failed(shrunk))
    return 1;
  isOfPlan = !shrunk->artifact;
  if (isOfPlan)
    return checkAgainst(*model.module, model.text, artifact, plan.asked,
                        "no dimension of the model can be smaller: checked as it is\n", record);
  const std::string schedule = shrunk->otherwise.empty()
                                   ? "the schedule is the same but for sizes\n"
                                   : "values are cut and communicated as in the plan; " + shrunk->otherwise + "\n";
  return checkAgainst(*shrunk->model.module, model.text, *shrunk->artifact, plan.asked,
                      "checked with smaller sizes, " + shrunk->model.sizes + ": " + schedule, record);
}

/// Compares the loops that machine code is made of with the kernels that were checked. Gives the exit status.
static int checkLoopsOf(const CompilePlan &plan, mlir::ModuleOp compiled) {
  constexpr int64_t kMaxFlops = int64_t{1} << 20; // some seconds
  auto kernels = compiled.lookupSymbol<mlir::ModuleOp>("kernels");
  const LoopLowering lower = plan.workers->loopLowering();
  if (!kernels || !lower) {
    llvm::errs() << "  no kernels run as loops: " << (kernels ? "the target has none of them" : "there are none")
                 << "\n";
    return 0;
  }
  mlir::FailureOr<LoopsCheckResult> verdict = checkLoops(kernels, lower, /*seed=*/0, kMaxFlops);
  if (failed(verdict))
    return 1;
  if (!verdict->difference.empty())
    return fail("the plan is not written: " + verdict->difference, static_cast<int>(rt::ExitCode::Different));
  llvm::errs() << "  " << verdict->kernels << " of " << verdict->kernels + verdict->tooLarge
               << " kernels run as loops as well, with the same results";
  if (verdict->tooLarge > 0)
    llvm::errs() << "; the rest has more than " << kMaxFlops << " operations";
  llvm::errs() << "\n";
  return 0;
}

int checkCompiled(ModelText &model, const CompilePlan &plan, mlir::ModuleOp compiled,
                  std::unique_ptr<rt::Artifact> &artifact, std::vector<uint8_t> &bytes) {
  artifact::VerifiedT found;
  bool isOfPlan = true;
  const int code = model.isShrunk ? checkShrunk(model, *artifact, plan, compiled, found, isOfPlan)
                                  : checkAgainst(*model.module, model.text, *artifact, plan.asked, "", found);
  if (code != 0)
    return code;
  if (const int loops = checkLoopsOf(plan, compiled); loops != 0 || !isOfPlan)
    return loops;
  absl::Status status = record(std::move(found), artifact, bytes);
  return status.ok() ? 0 : fail(status);
}

} // namespace dgc
