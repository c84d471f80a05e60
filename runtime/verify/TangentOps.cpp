// The derivatives of the instructions of one nest. Where an identity of two forms is no law of runtime/verify/Field.h, the
// form is that of the gradients in dialects/dgc.
#include "runtime/verify/TangentOps.h"

#include "runtime/base/Status.h"
#include "runtime/device/reference/Scalar.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <numbers>

using namespace dgc;
using namespace dgc::verify;
using reference::Instruction;
using reference::Opcode;
using reference::Type;

static Opcode opcodeOf(const Instruction &op) { return static_cast<Opcode>(op.opcode()); }

TangentBody::TangentBody(reference::NestT &nest, Buffers tangentOf)
    : nest(nest), tangentOf(std::move(tangentOf)), tangents(nest.body.size()) {}

uint32_t TangentBody::emit(Opcode opcode, Type type, uint32_t a, uint32_t b, uint32_t c, uint64_t immediate) {
  nest.body.emplace_back(static_cast<uint8_t>(opcode), type, a, b, c, immediate);
  return static_cast<uint32_t>(nest.body.size() - 1);
}

uint32_t TangentBody::constant(double value, Type type) {
  return emit(Opcode::Constant, type, 0, 0, 0, std::bit_cast<uint64_t>(reference::rounded(type, value)));
}

TangentBody::Value TangentBody::source(uint32_t number) {
  const Instruction op = nest.body[number];
  if (opcodeOf(op) == Opcode::Current)
    return tangentOutputs[op.a()] ? Value(emit(Opcode::Current, op.type(), *tangentOutputs[op.a()])) : Value();
  if (opcodeOf(op) == Opcode::LoadAt) {
    const std::optional<uint32_t> buffer = tangentOf(op.a());
    return buffer ? Value(emit(Opcode::LoadAt, op.type(), *buffer, op.b())) : Value();
  }
  const std::optional<uint32_t> buffer = tangentOf(nest.loads[op.a()]->buffer);
  if (!buffer)
    return {};
  auto access = std::make_unique<reference::AccessT>(*nest.loads[op.a()]);
  access->buffer = *buffer;
  nest.loads.push_back(std::move(access));
  return emit(Opcode::Load, op.type(), static_cast<uint32_t>(nest.loads.size() - 1));
}

TangentBody::Value TangentBody::arithmetic(uint32_t z) {
  const Instruction op = nest.body[z];
  const Opcode opcode = opcodeOf(op);
  const uint32_t x = op.a(), y = op.b();
  const Value dx = tangents[x];
  if (opcode == Opcode::NegF)
    return negate(*dx);
  if (opcode == Opcode::ConvertFloat)
    return emit(Opcode::ConvertFloat, op.type(), *dx);
  const Value dy = tangents[y];
  if (opcode == Opcode::AddF)
    return sum(dx, dy);
  if (opcode == Opcode::SubF)
    return difference(dx, dy);
  if (opcode == Opcode::MulF)
    return sum(times(dx, y), times(dy, x));
  if (opcode == Opcode::DivF)
    return divide(*difference(dx, times(dy, z)), y);
  return sum(dx, dy ? Value(multiply(*dy, divide(subtract(z, x), y))) : dy); // RemF: z = x - n y
}

/// That of the operand that is the result.
TangentBody::Value TangentBody::extremum(uint32_t number) {
  const Instruction op = nest.body[number];
  uint32_t dx = orZero(tangents[op.a()], op.type()), dy = orZero(tangents[op.b()], op.type());
  if (opcodeOf(op) == Opcode::Minimum)
    std::swap(dx, dy);
  return select(less(op.a(), op.b()), dy, dx);
}

TangentBody::Value TangentBody::choice(uint32_t number) {
  const Instruction op = nest.body[number];
  if (opcodeOf(op) == Opcode::Select) {
    const Value a = tangents[op.b()], b = tangents[op.c()];
    return select(op.a(), orZero(a, op.type()), orZero(b, op.type()));
  }
  if (opcodeOf(op) == Opcode::Minimum || opcodeOf(op) == Opcode::Maximum)
    return extremum(number);
  const Value dx = tangents[op.a()];
  if (!dx)
    return dx;
  if (opcodeOf(op) == Opcode::CopySign) // the operand, or that with its sign changed
    return select(equal(number, op.a()), *dx, negate(*dx));
  return select(less(op.a(), constant(0, op.type())), negate(*dx), *dx);
}

/// y x^(y-1) dx + z log(x) dy, without what is undefined where a factor is zero.
TangentBody::Value TangentBody::power(uint32_t z) {
  const Instruction op = nest.body[z];
  const uint32_t x = op.a(), y = op.b();
  const uint32_t zero = constant(0, op.type()), one = constant(1, op.type());
  Value result;
  if (tangents[x]) {
    const uint32_t exponent = select(equal(y, zero), one, subtract(y, one));
    result = multiply(*tangents[x], multiply(y, emit(Opcode::Pow, op.type(), x, exponent)));
  }
  if (!tangents[y])
    return result;
  const uint32_t base = select(equal(x, zero), one, x);
  return sum(result, multiply(*tangents[y], multiply(z, emit(Opcode::Log, op.type(), base))));
}

