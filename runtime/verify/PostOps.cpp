#include "runtime/verify/PostOps.h"

#include <cmath>
#include <numbers>

using namespace dgc;
using namespace dgc::verify;
using artifact::PostOpKind;
using reference::Opcode;
using reference::Type;

//===-- Functions of one value ------------------------------------------===//

static constexpr double cubic = 0.044715;
static const double root2OverPi = std::sqrt(2 / std::numbers::pi);

/// (1 + tanh(..)) / 2, the share of x that gelu lets through, by its approximation.
static uint32_t gateByTanh(NestBuilder &nest, uint32_t x) {
  const uint32_t inner = nest.multiply(x, nest.plus(nest.times(nest.multiply(x, x), cubic), 1));
  const uint32_t bend = nest.emit(Opcode::Tanh, {nest.times(inner, root2OverPi)});
  return nest.plus(nest.times(bend, 0.5), 0.5);
}

/// (1 + erf(x / sqrt 2)) / 2.
static uint32_t gateByErf(NestBuilder &nest, uint32_t x) {
  const uint32_t bend = nest.emit(Opcode::Erf, {nest.times(x, std::numbers::sqrt2 / 2)});
  return nest.plus(nest.times(bend, 0.5), 0.5);
}

/// The derivative of gelu by its approximation.
static uint32_t geluSlope(NestBuilder &nest, uint32_t x) {
  const uint32_t gate = gateByTanh(nest, x);
  const uint32_t bell = nest.multiply(gate, nest.subtract(nest.number(1, nest.typeOf(x)), gate));
  const uint32_t inner = nest.plus(nest.times(nest.multiply(x, x), 6 * root2OverPi * cubic), 2 * root2OverPi);
  return nest.add(gate, nest.multiply(x, nest.multiply(bell, inner)));
}

static uint32_t sigmoid(NestBuilder &nest, uint32_t x) {
  const uint32_t one = nest.number(1, nest.typeOf(x));
  const uint32_t exponential = nest.emit(Opcode::Exp, {nest.emit(Opcode::NegF, {x})});
  return nest.divide(one, nest.add(one, exponential));
}

//===-- Masks of relu ---------------------------------------------------===//

/// Bytes of a row: a multiple of 128 bits.
static int64_t maskBytes(int64_t channels) { return (channels - 1) / 128 * 16 + 16; }

/// The bit of an index of a loop, as a number of bits to shift an i8 by.
static uint32_t shiftOf(NestBuilder &nest, uint32_t loop) { return nest.converted(nest.index(loop), Type::I8); }

/// f(first channel, bytes, bits of each) for the whole bytes of a row of a mask, and for the last one.
template <typename F> static void forBytes(int64_t channels, F f) {
  if (channels >= 8)
    f(0, channels / 8, 8);
  if (channels % 8)
    f(channels / 8 * 8, 1, channels % 8);
}

/// The mask says where `values` are above 0.
static void packMask(KernelBuilder &kernel, uint32_t values, int64_t channels, uint32_t mask) {
  fill(kernel, mask, 0);
  const int64_t rows = kernel.countOf(values) / channels;
  forBytes(channels, [&](int64_t first, int64_t bytes, int64_t bits) {
    NestBuilder nest(kernel, {rows, bytes, bits}, 1);
    const uint32_t value = nest.load(values, {channels, 8, 1}, first);
    const uint32_t isAbove = nest.emit(Opcode::LessF, Type::I1, {nest.number(0, nest.typeOf(value)), value});
    const uint32_t bit = nest.emit(Opcode::Shl, {nest.converted(isAbove, Type::I8), shiftOf(nest, 2)});
    const uint32_t byte = nest.emit(Opcode::Or, {nest.current(0, Type::I8), bit});
    nest.output(mask, {maskBytes(channels), 1, 0}, byte, first / 8);
  });
}

/// An i1 for each of `count` elements.
static uint32_t unpackMask(KernelBuilder &kernel, uint32_t mask, int64_t count, int64_t channels) {
  const uint32_t flags = kernel.own(Type::I1, static_cast<uint64_t>(count));
  forBytes(channels, [&](int64_t first, int64_t bytes, int64_t bits) {
    NestBuilder nest(kernel, {count / channels, bytes, bits});
    const uint32_t byte = nest.load(mask, {maskBytes(channels), 1, 0}, first / 8);
    const uint32_t flag = nest.converted(nest.emit(Opcode::ShrU, {byte, shiftOf(nest, 2)}), Type::I1);
    nest.output(flags, {channels, 8, 1}, flag, first);
  });
  return flags;
}

//===-- Epilogues -------------------------------------------------------===//

