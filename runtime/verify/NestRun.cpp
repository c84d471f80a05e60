// Nests of loops over numbers of the fields, a strip of elements at a time.
#include "runtime/verify/ElementOps.h"
#include "runtime/verify/LoopNest.h"

#include "runtime/base/Status.h"

#include <algorithm>
#include <limits>

using namespace dgc;
using namespace dgc::verify;
using reference::Instruction;
using reference::Opcode;
using reference::Value;

/// Elements that are computed at once.
static constexpr int64_t kStrip = 128;

template <typename V> static uint32_t count(const V *v) { return v ? v->size() : 0; }

namespace {
/// Values of the instructions or outputs of a strip.
class Registers {
public:
  explicit Registers(size_t count) : p(count * kStrip), q(count * kStrip), v(count * kStrip) {}
  Planes at(size_t number) {
    return {p.data() + number * kStrip, q.data() + number * kStrip, v.data() + number * kStrip};
  }

private:
  Elements<uint64_t> p, q;
  Elements<Value> v;
};

class StripRun {
public:
  StripRun(const NestContext &context, const LoopNest &loops);
  absl::Status run();

private:
  double costAlong(size_t loop) const;
  void orderLoops();
  void placeValues();
  void placeResults();
  void setConstants();
  bool advance(const std::vector<size_t> &some);
  absl::Status strip();
  absl::Status iteration();
  Planes resultOf(size_t output) const;
  absl::Status execute(uint32_t number);
  absl::Status source(const Instruction &op, Planes to);
  absl::Status loadAt(const Instruction &op, Planes to);
  void load(const LoopAccess &access, Planes to);
  void store(const LoopAccess &access, Planes from);
  Planes viewOf(const LoopAccess &access) const;

  const Instruction &instruction(uint32_t index) const { return *context.nest.body()->Get(index); }
  const Functions &functionsOf() const { return context.options.functions; }
  int64_t strideOf(const LoopAccess &access) const {
    return along < 0 ? 0 : access.strides[static_cast<size_t>(along)];
  }
  int64_t placeOf(const LoopAccess &access) const;
  absl::Status failed(absl::StatusCode code, const std::string &what) const {
    return absl::Status(code, rt::str("kernel '", context.kernel.symbol()->c_str(), "' ", what));
  }

  const NestContext &context;
  const LoopNest &loops;
  ElementOps elements;
  std::vector<size_t> outer, reducing;
  std::vector<size_t> accumulated; // the outputs whose current values are used
  int64_t along = -1;              // the loop that strips are of; -1: none
  int64_t size = 1;                // of the strip
  std::vector<int64_t> index;
  Registers values, currents;
  std::vector<uint32_t>
      valueOf;                 // of an instruction: the one that has its value, as a conversion has that of its operand
  std::vector<Planes> places;  // of the values of instructions
  std::vector<bool> isInPlace; // instructions: a load whose elements are used where they are, a result in `currents`
};
} // namespace

StripRun::StripRun(const NestContext &context, const LoopNest &loops)
    : context(context), loops(loops), elements(context.options), index(loops.extents.size()),
      values(count(context.nest.body())), currents(loops.outputs.size()), isInPlace(count(context.nest.body())) {
  orderLoops();
  placeValues();
  if (!reducing.empty())
    placeResults();
  for (uint32_t i = 0; i < count(context.nest.body()); ++i)
    if (static_cast<Opcode>(instruction(i).opcode()) == Opcode::Current)
      accumulated.push_back(instruction(i).a());
}

/// What elements of a strip along a loop cost each: a part of the fixed cost of a strip, and the way between them in memory.
double StripRun::costAlong(size_t loop) const {
  double cost = 16.0 / static_cast<double>(std::min(kStrip, loops.extents[loop]));
  for (const std::vector<LoopAccess> *accesses : {&loops.loads, &loops.outputs})
    for (const LoopAccess &access : *accesses)
      cost += access.strides[loop] != 0 && access.strides[loop] != 1;
  return cost;
}

/// Strips are along the cheapest loop that does not reduce, the last one of these.
void StripRun::orderLoops() {
  for (size_t i = 0; i < loops.extents.size(); ++i)
    if (!loops.reduces[i] && (along < 0 || costAlong(i) <= costAlong(static_cast<size_t>(along))))
      along = static_cast<int64_t>(i);
  for (size_t i = 0; i < loops.extents.size(); ++i)
    if (static_cast<int64_t>(i) != along)
      (loops.reduces[i] ? reducing : outer).push_back(i);
}

