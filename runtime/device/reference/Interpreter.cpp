// Nests of loops, a strip of elements at a time.
#include "runtime/device/reference/Interpreter.h"

#include "runtime/base/Status.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::reference;

template <typename V> static uint32_t count(const V *v) { return v ? v->size() : 0; }

/// Elements that are computed at once.
static constexpr int64_t kStrip = 64;

namespace {
/// One run of a nest.
class NestRun {
public:
  NestRun(const Kernel &kernel, const Nest &nest, std::span<std::byte *const> buffers);
  absl::Status run();

private:
  using Loops = std::vector<uint32_t>;

  bool isEmpty() const;
  void orderLoops();
  bool advance(const Loops &loops);
  absl::Status strip();
  absl::Status iteration();
  absl::Status execute(uint32_t number);
  absl::Status loadAt(const Instruction &op, Value *to);
  void load(const Access &access, Value *to);
  void store(const Output &output, const Value *from);

  const Instruction &instruction(uint32_t index) const { return *nest.body()->Get(index); }
  Value *valueOf(uint32_t index) { return &values[index * kStrip]; }
  const Buffer &bufferOf(const Access &access) const { return *kernel.buffers()->Get(access.buffer()); }
  int64_t strideOf(const Access &access) const {
    return along < 0 ? 0 : access.strides()->Get(static_cast<uint32_t>(along));
  }
  /// The place of an access in the first element of the strip.
  int64_t placeOf(const Access &access) const;

  const Kernel &kernel;
  const Nest &nest;
  std::span<std::byte *const> buffers;
  Loops outer, reducing;
  int64_t along = -1; // the loop that strips are of; -1: none
  int64_t size = 1;   // of the strip
  std::vector<int64_t> index;
  std::vector<Value> values;   // of the instructions, each kStrip
  std::vector<Value> currents; // of the outputs, each kStrip
};
} // namespace

NestRun::NestRun(const Kernel &kernel, const Nest &nest, std::span<std::byte *const> buffers)
    : kernel(kernel), nest(nest), buffers(buffers), index(count(nest.extents())), values(count(nest.body()) * kStrip),
      currents(count(nest.outputs()) * kStrip) {
  orderLoops();
}

/// Strips are along the longest loop that does not reduce, the last one of these.
void NestRun::orderLoops() {
  for (uint32_t i = 0; i < count(nest.extents()); ++i)
    if (!nest.reduces()->Get(i) &&
        (along < 0 || nest.extents()->Get(i) >= nest.extents()->Get(static_cast<uint32_t>(along))))
      along = i;
  for (uint32_t i = 0; i < count(nest.extents()); ++i)
    if (i != along)
      (nest.reduces()->Get(i) ? reducing : outer).push_back(i);
}

int64_t NestRun::placeOf(const Access &access) const {
  int64_t place = access.offset();
  for (uint32_t i = 0; i < index.size(); ++i)
    place += index[i] * access.strides()->Get(i);
  return place;
}

void NestRun::load(const Access &access, Value *to) {
  const Type type = bufferOf(access).type();
  const auto bytes = static_cast<int64_t>(sizeOf(type)), stride = strideOf(access) * bytes;
  const std::byte *from = buffers[access.buffer()] + placeOf(access) * bytes;
  loadElements(type, from, stride, size, to);
}

void NestRun::store(const Output &output, const Value *from) {
  const Access &access = *output.access();
  const Type type = bufferOf(access).type();
  const auto bytes = static_cast<int64_t>(sizeOf(type)), stride = strideOf(access) * bytes;
  std::byte *to = buffers[access.buffer()] + placeOf(access) * bytes;
  for (int64_t k = 0; k < size; ++k)
    storeElement(type, to + k * stride, from[k]);
}

absl::Status NestRun::loadAt(const Instruction &op, Value *to) {
  const Buffer &buffer = *kernel.buffers()->Get(op.a());
  const Value *places = valueOf(op.b());
  for (int64_t k = 0; k < size; ++k) {
    if (static_cast<uint64_t>(places[k].i) >= buffer.count())
      return absl::OutOfRangeError(rt::str("kernel '", kernel.symbol()->c_str(), "' reads element ", places[k].i,
                                           " of a buffer of ", buffer.count()));
    to[k] = loadElement(op.type(), buffers[op.a()] + static_cast<uint64_t>(places[k].i) * sizeOf(op.type()));
  }
  return absl::OkStatus();
}

