// The body of a model while it is parsed.

#include "dialects/dgc/ModelBody.h"

using namespace mlir;
using namespace dgc;

static thread_local ModelBodyScope *innermostScope = nullptr;

ModelBodyScope::ModelBodyScope() { innermostScope = this; }

ModelBodyScope::~ModelBodyScope() {
  innermostScope = outer;
  for (Operation *literal : literals) {
    literal->dropAllUses();
    literal->destroy();
  }
}

ModelBodyScope *ModelBodyScope::innermost() { return innermostScope; }

Value ModelBodyScope::addLiteral(Location location, TypedAttr value) {
  OperationState state(location, LiteralOp::getOperationName());
  OpBuilder builder(location.getContext());
  LiteralOp::build(builder, state, UntypedType::get(location.getContext()), value);
  literals.push_back(Operation::create(state));
  return literals.back()->getResult(0);
}

void ModelBodyScope::placeLiterals() {
  for (Operation *literal : literals) {
    Operation *user = *literal->user_begin();
    user->getBlock()->getOperations().insert(user->getIterator(), literal);
  }
  literals.clear();
}

bool dgc::isInModelBody(Operation *op) {
  while ((op = op->getParentOp()))
    if (isa<ModelOp, BlockOp, OptimizerDefOp, ScheduleDefOp>(op))
      return true;
  return false;
}

ParseResult dgc::parseModelBody(OpAsmParser &parser, Region &body, ArrayRef<OpAsmParser::Argument> arguments) {
  ModelBodyScope scope;
  if (parser.parseRegion(body, arguments))
    return failure();
  scope.placeLiterals();
  return success();
}

void dgc::printModelBody(OpAsmPrinter &printer, Operation *, Region &body) { printer.printRegion(body); }