/// Values are not copied where an instruction can use what is there: an element of a buffer that is not written, or the
/// operand of a conversion.
void StripRun::placeValues() {
  for (uint32_t i = 0; i < count(context.nest.body()); ++i) {
    const Instruction &op = instruction(i);
    const Opcode opcode = static_cast<Opcode>(op.opcode());
    const bool isConversion = opcode == Opcode::ConvertFloat && functionsOf().has(Law::Conversion);
    valueOf.push_back(isConversion ? valueOf[op.a()] : i);
    places.push_back(values.at(i));
    if (opcode != Opcode::Load || strideOf(loops.loads[op.a()]) != 1)
      continue;
    auto isSame = [&](const LoopAccess &output) { return output.buffer == loops.loads[op.a()].buffer; };
    isInPlace[i] = std::none_of(loops.outputs.begin(), loops.outputs.end(), isSame);
  }
}

/// A new value of an output is computed where the current one is, if that is not looked at afterwards.
void StripRun::placeResults() {
  const uint32_t number = count(context.nest.body()), outputs = static_cast<uint32_t>(loops.outputs.size());
  std::vector<uint32_t> results;
  for (uint32_t i = 0; i < outputs; ++i)
    results.push_back(valueOf[context.nest.outputs()->Get(i)->value()]);
  if (std::any_of(results.begin(), results.end(),
                  [&](uint32_t value) { return static_cast<Opcode>(instruction(value).opcode()) <= Opcode::Current; }))
    return;
  std::vector<uint32_t> lastUses(outputs);
  for (uint32_t i = 0; i < number; ++i)
    for (uint32_t operand : {instruction(i).a(), instruction(i).b(), instruction(i).c()}) {
      const bool hasOperand = static_cast<Opcode>(instruction(i).opcode()) > Opcode::Current && operand < i;
      if (const uint32_t value = hasOperand ? valueOf[operand] : i;
          static_cast<Opcode>(instruction(value).opcode()) == Opcode::Current)
        lastUses[instruction(value).a()] = i;
    }
  for (uint32_t i = 0; i < outputs; ++i)
    if (lastUses[i] <= results[i] && std::count(results.begin(), results.end(), results[i]) == 1) {
      isInPlace[results[i]] = true;
      places[results[i]] = currents.at(i);
    }
}

/// The place of an access in the first element of the strip.
int64_t StripRun::placeOf(const LoopAccess &access) const {
  int64_t place = access.offset;
  for (size_t i = 0; i < index.size(); ++i)
    place += index[i] * access.strides[i];
  return place;
}

/// Copies `n` elements that are `stride` apart.
template <typename T> static void gather(int64_t n, T *to, const T *from, int64_t stride) {
  if (stride == 1)
    std::copy_n(from, n, to);
  else
    for (int64_t k = 0; k < n; ++k)
      to[k] = from[k * stride];
}

template <typename T> static void scatter(int64_t n, T *to, int64_t stride, const T *from) {
  if (stride == 1)
    std::copy_n(from, n, to);
  else
    for (int64_t k = 0; k < n; ++k)
      to[k * stride] = from[k];
}

void StripRun::load(const LoopAccess &access, Planes to) {
  const Tensor &tensor = *context.buffers.read[access.buffer];
  const int64_t place = placeOf(access), stride = strideOf(access);
  if (!tensor.isFloat())
    return gather(size, &to.v->i, tensor.i.data() + place, stride);
  gather(size, to.p, tensor.p.data() + place, stride);
  gather(size, to.q, tensor.q.data() + place, stride);
  gather(size, &to.v->f, tensor.f.data() + place, stride);
}

/// Elements next to each other, where they are. Nobody writes to them.
Planes StripRun::viewOf(const LoopAccess &access) const {
  Tensor &tensor = const_cast<Tensor &>(*context.buffers.read[access.buffer]);
  const int64_t place = placeOf(access);
  if (!tensor.isFloat())
    return {nullptr, nullptr, reinterpret_cast<Value *>(tensor.i.data() + place)};
  return {tensor.p.data() + place, tensor.q.data() + place, reinterpret_cast<Value *>(tensor.f.data() + place)};
}

void StripRun::store(const LoopAccess &access, Planes from) {
  Tensor &tensor = *context.buffers.written[access.buffer];
  const int64_t place = placeOf(access), stride = strideOf(access);
  if (!tensor.isFloat())
    return scatter(size, tensor.i.data() + place, stride, &from.v->i);
  scatter(size, tensor.p.data() + place, stride, from.p);
  scatter(size, tensor.q.data() + place, stride, from.q);
  scatter(size, tensor.f.data() + place, stride, &from.v->f);
}

absl::Status StripRun::loadAt(const Instruction &op, Planes to) {
  const Tensor &tensor = *context.buffers.read[op.a()];
  const Value *elements = places[valueOf[op.b()]].v;
  for (int64_t k = 0; k < size; ++k) {
    const auto place = static_cast<uint64_t>(elements[k].i);
    if (place >= tensor.count)
      return failed(absl::StatusCode::kOutOfRange,
                    rt::str("reads element ", elements[k].i, " of a buffer of ", tensor.count));
    if (tensor.isFloat())
      to.set(k, tensor.number(place));
    else
      to.v[k].i = tensor.i[place];
  }
  return absl::OkStatus();
}

