//===- Pipeline.cpp - the phases of the compiler ---------------------------===//

#include "compiler/pipeline/Pipeline.h"
#include "compiler/codegen/cpu/Codegen.h"
#include "compiler/codegen/cuda/Codegen.h"
#include "compiler/package/Package.h"
#include "compiler/pipeline/ChooseRecompute.h"
#include "compiler/pipeline/MemoryLimit.h"
#include "compiler/pipeline/Workspaces.h"
#include "dialects/exec/Exec.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/communication/LinkModel.h"
#include "passes/communication/Passes.h"
#include "passes/place/Hosts.h"
#include "passes/schedule/PipelineSchedule.h"
#include "passes/sharding/Passes.h"
#include "passes/strategy/Passes.h"
#include "passes/strategy/Registry.h"
#include "runtime/artifact/Reader.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace mlir;

namespace dgc {

static constexpr llvm::StringRef names[] = {"input",     "model",       "gradient", "place",    "shard",
                                            "partition", "communicate", "kernel",   "schedule", "artifact"};

ArrayRef<StringRef> phaseNames() { return names; }
StringRef nameOf(Phase phase) { return names[static_cast<int>(phase)]; }

std::optional<Phase> phaseFromName(StringRef name) {
  const auto *it = llvm::find(names, name);
  return it == std::end(names) ? std::nullopt : std::optional(static_cast<Phase>(it - std::begin(names)));
}

/// The options with the mesh of the module where they have none. A module with a mesh says itself how values are
/// spread, so without an axis for the batch it needs no strategy.
static FailureOr<CompileOptions> withMeshOf(ModuleOp module, CompileOptions options) {
  if (!options.mesh.empty()) {
    return options;
  }
  FailureOr<mlir::dist::MeshAttr> mesh = unifiedMesh(module);
  if (failed(mesh)) {
    return failure();
  }
  if (!*mesh) {
    return options;
  }
  for (mlir::dist::MeshAxisAttr axis : mesh->getAxes()) {
    options.mesh +=
        (Twine(options.mesh.empty() ? "" : ",") + axis.getName().getValue() + "=" + Twine(axis.getSize())).str();
  }
  options.annotated = mesh->getAxisIndex("data") < 0;
  return options;
}

/// The names of the axes of "data=2,model=4".
static SmallVector<StringRef> axesOf(StringRef mesh) {
  SmallVector<StringRef> axes;
  mesh.split(axes, ',', -1, /*KeepEmpty=*/false);
  for (StringRef &axis : axes)
    axis = axis.split('=').first.trim();
  return axes;
}

/// The size of an axis of a mesh like "stage=2,data=4"; 0 when it has none of that name, or is not well formed.
static int64_t axisSize(StringRef mesh, StringRef axis) {
  for (StringRef part : llvm::split(mesh, ',')) {
    auto [name, number] = part.split('=');
    int64_t size;
    if (name.trim() == axis && !number.trim().getAsInteger(10, size)) {
      return size;
    }
  }
  return 0;
}

/// The strategies that the options ask for.
static FailureOr<std::vector<ChosenStrategy>> strategiesOf(const CompileOptions &options, std::string &error) {
  return parseStrategies(options.strategy, axesOf(options.mesh), options.annotated, error);
}

/// The argument of a strategy; nothing when it is not asked for.
static std::optional<std::string> argumentOf(const CompileOptions &options, StringRef name) {
  std::string error;
  auto strategies = strategiesOf(options, error);
  if (succeeded(strategies))
    for (const ChosenStrategy &each : *strategies)
      if (each.strategy->name == name)
        return each.argument;
  return std::nullopt;
}

/// The schedule of the strategy `pipeline`; empty when it is not asked for.
static std::string pipelineSchedule(const CompileOptions &options) {
  return argumentOf(options, "pipeline").value_or("");
}

/// The number of parameter servers that the strategies ask for; 0: none. Fails when it is not a number.
static FailureOr<int64_t> numServers(ModuleOp module, const CompileOptions &options) {
  if (argumentOf(options, "central-storage"))
    return 1;
  std::optional<std::string> argument = argumentOf(options, "parameter-server");
  int64_t servers = 0, most = 256;
  if (argument && (StringRef(*argument).getAsInteger(10, servers) || servers < 1 || servers > most))
    return module.emitError() << "strategy 'parameter-server=" << *argument
                              << "': expected the number of servers, from "
                              << "1 to " << most << ", as in parameter-server=2";
  return servers;
}

/// The options with a stage for the workers and one for each parameter server, where there are such.
static FailureOr<CompileOptions> withServers(ModuleOp module, CompileOptions options) {
  FailureOr<int64_t> servers = numServers(module, options);
  if (failed(servers))
    return failure();
  if (*servers == 0)
    return options;
  if (!llvm::equal(axesOf(options.mesh), ArrayRef<StringRef>("data")) ||
      (options.from < Phase::Shard && !module.getOps<mlir::dist::MeshOp>().empty()))
    return module.emitError() << "the workers of parameter servers share the batch and nothing else: use a mesh of one "
                                 "axis \"data\" in the command line, as in --mesh data=2, and none in the model";
  options.servers = *servers;
  options.mesh = "stage=" + std::to_string(1 + *servers) + "," + options.mesh;
  return options;
}

/// The pass that orders the ops of a pipeline, with a comma behind; empty without one.
static std::string schedulePass(const CompileOptions &options) {
  std::string schedule = pipelineSchedule(options);
  return schedule.empty() ? "" : "dgc-schedule-pipeline{name=" + schedule + "},";
}

/// Refuses a mesh that is not well formed or not that of the module, and links along axes that it does not have.
static LogicalResult checkMesh(ModuleOp module, const CompileOptions &options) {
  auto emitError = [&] { return module.emitError(); };
  FailureOr<LinkModel> links = LinkModel::parse(options.links, emitError);
  if (failed(links))
    return failure();
  if (options.mesh.empty())
    return success();
  mlir::dist::MeshAttr mesh = parseMesh(module, options.mesh);
  if (!mesh)
    return failure();
  auto existing = module.lookupSymbol<mlir::dist::MeshOp>("mesh");
  if (existing && options.from > Phase::Model && existing.getMesh() != mesh)
    return existing.emitError() << "the module has '@mesh' already, and not as the mesh '" << options.mesh
                                << "' that was asked for";
  return links->checkAxes(mesh, emitError);
}

static LogicalResult checkTarget(ModuleOp module, const std::string &target) {
  if (!CudaTarget::isCuda(target))
    return CpuTarget::parse(target, module.getLoc());
  return CudaTarget::parse(target, module.getLoc());
}

/// The CPU of servers beside workers with GPUs; empty where the servers are like the workers.
static std::string hostTarget(const CompileOptions &options) {
  if (!CudaTarget::isCuda(options.target) || CudaTarget::isCuda(options.serverTarget))
    return "";
  return options.serverTarget.empty() ? "cpu" : options.serverTarget;
}

/// Refuses targets that there are not, and those of servers that cannot be beside the workers.
static LogicalResult checkTargets(ModuleOp module, const CompileOptions &options) {
  if (failed(checkTarget(module, options.target)))
    return failure();
  if (options.serverTarget.empty() || options.serverTarget == options.target)
    return success();
  if (!CudaTarget::isCuda(options.target) || CudaTarget::isCuda(options.serverTarget))
    return module.emitError() << "the server target '" << options.serverTarget << "' does not go with the target '"
                              << options.target << "': servers are as the workers, or on CPUs beside workers with GPUs";
  return checkTarget(module, options.serverTarget);
}

LogicalResult checkOptions(ModuleOp module, const CompileOptions &given) {
  FailureOr<CompileOptions> withMesh = withMeshOf(module, given);
  if (failed(withMesh))
    return failure();
  const CompileOptions &options = *withMesh;
  module.getContext()->loadDialect<mlir::dist::DistDialect>();
  if (failed(checkTargets(module, options)) || failed(checkCollectiveNames(module, options.forbid)) ||
      failed(checkMesh(module, options)))
    return failure();
  if (!llvm::is_contained({"f32", "tf32", "bf16", "f16"}, options.precision))
    return module.emitError() << "--precision=" << options.precision << ": f32, tf32, bf16 or f16 is needed";
  if (!llvm::is_contained({"auto", "fused", "expanded"}, options.attention))
    return module.emitError() << "--attention=" << options.attention << ": auto, fused or expanded is needed";
  if (!llvm::is_contained({"all", "bias"}, options.epilogues))
    return module.emitError() << "--epilogues=" << options.epilogues << ": all or bias is needed";
  if (options.precision != "f32" && options.from >= Phase::Model)
    return module.emitError() << "--precision=" << options.precision << " is decided in the phase 'model', which this "
                              << "program has been through; give it there";
  if (auto models = module.getOps<mlir::dgc::ModelOp>(); options.from > Phase::Input && !models.empty())
    return (*models.begin()).emitError() << "this is a model as it is written: it has not been through the phase '"
                                         << nameOf(options.from) << "'; leave --compile-from out";
  std::string error;
  if (failed(strategiesOf(options, error)))
    return module.emitError() << error;
  FailureOr<CompileOptions> servers = withServers(module, options);
  if (failed(servers))
    return failure();
  if (!options.serverTarget.empty() && servers->servers == 0)
    return module.emitError() << "--server-target=" << options.serverTarget << ": there are no servers; they come with "
                              << "--strategy parameter-server=P or central-storage";
  if (options.placement.find_first_of(" {}") != std::string::npos)
    return module.emitError() << "the name of the placement file '" << options.placement
                              << "' has a blank or a brace; rename it";
  if (leavesRecomputeOpen(options.strategy) && options.memoryLimit < 0)
    return module.emitError() << "strategy 'recompute' needs to know what to compute again: write a pattern, as in "
                                 "recompute=layer.*, or let --memory-limit decide";
  std::string schedule = pipelineSchedule(options);
  if (schedule.empty() && options.microbatches)
    return module.emitError() << "--microbatches is for the strategy pipeline; accumulate=" << options.microbatches
                              << " splits the batch without one";
  if (schedule.empty())
    return success();
  if (options.microbatches < 1)
    return module.emitError() << "strategy 'pipeline' needs the number of micro-batches: add --microbatches M, as in "
                                 "--microbatches 8";
  // What depends on the number of stages is checked when they are known.
  if (!schedulePipeline(schedule, 1, 1, 1, error))
    return module.emitError() << error;
  return success();
}

/// The passes of the strategies at one stage, with a comma behind each. The options have been checked.
static std::string passesOf(const CompileOptions &options, StrategyStage stage) {
  std::string error;
  auto strategies = strategiesOf(options, error);
  return succeeded(strategies) ? strategyPasses(*strategies, stage) : "";
}

/// The option of passes that need to know how fast links are.
static std::string linkOption(const CompileOptions &options) {
  return options.links.empty() ? "" : "{links=" + options.links + "}";
}

/// The options of dgc-combine-collectives. What is to go on beside other work must not wait for the last addend.
static std::string combineOption(const CompileOptions &options) {
  std::string list = options.links.empty() ? "" : " links=" + options.links;
  list += options.overlap ? " limited=true" : "";
  return list.empty() ? "" : "{" + list.substr(1) + "}";
}

/// The pass that refuses communication which is not wanted, if there is such.
static std::string limitPass(const CompileOptions &options) {
  std::string limits;
  if (!options.forbid.empty()) {
    limits = "forbid=" + llvm::join(options.forbid, ",");
  }
  if (options.maxReplicatedBytes >= 0) {
    limits += " max-replicated-bytes=" + std::to_string(options.maxReplicatedBytes);
  }
  return limits.empty() ? "" : "dgc-limit-communication{" + limits + "},";
}

/// The pass that lets workers send servers parts of gradients, with a comma behind, where there are servers.
static std::string serverPass(const CompileOptions &options) {
  return options.servers ? "dgc-scatter-to-servers," : "";
}

/// Is attention kept whole up to the phase kernel, where a device may have it? Where not said: for GPUs.
static bool fusesAttention(const CompileOptions &options) {
  return options.attention == "fused" || (options.attention == "auto" && CudaTarget::isCuda(options.target));
}

/// The pass that keeps attention whole, with a comma before: what GPUs have, or any for CPUs, which have none of it.
static std::string attentionPass(const CompileOptions &options) {
  if (!fusesAttention(options))
    return "";
  bool any = !CudaTarget::isCuda(options.target);
  return std::string(",dgc-fuse-attention") + (any ? "{elements=f32,f64,bf16,f16 multiple=1 most=4096}" : "");
}

/// The option of dgc-decompose with the ops that stay whole up to the phase kernel.
static std::string keptOps(const CompileOptions &options) {
  SmallVector<StringRef> names;
  if (fusesAttention(options))
    names.append({"dgc.fused_attention", "dgc.fused_attention_grad"});
  if (CudaTarget::isCuda(options.target))
    names.append({"dgc.gelu", "dgc.gelu_grad"});
  return names.empty() ? "" : "{keep=" + llvm::join(names, ",") + "}";
}

/// The passes that make products of 16 bits, with a comma before each.
static std::string precisionPasses(StringRef precision) {
  if (precision == "f32")
    return "";
  return (",dgc-mixed-precision{to=" + precision + "}" + (precision == "f16" ? ",dgc-scale-loss" : "")).str();
}

std::string phasePipeline(Phase phase, const CompileOptions &options) {
  bool distributed = !options.mesh.empty();
  switch (phase) {
  case Phase::Model:
    return "dgc-unify-meshes,dgc-inline-calls,dgc-unroll-repeats,dgc-infer-types" +
           (options.batch ? "{batch=" + std::to_string(options.batch) + "}" : "") +
           ",dgc-build-entry-points,dgc-bound-indices,dgc-mask-padding" + precisionPasses(options.precision) +
           attentionPass(options);
  case Phase::Gradient:
    return "dgc-assign-stages{stages=" + std::to_string(axisSize(options.mesh, "stage")) +
           (pipelineSchedule(options) == "interleaved" ? " repeat=true" : "") +
           (options.servers ? " servers=" + std::to_string(options.servers) : "") +
           (CudaTarget::isCuda(options.target) ? " kind=gpu" : "") +
           (hostTarget(options).empty() ? "" : " server-kind=cpu") +
           (options.placement.empty() ? "" : " placement=" + options.placement) + "},dgc-gradient,dgc-decompose" +
           keptOps(options) + ",canonicalize," +
           (options.microbatches ? "dgc-split-microbatches{count=" + std::to_string(options.microbatches) + "}," : "") +
           passesOf(options, StrategyStage::Gradient) + "cse";
  case Phase::Place:
    return "dgc-complete-stages,dgc-reassociate-stage-sums{positions=" +
           std::to_string(axisSize(options.mesh, "stage")) + "}";
  case Phase::Shard:
    return distributed ? "dgc-add-mesh{mesh=" + options.mesh + "}," + passesOf(options, StrategyStage::Shard) +
                             "dgc-propagate-shardings," + passesOf(options, StrategyStage::Refine) +
                             "dgc-insert-reshards,dgc-verify-sharded" + (options.noPadding ? "{no-padding}" : "")
                       : "";
  case Phase::Partition:
    return distributed ? "dgc-partition,canonicalize,cse,dgc-verify-partitioned,dgc-complete-stages," +
                             schedulePass(options) + "dgc-cut-programs" +
                             (options.servers ? "{servers=" + std::to_string(options.servers) +
                                                    (hostTarget(options).empty() ? "}" : " host-servers=true}")
                                              : "")
                       : "";
  case Phase::Communicate:
    return distributed ? "dgc-simplify-collectives,dgc-cse-collectives,dgc-reassociate-all-reduces,dgc-create-reduce-"
                         "scatters," +
                             serverPass(options) + limitPass(options) +
                             "dgc-flatten-collectives,dgc-combine-collectives" + combineOption(options) + "," +
                             (options.links.empty() ? "" : "dgc-hierarchical-all-reduce" + linkOption(options) + ",") +
                             "dgc-order-collectives,dgc-check-plan"
                       : "";
  case Phase::Kernel:
    return CudaTarget::isCuda(options.target)
               ? "dgc-expand-attention{device=cuda},dgc-pad-products,cse,dgc-select-library-calls{device=cuda "
                 "epilogues=" +
                     options.epilogues + "},dgc-decompose,cse,dgc-form-kernels{rematerialize=true share-launches=true}"
               : "dgc-expand-attention,dgc-select-library-calls,dgc-form-kernels";
  case Phase::Schedule:
    return (distributed && options.overlap ? "dgc-split-collectives,dgc-overlap-collectives,dgc-check-plan," : "") +
           std::string("dgc-lower-to-programs,dgc-plan-memory");
  case Phase::Input:
  case Phase::Artifact:
    return "";
  }
  return "";
}

static LogicalResult dump(ModuleOp module, Phase phase, const std::string &directory) {
  llvm::SmallString<128> path(directory);
  std::error_code error = llvm::sys::fs::create_directories(directory);
  llvm::sys::path::append(path, Twine(static_cast<int>(phase)) + "-" + nameOf(phase) + ".mlir");
  if (!error) {
    llvm::raw_fd_ostream out(path, error);
    if (!error) {
      module.print(out, OpPrintingFlags().elideLargeElementsAttrs(64));
      out.close();
      error = out.error();
      out.clear_error(); // else its destructor aborts
    }
    if (!error) {
      return success();
    }
  }
  return module.emitError() << "cannot write '" << path.str() << "': " << error.message();
}

static LogicalResult runPhase(ModuleOp module, Phase phase, const CompileOptions &options) {
  std::string pipeline = phasePipeline(phase, options);
  PassManager manager(module.getContext());
  if (failed(applyPassManagerCLOptions(manager))) {
    return failure();
  }
  if (!pipeline.empty() && failed(parsePassPipeline(pipeline, manager))) {
    return module.emitError() << "the pipeline of phase " << nameOf(phase) << " cannot be built: " << pipeline;
  }
  auto start = std::chrono::steady_clock::now();
  if (failed(manager.run(module))) {
    return failure();
  }
  if (options.timing) {
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    *options.timing << llvm::formatv("{0,-12} {1,8:f3} s\n", nameOf(phase), seconds.count());
  }
  if (phase == Phase::Communicate && options.explain) {
    explain(module, *options.explain);
  }
  return options.dumpDirectory.empty() ? success() : dump(module, phase, options.dumpDirectory);
}

LogicalResult runPhases(ModuleOp module, const CompileOptions &given) {
  if (failed(checkOptions(module, given))) {
    return failure();
  }
  const CompileOptions asked = *withMeshOf(module, given);
  CompileOptions options = *withServers(module, asked);
  OwningOpRef<ModuleOp> original; // to look for what would fit
  if (options.memoryLimit >= 0) {
    original = module.clone();
  }
  if (leavesRecomputeOpen(options.strategy)) {
    options.strategy = chooseRecompute(*original, asked);
  }
  int last = std::min(static_cast<int>(options.to), static_cast<int>(Phase::Schedule));
  for (int phase = static_cast<int>(options.from) + 1; phase <= last; ++phase) {
    if (failed(runPhase(module, static_cast<Phase>(phase), options))) {
      return failure();
    }
  }
  bool planned = last == static_cast<int>(Phase::Schedule);
  if (planned && failed(planWorkspaces(module, options.threads, options.target))) {
    return failure();
  }
  bool checked = options.memoryLimit >= 0 && planned;
  return checked ? checkMemoryLimit(module, *original, asked) : success();
}

/// The kernels that workers on CPUs, or all others, launch: those of `source` that have their names.
static OwningOpRef<ModuleOp> kernelsOf(ModuleOp module, ModuleOp source, bool onHost) {
  llvm::StringSet<> used;
  for (auto program : module.getOps<mlir::exec::ProgramOp>())
    if (isOnHost(module, program.getMeshAttr()) == onHost)
      program.walk([&](mlir::exec::LaunchOp launch) { used.insert(launch.getKernel().getLeafReference().getValue()); });
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(source->clone());
  for (auto kernel : llvm::make_early_inc_range(copy->getOps<func::FuncOp>()))
    if (!used.contains(kernel.getSymName()))
      kernel.erase();
  return copy;
}

FailureOr<CompiledKernels> compileKernelsOf(ModuleOp module, const CompileOptions &options,
                                            llvm::function_ref<FailureOr<CompiledKernels>(ModuleOp)> compile) {
  auto source = module.lookupSymbol<ModuleOp>("kernels");
  bool hasHosts = llvm::any_of(module.getOps<mlir::dist::MeshOp>(), [](auto mesh) { return isOnHost(mesh); });
  if (!hasHosts)
    return source ? compile(source) : FailureOr<CompiledKernels>(CompiledKernels());
  OwningOpRef<ModuleOp> none = ModuleOp::create(module.getLoc());
  if (!source)
    source = *none;
  FailureOr<CompiledKernels> kernels = compile(*kernelsOf(module, source, false));
  FailureOr<CpuTarget> target = CpuTarget::parse(hostTarget(options), module.getLoc());
  if (failed(kernels) || failed(target))
    return failure();
  FailureOr<CompiledKernels> host = compileKernels(*kernelsOf(module, source, true), *target);
  if (failed(host))
    return failure();
  kernels->host = std::make_shared<CompiledKernels>(*std::move(host));
  return kernels;
}

/// The kernels of the target that the options name.
static FailureOr<CompiledKernels> compileKernelsFor(ModuleOp module, const CompileOptions &options) {
  bool isCuda = CudaTarget::isCuda(options.target);
  FailureOr<CompiledKernels> kernels =
      compileKernelsOf(module, options, [&](ModuleOp source) -> FailureOr<CompiledKernels> {
        if (isCuda) {
          FailureOr<CudaTarget> target = CudaTarget::parse(options.target, module.getLoc());
          return failed(target) ? FailureOr<CompiledKernels>() : compileKernels(source, *target);
        }
        FailureOr<CpuTarget> target = CpuTarget::parse(options.target, module.getLoc());
        return failed(target) ? FailureOr<CompiledKernels>() : compileKernels(source, *target);
      });
  if (succeeded(kernels))
    kernels->kind = isCuda ? "cuda" : "cpu"; // also without a kernel
  return kernels;
}

FailureOr<std::vector<uint8_t>> compile(ModuleOp module, const CompileOptions &options) {
  if (failed(runPhases(module, options))) {
    return failure();
  }
  auto start = std::chrono::steady_clock::now();
  FailureOr<CompiledKernels> kernels = compileKernelsFor(module, options);
  if (failed(kernels)) {
    return failure();
  }
  FailureOr<std::vector<uint8_t>> bytes = packageModule(module, *kernels, {options.attributes});
  if (failed(bytes)) {
    return failure();
  }
  // What a worker checks when it loads the plan, before there is a file.
  absl::StatusOr<std::unique_ptr<rt::Artifact>> artifact = rt::loadBytes(*bytes, "the plan");
  if (!artifact.ok()) {
    return module.emitError() << std::string(artifact.status().message());
  }
  if (options.timing) {
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    *options.timing << llvm::formatv("{0,-12} {1,8:f3} s\n", nameOf(Phase::Artifact), seconds.count());
  }
  return bytes;
}

} // namespace dgc
