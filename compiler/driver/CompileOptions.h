// What a compilation is asked for, and what follows from that for each phase.

#ifndef DGC_COMPILER_DRIVER_COMPILEOPTIONS_H
#define DGC_COMPILER_DRIVER_COMPILEOPTIONS_H

#include "compiler/driver/InsertedPasses.h"
#include "compiler/driver/Phases.h"
#include "compiler/driver/Strategies.h"
#include "compiler/target/Target.h"
#include "passes/communicate/LinkModel.h"
#include "passes/communicate/NumericsChecks.h"
#include "runtime/artifact/dgcx_generated.h"

namespace dgc {

/// A number of bytes with a unit, as in 512MiB. Negative: none.
struct ByteCount {
  int64_t bytes = -1;
  static std::optional<ByteCount> parse(llvm::StringRef text, std::string &error);
  std::string text() const;
};

/// A number from 1 on; 0 where none is given.
struct Count {
  int64_t value = 0;
  static std::optional<Count> parse(llvm::StringRef text, std::string &error);
  std::string text() const;
};

/// The equal parts of a batch that are computed in the same way on any number of workers: "any-workers=8"; 0: none.
struct VirtualShards {
  static constexpr int64_t kDefault = 8;
  int64_t count = 0;
  static std::optional<VirtualShards> parse(llvm::StringRef text, std::string &error);
  std::string text() const;
};

enum class Switch { Off, On };
template <> struct EnumNames<Switch> {
  static constexpr EnumValue<Switch> all[] = {{Switch::Off, "off"}, {Switch::On, "on"}};
};

/// By how many steps a step may run ahead of the first that is not applied; empty text: not said.
struct Staleness {
  static constexpr int64_t kDefault = 3, kUnlimited = -1;
  std::optional<int64_t> steps;
  int64_t value() const { return steps.value_or(kDefault); }
  static std::optional<Staleness> parse(llvm::StringRef text, std::string &error);
  std::string text() const;
};

/// Takes the text of an option; false, with what is wrong, where it means nothing.
template <TextValue T> bool readOption(llvm::StringRef text, T &value, std::string &error) {
  std::optional<T> parsed = T::parse(text, error);
  if (!parsed)
    return false;
  value = *std::move(parsed);
  return true;
}
template <NamedEnum E> bool readOption(llvm::StringRef text, E &value, std::string &error) {
  std::optional<E> parsed = fromName<E>(text);
  if (parsed)
    value = *parsed;
  else
    error = "'" + text.str() + "': " + listNames<E>() + " is expected";
  return parsed.has_value();
}

/// What shapes the plan. The names are those of dgc-compile's options.
struct CompileOptions {
  Count batch;
  MeshShape mesh;
  StrategyOptions strategy;
  Staleness staleness;
  Count microbatches;
  PlacementRules placement;
  TargetSpec target = {"cpu"}, serverTarget; // no server target: as the target says
  Count threads;
  Precision precision = Precision::F32;
  AttentionForm attention = AttentionForm::Auto;
  RepeatForm repeats = RepeatForm::Auto;
  Epilogues epilogues = Epilogues::Auto;
  LinkModel links;
  Switch overlap = Switch::Off;
  std::vector<std::string> forbid;
  ByteCount maxReplicatedBytes;
  bool noPadding = false, withSemantics = false;
  NumericsChecks checkNumerics = NumericsChecks::Off;
  ByteCount memoryLimit;
  VirtualShards deterministic;
  std::vector<std::string> insertPass, inputShape, blocks;
  Phase from = Phase::Input, to = Phase::Artifact;
  /// Not an option, as it shapes nothing: what kernels compiled before may be taken from. Null: there is none.
  std::shared_ptr<KernelCache> kernelCache;

