// The check of bytecode.
#include "runtime/base/Status.h"
#include "runtime/device/reference/Bytecode.h"

#include <set>
#include <string>

using namespace dgc;
using namespace dgc::reference;
using rt::annotate;
using rt::str;

static absl::Status bad(const std::string &message) { return absl::InvalidArgumentError(message); }

template <typename V> static uint32_t count(const V *v) { return v ? v->size() : 0; }

/// More elements than any memory has.
static constexpr uint64_t kMostElements = uint64_t{1} << 46;
static constexpr uint32_t kMostLoops = 64;

namespace {
/// One kernel.
class KernelCheck {
public:
  explicit KernelCheck(const Kernel &kernel) : kernel(kernel) {}
  absl::Status run() const;

private:
  absl::Status buffers() const;
  absl::Status nest(const Nest &nest) const;
  absl::Status access(const Nest &nest, const Access &access) const;
  absl::Status output(const Nest &nest, const Output &output) const;
  absl::Status instruction(const Nest &nest, uint32_t index) const;
  absl::Status source(const Nest &nest, uint32_t index) const;
  absl::Status operands(const Nest &nest, uint32_t index) const;

  const Buffer &buffer(uint32_t index) const { return *kernel.buffers()->Get(index); }

  const Kernel &kernel;
};
} // namespace

absl::Status KernelCheck::buffers() const {
  const uint64_t given = uint64_t{kernel.inputs()} + kernel.results();
  if (given > count(kernel.buffers()))
    return bad(str("has ", count(kernel.buffers()), " buffers for ", given, " arguments"));
  uint64_t own = 0;
  for (uint32_t i = 0; i < count(kernel.buffers()); ++i) {
    const Buffer &b = buffer(i);
    if (b.type() > Type::MAX || b.count() > kMostElements)
      return bad(str("buffer ", i, " has an unknown type, or more elements than there is memory"));
    if (b.data() && (i < given || b.data()->size() != b.count() * sizeOf(b.type())))
      return bad(str("buffer ", i, " has ", b.data()->size(), " bytes of data for ", b.count(), " elements"));
    own += b.count() * sizeOf(b.type());
    if (own > kMostElements)
      return bad("needs more memory than there is");
  }
  return absl::OkStatus();
}

/// All elements that the loops reach are in the buffer.
absl::Status KernelCheck::access(const Nest &nest, const Access &access) const {
  if (access.buffer() >= count(kernel.buffers()))
    return bad(str("buffer ", access.buffer(), " does not exist"));
  if (count(access.strides()) != count(nest.extents()))
    return bad(str("an access has ", count(access.strides()), " strides in ", count(nest.extents()), " loops"));
  __int128 least = access.offset(), most = access.offset();
  for (uint32_t i = 0; i < count(nest.extents()); ++i) {
    if (nest.extents()->Get(i) == 0)
      return absl::OkStatus();
    __int128 far = __int128{access.strides()->Get(i)} * (nest.extents()->Get(i) - 1);
    (far < 0 ? least : most) += far;
  }
  if (least < 0 || most >= __int128{buffer(access.buffer()).count()})
    return bad(
        str("an access is outside of buffer ", access.buffer(), " of ", buffer(access.buffer()).count(), " elements"));
  return absl::OkStatus();
}

/// An instruction that takes a value from the nest.
absl::Status KernelCheck::source(const Nest &nest, uint32_t index) const {
  const Instruction &op = *nest.body()->Get(index);
  auto exists = [](const char *what, uint32_t number, uint32_t size) {
    return number < size ? absl::OkStatus() : bad(str(what, " ", number, " does not exist"));
  };
  auto holds = [&](Type type) {
    return op.type() == type ? absl::OkStatus() : bad(str("is of another type than what it reads"));
  };
  const Opcode opcode = static_cast<Opcode>(op.opcode());
  if (opcode == Opcode::Load) {
    DGC_RETURN_IF_ERROR(exists("load", op.a(), count(nest.loads())));
    return holds(buffer(nest.loads()->Get(op.a())->buffer()).type());
  }
  if (opcode == Opcode::LoadAt) {
    DGC_RETURN_IF_ERROR(exists("buffer", op.a(), count(kernel.buffers())));
    DGC_RETURN_IF_ERROR(exists("operand", op.b(), index));
    if (nest.body()->Get(op.b())->type() != Type::I64)
      return bad("has a place that is no i64");
    return holds(buffer(op.a()).type());
  }
  if (opcode == Opcode::Index) {
    DGC_RETURN_IF_ERROR(exists("loop", op.a(), count(nest.extents())));
    return holds(Type::I64);
  }
  if (opcode == Opcode::Current) {
    DGC_RETURN_IF_ERROR(exists("output", op.a(), count(nest.outputs())));
    uint32_t value = nest.outputs()->Get(op.a())->value();
    DGC_RETURN_IF_ERROR(exists("instruction", value, count(nest.body())));
    return holds(nest.body()->Get(value)->type());
  }
  return absl::OkStatus();
}

