// Programs of other frameworks that a model of dgc calls.

#include "compiler/import/Readers.h"
#include "compiler/import/TrainingModel.h"
#include "dialects/dist/Dist.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace dgc::import {

namespace {
/// What --import says.
struct BlockSpec {
  StringRef name, file, signature; // no signature: empty

  static BlockSpec of(StringRef text) {
    auto [name, rest] = text.split('=');
    // A path may have a colon: what is behind the last one is a signature by its name.
    auto [file, signature] = rest.ends_with(".json") ? rest.rsplit(':') : std::pair(rest, StringRef());
    return {name.trim(), file, signature};
  }
};

/// Moves the function of a program into a block.
class BlockWriter {
public:
  BlockWriter(func::FuncOp function, EntrySignature signature, BlockOp block)
      : function(function), signature(std::move(signature)), block(block) {}

  void write() {
    Block &body = block.getBody().emplaceBlock(), &from = function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockEnd(&body);
    for (BlockArgument argument : from.getArguments())
      argument.replaceAllUsesWith(valueOf(builder, body, argument));
    SmallVector<Value> results;
    auto given = llvm::to_vector(from.getTerminator()->getOperands());
    for (Operation &op : llvm::make_early_inc_range(from.without_terminator()))
      op.moveBefore(&body, body.end());
    builder.setInsertionPointToEnd(&body);
    for (auto [i, value] : llvm::enumerate(given)) {
      if (const int64_t argument = signature.argumentOf[i]; argument >= 0)
        AssignOp::create(builder, function.getLoc(), variables[argument], value);
      else
        results.push_back(constrained(builder, value, function.getResultAttrDict(i)));
    }
    untype();
    ReturnOp::create(builder, function.getLoc(), results);
  }

private:
  Value valueOf(OpBuilder &builder, Block &body, BlockArgument argument) {
    const unsigned number = argument.getArgNumber();
    if (!signature.isState[number])
      return constrained(builder, body.addArgument(argument.getType(), argument.getLoc()),
                         function.getArgAttrDict(number));
    StateOp state = declaredState(function, number);
    VariableOp variable = createVariable(builder, function, signature, number, !state || isFixed(state));
    return variables[number] = variable.getResult();
  }

  /// The value, sharded as attributes of an argument or a result say.
  static Value constrained(OpBuilder &builder, Value value, DictionaryAttr attributes) {
    auto sharding = attributes ? attributes.getAs<dist::ShardingAttr>(dist::kShardingAttr) : dist::ShardingAttr();
    return sharding ? dist::ConstraintOp::create(builder, value.getLoc(), value, sharding).getResult() : value;
  }

  /// Values of a model have no types until these are inferred.
  void untype() {
    const Type untyped = UntypedType::get(block.getContext());
    auto untypeAll = [&](auto values) {
      for (Value value : values)
        value.setType(untyped);
    };
    untypeAll(block.getBody().getArguments());
    block.getBody().walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op).Case<IotaOp, RandomNormalOp, RandomUniformOp>(
          [](auto declaring) { declaring.setDeclaredTypeAttr(TypeAttr::get(declaring.getType())); });
      untypeAll(op->getResults());
      for (Region &region : op->getRegions())
        untypeAll(region.getArguments());
    });
  }

  func::FuncOp function;
  EntrySignature signature;
  BlockOp block;
  llvm::DenseMap<int64_t, Value> variables; // by argument
};
} // namespace

/// Moves the meshes of a program to the model, but for those that the model has; shardings in the program name them as they are
/// called there.
static LogicalResult moveMeshes(ModuleOp program, ModuleOp module) {
  for (auto mesh : llvm::make_early_inc_range(program.getOps<dist::MeshOp>())) {
    SymbolTable own(program), symbols(module);
    auto meshes = module.getOps<dist::MeshOp>();
    auto same = llvm::find_if(meshes, [&](dist::MeshOp other) { return other.getMesh() == mesh.getMesh(); });
    if (same != meshes.end()) {
      if (failed(own.rename(mesh, (*same).getSymName())))
        return failure();
      continue;
    }
    if (symbols.lookup(mesh.getSymName()) && failed(own.renameToUnique(mesh, &symbols)))
      return failure();
    mesh->moveBefore(module.getBody(), module.getBody()->begin());
  }
  return success();
}

LogicalResult importBlock(ModuleOp module, StringRef text, const ImportOptions &options) {
  const BlockSpec spec = BlockSpec::of(text);
  auto error = [&]() { return module.emitError() << "--import=" << text << ": "; };
  if (spec.name.empty() || spec.file.empty())
    return error() << "a name and a file are expected, as in net=net.mlirbc";
  if (SymbolTable::lookupSymbolIn(module, spec.name))
    return error() << "the model has a '" << spec.name << "' already";
  auto file = llvm::MemoryBuffer::getFile(spec.file);
  if (!file)
    return error() << "cannot be read: " << file.getError().message();
  llvm::SourceMgr sources;
  const Format format = formatOf((*file)->getBuffer());
  if (format == Format::Dgc)
    return error() << "it is no program of StableHLO or ONNX; write the layers as a dgc.block in the model";
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  ImportOptions own;
  own.inputShapes = options.inputShapes;
  own.signature = spec.signature.str();
  OwningOpRef<ModuleOp> program = readFunction(sources, module.getContext(), format, own, /*hasWeights=*/true);
  if (!program)
    return failure();
  func::FuncOp function = *program->getOps<func::FuncOp>().begin();
  FailureOr<EntrySignature> signature = signatureOf(function);
  if (failed(signature))
    return failure();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  if (failed(moveMeshes(*program, module)))
    return failure();
  OperationState state(function.getLoc(), BlockOp::getOperationName());
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(spec.name));
  state.addRegion();
  BlockWriter(function, *std::move(signature), cast<BlockOp>(builder.create(state))).write();
  return success();
}

} // namespace dgc::import