/// The derivative of a function of one operand; none: it has none here.
TangentBody::Value TangentBody::slope(uint32_t z) {
  const Instruction op = nest.body[z];
  const Opcode opcode = opcodeOf(op);
  const Type type = op.type();
  const uint32_t x = op.a();
  auto number = [&](double value) { return constant(value, type); };
  if (opcode == Opcode::Sqrt)
    return divide(number(0.5), z);
  if (opcode == Opcode::Rsqrt)
    return multiply(number(-0.5), multiply(z, multiply(z, z)));
  if (opcode == Opcode::Cbrt)
    return divide(number(1), multiply(multiply(z, z), number(3)));
  if (opcode == Opcode::Exp)
    return z;
  if (opcode == Opcode::ExpM1)
    return add(z, number(1));
  if (opcode == Opcode::Log)
    return divide(number(1), x);
  if (opcode == Opcode::Log1P)
    return divide(number(1), add(x, number(1)));
  if (opcode == Opcode::Sin)
    return emit(Opcode::Cos, type, x);
  if (opcode == Opcode::Cos)
    return negate(emit(Opcode::Sin, type, x));
  if (opcode == Opcode::Tan)
    return add(number(1), multiply(z, z));
  if (opcode == Opcode::Tanh)
    return subtract(number(1), multiply(z, z));
  if (opcode == Opcode::Erf)
    return multiply(number(2 * std::numbers::inv_sqrtpi), emit(Opcode::Exp, type, negate(multiply(x, x))));
  return {};
}

TangentBody::Value TangentBody::arctangent(uint32_t number) {
  const uint32_t y = nest.body[number].a(), x = nest.body[number].b();
  const Value turned = difference(times(tangents[y], x), times(tangents[x], y));
  return divide(*turned, add(multiply(x, x), multiply(y, y)));
}

static bool isOneOf(Opcode opcode, std::initializer_list<Opcode> some) {
  return std::find(some.begin(), some.end(), opcode) != some.end();
}

/// Of an instruction with an operand that has a tangent.
absl::Status TangentBody::differentiate(uint32_t number) {
  const Instruction op = nest.body[number];
  const Opcode opcode = opcodeOf(op);
  Value &to = tangents[number];
  if (isOneOf(opcode, {Opcode::AddF, Opcode::SubF, Opcode::MulF, Opcode::DivF, Opcode::RemF, Opcode::NegF,
                       Opcode::ConvertFloat}))
    to = arithmetic(number);
  else if (isOneOf(opcode, {Opcode::Select, Opcode::Minimum, Opcode::Maximum, Opcode::AbsF, Opcode::CopySign}))
    to = choice(number);
  else if (opcode == Opcode::Pow)
    to = power(number);
  else if (opcode == Opcode::Atan2)
    to = arctangent(number);
  else if (Value factor = slope(number))
    to = multiply(*tangents[op.a()], *factor);
  else
    return absl::UnimplementedError(
        rt::str(reference::opcodeTable[op.opcode()].name, " has no derivative in forward mode"));
  return absl::OkStatus();
}

bool TangentBody::hasTangent(const Instruction &op) const {
  const size_t operands = reference::opcodeTable[op.opcode()].signature.find('-');
  return (operands > 0 && tangents[op.a()]) || (operands > 1 && tangents[op.b()]) || (operands > 2 && tangents[op.c()]);
}

absl::Status TangentBody::run() {
  const size_t outputs = nest.outputs.size(), instructions = nest.body.size();
  auto next = static_cast<uint32_t>(outputs);
  for (size_t i = 0; i < outputs; ++i)
    tangentOutputs.push_back(tangentOf(nest.outputs[i]->access->buffer) ? std::optional(next++) : std::nullopt);
  for (uint32_t i = 0; i < instructions; ++i) {
    const Instruction op = nest.body[i];
    if (!reference::isFloat(op.type()) ||
        isOneOf(opcodeOf(op), {Opcode::Floor, Opcode::Ceil, Opcode::Round, Opcode::RoundEven}))
      continue;
    if (isOneOf(opcodeOf(op), {Opcode::Load, Opcode::LoadAt, Opcode::Current}))
      tangents[i] = source(i);
    else if (hasTangent(op))
      DGC_RETURN_IF_ERROR(differentiate(i));
  }
  for (size_t i = 0; i < outputs; ++i) {
    const reference::OutputT &of = *nest.outputs[i];
    const std::optional<uint32_t> buffer = tangentOf(of.access->buffer);
    if (!buffer)
      continue;
    auto output = std::make_unique<reference::OutputT>();
    output->access = std::make_unique<reference::AccessT>(*of.access);
    output->access->buffer = *buffer;
    output->value = orZero(tangents[of.value], typeOf(of.value));
    nest.outputs.push_back(std::move(output));
  }
  return absl::OkStatus();
}
