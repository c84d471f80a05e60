//===- States.cpp - variables and the optimizer's state -------------------===//

#include "dialects/dgc/States.h"

namespace dgc {

StateOp variableOf(StateOp state) {
  if (state.getRole() != StateRole::Slot)
    return state;
  auto name = StringAttr::get(state.getContext(), state.getSymName().rsplit('.').first);
  auto variable = SymbolTable::lookupNearestSymbolFrom<StateOp>(state->getParentOp(), name);
  return variable ? variable : state;
}

} // namespace dgc
