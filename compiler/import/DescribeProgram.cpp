// Describes a program, and tries to read it.

#include "compiler/import/EntrySignature.h"
#include "compiler/import/Passes.h"
#include "compiler/import/ProgramSummary.h"
#include "compiler/import/Readers.h"
#include "compiler/import/Sdy.h"
#include "dialects/dgc/AttributeNames.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dgc::import {

/// `dgcDescribeOnnx` of libdgc-onnx: fills what the file says, without reading its nodes.
using OnnxDescribeFunction = void(const llvm::MemoryBufferRef *file, MLIRContext *context, ProgramSummary *summary);

namespace {

/// Keeps errors as refusals, equal ones once, while it lives.
class ErrorCollector {
public:
  ErrorCollector(MLIRContext *context, SmallVectorImpl<Refusal> &refusals)
      : handler(context, [&refusals](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return success();
          for (Refusal &refusal : refusalsOf(diagnostic)) {
            auto same = llvm::find_if(refusals, [&](const Refusal &other) { return other.what == refusal.what; });
            if (same == refusals.end())
              refusals.push_back(std::move(refusal));
            else
              same->count += refusal.count;
          }
          return success();
        }) {}

private:
  ScopedDiagnosticHandler handler;
};

} // namespace

/// `{"data"}`, `{"data", ?}` or, of a part of an axis, `{"data":(1)2}`.
static std::string textOfDim(DictionaryAttr dim) {
  SmallVector<std::string> parts;
  for (auto use : dim.getAs<ArrayAttr>("axes").getAsRange<DictionaryAttr>()) {
    std::string text = "\"" + use.getAs<StringAttr>("name").str() + "\"";
    if (auto size = use.getAs<IntegerAttr>("size"))
      text += ":(" + std::to_string(use.getAs<IntegerAttr>("pre_size").getInt()) + ")" + std::to_string(size.getInt());
    parts.push_back(text);
  }
  if (!dim.getAs<BoolAttr>("is_closed").getValue())
    parts.push_back("?");
  return "{" + llvm::join(parts, ", ") + "}";
}

/// A sharding as the program writes it: of `sdy`, or the text of `mhlo.sharding`. Empty where there is none.
static std::string textOfSharding(DictionaryAttr attributes) {
  if (!attributes)
    return "";
  if (auto text = attributes.getAs<StringAttr>("mhlo.sharding"))
    return text.str();
  auto sharding = attributes.getAs<DictionaryAttr>("sdy.sharding");
  if (!isSdySharding(sharding))
    return ""; // another form is refused where it is taken
  SmallVector<std::string> parts;
  for (auto dim : sharding.getAs<ArrayAttr>("dims").getAsRange<DictionaryAttr>())
    parts.push_back(textOfDim(dim));
  auto mesh = sharding.getAs<FlatSymbolRefAttr>("mesh");
  return (mesh ? "@" + mesh.getValue().str() + " " : "") + "[" + llvm::join(parts, ", ") + "]";
}

static std::string textOfMesh(Operation *op) {
  std::string text = "@" + op->getAttrOfType<StringAttr>("sym_name").str() + " <";
  llvm::raw_string_ostream stream(text);
  auto mesh = op->getAttrOfType<DictionaryAttr>("mesh");
  auto axes = isSdyMesh(mesh) ? mesh.getAs<ArrayAttr>("axes") : ArrayAttr();
  llvm::interleaveComma(axes ? axes.getValue() : ArrayRef<Attribute>(), stream, [&](Attribute each) {
    auto axis = cast<DictionaryAttr>(each);
    stream << axis.getAs<StringAttr>("name").getValue() << " = " << axis.getAs<IntegerAttr>("size").getInt();
  });
  return text + ">";
}

/// The elements of a tensor of floats that has at least one dimension, else 0.
static int64_t floatsIn(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  bool areFloats = tensor && tensor.hasStaticShape() && isa<FloatType>(tensor.getElementType());
  return areFloats ? tensor.getNumElements() : 0;
}

static void countOps(ModuleOp module, ProgramSummary &summary) {
  module.walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    if (name == "sdy.mesh" && op->getAttrOfType<StringAttr>("sym_name"))
      summary.meshes.push_back(textOfMesh(op));
    if (isa<ModuleOp, func::FuncOp>(op) || op->hasTrait<OpTrait::IsTerminator>() || name == "sdy.mesh")
      return;
    ++summary.ops[name.str()];
    auto value = name == "stablehlo.constant" ? op->getAttrOfType<DenseElementsAttr>("value") : DenseElementsAttr();
    if (value && !value.isSplat())
      summary.constantElements += floatsIn(value.getType());
  });
}

static void describeEntry(func::FuncOp function, const EntrySignature &signature, ProgramSummary &summary) {
  summary.entry = function.getSymName().str();
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    ProgramSummary::Value value{signature.argumentNames[i], typeText(function.getArgumentTypes()[i]),
                                textOfSharding(function.getArgAttrDict(i))};
    value.isState = signature.isState[i];
    if (signature.resultOf[i] >= 0)
      value.result = signature.resultOf[i];
    value.batchDim = signature.batchDims[i];
    summary.stateElements += value.isState ? floatsIn(function.getArgumentTypes()[i]) : 0;
    summary.inputs.push_back(std::move(value));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    ProgramSummary::Value value{signature.resultNames[i], typeText(function.getResultTypes()[i]),
                                textOfSharding(function.getResultAttrDict(i))};
    value.isNewValue = signature.argumentOf[i] >= 0;
    summary.outputs.push_back(std::move(value));
  }
}

