#include "test/unit/verify/Damage.h"

#include "runtime/artifact/Actions.h"
#include "runtime/artifact/Writer.h"
#include "runtime/base/Collective.h"
#include "runtime/base/Status.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::testing;
using rt::str;

static bool isCollective(const artifact::StepT &step) { return step.action.type == artifact::Action::Collective; }

static bool isLocal(const artifact::StepT &step) { return !rt::communicates(rt::infoOf(step.action.type).kind); }

std::vector<Damage::Place> Damage::all(const Wanted &wanted) {
  std::vector<Place> places;
  for (const std::unique_ptr<artifact::ProgramT> &program : plan.programs)
    if (program->name == "train")
      for (size_t i = 0; i < program->steps.size(); ++i)
        if (wanted(*program->steps[i]))
          places.push_back({program.get(), i});
  return places;
}

std::optional<Damage::Place> Damage::find(const Wanted &wanted) {
  std::vector<Place> places = all(wanted);
  if (places.empty())
    return std::nullopt;
  return places[below(places.size())];
}

/// Removes a step; those behind it have other numbers.
void Damage::erase(const Place &place) {
  const auto gone = static_cast<uint32_t>(place.step);
  place.program->steps.erase(place.program->steps.begin() + static_cast<ptrdiff_t>(gone));
  for (const std::unique_ptr<artifact::StepT> &step : place.program->steps) {
    std::erase(step->waits, gone);
    for (uint32_t &awaited : step->waits)
      awaited -= awaited > gone;
  }
}

void Damage::repeat(const Place &place) {
  const auto at = static_cast<uint32_t>(place.step);
  for (const std::unique_ptr<artifact::StepT> &step : place.program->steps)
    for (uint32_t &awaited : step->waits)
      awaited += awaited > at;
  auto copy = std::make_unique<artifact::StepT>(place.get());
  copy->waits.clear();
  place.program->steps.insert(place.program->steps.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(copy));
}

/// Numbers the collectives of a program anew.
static void renumber(artifact::ProgramT &program) {
  uint32_t id = 0;
  for (const std::unique_ptr<artifact::StepT> &step : program.steps)
    if (artifact::CollectiveT *collective = step->action.AsCollective())
      collective->id = id++;
}

//===-- Communication ---------------------------------------------------===//

Damage::Where Damage::dropCollective() {
  std::optional<Place> place = find(isCollective);
  if (!place)
    return "";
  Where where = place->text();
  erase(*place);
  renumber(*place->program);
  return where;
}

Damage::Where Damage::repeatCollective() {
  std::optional<Place> place = find([](const artifact::StepT &step) { return isCollective(step) && step.queue == 0; });
  if (!place)
    return "";
  repeat(*place);
  renumber(*place->program);
  return place->text();
}

Damage::Where Damage::swapCollectives() {
  std::vector<Place> places = all(isCollective);
  if (places.size() < 2)
    return "";
  const size_t first = below(places.size() - 1);
  Place a = places[first], b = places[first + 1];
  if (a.program != b.program)
    return "";
  std::swap(a.get().action, b.get().action);
  renumber(*a.program);
  return a.text();
}

Damage::Where Damage::wrongReduction() {
  std::optional<Place> place = find([](const artifact::StepT &step) {
    return isCollective(step) && rt::collectiveTable[static_cast<size_t>(step.action.AsCollective()->kind)].reduces;
  });
  if (!place)
    return "";
  artifact::Reduction &reduction = collective(*place)->reduction;
  reduction = static_cast<artifact::Reduction>((static_cast<size_t>(reduction) + 1 + below(3)) % 4);
  return str(place->text(), " by ", EnumNameReduction(reduction));
}

Damage::Where Damage::wrongGroup() {
  std::optional<Place> place = find(isCollective);
  if (!place || plan.mesh.size() < 2)
    return "";
  std::vector<uint32_t> &axes = collective(*place)->axes;
  if (axes.size() > 1)
    axes.erase(axes.begin() + static_cast<ptrdiff_t>(below(axes.size())));
  else
    axes = {static_cast<uint32_t>((axes.at(0) + 1) % plan.mesh.size())};
  return place->text();
}

Damage::Where Damage::shift(bool source) {
  std::optional<Place> place = find(isCollective);
  if (!place)
    return "";
  artifact::CollectiveT &each = *collective(*place);
  const uint64_t size = rt::sizeOf(static_cast<rt::DType>(each.dtype));
  uint64_t &offset = source ? each.src : each.dst;
  offset += size;
  if (each.src_count < 2)
    return "";
  return place->text();
}

Damage::Where Damage::shortenRange() {
  std::optional<Place> place = find([](const artifact::StepT &step) {
    return isCollective(step) && step.action.AsCollective()->kind == artifact::CollectiveKind::AllReduce &&
           step.action.AsCollective()->src_count > step.action.AsCollective()->padding + 1;
  });
  if (!place)
    return "";
  artifact::CollectiveT &each = *collective(*place); // its last values are followed by padding
  each.src_count -= each.padding + 1;
  each.dst_count -= each.padding + 1;
  each.padding = 0;
  return place->text();
}

