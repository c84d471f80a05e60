// From what a compilation is asked for to the options of its phases.

#include "compiler/driver/CompileOptions.h"
#include "compiler/driver/ChooseRecompute.h"
#include "passes/communicate/Passes.h"
#include "passes/model/Passes.h"
#include "passes/partition/PipelineSchedule.h"
#include "passes/shard/Passes.h"
#include "runtime/base/Bytes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <thread>

using namespace mlir;

namespace dgc {

std::optional<ByteCount> ByteCount::parse(StringRef text, std::string &error) {
  std::optional<int64_t> bytes = rt::parseBytes(text.str());
  if (!bytes)
    error = "'" + text.str() + "': expected " + std::string(rt::kBytesSyntax);
  return bytes ? std::optional(ByteCount{*bytes}) : std::nullopt;
}

std::string ByteCount::text() const { return bytes < 0 ? "" : std::to_string(bytes); }

std::optional<Count> Count::parse(StringRef text, std::string &error) {
  int64_t number;
  if (!text.getAsInteger(10, number) && number >= 1)
    return Count{number};
  error = "'" + text.str() + "': a number from 1 on is expected";
  return std::nullopt;
}

std::string Count::text() const { return value ? std::to_string(value) : ""; }

std::optional<VirtualShards> VirtualShards::parse(StringRef text, std::string &error) {
  auto [how, number] = text.split('=');
  VirtualShards shards{kDefault};
  const bool isNumber = !text.contains('=') || (!number.getAsInteger(10, shards.count) && shards.count >= 2);
  if (how == "any-workers" && isNumber)
    return shards;
  error =
      "'" + text.str() + "': expected any-workers, or any-workers=V with the number of parts of the batch, from 2 on";
  return std::nullopt;
}

std::optional<Staleness> Staleness::parse(StringRef text, std::string &error) {
  int64_t steps = kUnlimited;
  if (text == "inf" || (!text.getAsInteger(10, steps) && steps >= 0))
    return Staleness{steps};
  error = "'" + text.str() + "': expected a number of steps from 0 on, or inf";
  return std::nullopt;
}

std::string Staleness::text() const { return !steps ? "" : *steps == kUnlimited ? "inf" : std::to_string(*steps); }

std::string VirtualShards::text() const { return count ? "any-workers=" + std::to_string(count) : ""; }

std::optional<PlacementRules> CompileOptions::readPlacement(StringRef fileOrList, std::string &error) {
  if (fileOrList.contains('='))
    return PlacementRules::parse(fileOrList, error);
  auto file = llvm::MemoryBuffer::getFile(fileOrList, /*IsText=*/true);
  if (file)
    return PlacementRules::parseFile(fileOrList, (*file)->getBuffer(), error);
  error = "cannot read the placement file '" + fileOrList.str() + "': " + file.getError().message();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string textOf(bool value) { return value ? "true" : "false"; }
static std::string textOf(const std::vector<std::string> &value) { return llvm::join(value, ","); }
template <NamedEnum E> static std::string textOf(E value) { return nameOf(value).str(); }
template <TextValue T> static std::string textOf(const T &value) { return value.text(); }

std::vector<std::pair<std::string, std::string>> CompileOptions::text() const {
  std::vector<std::pair<std::string, std::string>> result;
  bind(*this, [&](const char *name, const auto &field, const char *, const char *) {
    result.push_back({name, textOf(field)});
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {
/// Completes the options step by step; each fails with a diagnostic.
class Planner {
public:
  Planner(ModuleOp module, const CompileOptions &options) : module(module) { plan.asked = options; }

  FailureOr<CompilePlan> run() {
    module.getContext()->loadDialect<dist::DistDialect>();
    plan.mesh = asked().mesh;
    if (failed(checkNumbers()) || failed(checkPhases()) || failed(checkInsertedPasses()) || failed(chooseMesh()) ||
        failed(chooseTargets()) || failed(checkCollectiveNames(module, asked().forbid)) || failed(checkMesh()) ||
        failed(chooseStrategies()) || failed(chooseAsynchronous()) || failed(chooseVirtualShards()) ||
        failed(checkPipeline()) || failed(checkRepeats()))
      return failure();
    if (plan.strategies.servers())
      plan.mesh.axes.insert(plan.mesh.axes.begin(), {"stage", 1 + plan.strategies.servers()});
    fillPhases();
    return std::move(plan);
  }

private:
  const CompileOptions &asked() const { return plan.asked; }
  InFlightDiagnostic error() { return module.emitError(); }

  LogicalResult checkNumbers() {
    if (asked().threads.value > 4096)
      return error() << "--worker-threads=" << asked().threads.value << ": a number from 1 to 4096 is needed";
    return success();
  }

  LogicalResult checkPhases() {
    if (asked().from > asked().to)
      return error() << "--compile-from=" << nameOf(asked().from) << " is after --compile-to=" << nameOf(asked().to);
    if (asked().precision != Precision::F32 && asked().from >= Phase::Model)
      return error() << "--precision=" << nameOf(asked().precision) << " is decided in the phase 'model', which this "
                     << "program has been through; give it there";
    if (auto models = module.getOps<ModelOp>(); asked().from > Phase::Input && !models.empty())
      return (*models.begin()).emitError() << "this is a model as it is written: it has not been through the phase '"
                                           << nameOf(asked().from) << "'; leave --compile-from out";
    return success();
  }

  LogicalResult checkInsertedPasses() {
    auto first = static_cast<Phase>(static_cast<int>(asked().from) + 1);
    std::string wrong;
    auto inserted = parseInsertedPasses(asked().insertPass, first, asked().to, wrong);
    if (!inserted)
      return error() << wrong;
    plan.inserted = *std::move(inserted);
    return success();
  }

  /// Takes the mesh of the module where none is asked for. A module with a mesh says itself how values are cut, so
  /// without an axis for the batch it needs no strategy.
  LogicalResult chooseMesh() {
    if (!plan.mesh.empty())
      return success();
    FailureOr<dist::MeshAttr> mesh = unifiedMesh(module);
    if (failed(mesh))
      return failure();
    if (!*mesh)
      return success();
    for (dist::MeshAxisAttr axis : mesh->getAxes())
      plan.mesh.axes.push_back({axis.getName().getValue().str(), axis.getSize()});
    plan.isMeshOfModel = true;
    isAnnotated = !plan.mesh.has("data");
    return success();
  }

  LogicalResult chooseTargets() {
    const TargetRegistry &registry = TargetRegistry::builtin();
    std::string wrong;
    plan.workers = registry.create(asked().target.spec, wrong);
    if (!plan.workers)
      return error() << wrong;
    const bool mayDiffer = plan.workers->traits().takesHostServers;
    const std::string &spec = asked().serverTarget.spec;
    if (spec == asked().target.spec || (spec.empty() && !mayDiffer)) {
      plan.servers = plan.workers;
      return success();
    }
    plan.servers = registry.create(spec.empty() ? "cpu" : spec, wrong);
    if (!plan.servers)
      return error() << wrong;
    if (!mayDiffer || plan.servers->traits().device != DeviceKind::Cpu)
      return error() << "the server target '" << spec << "' does not go with the target '" << asked().target.spec
                     << "': servers are on the same target as the workers, or on CPUs if the workers are on GPUs";
    return success();
  }

  /// Refuses a mesh that cannot be or is not that of the module, and links along axes that it does not have.
  LogicalResult checkMesh() {
    if (plan.mesh.empty())
      return success();
    dist::MeshAttr mesh = buildMesh(module, plan.mesh);
    if (!mesh)
      return failure();
    auto existing = module.lookupSymbol<dgc::dist::MeshOp>("mesh");
    if (existing && asked().from > Phase::Model && existing.getMesh() != mesh)
      return existing.emitError() << "the module has '@mesh' already, and not as the mesh '" << plan.mesh.text()
                                  << "' that was asked for: leave --mesh out, or give the same";
    return asked().links.checkAxes(mesh, [&] { return error(); });
  }

  LogicalResult chooseStrategies() {
    std::string wrong;
    std::optional<StrategyOptions> complete = completeStrategies(asked().strategy, plan.mesh, isAnnotated, wrong);
    if (!complete)
      return error() << wrong;
    plan.strategies = *std::move(complete);
    const bool hasServers = plan.strategies.servers() != 0;
    const bool isForServers = plan.mesh.axes.size() == 1 && plan.mesh.has("data") &&
                              (asked().from >= Phase::Shard || module.getOps<dist::MeshOp>().empty());
    if (hasServers && !isForServers)
      return error() << "the workers of parameter servers share the batch and nothing else: use a mesh of one axis "
                        "\"data\" in the command line, as in --mesh data=2, and none in the model";
    if (!hasServers && !asked().serverTarget.spec.empty())
      return error() << "--server-target=" << asked().serverTarget.spec << ": there are no servers; they come with "
                     << "--strategy parameter-server=P or central-storage";
    if (!hasServers)
      plan.servers = plan.workers;
    if (plan.strategies.leavesRecomputeOpen() && asked().memoryLimit.bytes < 0)
      return error() << "strategy 'recompute' needs to know what to compute again: write a pattern, as in "
                        "recompute=layer.*, or let --memory-limit decide";
    return success();
  }

  /// Workers that do not wait for each other have the program of one worker, and batches of their own.
  LogicalResult chooseAsynchronous() {
    const bool isAsked = plan.strategies.asyncParameterServers > 0;
    if (!isAsked && asked().staleness.steps)
      return error() << "--staleness=" << asked().staleness.text()
                     << " is for workers that do not wait for each other: add --strategy async-parameter-server=P";
    if (!isAsked || asked().staleness.value() == 0)
      return success();
    if (asked().checkNumerics != NumericsChecks::Off)
      return error() << "--check-numerics=" << nameOf(asked().checkNumerics)
                     << " is for workers that take each step together; leave it out, or use parameter-server";
    for (MeshShape::Axis &axis : plan.mesh.axes)
      plan.asynchronousWorkers = std::exchange(axis.size, 1);
    return success();
  }

  /// The parts of the batch that a worker has are its micro-batches.
  LogicalResult chooseVirtualShards() {
    const int64_t shards = asked().deterministic.count, workers = std::max<int64_t>(plan.mesh.sizeOf("data"), 1);
    if (!shards)
      return success();
    const std::string option = "--deterministic=" + asked().deterministic.text() + ": ";
    StrategyOptions rest = plan.strategies;
    rest.accumulate = 0;
    rest.recompute.reset();
    rest.dataParallel = rest.zero1 = rest.zero2 = rest.zero3 = false;
    if (!rest.text().empty())
      return error() << option << "is for data-parallel, zero1 to zero3, accumulate and recompute; leave '"
                     << rest.text() << "' out";
    const bool isDataAlone = plan.mesh.empty() || (plan.mesh.axes.size() == 1 && plan.mesh.has("data"));
    if (!isDataAlone || plan.isMeshOfModel || !asked().placement.rules.empty())
      return error() << option
                     << "is for a mesh of the one axis \"data\" in the command line, as in --mesh data=2, and "
                     << "without --placement";
    if (plan.workers->traits().device != DeviceKind::Cpu)
      return error() << option << "is for CPUs: what libraries of GPUs add up has no order of its own";
    if (asked().precision == Precision::BF16 || asked().precision == Precision::F16)
      return error() << option
                     << "is for --precision=f32: what is rounded to 16 bits may differ in the last one of them";
    if (shards % workers != 0 || !llvm::isPowerOf2_64(shards / workers))
      return error()
             << option << workers << " workers cannot share " << shards << " parts of the batch: each must have 1, 2, "
             << "4, 8 .. of them; use any-workers=V with such a multiple of the workers, the same V for all plans";
    if (plan.strategies.accumulate && plan.strategies.accumulate * workers != shards)
      return error() << option << "a batch of " << shards << " parts on " << workers << " workers is in "
                     << shards / workers << " micro-batches, not in accumulate=" << plan.strategies.accumulate
                     << "; leave accumulate out, or use any-workers=" << plan.strategies.accumulate * workers;
    plan.strategies.accumulate = shards / workers > 1 ? shards / workers : 0;
    return success();
  }

  LogicalResult checkPipeline() {
    if (!plan.strategies.pipeline && asked().microbatches.value)
      return error() << "--microbatches is for the strategy pipeline; accumulate=" << asked().microbatches.value
                     << " splits the batch without one";
    if (plan.strategies.pipeline && asked().microbatches.value < 1)
      return error() << "strategy 'pipeline' needs the number of micro-batches: add --microbatches M, as in "
                        "--microbatches 8";
    return success();
  }

  /// From so many micro-batches on they are rounds of a loop. Where communication overlaps with the last of them, fewer are
  /// written out.
  int64_t loopFrom() const { return !plan.mesh.empty() && asked().overlap == Switch::On ? 5 : 2; }

  bool mayLoopOverMicrobatches() const {
    const StrategyOptions &s = plan.strategies;
    return !asked().deterministic.count && s.accumulate && plan.workers->traits().controlFlow && !s.pipeline &&
           !plan.isMeshOfModel;
  }

  /// From how many micro-batches on they are rounds of a loop; 0: never. Those of a pipeline are where its schedule is in a
  /// steady state for some rounds, and the plan need not be one of the least memory.
  int64_t loopMicrobatchesFrom() const {
    if (mayLoopOverMicrobatches())
      return loopFrom();
    const StrategyOptions &s = plan.strategies;
    if (!s.pipeline || s.accumulate || !plan.workers->traits().controlFlow || asked().memoryLimit.bytes >= 0)
      return 0;
    std::string error;
    const int64_t microbatches = asked().microbatches.value, positions = plan.mesh.sizeOf("stage");
    // Which stages there are is known once ops are placed: positions have several only where the schedule is interleaved.
    const int64_t chunks = *s.pipeline == PipelineScheduleKind::Interleaved ? 2 : 1;
    std::optional<PipelineSchedule> schedule = schedulePipeline(*s.pipeline, positions, microbatches, chunks, error);
    std::optional<PipelineTimes> times = schedule ? simulate(*schedule, {}) : std::nullopt;
    std::optional<SteadyState> steady = times ? findSteadyState(*schedule, *times) : std::nullopt;
    return steady && steady->canUnroll(2) ? microbatches : 0;
  }

  /// A loop of fewer layers is not worth what copies of their weights and activations cost.
  static constexpr int64_t kLoopLayersFrom = 24;

  /// Why the layers of repeats are no loops in this plan; empty: they may be.
  std::string whyNoLoopsOfLayers() const {
    const StrategyOptions &s = plan.strategies;
    if (!plan.workers->traits().controlFlow)
      return "the target '" + asked().target.spec + "' writes loops out";
    if (s.servers())
      return "parameter servers hold variables one by one";
    if (s.pipeline || plan.mesh.has("stage"))
      return "the layers are on the stages of a pipeline";
    if (!asked().placement.rules.empty())
      return "--placement says where each layer is";
    auto tellsApart = [](StringRef pattern) {
      for (size_t i = 1; i < pattern.size(); ++i)
        if ((pattern[i - 1] == '.' || pattern[i - 1] == '*') &&
            (llvm::isDigit(pattern[i]) || pattern[i] == '?' || pattern[i] == '['))
          return true;
      return false;
    };
    std::vector<std::string> patterns = s.recompute.value_or(NamePatterns()).patterns;
    for (const std::string &pattern : patterns)
      if (pattern != "*" && !StringRef(pattern).ends_with(".*"))
        return "recompute='" + pattern + "' may name single values of layers";
    for (const WeightCuts::Cut &cut : s.tensorParallel.value_or(WeightCuts()).cuts)
      patterns.push_back(cut.name);
    for (const std::string &pattern : patterns)
      if (tellsApart(pattern))
        return "the pattern '" + pattern + "' of a strategy tells layers apart";
    return "";
  }

  LogicalResult checkRepeats() {
    const std::string why = whyNoLoopsOfLayers();
    if (asked().repeats != RepeatForm::Loop || why.empty())
      return success();
    return error() << "--repeats=loop: " << why << "; take --repeats=unroll, or auto";
  }

  /// From how many layers on a repeat is a loop; 0: none is.
  int64_t loopRepeatsFrom() const {
    if (asked().repeats == RepeatForm::Unroll || !whyNoLoopsOfLayers().empty())
      return 0;
    return asked().repeats == RepeatForm::Loop ? 2 : kLoopLayersFrom;
  }

  void fillPhases() {
    const StrategyOptions &strategies = plan.strategies;
    const TargetTraits &traits = plan.workers->traits();
    const int64_t stages = plan.mesh.sizeOf("stage"), servers = strategies.servers();
    const bool fuses = asked().attention == AttentionForm::Fused ||
                       (asked().attention == AttentionForm::Auto && traits.fusesAttention);
    const bool hasHostServers = plan.servers != plan.workers;
    const bool isDistributed = !plan.mesh.empty(), overlaps = asked().overlap == Switch::On;
    PhaseOptions &phases = plan.phases;
    phases.model = {.batch = asked().batch.value,
                    .precision = asked().precision,
                    .loopRepeats = loopRepeatsFrom(),
                    .keepLoopedRepeats = traits.mostUnrolledOps > 0,
                    .fuseAttention = fuses,
                    .attentionElements = traits.attentionElements,
                    .attentionMultiple = traits.attentionMultiple,
                    .attentionMost = traits.attentionMost};
    phases.place = {.stages = stages,
                    .servers = servers,
                    .repeat = strategies.pipeline == PipelineScheduleKind::Interleaved,
                    .kind = traits.device,
                    .serverKind = plan.servers->traits().device,
                    .placement = asked().placement};
    phases.gradient = {.keep = traits.keptOps,
                       .microbatches = strategies.accumulate         ? strategies.accumulate
                                       : asked().deterministic.count ? 1
                                                                     : asked().microbatches.value,
                       .stages = stages,
                       .recompute = strategies.recompute.value_or(NamePatterns()),
                       .unrollScans = traits.controlFlow ? traits.mostUnrolledOps : kMostUnrolledOps,
                       .loopFrom = loopMicrobatchesFrom(),
                       .loopWorkers = std::max<int64_t>(plan.mesh.sizeOf("data"), 1),
                       .pairwise = asked().deterministic.count != 0};
    if (fuses)
      phases.gradient.keep.insert(phases.gradient.keep.end(), {"dgc.fused_attention", "dgc.fused_attention_grad"});
    phases.shard = {.mesh = plan.mesh,
                    .dataParallel = strategies.dataParallel,
                    .zero = strategies.zeroStage(),
                    .tensorParallel = strategies.tensorParallel.has_value(),
                    .cut = strategies.tensorParallel.value_or(WeightCuts()),
                    .sequenceParallel = strategies.sequenceParallel,
                    .pairwise = asked().deterministic.count != 0,
                    .noPadding = asked().noPadding};
    phases.partition = {.distributed = isDistributed,
                        .pipeline = strategies.pipeline.has_value(),
                        .schedule = strategies.pipeline.value_or(PipelineScheduleKind::GPipe),
                        .servers = servers,
                        .hostServers = hasHostServers};
    phases.communicate = {.distributed = isDistributed,
                          .links = asked().links,
                          .overlap = overlaps,
                          .scatterToServers = servers != 0,
                          .forbid = asked().forbid,
                          .maxReplicatedBytes = asked().maxReplicatedBytes.bytes,
                          .checkNumerics = asked().checkNumerics};
    phases.kernel = {
        .target = asked().target, .epilogues = asked().epilogues, .fixedArithmetic = asked().deterministic.count != 0};
    phases.schedule = {.overlap = isDistributed && overlaps};
    for (const MeshShape::Axis &axis : plan.mesh.axes)
      plan.numWorkers *= servers && axis.name == "stage" ? 1 : axis.size;
    const int64_t processes = std::max<int64_t>(1, std::max(plan.numWorkers, plan.asynchronousWorkers) + servers);
    plan.threads = asked().threads.value ? asked().threads.value
                                         : std::max<int64_t>(1, std::thread::hardware_concurrency() / processes);
  }

  ModuleOp module;
  CompilePlan plan;
  bool isAnnotated = false;
};
} // namespace

FailureOr<CompilePlan> planCompilation(ModuleOp module, const CompileOptions &options) {
  FailureOr<CompilePlan> plan = Planner(module, options).run();
  if (succeeded(plan) && plan->strategies.leavesRecomputeOpen()) {
    plan->strategies.recompute = chooseRecompute(module, options);
    plan->phases.gradient.recompute = plan->strategies.recompute.value_or(NamePatterns());
  }
  return plan;
}

} // namespace dgc
