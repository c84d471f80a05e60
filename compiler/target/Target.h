// What kernels are compiled for. A kind of target lives in a folder of its own and says here all that the rest of the
// compiler needs to know of it; nothing else asks which kind it is.

#ifndef DGC_COMPILER_TARGET_TARGET_H
#define DGC_COMPILER_TARGET_TARGET_H

#include "compiler/codegen/CompiledKernels.h"
#include "compiler/target/KernelCache.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/analysis/OptionTypes.h"
#include <memory>
#include <optional>

namespace dgc::artifact {
struct Program;
} // namespace dgc::artifact
namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace dgc {

/// What the phases decide by.
struct TargetTraits {
  DeviceKind device = DeviceKind::Cpu;
  /// Attention that the target has a call for, and so stays one op where --attention=auto.
  bool fusesAttention = false;
  std::vector<FloatKind> attentionElements = {FloatKind::F32, FloatKind::F64, FloatKind::BF16, FloatKind::F16};
  int64_t attentionMultiple = 1, attentionMost = 4096;
  /// Composite ops that stay whole up to the phase kernel.
  std::vector<std::string> keptOps;
  /// Devices run loops and branches whose course is decided by what they compute.
  bool controlFlow = true;
  /// The rounds of scans are written out up to so many ops, as a round of a loop costs more than what it computes often
  /// does. Micro-batches and layers are long enough to be loops. 0: no scan is.
  int64_t mostUnrolledOps = 0;
  /// Parameter servers may run on another kind of target than workers do.
  bool takesHostServers = false;
};

/// What the phase kernel is told beside the target.
struct KernelOptions {
  Epilogues epilogues = Epilogues::Auto;
  bool fixedArithmetic = false; // no bits depend on what a kernel computes together
};

/// A target by name, as in "cuda:sm_90". Parsing refuses one that there is not.
struct TargetSpec {
  std::string spec;
  bool operator==(const TargetSpec &) const = default;

  static std::optional<TargetSpec> parse(llvm::StringRef text, std::string &error);
  std::string text() const { return spec; }
};

/// Writes a kernel in linalg, alone in its module, as loops over memory, in place. Fails with a diagnostic.
using LoopLowering = mlir::LogicalResult (*)(mlir::func::FuncOp kernel);

class Target {
public:
  virtual ~Target() = default;

  /// The name of the kind, as artifacts and messages have it: "cpu".
  virtual llvm::StringRef kind() const = 0;
  virtual const TargetTraits &traits() const = 0;
  /// The model and the features that code is for, as in "x86-64-v3 avx avx2"; empty where there is nothing to choose.
  virtual std::string features() const = 0;
  /// The passes of the phase kernel, without the verifier behind it.
  virtual void buildKernelPhase(mlir::OpPassManager &manager, const KernelOptions &options) const = 0;
  /// The code of every function of `kernels`, dgc ops on tensors of known shape. Does not change the module. Fails with
  /// a diagnostic. A target may take code from `cache`, which is null where there is none, and leave code there.
  virtual mlir::FailureOr<CompiledKernels> compileKernels(mlir::ModuleOp kernels, KernelCache *cache) const = 0;
  /// Prints how the functions of `kernels`, as for compileKernels, would be written. Does not change the module. Fails
  /// with a diagnostic: where no target overrides it, as there are no such plans.
  virtual mlir::LogicalResult printKernelPlans(mlir::ModuleOp kernels, llvm::raw_ostream &out) const;
  /// How kernels become the loops that machine code is made of, as the exact check runs them (compiler/verify); null where
  /// they do not.
  virtual LoopLowering loopLowering() const { return nullptr; }
  /// What library calls of a program have to work in with `threads` threads on the device: at most, by the shapes and
  /// the target alone.
  virtual uint64_t workspaceBytes(const artifact::Program &program, int64_t threads) const = 0;
};

/// The kinds of targets that there are. Plug-ins may add some.
class TargetRegistry {
public:
  /// Makes the target that `spec` describes; null, with what is accepted in `error`, where it describes none. `spec` is
  /// one of the names of the kind, or begins with one and a colon.
  using Make = std::unique_ptr<Target> (*)(llvm::StringRef spec, std::string &error);

  /// `spelling` is for messages: "cuda:sm_90". Two kinds have no name in common.
  void add(llvm::StringRef kind, llvm::ArrayRef<llvm::StringRef> names, llvm::StringRef spelling, Make make);

  /// The target of a spec. Null, with an error that lists what there is, where there is no such.
  std::unique_ptr<Target> create(llvm::StringRef spec, std::string &error) const;

  /// Every way to name a target, as in "cpu, x86-64-v3, x86-64-v4, cuda:sm_90".
  std::string spellings() const;

  /// With all that were built.
  static const TargetRegistry &builtin();

private:
  struct Entry {
    std::string kind;
    std::vector<std::string> names;
    std::string spelling;
    Make make;
  };
  std::vector<Entry> entries;
};

} // namespace dgc

#endif // DGC_COMPILER_TARGET_TARGET_H
