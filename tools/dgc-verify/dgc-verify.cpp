// dgc-verify: whether a plan computes its model.

#include "CLI/CLI.hpp"
#include "compiler/driver/ParsedModel.h"
#include "compiler/driver/Registration.h"
#include "compiler/import/Import.h"
#include "compiler/verify/Model.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "runtime/artifact/Reader.h"
#include "runtime/artifact/Writer.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Limits.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Status.h"
#include "runtime/base/Version.h"
#include "runtime/verify/Check.h"
#include "runtime/verify/GradientCheck.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

namespace {
struct Options {
  std::string plan, model;
  dgc::import::ImportOptions imports; // of a model that is a program of another framework
  std::string gradient;               // the model whose gradient is checked; empty: a plan is
  int64_t batch = 0;                  // for that; 0: as in the model
  dgc::verify::CheckOptions check;
  bool quiet = false, record = false;
  std::string signKey; // for the plan with the record; empty: it is not signed
};
} // namespace

static int fail(const absl::Status &status) {
  llvm::errs() << "dgc-verify: error: " << std::string(status.message()) << "\n";
  return static_cast<int>(dgc::rt::exitCodeOf(status));
}

/// What `build` makes of the module of a file, and its text. Nothing, with diagnostics, where it is refused; then `code` is
/// what the program ends with.
static std::optional<dgc::verify::Model>
readModel(const std::string &path, const dgc::import::ImportOptions &imports, int &code, std::string &text,
          llvm::function_ref<mlir::FailureOr<dgc::verify::Model>(mlir::ModuleOp)> build) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(path, &error);
  if (!file) {
    llvm::errs() << "dgc-verify: error: " << error << "\n";
    code = static_cast<int>(dgc::rt::ExitCode::BadData);
    return std::nullopt;
  }
  text = file->getBuffer();
  mlir::DialectRegistry registry;
  dgc::registerAllDialects(registry);
  dgc::ParsedModel parsed(registry, std::move(file), [&](llvm::SourceMgr &sources, mlir::MLIRContext *context) {
    return dgc::import::readModel(sources, context, imports);
  });
  if (!parsed.module()) {
    return std::nullopt;
  }
  mlir::FailureOr<dgc::verify::Model> model = build(parsed.module());
  if (failed(model)) {
    return std::nullopt;
  }
  return std::move(model); // an optional, too
}

/// The model for one device, with the options that the plan was compiled with.
static std::optional<dgc::verify::Model> readModelOf(const Options &flags, const dgc::artifact::Plan &compiled,
                                                     int &code, std::string &text) {
  std::string error;
  std::optional<dgc::CompileOptions> options = dgc::optionsFor(compiled, error);
  if (!options) {
    llvm::errs() << "dgc-verify: error: " << flags.plan << ": " << error << "\n";
    return std::nullopt;
  }
  dgc::import::ImportOptions imports = flags.imports;
  imports.inputShapes = options->inputShape;
  imports.blocks = options->blocks;
  return readModel(flags.model, imports, code, text,
                   [&](mlir::ModuleOp module) { return dgc::modelOf(module, *options); });
}

static void print(const dgc::verify::CheckResult &verdict, double seconds) {
  llvm::outs() << dgc::verify::describe(verdict);
  if (verdict.isEqual()) {
    llvm::outs() << llvm::formatv("  {0:f2} s\n", seconds);
  }
}

static void print(const dgc::verify::GradientCheckResult &verdict, double seconds) {
  llvm::raw_ostream &os = llvm::outs();
  if (!verdict.isEqual()) {
    os << "gradient not equal to forward mode: " << verdict.difference << "\n";
    return;
  }
  os << llvm::formatv("gradient equal to forward mode: a difference is missed with a probability below 2^-{0:f1}\n",
                      verdict.bits);
  os << "  " << dgc::rt::counted(static_cast<int64_t>(verdict.validCounts.size()), "run") << " with ";
  llvm::interleaveComma(verdict.validCounts, os);
  os << " examples, " << dgc::rt::counted(static_cast<int64_t>(verdict.variables.size()), "variable") << " of "
     << verdict.weights << " weights, degree " << verdict.degree << " at most\n";
  os << "  " << verdict.functions << " values of functions that are random here, " << verdict.exponentials
     << " of them exponentials, for which no such bound is known\n";
  os << llvm::formatv("  {0:f2} s\n", seconds);
}

