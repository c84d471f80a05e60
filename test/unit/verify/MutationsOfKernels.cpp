// Damage to what kernels compute and to how values are cut.
#include "test/unit/verify/Damage.h"

#include <algorithm>
#include <bit>
#include <cmath>

using namespace dgc;
using namespace dgc::testing;
using reference::Opcode;
using rt::str;

//===-- What is computed ------------------------------------------------===//

std::optional<Damage::Nest> Damage::findNest(const std::function<bool(const reference::NestT &)> &wanted) {
  std::vector<Nest> nests;
  for (const Place &place : all(isKernelCall)) {
    reference::KernelT &kernel = *kernels.kernels.at(place.get().action.AsKernelCall()->kernel);
    for (size_t i = 0; i < kernel.nests.size(); ++i)
      if (wanted(*kernel.nests[i]))
        nests.push_back({&kernel, i});
  }
  if (nests.empty())
    return std::nullopt;
  return nests[below(nests.size())];
}

std::optional<std::pair<Damage::Nest, size_t>>
Damage::findInstruction(const std::function<bool(const reference::Instruction &)> &wanted) {
  std::optional<Nest> nest =
      findNest([&](const reference::NestT &each) { return std::any_of(each.body.begin(), each.body.end(), wanted); });
  if (!nest)
    return std::nullopt;
  std::vector<size_t> found;
  for (size_t i = 0; i < nest->get().body.size(); ++i)
    if (wanted(nest->get().body[i]))
      found.push_back(i);
  return std::pair(*nest, found[below(found.size())]);
}

static bool has(const reference::Instruction &each, Opcode opcode) {
  return each.opcode() == static_cast<uint8_t>(opcode);
}

Damage::Where Damage::constant(const std::function<double(double)> &change) {
  auto found = findInstruction([](const reference::Instruction &each) {
    return has(each, Opcode::Constant) && reference::isFloat(each.type());
  });
  if (!found)
    return "";
  reference::Instruction &each = found->first.get().body[found->second];
  const double old = std::bit_cast<double>(each.immediate()), changed = change(old);
  if (old == changed || !std::isfinite(old))
    return "";
  each.mutate_immediate(std::bit_cast<uint64_t>(changed));
  return str(found->first.text(), ", ", old, " is ", changed);
}

Damage::Where Damage::changeInteger() {
  auto found = findInstruction([](const reference::Instruction &each) {
    return has(each, Opcode::Constant) && !reference::isFloat(each.type()) && each.type() != reference::Type::I1;
  });
  if (!found)
    return "";
  reference::Instruction &each = found->first.get().body[found->second];
  each.mutate_immediate(each.immediate() + 1);
  return str(found->first.text(), ", ", each.immediate() - 1);
}

Damage::Where Damage::dropMask() {
  auto found = findInstruction([](const reference::Instruction &each) { return has(each, Opcode::Select); });
  if (!found)
    return "";
  reference::Instruction &each = found->first.get().body[found->second];
  if (each.b() == each.c())
    return "";
  each.mutate_c(each.b());
  return found->first.text();
}

/// The operation that is computed instead; the same where there is none.
static Opcode otherThan(Opcode opcode) {
  switch (opcode) {
  case Opcode::AddF:
    return Opcode::SubF;
  case Opcode::SubF:
  case Opcode::MulF:
    return Opcode::AddF;
  case Opcode::DivF:
    return Opcode::MulF;
  case Opcode::Maximum:
    return Opcode::Minimum;
  case Opcode::Minimum:
    return Opcode::Maximum;
  case Opcode::Exp:
    return Opcode::Tanh;
  case Opcode::Tanh:
    return Opcode::Erf;
  case Opcode::Log:
    return Opcode::Log1P;
  case Opcode::Sqrt:
    return Opcode::Rsqrt;
  case Opcode::Rsqrt:
    return Opcode::Sqrt;
  case Opcode::LessS:
    return Opcode::EqualI;
  case Opcode::LessF:
    return Opcode::EqualF;
  default:
    return opcode;
  }
}

Damage::Where Damage::wrongOperation() {
  auto found = findInstruction([](const reference::Instruction &each) {
    return otherThan(static_cast<Opcode>(each.opcode())) != static_cast<Opcode>(each.opcode());
  });
  if (!found)
    return "";
  reference::Instruction &each = found->first.get().body[found->second];
  const Opcode old = static_cast<Opcode>(each.opcode()), other = otherThan(old);
  each.mutate_opcode(static_cast<uint8_t>(other));
  return str(found->first.text(), ", ", reference::opcodeTable[static_cast<size_t>(other)].name, " for ",
             reference::opcodeTable[static_cast<size_t>(old)].name);
}

Damage::Where Damage::shiftLoad() {
  std::optional<Nest> nest = findNest([](const reference::NestT &each) { return !each.loads.empty(); });
  if (!nest)
    return "";
  reference::AccessT &load = *nest->get().loads[below(nest->get().loads.size())];
  load.offset += load.offset > 0 ? -1 : 1;
  return nest->text();
}