/// What the header of MLIR's bytecode says: the magic number, the version of the encoding in one byte, the producer.
static void describeBytecode(StringRef content, bool isArtifact, ProgramSummary &summary) {
  StringRef producer = content.drop_front(std::min<size_t>(content.size(), 5)).split('\0').first.take_front(80);
  summary.producer = producer.str();
  summary.format = isArtifact ? "StableHLO, portable artifact" : "StableHLO, MLIR bytecode";
  if (isArtifact && producer.consume_front("StableHLO_v"))
    summary.format += " of version " + producer.str();
}

/// Runs the passes of the import one by one: shardings that are refused do not hide ops that are.
static void convert(ModuleOp module, const Training &training) {
  auto run = [&](std::unique_ptr<Pass> pass) {
    PassManager manager(module.getContext());
    manager.addPass(std::move(pass));
    return manager.run(module);
  };
  if (failed(run(createInlineImportedPass())))
    return;
  const bool areTaken = succeeded(run(createMhloShardingsToSdyPass())) && succeeded(run(createTakeShardingsPass()));
  if (succeeded(run(createStableHLOToDGCPass())) && areTaken)
    (void)completeModel(module, training);
}

static void describeStableHLO(llvm::SourceMgr &sources, MLIRContext *context, Format format,
                              const ImportOptions &options, ProgramSummary &summary) {
  AllowUnregistered allow(context);
  OwningOpRef<ModuleOp> module = parseStableHLO(sources, context, format);
  if (!module)
    return;
  if (auto name = module->getSymName())
    summary.name = name->str();
  countOps(*module, summary);
  FailureOr<func::FuncOp> entry = findEntry(*module);
  if (failed(entry) || failed(applyOptions(*module, options)))
    return;
  FailureOr<EntrySignature> signature = signatureOf(*entry);
  if (failed(signature))
    return;
  describeEntry(*entry, *signature, summary);
  convert(*module, options.training);
}

/// What --signature makes of the arguments of a model that can be read.
static void describeRead(ModuleOp module, ProgramSummary &summary) {
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments() && i < summary.inputs.size(); ++i) {
      ProgramSummary::Value &input = summary.inputs[i];
      auto state = function.getArgAttrOfType<FlatSymbolRefAttr>(i, kStateAttr);
      auto name = function.getArgAttrOfType<StringAttr>(i, kInputAttr);
      auto batch = function.getArgAttrOfType<IntegerAttr>(i, kBatchDimAttr);
      input.name = state ? state.getValue().str() : name ? name.str() : input.name;
      input.isState = static_cast<bool>(state);
      input.batchDim = batch ? batch.getInt() : -1;
      for (unsigned result = 0; state && result < summary.outputs.size(); ++result)
        if (function.getResultAttr(result, kStateAttr) == state) {
          input.result = result;
          summary.outputs[result].isNewValue = true;
        }
    }
}

static void describeOnnx(llvm::SourceMgr &sources, MLIRContext *context, const ImportOptions &options,
                         ProgramSummary &summary) {
  const llvm::MemoryBufferRef file = sources.getMemoryBuffer(sources.getMainFileID())->getMemBufferRef();
  void *describe = findInOnnxLibrary("dgcDescribeOnnx", FileLineColLoc::get(context, file.getBufferIdentifier(), 0, 0));
  summary.format = "ONNX";
  if (!describe)
    return;
  reinterpret_cast<OnnxDescribeFunction *>(describe)(&file, context, &summary);
  ImportOptions all = options;
  all.findsAll = true;
  OwningOpRef<ModuleOp> module = readModel(sources, context, all);
  if (module)
    describeRead(*module, summary);
}

ProgramSummary describeProgram(llvm::SourceMgr &sources, MLIRContext *context, const ImportOptions &options) {
  ProgramSummary summary;
  ErrorCollector collector(context, summary.refusals);
  const llvm::MemoryBuffer &file = *sources.getMemoryBuffer(sources.getMainFileID());
  const Format format = formatOf(file.getBuffer());
  DialectRegistry registry;
  registerDialects(registry);
  context->appendDialectRegistry(registry);
  if (format == Format::Onnx) {
    describeOnnx(sources, context, options, summary);
  } else if (format == Format::Dgc) {
    emitError(FileLineColLoc::get(context, file.getBufferIdentifier(), 0, 0))
        << "is neither StableHLO nor ONNX: --inspect is for these";
  } else {
    summary.format = "StableHLO, text";
    if (file.getBuffer().starts_with("ML\xEFR"))
      describeBytecode(file.getBuffer(), format == Format::PortableArtifact, summary);
    if (succeeded(checkOptions(FileLineColLoc::get(context, file.getBufferIdentifier(), 0, 0), format, options)))
      describeStableHLO(sources, context, format, options, summary);
  }
  return summary;
}

} // namespace dgc::import
