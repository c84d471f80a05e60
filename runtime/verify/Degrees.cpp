// The degrees of what nests compute, as polynomials of the elements that were drawn: upper bounds.
#include "runtime/device/reference/Scalar.h"
#include "runtime/verify/LoopNest.h"

#include <algorithm>
#include <cstdlib>

using namespace dgc;
using namespace dgc::verify;
using reference::Instruction;
using reference::Opcode;

/// Iterations that are followed one by one. A sum of degrees grows by one amount in each further one; a product of the
/// current value with itself has an infinite degree by then.
static constexpr int kFollowed = 1100;

namespace {
class NestDegrees {
public:
  NestDegrees(const NestContext &context, const LoopNest &loops)
      : context(context), loops(loops), values(context.nest.body() ? context.nest.body()->size() : 0) {
    for (const LoopAccess &output : loops.outputs)
      currents.push_back(context.buffers.read[output.buffer]->degree);
  }
  void run();

private:
  void iterate();
  double degreeOf(const Instruction &op);
  double powerOf(const Instruction &op);
  double functionOf(double degree);

  const NestContext &context;
  const LoopNest &loops;
  std::vector<double> values, currents;
  double argument = 0;
};
} // namespace

/// A function gives a new variable.
double NestDegrees::functionOf(double degree) {
  argument = std::max(argument, degree);
  return 1;
}

/// A product of up to 8 factors, or a function.
double NestDegrees::powerOf(const Instruction &op) {
  const Instruction &exponent = *context.nest.body()->Get(op.b());
  double factors = 8;
  if (static_cast<Opcode>(exponent.opcode()) == Opcode::Constant)
    factors = std::min(8.0, std::abs(reference::rounded(op.type(), std::bit_cast<double>(exponent.immediate()))));
  functionOf(std::max(values[op.a()], values[op.b()]));
  return std::max(1.0, factors * std::max(1.0, values[op.a()]));
}

double NestDegrees::degreeOf(const Instruction &op) {
  const double a = op.a() < values.size() ? values[op.a()] : 0, b = op.b() < values.size() ? values[op.b()] : 0;
  switch (static_cast<Opcode>(op.opcode())) {
  case Opcode::Constant:
  case Opcode::AddI:
  case Opcode::SubI:
  case Opcode::MulI:
  case Opcode::DivS:
  case Opcode::DivU:
  case Opcode::RemS:
  case Opcode::RemU:
  case Opcode::And:
  case Opcode::Or:
  case Opcode::Xor:
  case Opcode::Shl:
  case Opcode::ShrS:
  case Opcode::ShrU:
  case Opcode::MinS:
  case Opcode::MaxS:
  case Opcode::MinU:
  case Opcode::MaxU:
  case Opcode::AbsI:
  case Opcode::CountOnes:
  case Opcode::LeadingZeros:
  case Opcode::EqualI:
  case Opcode::LessS:
  case Opcode::LessU:
  case Opcode::EqualF:
  case Opcode::LessF:
  case Opcode::ExtendS:
  case Opcode::ExtendU:
  case Opcode::Narrow:
  case Opcode::FloatToSigned:
  case Opcode::FloatToUnsigned:
  case Opcode::Index:
  case Opcode::SignedToFloat:
  case Opcode::UnsignedToFloat:
  case Opcode::Floor:
  case Opcode::Ceil:
  case Opcode::Round:
  case Opcode::RoundEven:
  case Opcode::Bitcast:
    return 0;
  case Opcode::Load:
    return context.buffers.read[loops.loads[op.a()].buffer]->degree;
  case Opcode::LoadAt:
    return context.buffers.read[op.a()]->degree;
  case Opcode::Current:
    return currents[op.a()];
  case Opcode::MulF:
    return a + b;
  case Opcode::DivF:
    return a + functionOf(b);
  case Opcode::Sqrt:
    return a + functionOf(a);
  case Opcode::Pow:
    return powerOf(op);
  case Opcode::Select:
    return std::max(b, values[op.c()]);
  case Opcode::NegF:
  case Opcode::AbsF:
  case Opcode::CopySign:
  case Opcode::ConvertFloat:
    return a;
  case Opcode::AddF:
  case Opcode::SubF:
  case Opcode::RemF:
  case Opcode::Minimum:
  case Opcode::Maximum:
    return std::max(a, b);
  case Opcode::Rsqrt:
  case Opcode::Cbrt:
  case Opcode::Exp:
  case Opcode::ExpM1:
  case Opcode::Log:
  case Opcode::Log1P:
  case Opcode::Sin:
  case Opcode::Cos:
  case Opcode::Tan:
  case Opcode::Tanh:
  case Opcode::Erf:
    return functionOf(a);
  case Opcode::Atan2:
    return functionOf(std::max(a, b));
  }
  std::abort();
}

void NestDegrees::iterate() {
  for (uint32_t i = 0; i < values.size(); ++i) {
    const Instruction &op = *context.nest.body()->Get(i);
    values[i] = reference::isFloat(op.type()) ? degreeOf(op) : 0;
  }
  for (uint32_t i = 0; i < currents.size(); ++i)
    currents[i] = std::max(currents[i], values[context.nest.outputs()->Get(i)->value()]);
}

void NestDegrees::run() {
  const double iterations = loops.iterations(/*reducing=*/true);
  std::vector<double> before;
  int64_t done = 0;
  for (; static_cast<double>(done) < std::min<double>(iterations, kFollowed) && before != currents; ++done) {
    before = currents;
    iterate();
  }
  for (size_t i = 0; i < currents.size(); ++i)
    if (currents[i] > before[i])
      currents[i] += (iterations - static_cast<double>(done)) * (currents[i] - before[i]);
  for (size_t i = 0; i < currents.size(); ++i)
    if (Tensor &tensor = *context.buffers.written[loops.outputs[i].buffer]; tensor.isFloat())
      tensor.degree = std::max(tensor.degree, currents[i]);
  std::atomic<double> &most = context.options.counts.argumentDegree;
  for (double known = most; known < argument && !most.compare_exchange_weak(known, argument);)
    ;
}

void dgc::verify::setDegrees(const NestContext &context, const LoopNest &loops) { NestDegrees(context, loops).run(); }