Damage::Where Damage::wrongStride() {
  std::optional<Nest> nest =
      findNest([](const reference::NestT &each) { return !each.loads.empty() && each.extents.size() > 1; });
  if (!nest)
    return "";
  std::vector<int64_t> &strides = nest->get().loads[below(nest->get().loads.size())]->strides;
  const size_t first = below(strides.size() - 1);
  if (strides[first] == strides[first + 1] || nest->get().extents[first] != nest->get().extents[first + 1])
    return "";
  std::swap(strides[first], strides[first + 1]);
  return nest->text();
}

Damage::Where Damage::shortenLoop() {
  std::optional<Nest> nest = findNest([](const reference::NestT &each) {
    return std::any_of(each.extents.begin(), each.extents.end(), [](int64_t extent) { return extent > 1; });
  });
  if (!nest)
    return "";
  std::vector<int64_t> &extents = nest->get().extents;
  const size_t loop = below(extents.size());
  if (extents[loop] < 2)
    return "";
  --extents[loop];
  return str(nest->text(), ", loop ", loop);
}

Damage::Where Damage::dropAccumulation() {
  auto found = findInstruction([](const reference::Instruction &each) { return has(each, Opcode::Current); });
  if (!found)
    return "";
  reference::Instruction &each = found->first.get().body[found->second];
  each = reference::Instruction(static_cast<uint8_t>(Opcode::Constant), each.type(), 0, 0, 0, 0);
  return found->first.text();
}

//===-- The cut of values -----------------------------------------------===//

Damage::Where Damage::exchangeParts() {
  for (const std::unique_ptr<artifact::ProgramT> &program : plan.programs)
    for (const std::unique_ptr<artifact::InputT> &input : program->inputs)
      for (size_t d = 0; program->name == "train" && input->sharding && d < input->sharding->dims.size(); ++d)
        if (std::vector<uint32_t> &axes = input->sharding->dims[d]->axes; axes.size() > 1) {
          std::swap(axes[0], axes[1]);
          std::swap(input->sharding->dims[d]->origins[0], input->sharding->dims[d]->origins[1]);
          return str("input '", input->name, "'");
        }
  return "";
}

Damage::Where Damage::exchangeInputs() {
  std::optional<Place> place = find(isKernelCall);
  if (!place)
    return "";
  Owned<artifact::InputT> &inputs = place->program->inputs;
  if (inputs.size() < 2)
    return "";
  artifact::InputT &a = *inputs[below(inputs.size())], &b = *inputs[below(inputs.size())];
  if (a.role != b.role || a.name == b.name || a.global_shape != b.global_shape ||
      place->program->buffers[a.buffer]->dtype != place->program->buffers[b.buffer]->dtype)
    return "";
  std::swap(a.buffer, b.buffer);
  return str("input '", a.name, "'");
}

Damage::Where Damage::exchangeOutputs() {
  std::optional<Place> place = find(isKernelCall);
  if (!place || place->program->outputs.size() < 2)
    return "";
  artifact::OutputT &a = *place->program->outputs[0], &b = *place->program->outputs[1];
  if (a.global_shape != b.global_shape || a.buffer == b.buffer)
    return "";
  std::swap(a.buffer, b.buffer);
  return str("'", a.name, "' and '", b.name, "'");
}

static bool isRead(const artifact::ProgramT &program, uint32_t buffer) {
  return std::any_of(program.steps.begin(), program.steps.end(), [&](const std::unique_ptr<artifact::StepT> &step) {
    const artifact::KernelCallT *call = step->action.AsKernelCall();
    return call && std::find(call->args.begin(), call->args.end(), buffer) != call->args.end();
  });
}

Damage::Where Damage::wrongRole() {
  for (const std::unique_ptr<artifact::ProgramT> &program : plan.programs)
    for (const std::unique_ptr<artifact::InputT> &input : program->inputs)
      if (program->name == "train" && input->role == artifact::InputRole::Step && isRead(*program, input->buffer)) {
        input->role = artifact::InputRole::Seed;
        return str("input '", input->name, "'");
      }
  return "";
}

Damage::Where Damage::wrongPosition() {
  for (const std::unique_ptr<artifact::ProgramT> &program : plan.programs)
    for (const std::unique_ptr<artifact::InputT> &input : program->inputs)
      if (program->name == "train" && input->role == artifact::InputRole::AxisIndex && plan.mesh.size() > 1) {
        const std::string old = input->name;
        input->name = plan.mesh[below(plan.mesh.size())]->name;
        return old == input->name ? "" : str("input '", old, "'");
      }
  return "";
}

Damage::Where Damage::otherDraws() {
  artifact::VariableT &variable = *plan.variables[below(plan.variables.size())];
  variable.rng_id += 1;
  return str("variable '", variable.name, "'");
}