/// The operands of an instruction, as its signature says.
absl::Status KernelCheck::operands(const Nest &nest, uint32_t index) const {
  const Instruction &op = *nest.body()->Get(index);
  const std::string_view signature = opcodeTable[op.opcode()].signature;
  auto fits = [&](char kind, Type type) {
    switch (kind) {
    case 'I':
      return !isFloat(type);
    case 'F':
      return isFloat(type);
    case 'B':
      return type == Type::I1;
    case 'T':
      return type == op.type();
    default:
      return true;
    }
  };
  const uint32_t given[] = {op.a(), op.b(), op.c()};
  const size_t number = signature.find('-');
  for (size_t i = 0; i < number; ++i) {
    if (given[i] >= index)
      return bad(str("operand ", given[i], " is not computed before it"));
    if (!fits(signature[i], nest.body()->Get(given[i])->type()))
      return bad(str("operand ", given[i], " is of a wrong type"));
  }
  auto isComparison = [&] {
    return signature.back() == 'B' && nest.body()->Get(op.a())->type() != nest.body()->Get(op.b())->type();
  };
  if (!fits(signature.back(), op.type()) || isComparison())
    return bad("is of a wrong type");
  const bool isBitcast = static_cast<Opcode>(op.opcode()) == Opcode::Bitcast;
  if (isBitcast && widthOf(nest.body()->Get(op.a())->type()) != widthOf(op.type()))
    return bad("is between types of other widths");
  return absl::OkStatus();
}

absl::Status KernelCheck::instruction(const Nest &nest, uint32_t index) const {
  const Instruction &op = *nest.body()->Get(index);
  if (op.opcode() >= numOpcodes || op.type() > Type::MAX)
    return bad("has an unknown opcode or type");
  DGC_RETURN_IF_ERROR(source(nest, index));
  return operands(nest, index);
}

absl::Status KernelCheck::output(const Nest &nest, const Output &output) const {
  const Access &place = *output.access();
  DGC_RETURN_IF_ERROR(access(nest, place));
  if (place.buffer() < kernel.inputs() || buffer(place.buffer()).data())
    return bad(str("buffer ", place.buffer(), " must not be written"));
  for (uint32_t i = 0; i < count(nest.extents()); ++i)
    if (nest.reduces()->Get(i) && place.strides()->Get(i) != 0)
      return bad(str("an output depends on loop ", i, ", which reduces"));
  if (output.value() >= count(nest.body()))
    return bad(str("an output is instruction ", output.value(), ", which does not exist"));
  Type value = nest.body()->Get(output.value())->type(), stored = buffer(place.buffer()).type();
  if (value != stored && !(isFloat(value) && isFloat(stored)))
    return bad("an output is of another type than its buffer");
  return absl::OkStatus();
}

absl::Status KernelCheck::nest(const Nest &nest) const {
  if (count(nest.extents()) > kMostLoops || count(nest.reduces()) != count(nest.extents()))
    return bad(str("has ", count(nest.extents()), " loops, of which ", count(nest.reduces()), " are described"));
  uint64_t iterations = 1;
  for (uint32_t i = 0; i < count(nest.extents()); ++i)
    if (int64_t extent = nest.extents()->Get(i);
        extent < 0 || static_cast<uint64_t>(extent) > kMostElements ||
        __builtin_mul_overflow(iterations, std::max<int64_t>(extent, 1), &iterations))
      return bad(str("loop ", i, " has ", extent, " iterations"));
  for (uint32_t i = 0; i < count(nest.loads()); ++i)
    DGC_RETURN_IF_ERROR(access(nest, *nest.loads()->Get(i)));
  for (uint32_t i = 0; i < count(nest.body()); ++i)
    if (absl::Status s = instruction(nest, i); !s.ok()) {
      uint8_t opcode = nest.body()->Get(i)->opcode();
      return annotate(s, str("instruction ", i, opcode < numOpcodes ? str(" ", opcodeTable[opcode].name) : ""));
    }
  for (uint32_t i = 0; i < count(nest.outputs()); ++i)
    DGC_RETURN_IF_ERROR(output(nest, *nest.outputs()->Get(i)));
  return absl::OkStatus();
}

absl::Status KernelCheck::run() const {
  DGC_RETURN_IF_ERROR(buffers());
  for (uint32_t i = 0; i < count(kernel.nests()); ++i)
    if (absl::Status s = nest(*kernel.nests()->Get(i)); !s.ok())
      return annotate(s, str("nest ", i));
  return absl::OkStatus();
}

absl::StatusOr<const Kernels *> dgc::reference::readKernels(std::span<const std::byte> bytes) {
  const auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size());
  if (bytes.size() < 8 || !KernelsBufferHasIdentifier(data) || !VerifyKernelsBuffer(verifier))
    return bad("the kernels of the plan are no bytecode of the reference");
  const Kernels *kernels = GetKernels(data);
  std::set<std::string> symbols;
  for (uint32_t i = 0; i < count(kernels->kernels()); ++i) {
    const Kernel &kernel = *kernels->kernels()->Get(i);
    absl::Status s =
        symbols.insert(kernel.symbol()->str()).second ? KernelCheck(kernel).run() : bad("a second kernel of this name");
    if (!s.ok())
      return annotate(s, str("kernel '", kernel.symbol()->str(), "'"));
  }
  return kernels;
}

bool dgc::reference::takes(const Kernel &kernel, uint32_t argument, Type type, uint64_t count) {
  const Buffer &buffer = *kernel.buffers()->Get(argument);
  return buffer.type() == type && buffer.count() == count;
}
