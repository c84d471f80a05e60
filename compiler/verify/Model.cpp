#include "compiler/verify/Model.h"
#include "compiler/codegen/Lowering.h"
#include "compiler/driver/Compile.h"
#include "compiler/package/Package.h"
#include "compiler/package/ProgramWriter.h"
#include "compiler/target/reference/KernelWriter.h"
#include "compiler/verify/DrawLimits.h"
#include "compiler/verify/Undistribute.h"
#include "dialects/dgc/AttributeNames.h"
#include "mlir/Pass/PassManager.h"
#include "passes/gradient/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/schedule/Passes.h"

using namespace mlir;

namespace dgc {

/// Calls `b(name, field)` for each option that counts for what a model computes.
template <class Binder> static void bindMeaning(CompileOptions &options, Binder &&b) {
  b("target", options.target);
  b("batch", options.batch);
  b("precision", options.precision);
  b("attention", options.attention);
  b("repeats", options.repeats);
  b("input-shape", options.inputShape);
  b("import", options.blocks);
}

/// A list.
static bool readOption(StringRef text, std::vector<std::string> &value, std::string &) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  value.assign(parts.begin(), parts.end());
  return true;
}

std::optional<CompileOptions> optionsFor(const artifact::Plan &plan, std::string &error) {
  CompileOptions options;
  bool isRead = true;
  for (uint32_t i = 0; plan.options() && i < plan.options()->size(); ++i) {
    const artifact::CompilerOption &option = *plan.options()->Get(i);
    bindMeaning(options, [&](StringRef name, auto &field) {
      if (!isRead || name != option.name()->c_str() || !option.value() || option.value()->size() == 0)
        return;
      isRead = readOption(option.value()->c_str(), field, error);
      if (!isRead)
        error = "option '" + name.str() + "' of the plan: " + error;
    });
  }
  if (plan.global_batch() > 0) // a plan of a program that was through the phase `model` has it, and no option
    options.batch.value = static_cast<int64_t>(plan.global_batch());
  return isRead ? std::optional(std::move(options)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Entries as kernels
//===----------------------------------------------------------------------===//

/// For each argument and result of an entry the variable that it is; empty for inputs and outputs.
namespace {
struct Entry {
  std::string name;
  SmallVector<std::string> arguments, results;
  SmallVector<uint64_t> drawLimits; // of the arguments
};
} // namespace

static Entry entryOf(func::FuncOp func) {
  Entry entry{func.getName().str(), {}, {}, drawLimitsOf(func)};
  auto nameOf = [](FlatSymbolRefAttr state) { return state ? state.getValue().str() : ""; };
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    entry.arguments.push_back(nameOf(func.getArgAttrOfType<FlatSymbolRefAttr>(i, kStateAttr)));
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    entry.results.push_back(nameOf(func.getResultAttrOfType<FlatSymbolRefAttr>(i, kStateAttr)));
  return entry;
}

/// Runs the phases up to `gradient` for one worker, and leaves primitive ops alone.
static LogicalResult lowerToPrimitives(ModuleOp module, const CompileOptions &options) {
  CompileOptions asked;
  asked.target = options.target;
  asked.batch = options.batch;
  asked.precision = options.precision;
  asked.attention = options.attention;
  asked.repeats = options.repeats;
  asked.to = Phase::Gradient;
  FailureOr<CompilePlan> plan = planCompilation(module, asked);
  if (failed(plan))
    return failure();
  plan->phases.gradient.unrollScans = kMostUnrolledOps;
  plan->phases.model.keepLoopedRepeats = false;
  if (failed(runPhases(module, *plan)))
    return failure();
  PassManager manager(module.getContext());
  manager.addPass(createExpandAttention());
  manager.addPass(createDecomposePass());
  return manager.run(module);
}

/// What is computed by other loops than scans, or by branches, depends on comparisons of values, of which the check knows
/// classes.
static LogicalResult refuseControlFlow(ModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) -> WalkResult {
    if (op->hasTrait<ControlFlow>())
      return op->emitOpError("is decided by what is computed, which the exact check does not follow: compile without "
                             "--verify, and compare what the plan computes with one worker (dgc-run --feed --fetch)");
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Moves the body of an entry to a kernel of its name, which it launches where that has results.
static void outline(func::FuncOp entry, ModuleOp kernels) {
  auto kernel = func::FuncOp::create(entry.getLoc(), entry.getName(), entry.getFunctionType());
  kernel.getBody().takeBody(entry.getBody());
  kernels.push_back(kernel);
  OpBuilder builder = OpBuilder::atBlockEnd(entry.addEntryBlock());
  auto symbol = SymbolRefAttr::get(kernels.getSymNameAttr(), FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
  ValueRange results;
  if (entry.getNumResults() > 0)
    results = exec::LaunchOp::create(builder, entry.getLoc(), entry.getResultTypes(), symbol, entry.getArguments(),
                                     ValueRange(), DenseI64ArrayAttr())
                  .getResults();
  func::ReturnOp::create(builder, entry.getLoc(), results);
}

/// The variables, inputs and outputs as an artifact of the entries would have them.
static FailureOr<artifact::PlanT> describe(ModuleOp module, ArrayRef<Entry> entries) {
  PassManager manager(module.getContext());
  manager.addPass(createLowerToProgramsPass());
  if (failed(manager.run(module)))
    return failure();
  CompiledKernels kernels;
  for (const Entry &entry : entries)
    kernels.kernels.push_back({entry.name});
  return describePlan(module, kernels);
}

static LogicalResult writeProgram(func::FuncOp kernel, verify::ModelProgram &program) {
  SmallVector<Location> locations;
  if (failed(lowerKernelToLinalg(kernel)))
    return failure();
  FailureOr<std::unique_ptr<reference::KernelT>> written = writeKernel(kernel, &locations);
  if (failed(written))
    return failure();
  reference::KernelsT bytecode;
  bytecode.kernels.push_back(*std::move(written));
  program.kernel = finishKernels(bytecode);
  llvm::append_range(program.locations, llvm::map_range(locations, textOfLocation));
  return success();
}

//===----------------------------------------------------------------------===//
// What the values of a program are
//===----------------------------------------------------------------------===//

static std::vector<verify::ModelVariable> variablesOf(const artifact::PlanT &plan) {
  std::vector<verify::ModelVariable> variables;
  for (const auto &each : plan.variables)
    variables.push_back({each->name, each->role, plan.variable_buffers[each->buffer]->dtype, each->global_shape,
                         each->init, each->a, each->b, each->rng_id, each->rng_strides, each->file, each->begins_as});
  return variables;
}

/// The value of a variable: as an input or a result.
template <class Value> static Value valueOf(ArrayRef<verify::ModelVariable> variables, StringRef name) {
  const auto *variable = llvm::find_if(variables, [&](const auto &each) { return each.name == name; });
  Value value;
  value.name = name.str();
  value.isVariable = true;
  value.dtype = variable->dtype;
  value.shape = variable->shape;
  return value;
}

/// An input or output of a program.
template <class Value> static Value valueOf(const artifact::ProgramT &program, const auto &entry) {
  Value value;
  value.name = entry.name;
  value.role = entry.role;
  value.dtype = program.buffers[entry.buffer]->dtype;
  value.shape = entry.global_shape;
  value.batchDim = entry.batch_dim;
  return value;
}

/// The arguments or results of an entry: variables by name, and what else the program has in order. `drawLimits`: of
/// arguments.
template <class Value>
static std::vector<Value> valuesOf(ArrayRef<std::string> names, ArrayRef<verify::ModelVariable> variables,
                                   ArrayRef<uint64_t> drawLimits, const artifact::ProgramT &program,
                                   const auto &others) {
  std::vector<Value> values;
  auto other = others.begin();
  for (const auto &[i, name] : llvm::enumerate(names)) {
    if (!name.empty()) {
      values.push_back(valueOf<Value>(variables, name));
      continue;
    }
    values.push_back(valueOf<Value>(program, **other));
    if constexpr (std::is_same_v<Value, verify::ModelInput>) {
      values.back().indexLimit = (*other)->index_limit;
      values.back().drawLimit = drawLimits[i];
    } else {
      values.back().over = (*other)->over;
      values.back().function = (*other)->function;
    }
    ++other;
  }
  return values;
}

FailureOr<verify::Model> modelOf(ModuleOp module, const CompileOptions &options) {
  loadKernelDialects(*module.getContext());
  module.getContext()->loadDialect<exec::ExecDialect>();
  if (failed(undistribute(module)) || failed(lowerToPrimitives(module, options)))
    return failure();
  if (failed(refuseControlFlow(module)))
    return failure();
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc(), "kernels");
  SmallVector<Entry> entries;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    entries.push_back(entryOf(func));
    outline(func, *kernels);
  }
  module.push_back(kernels->clone());
  FailureOr<artifact::PlanT> plan = describe(module, entries);
  if (failed(plan))
    return failure();
  verify::Model model;
  model.variables = variablesOf(*plan);
  for (auto [entry, program, kernel] : llvm::zip_equal(entries, plan->programs, kernels->getOps<func::FuncOp>())) {
    verify::ModelProgram result;
    result.name = entry.name;
    result.inputs =
        valuesOf<verify::ModelInput>(entry.arguments, model.variables, entry.drawLimits, *program, program->inputs);
    result.results = valuesOf<verify::ModelResult>(entry.results, model.variables, {}, *program, program->outputs);
    if (failed(writeProgram(kernel, result)))
      return failure();
    model.programs.push_back(std::move(result));
  }
  return model;
}

/// Takes all but the gradient itself from an optimizer: w = w - gradient, for the variables that it trains.
static void reduceToGradient(OptimizerOp optimizer) {
  MLIRContext *context = optimizer.getContext();
  auto none = DictionaryAttr::get(context);
  optimizer.setDefinitionAttr(StringAttr::get(context, "sgd"));
  optimizer.setLearningRateAttr(ScheduleAttr::constant(context, 1));
  optimizer.setFieldsAttr(none);
  optimizer.removeClipGlobalNormAttr();
  SmallVector<Attribute> groups;
  for (auto group : optimizer.getGroups().value_or(ArrayAttr::get(context, {})).getAsRange<WeightGroupAttr>())
    groups.push_back(WeightGroupAttr::get(context, group.getPatterns(), none, {}, group.getFrozen()));
  if (!groups.empty())
    optimizer.setGroupsAttr(ArrayAttr::get(context, groups));
}

FailureOr<verify::Model> modelWithGradient(ModuleOp module, CompileOptions options) {
  WalkResult walk = module.walk([&](Operation *op) {
    if (isa<StopGradientOp>(op)) {
      op->emitOpError("is in the way of a check of the gradient: what follows is the derivative of another function");
      return WalkResult::interrupt();
    }
    if (auto optimizer = dyn_cast<OptimizerOp>(op))
      reduceToGradient(optimizer);
    return WalkResult::advance();
  });
  options.precision = Precision::F32;
  return walk.wasInterrupted() ? FailureOr<verify::Model>() : modelOf(module, options);
}

} // namespace dgc