static void showProgress(Options &options) {
  if (!options.quiet && llvm::errs().is_displayed()) {
    options.check.progress = [](const std::string &what) { llvm::errs() << "dgc-verify: " << what << "\n"; };
  }
}

/// Prints what a check finds, and calls `then` where nothing differs. The exit code.
template <class Check, class Then> static int report(Check &&check, Then &&then) {
  const auto begin = std::chrono::steady_clock::now();
  auto verdict = check();
  if (!verdict.ok()) {
    return fail(verdict.status());
  }
  print(*verdict, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  if (!verdict->isEqual()) {
    return static_cast<int>(dgc::rt::ExitCode::Different);
  }
  absl::Status status = then(*verdict);
  return status.ok() ? 0 : fail(status);
}

static int runGradient(Options &options) {
  dgc::CompileOptions compile;
  compile.batch.value = options.batch;
  int code = 1;
  std::string text;
  std::optional<dgc::verify::Model> model =
      readModel(options.gradient, options.imports, code, text,
                [&](mlir::ModuleOp module) { return dgc::modelWithGradient(module, compile); });
  if (!model) {
    return code;
  }
  showProgress(options);
  return report([&] { return dgc::verify::checkGradient(*model, options.check); },
                [](const dgc::verify::GradientCheckResult &) { return absl::OkStatus(); });
}

/// Makes this process the only one to write the plan.
static absl::StatusOr<dgc::rt::OutputFile> reserve(const std::string &plan) {
  dgc::rt::Disk &disk = dgc::rt::realDisk();
  if (plan == "-" || !disk.exists(plan) || !disk.isReplaceable(plan)) {
    return dgc::rt::withExitCode(absl::InvalidArgumentError("--record writes into PLAN, which is no file: " + plan),
                                 dgc::rt::ExitCode::Usage);
  }
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(plan, error); // a link stays one
  return dgc::rt::OutputFile::reserve(disk, error ? plan : file.string());
}

/// Replaces a plan by one with the record of a check, signed if there is a signer.
static absl::Status record(const dgc::rt::Artifact &artifact, dgc::artifact::VerifiedT record,
                           const std::optional<dgc::rt::PlanSigner> &signer, dgc::rt::OutputFile &file) {
  DGC_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, dgc::rt::withRecord(artifact.plan(), std::move(record)));
  if (signer) {
    DGC_RETURN_IF_ERROR(signer->sign(bytes));
  }
  DGC_RETURN_IF_ERROR(dgc::rt::loadBytes(bytes).status());
  DGC_RETURN_IF_ERROR(
      file.replace([&](dgc::rt::WritableFile &to) { return to.write(std::as_bytes(std::span(bytes))); }));
  if (!signer && artifact.signer()) {
    llvm::errs() << "dgc-verify: warning: " << file.path() << " was signed by the key "
                 << artifact.signer()->fingerprint()
                 << "; with the record it is not signed any more: --record --sign KEY.pem signs it again\n";
  }
  return absl::OkStatus();
}