static void copyPlanes(int64_t n, Planes to, Planes from, bool isFloat) {
  std::copy_n(from.v, n, to.v);
  if (!isFloat)
    return;
  std::copy_n(from.p, n, to.p);
  std::copy_n(from.q, n, to.q);
}

absl::Status StripRun::source(const Instruction &op, Planes to) {
  const Opcode opcode = static_cast<Opcode>(op.opcode());
  if (opcode == Opcode::LoadAt)
    return loadAt(op, to);
  if (opcode == Opcode::Load) {
    load(loops.loads[op.a()], to);
  } else if (opcode == Opcode::Index) {
    const size_t loop = loops.loopOf[op.a()];
    for (int64_t k = 0; k < size; ++k)
      to.v[k].i = loops.first[loop] + index[loop] + (static_cast<int64_t>(loop) == along ? k : 0);
  } else if (opcode == Opcode::Current) {
    copyPlanes(size, to, currents.at(op.a()), reference::isFloat(op.type()));
  }
  return absl::OkStatus(); // constants have their values since the beginning
}

absl::Status StripRun::execute(uint32_t number) {
  const Instruction &op = instruction(number);
  const Planes to = places[number];
  if (static_cast<Opcode>(op.opcode()) == Opcode::Load && isInPlace[number]) {
    places[number] = viewOf(loops.loads[op.a()]);
    return absl::OkStatus();
  }
  if (static_cast<Opcode>(op.opcode()) <= Opcode::Current)
    return source(op, to);
  if (valueOf[number] != number)
    return absl::OkStatus();
  // Operands that an operation does not have are not looked at; their numbers need not exist.
  auto operand = [&](uint32_t at) { return at < number ? places[valueOf[at]] : Planes{}; };
  const Planes a = operand(op.a()), b = operand(op.b()), c = operand(op.c());
  const ElementOps::Operation operation{static_cast<Opcode>(op.opcode()), op.type(), instruction(op.a()).type()};
  const absl::Status status = elements.run(operation, size, to, a, b, c);
  return status.ok() ? status : failed(status.code(), std::string(status.message()));
}

/// The next indices of these loops, the last one fastest; false when all were there, and they are at their beginning.
bool StripRun::advance(const std::vector<size_t> &some) {
  for (size_t i = some.size(); i-- > 0;) {
    if (++index[some[i]] < loops.extents[some[i]])
      return true;
    index[some[i]] = 0;
  }
  return false;
}

/// The body at the present indices.
absl::Status StripRun::iteration() {
  for (uint32_t i = 0; i < count(context.nest.body()); ++i)
    DGC_RETURN_IF_ERROR(execute(i));
  return absl::OkStatus();
}

/// The value of an output.
Planes StripRun::resultOf(size_t output) const {
  return places[valueOf[context.nest.outputs()->Get(static_cast<uint32_t>(output))->value()]];
}

/// All iterations for the elements of a strip.
absl::Status StripRun::strip() {
  for (size_t output : accumulated)
    load(loops.outputs[output], currents.at(output));
  bool goesOn = true;
  while (goesOn) {
    DGC_RETURN_IF_ERROR(iteration());
    for (size_t i = 0; !reducing.empty() && i < loops.outputs.size(); ++i)
      if (const Planes to = currents.at(i), from = resultOf(i); to.v != from.v)
        copyPlanes(size, to, from, context.buffers.written[loops.outputs[i].buffer]->isFloat());
    goesOn = advance(reducing);
  }
  for (size_t i = 0; i < loops.outputs.size(); ++i)
    store(loops.outputs[i], reducing.empty() ? resultOf(i) : currents.at(i));
  return absl::OkStatus();
}

void StripRun::setConstants() {
  for (uint32_t i = 0; i < count(context.nest.body()); ++i) {
    const Instruction &op = instruction(i);
    if (static_cast<Opcode>(op.opcode()) != Opcode::Constant)
      continue;
    const Planes to = places[i];
    if (!reference::isFloat(op.type())) {
      std::fill_n(to.v, kStrip, Value{.i = reference::wrapped(op.type(), op.immediate())});
      continue;
    }
    const Number x = fromDouble(reference::rounded(op.type(), std::bit_cast<double>(op.immediate())));
    for (int64_t k = 0; k < kStrip; ++k)
      to.set(k, x);
  }
}

absl::Status StripRun::run() {
  setConstants();
  const int64_t length = along < 0 ? 1 : loops.extents[static_cast<size_t>(along)];
  do
    for (int64_t first = 0; first < length; first += kStrip) {
      size = std::min(kStrip, length - first);
      if (along >= 0)
        index[static_cast<size_t>(along)] = first;
      DGC_RETURN_IF_ERROR(strip());
    }
  while (advance(outer));
  return absl::OkStatus();
}

absl::Status dgc::verify::runStrips(const NestContext &context, const LoopNest &loops) {
  return StripRun(context, loops).run();
}