  /// Calls `b(name, field, placeholder of the value, help)` for each option, in the order of --help.
  template <class Options, class Binder> static void bind(Options &o, Binder &&b) {
    b("target", o.target, "TARGET",
      "cpu (the features of this machine), x86-64-v3, x86-64-v4; cuda:sm_90 or several: cuda:sm_80,sm_90");
    b("server-target", o.serverTarget, "TARGET",
      "What parameter servers run on if workers run on GPUs: cpu (default), x86-64-v3, x86-64-v4, or the target");
    b("batch", o.batch, "N", "The global batch: in place of ? or of the number in the model");
    b("mesh", o.mesh, "AXIS=N,..",
      "Axes of the mesh and their sizes, as in data=2. With several sizes of one axis, as in data=2:4, data=1+2+4 or "
      "data=* (1:8), the artifact has a plan for each");
    b("strategy", o.strategy, "NAME[=ARG],..", "How to distribute over the mesh: a list of those below");
    b("staleness", o.staleness, "K",
      "Of async-parameter-server: a step begins when all but the last K steps before it are applied. 0: the same as "
      "parameter-server; inf: it waits for none (default 3)");
    b("microbatches", o.microbatches, "M", "In how many parts a pipeline works on the batch");
    b("placement", o.placement, "FILE|PATTERN=DEVICE,..",
      "Where variables and ops are: a file of lines `PATTERN DEVICE`, or the same as a list, as in w1=task:0");
    b("links", o.links, "AXIS=LATENCY:BANDWIDTH,..", "How fast the links along axes are: data=5us:10GB/s");
    b("forbid", o.forbid, "COLLECTIVE,..", "Refuse a plan that needs this collective: all_gather, ..; repeatable");
    b("max-replicated-bytes", o.maxReplicatedBytes, "N",
      "Refuse a plan that makes a larger value whole on every device");
    b("memory-limit", o.memoryLimit, "BYTES",
      "Refuse a plan that needs more on a worker, as in 512MiB, and say what fits");
    b("deterministic", o.deterministic, "any-workers[=V]",
      "Any number of workers gives the same bits: the batch is V equal parts (default 8), each computed by "
      "itself, and what they give is added up in pairs. For V / 2^n workers with data-parallel and zero, on CPUs");
    b("overlap", o.overlap, "on|off", "on: collectives overlap with work that does not need them");
    b("worker-threads", o.threads, "N",
      "Threads of a worker, for the memory that it needs; as --threads of dgc-run (default: its share of the cores of "
      "this machine)");
    b("precision", o.precision, "TYPE",
      "What products are computed in: f32; tf32, where GPUs may round to 10 bits; bf16; f16, with a scaled loss. "
      "Variables and all else stay in f32");
    b("attention", o.attention, "HOW",
      "fused: dgc.attention keeps no scores; expanded: it is products and a softmax, with scores that its gradient "
      "uses; auto: fused where the target has it");
    b("repeats", o.repeats, "HOW",
      "loop: each dgc.repeat whose layers are alike is a loop, so that the plan does not grow with them; unroll: its "
      "layers are written out, which takes about a fifth less time; auto: a loop from 24 layers on");
    b("epilogues", o.epilogues, "auto|all|bias",
      "What cuBLASLt computes with products of 16 bits: auto, gelu and the gradients of biases, too; all, those of "
      "activations as well; bias, no more than a bias and relu");
    b("no-padding", o.noPadding, "", "Refuse a dimension that its mesh axes do not divide");
    b("with-semantics", o.withSemantics, "",
      "The plan also says what each kernel computes, in a form that no target runs: what dgc-verify checks");
    b("check-numerics", o.checkNumerics, "WHAT",
      "A run says where the first number that is not finite came about: results (or no value) checks gradients and "
      "what a "
      "step gives; every-op all values, which is slow");
    b("insert-pass", o.insertPass, "after:PHASE=PASS,..",
      "Run passes after a phase, and its verifier again; those of plug-ins and of dgc-opt; repeatable");
    b("input-shape", o.inputShape, "NAME=8x3x224x224,..",
      "The sizes of an input of an ONNX model, where these have names or are open; repeatable");
    b("import", o.blocks, "NAME=FILE[:SIGNATURE.json],..",
      "A program of another framework as the dgc.block NAME, which the model calls; repeatable");
    b("compile-from", o.from, "PHASE", "The input is a program that has been through this phase");
    b("compile-to", o.to, "PHASE", "Stop after this phase and write the program as text");
  }

  /// Reads what --placement takes, a file or a list; the error says what is wrong with it.
  static std::optional<PlacementRules> readPlacement(llvm::StringRef fileOrList, std::string &error);

  /// Each option as NAME and value, as dgc-compile takes it.
  std::vector<std::pair<std::string, std::string>> text() const;
};

/// An option as a compilation uses it, or something that follows from options, as the features of a target.
using PlannedOption = artifact::CompilerOptionT;

/// The options of every phase, for one module: what is left open is decided, and everything is checked.
struct CompilePlan {
  CompileOptions asked;
  MeshShape mesh;                                 // with a stage for each parameter server
  StrategyOptions strategies;                     // with what those include
  std::shared_ptr<const Target> workers, servers; // the same where there are none of another kind
  int64_t threads = 1, numWorkers = 1;            // without servers
  bool isMeshOfModel = false;
  /// Of asynchronous parameter servers: the workers that dgc-run starts, each of which has the program of one. 0: there are
  /// none.
  int64_t asynchronousWorkers = 0;
  PhaseOptions phases;
  std::vector<InsertedPasses> inserted;

  /// Everything that shapes the plan, with its value and where that comes from.
  std::vector<PlannedOption> describe() const;
};

/// Refuses, with a diagnostic that says what is accepted, options that are out of range, that name nothing there is, or
/// that make no sense together or with the mesh of the module. What depends on more of the module is checked by the
/// phases. A `recompute` that is left open is decided by plans of what could be computed again.
mlir::FailureOr<CompilePlan> planCompilation(mlir::ModuleOp module, const CompileOptions &options);

} // namespace dgc

#endif // DGC_COMPILER_DRIVER_COMPILEOPTIONS_H