namespace {
/// The nest that computes the result.
class EpilogueNest {
public:
  EpilogueNest(KernelBuilder &kernel, uint32_t sums, const Epilogue &epilogue, uint32_t flags)
      : kernel(kernel), epilogue(epilogue), flags(flags),
        nest(kernel, {kernel.countOf(sums) / epilogue.channels, epilogue.channels}),
        value(nest.load(sums, {epilogue.channels, 1})) {}

  void run() {
    if (epilogue.bias >= 0)
      value = nest.add(value, load(kernel.input(epilogue.bias)));
    for (uint32_t i = 0; epilogue.postOps && i < epilogue.postOps->size(); ++i)
      apply(*epilogue.postOps->Get(i));
    store(epilogue.dst);
  }

private:
  /// The value of another buffer, in the type of the sums: of the element, or of the channel.
  uint32_t load(uint32_t buffer) {
    const bool perChannel = kernel.countOf(buffer) == epilogue.channels;
    return nest.converted(nest.load(buffer, {perChannel ? 0 : epilogue.channels, 1}), nest.typeOf(value));
  }
  uint32_t load(const artifact::PostOp &op) { return load(kernel.input(op.arg())); }
  void store(int64_t programBuffer) {
    const uint32_t buffer = kernel.result(programBuffer);
    nest.output(buffer, {epilogue.channels, 1}, nest.converted(value, kernel.typeOf(buffer)));
  }
  void apply(const artifact::PostOp &op);

  KernelBuilder &kernel;
  const Epilogue &epilogue;
  uint32_t flags;
  NestBuilder nest;
  uint32_t value;
};
} // namespace

void EpilogueNest::apply(const artifact::PostOp &op) {
  const Type type = nest.typeOf(value);
  switch (op.kind()) {
  case PostOpKind::Add:
    value = nest.add(value, load(op));
    return;
  case PostOpKind::Multiply:
    value = nest.multiply(value, load(op));
    return;
  case PostOpKind::Accumulate:
    value = nest.add(value, load(kernel.input(epilogue.dst)));
    return;
  case PostOpKind::Relu:
    value = nest.emit(Opcode::Maximum, {value, nest.number(0, type)});
    return;
  case PostOpKind::Tanh:
    value = nest.emit(Opcode::Tanh, {value});
    return;
  case PostOpKind::Sigmoid:
    value = sigmoid(nest, value);
    return;
  case PostOpKind::GeluTanh:
    if (epilogue.aux >= 0)
      store(epilogue.aux);
    value = nest.multiply(value, gateByTanh(nest, value));
    return;
  case PostOpKind::GeluErf:
    value = nest.multiply(value, gateByErf(nest, value));
    return;
  case PostOpKind::ReluGrad:
    value = nest.emit(Opcode::Select, type, {nest.load(flags, {epilogue.channels, 1}), value, nest.number(0, type)});
    return;
  case PostOpKind::GeluTanhGrad:
    value = nest.multiply(value, geluSlope(nest, load(op)));
    return;
  }
}

/// The post-op of this kind; null: there is none.
static const artifact::PostOp *find(const Epilogue &epilogue, PostOpKind kind) {
  for (uint32_t i = 0; epilogue.postOps && i < epilogue.postOps->size(); ++i)
    if (epilogue.postOps->Get(i)->kind() == kind)
      return epilogue.postOps->Get(i);
  return nullptr;
}

static bool isPlain(const Epilogue &epilogue) {
  return epilogue.bias < 0 && (!epilogue.postOps || epilogue.postOps->size() == 0);
}

uint32_t dgc::verify::sumsOf(KernelBuilder &kernel, const Epilogue &epilogue) {
  const uint32_t result = kernel.result(epilogue.dst);
  if (isPlain(epilogue))
    return sumsOf(kernel, result);
  return kernel.own(computeType(kernel.typeOf(result)), static_cast<uint64_t>(kernel.countOf(result)));
}

void dgc::verify::storeSums(KernelBuilder &kernel, uint32_t sums, const Epilogue &epilogue) {
  const uint32_t result = kernel.result(epilogue.dst);
  if (isPlain(epilogue))
    return storeSums(kernel, sums, result);
  uint32_t flags = 0;
  if (const artifact::PostOp *gradient = find(epilogue, PostOpKind::ReluGrad))
    flags = unpackMask(kernel, kernel.input(gradient->arg()), kernel.countOf(result), epilogue.channels);
  EpilogueNest(kernel, sums, epilogue, flags).run();
  if (epilogue.aux >= 0 && find(epilogue, PostOpKind::Relu))
    packMask(kernel, result, epilogue.channels, kernel.result(epilogue.aux));
}
