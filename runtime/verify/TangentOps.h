// The derivatives of the instructions of one nest.
#pragma once

#include "runtime/device/reference/Bytecode.h"

#include "absl/status/status.h"

#include <functional>
#include <optional>
#include <vector>

namespace dgc::verify {

/// Adds to a nest the tangents of its values.
class TangentBody {
public:
  using Value = std::optional<uint32_t>; // of an instruction; none: a derivative that is zero
  /// The buffer of the tangents of a buffer.
  using Buffers = std::function<std::optional<uint32_t>(uint32_t)>;

  TangentBody(reference::NestT &nest, Buffers tangentOf);

  /// An output that gets the tangent, for each output whose buffer has tangents.
  absl::Status run();

private:
  absl::Status differentiate(uint32_t number);
  Value source(uint32_t number);
  Value arithmetic(uint32_t number);
  Value choice(uint32_t number);
  Value slope(uint32_t number);
  Value arctangent(uint32_t number);
  bool hasTangent(const reference::Instruction &op) const;
  Value extremum(uint32_t number);
  Value power(uint32_t number);

  uint32_t emit(reference::Opcode opcode, reference::Type type, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0,
                uint64_t immediate = 0);
  reference::Type typeOf(uint32_t value) const { return nest.body[value].type(); }
  uint32_t constant(double value, reference::Type type);
  uint32_t add(uint32_t a, uint32_t b) { return emit(reference::Opcode::AddF, typeOf(a), a, b); }
  uint32_t subtract(uint32_t a, uint32_t b) { return emit(reference::Opcode::SubF, typeOf(a), a, b); }
  uint32_t multiply(uint32_t a, uint32_t b) { return emit(reference::Opcode::MulF, typeOf(a), a, b); }
  uint32_t divide(uint32_t a, uint32_t b) { return emit(reference::Opcode::DivF, typeOf(a), a, b); }
  uint32_t negate(uint32_t a) { return emit(reference::Opcode::NegF, typeOf(a), a); }
  uint32_t equal(uint32_t a, uint32_t b) { return emit(reference::Opcode::EqualF, reference::Type::I1, a, b); }
  uint32_t less(uint32_t a, uint32_t b) { return emit(reference::Opcode::LessF, reference::Type::I1, a, b); }
  uint32_t select(uint32_t p, uint32_t a, uint32_t b) { return emit(reference::Opcode::Select, typeOf(a), p, a, b); }
  Value sum(Value a, Value b) { return a && b ? Value(add(*a, *b)) : a ? a : b; }
  Value difference(Value a, Value b) { return a && b ? Value(subtract(*a, *b)) : b ? Value(negate(*b)) : a; }
  Value times(Value a, uint32_t b) { return a ? Value(multiply(*a, b)) : a; }
  uint32_t orZero(Value a, reference::Type type) { return a ? *a : constant(0, type); }

  reference::NestT &nest;
  Buffers tangentOf;
  std::vector<Value> tangents;                         // of the instructions that the nest had
  std::vector<std::optional<uint32_t>> tangentOutputs; // of the outputs that the nest had
};

} // namespace dgc::verify