Damage::Where Damage::skipFirst() {
  std::optional<Place> place = find([](const artifact::StepT &step) {
    return isCollective(step) && step.action.AsCollective()->kind == artifact::CollectiveKind::AllReduce &&
           step.action.AsCollective()->src_count > 1;
  });
  if (!place)
    return "";
  artifact::CollectiveT &each = *collective(*place);
  const uint64_t size = rt::sizeOf(static_cast<rt::DType>(each.dtype));
  each.src += size, each.dst += size;
  --each.src_count, --each.dst_count;
  return place->text();
}

Damage::Where Damage::wrongPermutation() {
  std::optional<Place> place = find([](const artifact::StepT &step) {
    return isCollective(step) && step.action.AsCollective()->permutation.size() > 1;
  });
  if (!place)
    return "";
  std::vector<uint32_t> &permutation = collective(*place)->permutation;
  std::rotate(permutation.begin(), permutation.begin() + 1, permutation.end());
  return place->text();
}

Damage::Where Damage::exchangeTransfers() {
  auto isSend = [](const artifact::StepT &step) { return step.action.type == artifact::Action::Send; };
  std::vector<Place> sends = all(isSend);
  if (sends.size() < 2)
    return "";
  const Place a = sends[below(sends.size())], b = sends[below(sends.size())];
  uint32_t &x = a.get().action.AsSend()->buffer, &y = b.get().action.AsSend()->buffer;
  const Owned<artifact::BufferT> &buffers = a.program->buffers;
  if (a.program != b.program || buffers[x]->shape != buffers[y]->shape ||
      (buffers[x]->offset == buffers[y]->offset && buffers[x]->space == buffers[y]->space))
    return "";
  std::swap(x, y);
  return a.text();
}

Damage::Where Damage::dropWait() {
  std::optional<Place> place = find([](const artifact::StepT &step) { return !step.waits.empty(); });
  if (!place)
    return "";
  place->get().waits.erase(place->get().waits.begin());
  return place->text();
}

Damage::Where Damage::moveWait() {
  std::optional<Place> place = find([](const artifact::StepT &step) { return !step.waits.empty(); });
  if (!place || place->step + 1 == place->program->steps.size())
    return "";
  std::vector<uint32_t> &waits = place->get().waits;
  place->program->steps[place->step + 1]->waits.push_back(waits.front());
  waits.erase(waits.begin());
  return place->text();
}

//===-- Steps and memory ------------------------------------------------===//

Damage::Where Damage::dropStep() {
  std::optional<Place> place = find(isLocal);
  if (!place)
    return "";
  Where where = place->text();
  erase(*place);
  return where;
}

Damage::Where Damage::repeatStep() {
  std::optional<Place> place = find(isLocal);
  if (!place)
    return "";
  repeat(*place);
  return place->text();
}

Damage::Where Damage::swapSteps() {
  std::optional<Place> place = find(isLocal);
  if (!place || place->step + 1 >= place->program->steps.size())
    return "";
  std::unique_ptr<artifact::StepT> &next = place->program->steps[place->step + 1];
  if (!isLocal(*next))
    return "";
  std::swap(place->get().action, next->action);
  return place->text();
}

/// Replaces an argument of a kernel by another buffer of the same type.
Damage::Where Damage::wrongArgument(bool result) {
  std::optional<Place> place = find(isKernelCall);
  if (!place)
    return "";
  artifact::KernelCallT &call = *place->get().action.AsKernelCall();
  const reference::KernelT &kernel = *kernels.kernels.at(call.kernel);
  const size_t first = result ? kernel.inputs : 0, count = result ? kernel.results : kernel.inputs;
  if (count == 0)
    return "";
  uint32_t &argument = call.args[first + below(count)];
  const Owned<artifact::BufferT> &buffers = place->program->buffers;
  std::vector<uint32_t> others;
  for (uint32_t i = 0; i < buffers.size(); ++i)
    if (buffers[i]->dtype == buffers[argument]->dtype && buffers[i]->shape == buffers[argument]->shape &&
        (buffers[i]->offset != buffers[argument]->offset || buffers[i]->space != buffers[argument]->space) &&
        (!result || buffers[i]->space != artifact::Space::Constant))
      others.push_back(i);
  if (others.empty())
    return "";
  argument = others[below(others.size())];
  return place->text();
}

Damage::Where Damage::exchangeOperands() {
  std::optional<Place> place = find(isKernelCall);
  if (!place)
    return "";
  artifact::KernelCallT &call = *place->get().action.AsKernelCall();
  const size_t inputs = kernels.kernels.at(call.kernel)->inputs;
  if (inputs < 2)
    return "";
  uint32_t &a = call.args[below(inputs)], &b = call.args[below(inputs)];
  const Owned<artifact::BufferT> &buffers = place->program->buffers;
  if (a == b || buffers[a]->dtype != buffers[b]->dtype || buffers[a]->shape != buffers[b]->shape)
    return "";
  std::swap(a, b);
  return place->text();
}

