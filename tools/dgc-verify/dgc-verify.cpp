// dgc-verify: whether a plan computes its model.

#include "CLI/CLI.hpp"
#include "compiler/driver/ParsedModel.h"
#include "compiler/driver/Registration.h"
#include "compiler/verify/Model.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Limits.h"
#include "runtime/base/Status.h"
#include "runtime/base/Version.h"
#include "runtime/verify/Check.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace {
struct Options {
  std::string plan, model;
  dgc::verify::CheckOptions check;
  bool quiet = false;
};
} // namespace

static int fail(const absl::Status &status) {
  llvm::errs() << "dgc-verify: error: " << std::string(status.message()) << "\n";
  return static_cast<int>(dgc::rt::exitCodeOf(status));
}

/// The model for one device, with the options that the plan was compiled with. Nothing, with diagnostics, where it is
/// refused.
static std::optional<dgc::verify::Model> readModel(const Options &flags, const dgc::artifact::Plan &compiled) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(flags.model, &error);
  if (!file) {
    llvm::errs() << "dgc-verify: error: " << error << "\n";
    return std::nullopt;
  }
  mlir::DialectRegistry registry;
  dgc::registerAllDialects(registry);
  dgc::ParsedModel parsed(registry, std::move(file));
  if (!parsed.module()) {
    return std::nullopt;
  }
  std::optional<dgc::CompileOptions> options = dgc::optionsFor(compiled, error);
  if (!options) {
    llvm::errs() << "dgc-verify: error: " << flags.plan << ": " << error << "\n";
    return std::nullopt;
  }
  mlir::FailureOr<dgc::verify::Model> model = dgc::modelOf(parsed.module(), *options);
  return succeeded(model) ? std::optional(*std::move(model)) : std::nullopt;
}

static int run(Options &options) {
  absl::StatusOr<std::unique_ptr<dgc::rt::Artifact>> artifact = dgc::rt::load(options.plan);
  if (!artifact.ok()) {
    return fail(artifact.status());
  }
  std::optional<dgc::verify::Model> model = readModel(options, (*artifact)->plan());
  if (!model) {
    return 1;
  }
  if (!options.quiet && llvm::errs().is_displayed()) {
    options.check.progress = [](const std::string &what) { llvm::errs() << "dgc-verify: " << what << "\n"; };
  }
  const auto begin = std::chrono::steady_clock::now();
  absl::StatusOr<dgc::verify::Verdict> verdict = dgc::verify::check(**artifact, *model, options.check);
  if (!verdict.ok()) {
    return fail(verdict.status());
  }
  llvm::outs() << dgc::verify::describe(*verdict);
  if (verdict->isEqual()) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    llvm::outs() << llvm::formatv("  {0:f2} s\n", seconds.count());
  }
  return static_cast<int>(verdict->isEqual() ? dgc::rt::ExitCode::Ok : dgc::rt::ExitCode::Different);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  dgc::rt::prepareForLimits("dgc-verify");
  Options options;
  options.check.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  CLI::App app{
      "Checks that a plan computes its model: runs both on the same random numbers of two finite fields, in which "
      "sums and products are exact, and compares.",
      "dgc-verify"};
  app.set_version_flag("--version", "dgc-verify " DGC_VERSION);
  app.footer(
      "Example:\n"
      "  dgc-compile model.mlir --mesh data=3 --strategy data-parallel --with-semantics -o plan.dgcx\n"
      "  dgc-verify plan.dgcx --against model.mlir\n\n"
      "What is proved, and what is not: docs/design/exact-verification.md.\n\n"
      "Exit codes: 0 the plan is equal to the model, 1 it cannot be decided, or the model was refused, 2 wrong use, "
      "3 the plan is damaged or fails a check, 4 it cannot be read, 10 the plan computes something else.");
  app.add_option("plan", options.plan, "The artifact, compiled with --with-semantics")->required()->type_name("PLAN");
  app.add_option("--against", options.model, "The model that it was compiled from; - is standard input")
      ->required()
      ->type_name("MODEL.mlir");
  app.add_option("--runs", options.check.runs,
                 "How often each program runs, every other time with a batch that is not full")
      ->check(CLI::Range(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--seed", options.check.seed, "Chooses the numbers, and the order in which workers go on")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 40))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--threads", options.check.threads, "Threads to work with (default: the cores of this machine)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_flag("--quiet", options.quiet, "No progress, which is shown on a terminal only");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);
    }
    llvm::errs() << "dgc-verify: error: " << error.what() << "; see dgc-verify --help\n";
    return static_cast<int>(dgc::rt::ExitCode::Usage);
  }
  return run(options);
}
