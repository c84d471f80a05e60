// Writes an optimizer out for one weight.

#include "dialects/dgc/CompositeBuilder.h"
#include "dialects/dgc/DefinitionWriter.h"
#include "dialects/dgc/OptimizerDefinition.h"

using namespace mlir;
using namespace dgc;

namespace {

/// The body of a definition, with the weight, its gradient and its states as arguments.
class UpdateWriter {
public:
  UpdateWriter(OptimizerDefOp definition, ApplyOptimizerOp op)
      : definition(definition), op(op), writer(definition, op.getLoc(), isa<StringAttr>(op.getDefinition())),
        kept(statesOf(definition, op.getFields())) {}

  FailureOr<SmallVector<Value>> run(OpBuilder &target) {
    bindArguments();
    if (failed(writer.write()))
      return failure();
    SmallVector<Value> results;
    auto terminator = cast<ReturnOp>(definition.getBody().front().getTerminator());
    for (auto [number, type] : llvm::enumerate(resultTypes())) {
      FailureOr<Value> value = result(terminator, number, type);
      if (failed(value))
        return failure();
      if (number == 0 || isKept(cast<OptimizerStateAttr>(definition.getStates()[number - 1])))
        results.push_back(*value);
    }
    writer.moveTo(target, results);
    return results;
  }

private:
  /// The types of the new weight and of all states, also of those that there are not with these fields.
  SmallVector<RankedTensorType> resultTypes() {
    auto weight = withoutEncoding(tensorOf(op.getWeight()));
    SmallVector<RankedTensorType> types{weight};
    for (auto state : definition.getStates().getAsRange<OptimizerStateAttr>())
      types.push_back(state.typeFor(weight));
    return types;
  }

  void bindArguments();
  FailureOr<Value> result(ReturnOp terminator, unsigned number, RankedTensorType type);
  bool isKept(OptimizerStateAttr state) { return llvm::is_contained(kept, state); }

  OptimizerDefOp definition;
  ApplyOptimizerOp op;
  DefinitionWriter writer;
  SmallVector<OptimizerStateAttr> kept; // the states that there are with these fields
};
} // namespace

void UpdateWriter::bindArguments() {
  CompositeBuilder b(writer.builder, op.getLoc());
  Block::BlockArgListType arguments = definition.getBody().getArguments();
  auto wide = [&](Value value) { return b.convert(value, computeType(elementOf(value))); };
  writer.bindTensor(arguments[0], wide(op.getWeight()));
  writer.bindTensor(arguments[1], wide(op.getGradient()));
  writer.bindTensor(arguments[2], b.convert(op.getRate(), writer.builder.getF32Type()));
  writer.bindTensor(arguments[3], op.getStep());
  unsigned next = 0;
  auto states = definition.getStates().getAsRange<OptimizerStateAttr>();
  auto inside = arguments.drop_front(OptimizerDefOp::firstState);
  for (auto [state, argument] : llvm::zip(states, inside)) {
    RankedTensorType type = state.typeFor(tensorOf(op.getWeight()));
    if (isKept(state))
      writer.bindTensor(argument, wide(op.getStates()[next++]));
    else
      writer.bindTensor(argument, b.splat(0, type.getShape(), computeType(type.getElementType())));
  }
  writer.bindParameters(definition.getParameters(), op.getFields());
}

FailureOr<Value> UpdateWriter::result(ReturnOp terminator, unsigned number, RankedTensorType type) {
  Value returned = terminator.getValues()[number];
  std::string what = "the new weight";
  if (number > 0)
    what = "the new \"" + cast<OptimizerStateAttr>(definition.getStates()[number - 1]).getName().str() + "\"";
  if (writer.numberOf(returned))
    return terminator.emitOpError() << "gives a number for " << what << ", which is a tensor: of a weight of type "
                                    << op.getWeight().getType() << " it is " << type;
  CompositeBuilder b(writer.builder, op.getLoc());
  Value value = writer.tensorOf(returned);
  RankedTensorType given = tensorOf(value);
  if (isa<FloatType>(given.getElementType()))
    value = b.convert(value, type.getElementType());
  if (withoutEncoding(tensorOf(value)) != type)
    return terminator.emitOpError() << "gives a tensor of type " << given << " for " << what << ", which is " << type
                                    << " of a weight of type " << op.getWeight().getType();
  return value;
}

FailureOr<SmallVector<Value>> dgc::buildUpdate(OptimizerDefOp definition, ApplyOptimizerOp op, OpBuilder &builder) {
  Location location = op.getLoc();
  ScopedDiagnosticHandler handler(op.getContext(), [&](Diagnostic &diagnostic) {
    diagnostic.attachNote(location) << "in the update of a weight of type " << op.getWeight().getType();
    return failure(); // it is reported as others are
  });
  return UpdateWriter(definition, op).run(builder);
}
