#include "compiler/driver/InsertedPasses.h"
#include "compiler/driver/Plugin.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace dgc {

static constexpr StringLiteral kAfter = "after:";

/// The names of the phases from `first` to `last`: "model, place or shard".
static std::string namesOf(Phase first, Phase last) {
  std::string names;
  for (const PhaseInfo &each : phaseTable())
    if (each.phase >= first && each.phase <= last)
      names += (names.empty()                                   ? ""
                : each.phase == std::min(last, Phase::Schedule) ? " or "
                                                                : ", ") +
               nameOf(each.phase).str();
  return names.empty() ? "no phase, as none is run" : names;
}

/// What MLIR's parser of pipelines says, without the place in the pipeline.
static StringRef reasonOf(StringRef message) {
  message = message.split('\n').first;
  for (StringRef prefix : {"error: ", "<Pass-Options-Parser>: "})
    if (size_t at = message.find(prefix); at != StringRef::npos)
      message = message.substr(at + prefix.size());
  return message;
}

/// Whether each pass exists and takes the options that it is given. The error lists the passes of plug-ins.
static bool checkPipeline(StringRef passes, std::string &error) {
  mlir::OpPassManager manager(mlir::ModuleOp::getOperationName());
  std::string reason;
  raw_string_ostream os(reason);
  if (!passes.empty() && succeeded(mlir::parsePassPipeline(passes, manager, os)))
    return true;
  std::vector<std::string> known = passesOfPlugins();
  error = passes.empty() ? "it names no pass" : reasonOf(StringRef(reason).trim()).str();
  error += known.empty() ? "; no plug-in is loaded: --load-pass-plugin=FILE loads one"
                         : "; the passes of the plug-ins are " + join(known, ", ");
  error += ", and `dgc-opt --help` lists those of dgc";
  return false;
}

std::optional<std::vector<InsertedPasses>> parseInsertedPasses(ArrayRef<std::string> texts, Phase first, Phase last,
                                                               std::string &error) {
  std::vector<InsertedPasses> result;
  std::string whole = join(texts, ",");
  for (StringRef rest = whole; !rest.empty();) {
    // A comma also separates passes, and the options of one.
    size_t end = rest.find(("," + kAfter).str());
    StringRef item = rest.substr(0, end);
    rest = end == StringRef::npos ? StringRef() : rest.substr(end + 1);
    auto refuse = [&](const Twine &reason) {
      error = ("--insert-pass=" + item + ": " + reason).str();
      return std::nullopt;
    };
    StringRef name = item;
    const bool isAfter = name.consume_front(kAfter);
    StringRef passes;
    std::tie(name, passes) = name.split('=');
    std::optional<Phase> phase = fromName<Phase>(name);
    if (!isAfter || !phase || *phase < first || *phase > std::min(last, Phase::Schedule))
      return refuse("expected after:PHASE=PASS, where PHASE is " + namesOf(first, last));
    std::string reason;
    if (!checkPipeline(passes, reason))
      return refuse(reason);
    result.push_back({*phase, passes.str()});
  }
  return result;
}

static std::vector<std::string> behind(Phase phase, ArrayRef<InsertedPasses> inserted) {
  std::vector<std::string> passes;
  for (const InsertedPasses &each : inserted)
    if (each.after == phase)
      passes.push_back(each.passes);
  return passes;
}

/// The verifier in which a pipeline ends, with its options.
static std::string verifierOf(mlir::OpPassManager &phase) {
  std::string text;
  raw_string_ostream os(text);
  std::prev(phase.end())->printAsTextualPipeline(os);
  return text;
}

/// Adds passes that have been parsed once.
static void add(mlir::OpPassManager &manager, StringRef passes) {
  std::string reason;
  raw_string_ostream os(reason);
  if (failed(mlir::parsePassPipeline(passes, manager, os)))
    report_fatal_error(Twine(reason), /*gen_crash_diag=*/false);
}

void buildPhase(mlir::OpPassManager &manager, const PhaseInfo &phase, const PhaseOptions &options,
                ArrayRef<InsertedPasses> inserted) {
  phase.build(manager, options);
  std::vector<std::string> passes = behind(phase.phase, inserted);
  if (passes.empty())
    return;
  std::string verifier = verifierOf(manager);
  for (const std::string &each : passes)
    add(manager, each);
  add(manager, verifier);
}

std::string commandOf(const PhaseInfo &phase, const PhaseOptions &options, ArrayRef<InsertedPasses> inserted) {
  std::vector<std::string> passes = behind(phase.phase, inserted);
  std::string text = phase.text(options), name = ("dgc-" + nameOf(phase.phase) + "-pipeline").str();
  if (passes.empty())
    return "--" + name + "='" + StringRef(text).drop_front().drop_back().str() + "'";
  mlir::OpPassManager manager(mlir::ModuleOp::getOperationName());
  phase.build(manager, options);
  return "--pass-pipeline='builtin.module(" + name + text + "," + join(passes, ",") + "," + verifierOf(manager) + ")'";
}

} // namespace dgc