static int run(Options &options) {
  std::optional<dgc::rt::PlanSigner> signer;
  if (!options.signKey.empty()) {
    absl::StatusOr<dgc::rt::PlanSigner> read = dgc::rt::PlanSigner::read(dgc::rt::realDisk(), options.signKey);
    if (!read.ok()) {
      return fail(dgc::rt::annotate(read.status(), "--sign"));
    }
    signer = *std::move(read);
  }
  std::optional<dgc::rt::OutputFile> file;
  if (options.record) {
    absl::StatusOr<dgc::rt::OutputFile> reserved = reserve(options.plan);
    if (!reserved.ok()) {
      return fail(dgc::rt::withExitCode(reserved.status(), dgc::rt::ExitCode::BadData));
    }
    file = *std::move(reserved);
  }
  absl::StatusOr<std::unique_ptr<dgc::rt::Artifact>> artifact = dgc::rt::load(options.plan);
  if (!artifact.ok()) {
    return fail(artifact.status());
  }
  if (options.record && options.check.runs < 2 && (*artifact)->plan().global_batch() > 1) {
    return fail(dgc::rt::withExitCode(
        absl::InvalidArgumentError(
            "--record needs --runs 2 at least: a single run is never with a batch that is not full"),
        dgc::rt::ExitCode::Usage));
  }
  int code = 1;
  std::string text;
  std::optional<dgc::verify::Model> model = readModelOf(options, (*artifact)->plan(), code, text);
  if (!model) {
    return code;
  }
  showProgress(options);
  return report([&] { return dgc::verify::check(**artifact, *model, options.check); },
                [&](const dgc::verify::CheckResult &verdict) -> absl::Status {
                  if (!file) {
                    return absl::OkStatus();
                  }
                  return dgc::rt::withExitCode(
                      record(**artifact, dgc::verify::recordOf(verdict, options.check, text), signer, *file),
                      dgc::rt::ExitCode::BadData);
                });
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
      "  dgc-verify plan.dgcx --against model.mlir\n"
      "  dgc-verify --gradient model.mlir\n\n"
      "What is proved, and what is not: docs/design/exact-verification.md.\n\n"
      "Exit codes: 0 the plan is equal to the model, 1 it cannot be decided, or the model was refused, 2 wrong use, "
      "3 the plan is damaged or fails a check, 4 it cannot be read or written, 10 the plan computes something else, or "
      "the "
      "gradient is wrong.");
  CLI::Option *plan = app.add_option("plan", options.plan, "The artifact, compiled with --with-semantics");
  plan->type_name("PLAN");
  CLI::Option *against =
      app.add_option("--against", options.model, "The model that it was compiled from; - is standard input");
  against->type_name("MODEL.mlir");
  plan->needs(against);
  against->needs(plan);
  const auto addProgramFlag = [&](const char *name, std::string &value, const char *type) {
    return app.add_option(name, value, "Of a program of another framework: as it was given to dgc-compile")
        ->type_name(type);
  };
  addProgramFlag("--signature", options.imports.signature, "FILE.json");
  CLI::Option *loss = addProgramFlag("--loss", options.imports.training.loss, "NAME");
  CLI::Option *optimizer = addProgramFlag("--optimizer", options.imports.training.optimizer, "OPTIMIZER");
  loss->needs(optimizer);
  optimizer->needs(loss);
  addProgramFlag("--freeze", options.imports.training.frozen, "PATTERNS")->needs(loss);
  CLI::Option *gradient = app.add_option("--gradient", options.gradient,
                                         "Without PLAN: compares the gradient of this model with forward mode");
  gradient->type_name("MODEL.mlir")->excludes(plan)->excludes(against);
  app.add_option("--batch", options.batch, "The global batch, for --gradient (default: that of the model)")
      ->check(CLI::PositiveNumber)
      ->type_name("N")
      ->needs(gradient);
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
  CLI::Option *records = app.add_flag(
      "--record", options.record,
      "Writes into PLAN that it is equal: dgc-inspect shows it. PLAN stays as it is where it is not equal. "
      "Needs two "
      "runs where there is a batch");
  records->needs(against);
  app.add_option(
         "--sign", options.signKey,
         "With --record: sign PLAN, with this private key of Ed25519; without, a signature that it has is removed")
      ->type_name("KEY.pem")
      ->needs(records);
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
  if (!options.gradient.empty()) {
    return runGradient(options);
  }
  if (options.plan.empty()) {
    llvm::errs() << "dgc-verify: error: a PLAN with --against MODEL.mlir, or --gradient MODEL.mlir, is required; see "
                    "dgc-verify --help\n";
    return static_cast<int>(dgc::rt::ExitCode::Usage);
  }
  return run(options);
}