Damage::Where Damage::overlapBuffers() {
  std::optional<Place> place = find(isKernelCall);
  if (!place)
    return "";
  Owned<artifact::BufferT> &buffers = place->program->buffers;
  artifact::BufferT &a = *buffers[below(buffers.size())], &b = *buffers[below(buffers.size())];
  if (a.space != artifact::Space::Private || b.space != a.space || a.offset == b.offset || a.shape != b.shape ||
      a.dtype != b.dtype)
    return "";
  a.offset = b.offset;
  return str("buffer '", a.name, "' where '", b.name, "' is");
}

Damage::Where Damage::shiftBuffer() {
  std::optional<Place> place = find(isKernelCall);
  if (!place)
    return "";
  artifact::KernelCallT &call = *place->get().action.AsKernelCall();
  artifact::BufferT &buffer = *place->program->buffers[call.args[below(call.args.size())]];
  if (buffer.space == artifact::Space::Constant || buffer.offset < 64)
    return "";
  buffer.offset -= rt::sizeOf(static_cast<rt::DType>(buffer.dtype));
  return str(place->text(), ", buffer '", buffer.name, "'");
}

std::string Damage::apply(Mutation mutation) {
  switch (mutation) {
  case Mutation::DropCollective:
    return dropCollective();
  case Mutation::RepeatCollective:
    return repeatCollective();
  case Mutation::SwapCollectives:
    return swapCollectives();
  case Mutation::WrongReduction:
    return wrongReduction();
  case Mutation::WrongGroup:
    return wrongGroup();
  case Mutation::ShiftSource:
    return shift(true);
  case Mutation::ShiftResult:
    return shift(false);
  case Mutation::ShortenRange:
    return shortenRange();
  case Mutation::SkipFirst:
    return skipFirst();
  case Mutation::MoveWait:
    return moveWait();
  case Mutation::WrongPermutation:
    return wrongPermutation();
  case Mutation::ExchangeTransfers:
    return exchangeTransfers();
  case Mutation::DropWait:
    return dropWait();
  case Mutation::DropStep:
    return dropStep();
  case Mutation::RepeatStep:
    return repeatStep();
  case Mutation::SwapSteps:
    return swapSteps();
  case Mutation::WrongOperand:
    return wrongArgument(false);
  case Mutation::WrongResult:
    return wrongArgument(true);
  case Mutation::ExchangeOperands:
    return exchangeOperands();
  case Mutation::OverlapBuffers:
    return overlapBuffers();
  case Mutation::ShiftBuffer:
    return shiftBuffer();
  case Mutation::ScaleConstant:
    return constant([&](double x) { return x * static_cast<double>(plan.world_size); });
  case Mutation::DivideConstant:
    return constant([&](double x) { return x / static_cast<double>(plan.world_size); });
  case Mutation::ChangeInteger:
    return changeInteger();
  case Mutation::NegateConstant:
    return constant([](double x) { return -x; });
  case Mutation::DropMask:
    return dropMask();
  case Mutation::WrongOperation:
    return wrongOperation();
  case Mutation::ShiftLoad:
    return shiftLoad();
  case Mutation::WrongStride:
    return wrongStride();
  case Mutation::ShortenLoop:
    return shortenLoop();
  case Mutation::DropAccumulation:
    return dropAccumulation();
  case Mutation::ExchangeParts:
    return exchangeParts();
  case Mutation::ExchangeInputs:
    return exchangeInputs();
  case Mutation::ExchangeOutputs:
    return exchangeOutputs();
  case Mutation::WrongRole:
    return wrongRole();
  case Mutation::WrongPosition:
    return wrongPosition();
  case Mutation::OtherDraws:
    return otherDraws();
  }
  return "";
}

artifact::PlanT Damage::take() {
  if (bytecode >= 0) {
    flatbuffers::FlatBufferBuilder builder;
    reference::FinishKernelsBuffer(builder, reference::Kernels::Pack(builder, &kernels));
    plan.sections[static_cast<size_t>(bytecode)]->data.assign(builder.GetBufferPointer(),
                                                              builder.GetBufferPointer() + builder.GetSize());
  }
  return std::move(plan);
}

std::optional<Mutant> dgc::testing::mutate(const std::vector<uint8_t> &plan, Mutation mutation, std::mt19937 &random) {
  for (int i = 0; i < 20; ++i) {
    Damage damage(plan, random);
    const std::string where = damage.apply(mutation);
    if (where.empty())
      continue;
    absl::StatusOr<std::vector<uint8_t>> bytes = rt::finishPlan(damage.take());
    if (bytes.ok() && *bytes != plan)
      return Mutant{str(mutationNames[static_cast<size_t>(mutation)], ": ", where), *std::move(bytes)};
  }
  return std::nullopt;
}
