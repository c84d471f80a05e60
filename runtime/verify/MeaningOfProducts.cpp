// Matrix products, and sums of slices.
#include "runtime/artifact/Enums.h"
#include "runtime/verify/MeaningParts.h"
#include "runtime/verify/PostOps.h"

using namespace dgc;
using namespace dgc::verify;
using reference::Opcode;
using reference::Type;

namespace {
/// The loops of a product: batch.., m and n, and k.
struct ProductLoops {
  std::vector<Loop> kept;
  Loop k;
};
} // namespace

static ProductLoops loopsOf(const artifact::Matmul &op) {
  const auto batch = static_cast<int64_t>(op.batch()), m = static_cast<int64_t>(op.m()),
             n = static_cast<int64_t>(op.n()), k = static_cast<int64_t>(op.k());
  if (!op.dst_strides()) {
    const bool a = op.transpose_a(), b = op.transpose_b();
    return {{{batch, m * k, k * n, m * n}, {m, a ? 1 : k, 0, n}, {n, 0, b ? k : 1, 1}}, {k, a ? m : 1, b ? 1 : n, 0}};
  }
  ProductLoops loops;
  uint32_t i = 0;
  for (; op.batch_sizes() && i < op.batch_sizes()->size(); ++i)
    loops.kept.push_back(
        {op.batch_sizes()->Get(i), op.a_strides()->Get(i), op.b_strides()->Get(i), op.dst_strides()->Get(i)});
  loops.kept.push_back({m, op.a_strides()->Get(i), 0, op.dst_strides()->Get(i)});
  loops.kept.push_back({n, 0, op.b_strides()->Get(i + 1), op.dst_strides()->Get(i + 1)});
  loops.k = {k, op.a_strides()->Get(i + 1), op.b_strides()->Get(i), 0};
  return loops;
}

/// The sum of the rows of dst, or of an operand along k. These products have no batch.
static void expressBiasGradient(const artifact::Matmul &op, const ProductLoops &loops, KernelBuilder &kernel) {
  const Loop &m = loops.kept[1], &n = loops.kept[2], &k = loops.k;
  const uint32_t result = kernel.result(op.bias_gradient()), sums = sumsOf(kernel, result);
  auto add = [&](uint32_t buffer, Loop kept, Loop reduced) {
    sum(kernel, std::span(&kept, 1), std::span(&reduced, 1), {buffer}, sums);
  };
  switch (op.bias_gradient_of()) {
  case artifact::MatmulValue::Result:
    add(kernel.result(op.dst()), {n.extent, n.to, 0, 1}, {m.extent, m.to, 0, 0});
    break;
  case artifact::MatmulValue::A:
    add(kernel.input(op.a()), {m.extent, m.a, 0, 1}, {k.extent, k.a, 0, 0});
    break;
  case artifact::MatmulValue::B:
    add(kernel.input(op.b()), {n.extent, n.b, 0, 1}, {k.extent, k.b, 0, 0});
    break;
  }
  storeSums(kernel, sums, result);
}

absl::Status dgc::verify::express(const artifact::Matmul &op, KernelBuilder &kernel) {
  const ProductLoops loops = loopsOf(op);
  const Epilogue epilogue{op.dst(), static_cast<int64_t>(op.n()), op.bias(), op.post_ops(), op.aux()};
  const uint32_t sums = sumsOf(kernel, epilogue);
  sumProducts(kernel, loops.kept, std::span(&loops.k, 1), {kernel.input(op.a())}, {kernel.input(op.b())}, sums);
  storeSums(kernel, sums, epilogue);
  if (op.bias_gradient() >= 0)
    expressBiasGradient(op, loops, kernel);
  return absl::OkStatus();
}

/// An index of a slice as an i64.
static uint32_t widened(NestBuilder &nest, uint32_t index, rt::DType type) {
  if (nest.typeOf(index) == Type::I64)
    return index;
  const bool isUnsigned = type == rt::DType::U8 || type == rt::DType::U16 || type == rt::DType::U32;
  return nest.emit(isUnsigned ? Opcode::ExtendU : Opcode::ExtendS, Type::I64, {index});
}

absl::Status dgc::verify::express(const artifact::ScatterAdd &op, KernelBuilder &kernel) {
  const auto outer = static_cast<int64_t>(op.outer()), size = static_cast<int64_t>(op.size()),
             inner = static_cast<int64_t>(op.inner()), count = static_cast<int64_t>(op.count());
  const uint32_t indices = kernel.input(op.indices()), updates = kernel.input(op.updates()),
                 dst = kernel.result(op.dst());
  fill(kernel, dst, 0);
  NestBuilder nest(kernel, {outer, size, inner, count}, 1);
  uint32_t slice = widened(nest, nest.load(indices, {0, 0, 0, 1}), rt::toDType(kernel.described(op.indices()).dtype()));
  if (op.offset() >= 0)
    slice = nest.emit(Opcode::SubI, {slice, nest.load(kernel.input(op.offset()), {0, 0, 0, 0})});
  const uint32_t isHere = nest.emit(Opcode::EqualI, Type::I1, {slice, nest.index(1)});
  const uint32_t update = nest.load(updates, {count * inner, 0, 1, inner});
  const Type type = nest.typeOf(update);
  const uint32_t addend = nest.emit(Opcode::Select, type, {isHere, update, nest.number(0, type)});
  nest.output(dst, {size * inner, inner, 1, 0}, nest.add(nest.current(0, type), addend));
  return absl::OkStatus();
}

absl::Status dgc::verify::express(const artifact::UpdateSlice &op, KernelBuilder &kernel) {
  const auto outer = static_cast<int64_t>(op.outer()), size = static_cast<int64_t>(op.size()),
             inner = static_cast<int64_t>(op.inner()), extent = static_cast<int64_t>(op.extent());
  const uint32_t src = kernel.input(op.src()), update = kernel.input(op.update()), start = kernel.input(op.start()),
                 dst = kernel.result(op.dst());
  NestBuilder nest(kernel, {outer, size, inner});
  const rt::DType type = rt::toDType(kernel.described(op.start()).dtype());
  uint32_t first = widened(nest, nest.load(start, {0, 0, 0}), type);
  // A large number without a sign is not a negative one.
  first = nest.emit(type == rt::DType::U64 ? Opcode::MinU : Opcode::MinS, {first, nest.integer(size - extent)});
  first = nest.emit(Opcode::MaxS, {first, nest.integer(0)});
  uint32_t place = nest.emit(Opcode::SubI, {nest.index(1), first});
  const uint32_t inside = nest.emit(Opcode::LessU, Type::I1, {place, nest.integer(extent)});
  place = nest.emit(Opcode::Select, Type::I64, {inside, place, nest.integer(0)});
  // ((index(0) * extent) + place) * inner + index(2)
  uint32_t at = nest.emit(Opcode::AddI, {nest.emit(Opcode::MulI, {nest.index(0), nest.integer(extent)}), place});
  at = nest.emit(Opcode::AddI, {nest.emit(Opcode::MulI, {at, nest.integer(inner)}), nest.index(2)});
  const uint32_t old = nest.load(src, {size * inner, inner, 1});
  const uint32_t fresh = nest.emit(Opcode::LoadAt, kernel.typeOf(update), {update, at});
  nest.output(dst, {size * inner, inner, 1}, nest.emit(Opcode::Select, kernel.typeOf(dst), {inside, fresh, old}));
  return absl::OkStatus();
}