absl::Status NestRun::execute(uint32_t number) {
  const Instruction &op = instruction(number);
  Value *to = valueOf(number);
  const Opcode opcode = static_cast<Opcode>(op.opcode());
  if (opcode == Opcode::Constant)
    return absl::OkStatus(); // there since the beginning
  if (opcode == Opcode::LoadAt)
    return loadAt(op, to);
  if (opcode == Opcode::Load) {
    load(*nest.loads()->Get(op.a()), to);
    return absl::OkStatus();
  }
  if (opcode == Opcode::Index) {
    for (int64_t k = 0; k < size; ++k)
      to[k].i = index[op.a()] + (op.a() == along ? k : 0);
    return absl::OkStatus();
  }
  if (opcode == Opcode::Current) {
    std::copy_n(&currents[op.a() * kStrip], size, to);
    return absl::OkStatus();
  }
  // Operands that an operation does not have are not looked at; their numbers need not exist.
  auto operand = [&](uint32_t at) { return at < number ? valueOf(at) : nullptr; };
  evaluate(opcode, op.type(), instruction(op.a()).type(), size, to, operand(op.a()), operand(op.b()), operand(op.c()));
  return absl::OkStatus();
}

/// The next indices of these loops, the last one fastest; false when all were there, and they are at their beginning.
bool NestRun::advance(const Loops &loops) {
  for (size_t i = loops.size(); i-- > 0;) {
    if (++index[loops[i]] < nest.extents()->Get(loops[i]))
      return true;
    index[loops[i]] = 0;
  }
  return false;
}

/// The body at the present indices; then the outputs have their new values.
absl::Status NestRun::iteration() {
  for (uint32_t i = 0; i < count(nest.body()); ++i)
    DGC_RETURN_IF_ERROR(execute(i));
  for (uint32_t i = 0; i < count(nest.outputs()); ++i)
    std::copy_n(valueOf(nest.outputs()->Get(i)->value()), size, &currents[i * kStrip]);
  return absl::OkStatus();
}

/// All iterations for the elements of a strip.
absl::Status NestRun::strip() {
  for (uint32_t i = 0; i < count(nest.outputs()); ++i)
    load(*nest.outputs()->Get(i)->access(), &currents[i * kStrip]);
  do
    DGC_RETURN_IF_ERROR(iteration());
  while (advance(reducing));
  for (uint32_t i = 0; i < count(nest.outputs()); ++i)
    store(*nest.outputs()->Get(i), &currents[i * kStrip]);
  return absl::OkStatus();
}

/// Whether there is no iteration.
bool NestRun::isEmpty() const {
  return nest.extents() && std::find(nest.extents()->begin(), nest.extents()->end(), 0) != nest.extents()->end();
}

absl::Status NestRun::run() {
  if (isEmpty())
    return absl::OkStatus();
  for (uint32_t i = 0; i < count(nest.body()); ++i) {
    const Instruction &op = instruction(i);
    if (static_cast<Opcode>(op.opcode()) != Opcode::Constant)
      continue;
    Value value{.i = static_cast<int64_t>(op.immediate())};
    if (isFloat(op.type()))
      value.f = rounded(op.type(), std::bit_cast<double>(op.immediate()));
    else
      value.i = wrapped(op.type(), op.immediate());
    std::fill_n(valueOf(i), kStrip, value);
  }
  const int64_t length = along < 0 ? 1 : nest.extents()->Get(static_cast<uint32_t>(along));
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

Interpreter::Interpreter(const Kernel &kernel) : kernel(kernel) {
  const uint32_t given = kernel.inputs() + kernel.results();
  buffers.resize(count(kernel.buffers()));
  offsets.resize(buffers.size());
  for (uint32_t i = given; i < buffers.size(); ++i) {
    const Buffer &buffer = *kernel.buffers()->Get(i);
    if (buffer.data())
      continue;
    offsets[i] = workspace;
    workspace += (buffer.count() * sizeOf(buffer.type()) + 63) / 64 * 64;
  }
}

absl::Status Interpreter::run(std::span<void *const> arguments, std::byte *workspaceMemory) {
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    const Buffer &buffer = *kernel.buffers()->Get(i);
    if (i < arguments.size())
      buffers[i] = static_cast<std::byte *>(arguments[i]);
    else if (buffer.data()) // the check allows no output there
      buffers[i] = reinterpret_cast<std::byte *>(const_cast<uint8_t *>(buffer.data()->data()));
    else
      buffers[i] = workspaceMemory + offsets[i];
  }
  for (uint32_t i = 0; i < count(kernel.nests()); ++i)
    DGC_RETURN_IF_ERROR(NestRun(kernel, *kernel.nests()->Get(i), buffers).run());
  return absl::OkStatus();
}
