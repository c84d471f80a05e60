// Nests that are sums of elements, or of products of two: matrix products, convolutions, reductions.
#include "runtime/verify/LoopNest.h"
#include "runtime/verify/Planes.h"
#include "runtime/verify/SumKernels.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::verify;
using reference::Instruction;
using reference::Opcode;

/// Terms and rows of the first operand that are packed at once: of the size of the second-level cache.
static constexpr int64_t kTerms = 512, kPackedRows = 64;
static_assert(kTerms <= kMostTerms && kPackedRows % kRows == 0);

/// The product has this second factor or, if null, there is none.
namespace {
struct Operands {
  const LoopAccess *a = nullptr, *b = nullptr;
};
} // namespace

/// The number of the instruction that a value is, without conversions, which do not change elements.
static uint32_t converted(const reference::Nest &nest, uint32_t number) {
  while (static_cast<Opcode>(nest.body()->Get(number)->opcode()) == Opcode::ConvertFloat)
    number = nest.body()->Get(number)->a();
  return number;
}

/// The operands of a body that adds an element or a product to the one output; `a` is null if it is another one.
static Operands operandsOf(const reference::Nest &nest, const LoopNest &loops) {
  auto at = [&](uint32_t number) { return nest.body()->Get(converted(nest, number)); };
  auto is = [](const Instruction *op, Opcode opcode) { return static_cast<Opcode>(op->opcode()) == opcode; };
  if (loops.outputs.size() != 1)
    return {};
  for (const Instruction *op : *nest.body())
    if (is(op, Opcode::LoadAt) || is(op, Opcode::Bitcast))
      return {}; // they may fail, also where nothing uses them
  const Instruction *sum = at(nest.outputs()->Get(0)->value());
  if (!is(sum, Opcode::AddF))
    return {};
  const Instruction *current = at(sum->a()), *term = at(sum->b());
  if (!is(current, Opcode::Current))
    std::swap(current, term);
  if (!is(current, Opcode::Current))
    return {};
  if (is(term, Opcode::Load))
    return {&loops.loads[term->a()], nullptr};
  if (!is(term, Opcode::MulF) || !is(at(term->a()), Opcode::Load) || !is(at(term->b()), Opcode::Load))
    return {};
  return {&loops.loads[at(term->a())->a()], &loops.loads[at(term->b())->a()]};
}

using Offsets = std::vector<int64_t>;

/// The distance from an access of each iteration of some loops, the last one fastest.
static Offsets offsetsOf(const LoopNest &loops, const std::vector<size_t> &some, const LoopAccess &access) {
  Offsets result = {0};
  for (size_t loop : some) {
    Offsets next;
    next.reserve(result.size() * static_cast<size_t>(loops.extents[loop]));
    for (int64_t offset : result)
      for (int64_t i = 0; i < loops.extents[loop]; ++i)
        next.push_back(offset + i * access.strides[loop]);
    result = std::move(next);
  }
  return result;
}

namespace {
/// A block of an operand that is packed.
class Packed {
public:
  explicit Packed(size_t count) : p(count), q(count), f(count) {}
  Block at(int64_t first) const { return {p.data() + first, q.data() + first, f.data() + first}; }
  /// Writes at `first` [terms][width]: the elements base + lanes[l] + terms[k]; zeros for missing lanes.
  void pack(int64_t first, const Tensor &from, int64_t base, std::span<const int64_t> lanes, int width,
            std::span<const int64_t> terms);
  void clear(size_t first, size_t end) {
    std::fill(p.begin() + static_cast<ptrdiff_t>(first), p.begin() + static_cast<ptrdiff_t>(end), 0);
    std::fill(q.begin() + static_cast<ptrdiff_t>(first), q.begin() + static_cast<ptrdiff_t>(end), 0);
    std::fill(f.begin() + static_cast<ptrdiff_t>(first), f.begin() + static_cast<ptrdiff_t>(end), 0);
  }

private:
  Elements<uint64_t> p, q;
  Elements<double> f;
};

/// The sums of products of a nest: those of batches of rows by columns, which only one of the operands depends on.
class Products {
public:
  Products(const NestContext &context, const LoopNest &loops, Operands operands);
  void run();

private:
  void chooseLoops();
  void matrix(int64_t baseA, int64_t baseB, int64_t baseTo);
  void rowBlock(std::span<const int64_t> rows, std::span<const int64_t> rowsTo, int64_t baseB, size_t firstTerm,
                size_t terms);
  void lanes();
  void dots();
  void add(int64_t at, const BlockSums &sums, int index);

  const LoopNest &loops;
  const LoopAccess *a, *b;
  const LoopAccess &to;
  const Tensor &tensorA, &tensorB;
  Tensor &tensorTo;
  const bool vectors;
  std::vector<size_t> rows, columns, batches, terms; // loops
  Offsets rowsA, rowsTo, columnsB, columnsTo, termsA, termsB;
  Packed packedA, packedB;
};
} // namespace

void Packed::pack(int64_t first, const Tensor &from, int64_t base, std::span<const int64_t> lanes, int width,
                  std::span<const int64_t> terms) {
  const auto given = static_cast<int>(std::min<size_t>(lanes.size(), static_cast<size_t>(width)));
  bool contiguous = given == width;
  for (int l = 1; l < given; ++l)
    contiguous &= lanes[static_cast<size_t>(l)] == lanes[0] + l;
  auto plane = [&](const auto &source, auto *target) {
    for (size_t k = 0; k < terms.size(); ++k, target += width) {
      const auto *start = source.data() + base + terms[k];
      if (contiguous) {
        std::copy_n(start + lanes[0], width, target);
        continue;
      }
      for (int l = 0; l < given; ++l)
        target[l] = start[lanes[static_cast<size_t>(l)]];
      std::fill(target + given, target + width, 0);
    }
  };
  plane(from.p, p.data() + first);
  plane(from.q, q.data() + first);
  plane(from.f, f.data() + first);
}

Products::Products(const NestContext &context, const LoopNest &loops, Operands operands)
    : loops(loops), a(operands.a), b(operands.b), to(loops.outputs[0]), tensorA(*context.buffers.read[a->buffer]),
      tensorB(*context.buffers.read[b->buffer]), tensorTo(*context.buffers.written[to.buffer]),
      vectors(hasVectors() && !context.options.portable), packedA(kPackedRows * kTerms), packedB(kLanes * kTerms) {
  static_assert(kPackedRows >= kLanes);
  chooseLoops();
}

/// Columns are along the lanes of vectors. Where there are neither rows nor columns, batches are.
void Products::chooseLoops() {
  for (size_t i = 0; i < loops.extents.size(); ++i) {
    if (loops.reduces[i])
      terms.push_back(i);
    else if (a->strides[i] != 0 && b->strides[i] == 0)
      rows.push_back(i);
    else if (a->strides[i] == 0 && b->strides[i] != 0)
      columns.push_back(i);
    else
      batches.push_back(i);
  }
  rowsA = offsetsOf(loops, rows, *a);
  rowsTo = offsetsOf(loops, rows, to);
  columnsB = offsetsOf(loops, columns, *b);
  columnsTo = offsetsOf(loops, columns, to);
  termsA = offsetsOf(loops, terms, *a);
  termsB = offsetsOf(loops, terms, *b);
}

void Products::add(int64_t at, const BlockSums &sums, int index) {
  const auto element = static_cast<size_t>(at);
  const Number sum = {sums.p[index], sums.q[index], sums.f[index]};
  tensorTo.set(element, verify::add(tensorTo.number(element), sum));
}

/// Adds the products of some rows and all columns over some terms.
void Products::rowBlock(std::span<const int64_t> blockRows, std::span<const int64_t> blockRowsTo, int64_t baseB,
                        size_t firstTerm, size_t number) {
  const std::span<const int64_t> these = std::span(termsB).subspan(firstTerm, number);
  const auto depth = static_cast<int64_t>(number);
  BlockSums sums;
  for (size_t column = 0; column < columnsB.size(); column += kLanes) {
    const std::span<const int64_t> some = std::span(columnsB).subspan(column);
    packedB.pack(0, tensorB, baseB, some, kLanes, these);
    const size_t width = std::min<size_t>(kLanes, some.size());
    for (size_t row = 0; row < blockRows.size(); row += kRows) {
      multiplyBlocks(depth, packedA.at(static_cast<int64_t>(row) * kTerms), packedB.at(0), sums, vectors);
      for (size_t r = 0; r < std::min<size_t>(kRows, blockRows.size() - row); ++r)
        for (size_t l = 0; l < width; ++l)
          add(blockRowsTo[row + r] + columnsTo[column + l], sums, static_cast<int>(r * kLanes + l));
    }
  }
}

void Products::matrix(int64_t baseA, int64_t baseB, int64_t baseTo) {
  Offsets shifted;
  for (int64_t offset : rowsTo)
    shifted.push_back(baseTo + offset);
  for (size_t term = 0; term < termsA.size(); term += kTerms) {
    const size_t number = std::min<size_t>(kTerms, termsA.size() - term);
    for (size_t row = 0; row < rowsA.size(); row += kPackedRows) {
      const auto some = std::span(rowsA).subspan(row, std::min<size_t>(kPackedRows, rowsA.size() - row));
      for (size_t r = 0; r < some.size(); r += kRows)
        packedA.pack(static_cast<int64_t>(r) * kTerms, tensorA, baseA, some.subspan(r), kRows,
                     std::span(termsA).subspan(term, number));
      rowBlock(some, std::span(shifted).subspan(row, some.size()), baseB, term, number);
    }
  }
}

/// The batches are elements whose operands are their own.
void Products::lanes() {
  const Offsets batchesA = offsetsOf(loops, batches, *a), batchesB = offsetsOf(loops, batches, *b),
                batchesTo = offsetsOf(loops, batches, to);
  BlockSums sums;
  for (size_t batch = 0; batch < batchesTo.size(); batch += kLanes)
    for (size_t term = 0; term < termsA.size(); term += kTerms) {
      const size_t number = std::min<size_t>(kTerms, termsA.size() - term);
      packedA.pack(0, tensorA, a->offset, std::span(batchesA).subspan(batch), kLanes,
                   std::span(termsA).subspan(term, number));
      packedB.pack(0, tensorB, b->offset, std::span(batchesB).subspan(batch), kLanes,
                   std::span(termsB).subspan(term, number));
      multiplyLanes(static_cast<int64_t>(number), packedA.at(0), packedB.at(0), sums, vectors);
      for (size_t l = 0; l < std::min<size_t>(kLanes, batchesTo.size() - batch); ++l)
        add(to.offset + batchesTo[batch + l], sums, static_cast<int>(l));
    }
}

/// Few batches: a lane has each eighth product.
void Products::dots() {
  constexpr size_t most = kLanes * kTerms;
  const Offsets batchesA = offsetsOf(loops, batches, *a), batchesB = offsetsOf(loops, batches, *b),
                batchesTo = offsetsOf(loops, batches, to), one = {0};
  BlockSums sums;
  for (size_t batch = 0; batch < batchesTo.size(); ++batch)
    for (size_t term = 0; term < termsA.size(); term += most) {
      const size_t number = std::min(most, termsA.size() - term), rows = (number + kLanes - 1) / kLanes;
      packedA.pack(0, tensorA, a->offset + batchesA[batch], one, 1, std::span(termsA).subspan(term, number));
      packedB.pack(0, tensorB, b->offset + batchesB[batch], one, 1, std::span(termsB).subspan(term, number));
      packedA.clear(number, rows * kLanes);
      packedB.clear(number, rows * kLanes);
      multiplyLanes(static_cast<int64_t>(rows), packedA.at(0), packedB.at(0), sums, vectors);
      for (int lane = 0; lane < kLanes; ++lane)
        add(to.offset + batchesTo[batch], sums, lane);
    }
}

void Products::run() {
  if (rowsA.size() == 1 && columnsB.size() == 1)
    return loops.iterations(/*reducing=*/false) < kLanes ? dots() : lanes();
  const Offsets batchesA = offsetsOf(loops, batches, *a), batchesB = offsetsOf(loops, batches, *b),
                batchesTo = offsetsOf(loops, batches, to);
  for (size_t i = 0; i < batchesTo.size(); ++i)
    matrix(a->offset + batchesA[i], b->offset + batchesB[i], to.offset + batchesTo[i]);
}

/// The iterations along which `a` and `b` change exchanged, where that makes longer columns.
static Operands ordered(const LoopNest &loops, Operands operands) {
  auto extent = [&](const LoopAccess &of, const LoopAccess &other) {
    double result = 1;
    for (size_t i = 0; i < loops.extents.size(); ++i)
      if (!loops.reduces[i] && of.strides[i] != 0 && other.strides[i] == 0)
        result *= static_cast<double>(loops.extents[i]);
    return result;
  };
  const double rows = extent(*operands.a, *operands.b), columns = extent(*operands.b, *operands.a);
  return columns < kLanes && rows > columns ? Operands{operands.b, operands.a} : operands;
}

/// Terms of a sum of elements that are added without reduction: 2^12 of 2^51.
static constexpr int64_t kAddedTerms = 4096;

/// The sum of elements that are `stride` apart.
static Number sumOf(const Tensor &tensor, int64_t place, int64_t number, int64_t stride) {
  Number result;
  for (int64_t first = 0; first < number; first += kAddedTerms) {
    const int64_t end = std::min(number, first + kAddedTerms);
    uint64_t p = 0, q = 0;
    double f = 0;
    for (int64_t k = first; k < end; ++k) {
      const auto at = static_cast<size_t>(place + k * stride);
      p += tensor.p[at];
      q += tensor.q[at];
      f += tensor.f[at];
    }
    result = add(result, settled({FieldP::fold(p), FieldQ::fold(q), f}));
  }
  return result;
}

/// Sums of elements: a strip of outputs at a time where the innermost loop is of outputs, else one at a time.
static void runSums(const NestContext &context, const LoopNest &loops, const LoopAccess &from) {
  constexpr int64_t strip = 256;
  std::vector<size_t> outputs, terms;
  for (size_t i = 0; i < loops.extents.size(); ++i)
    (loops.reduces[i] ? terms : outputs).push_back(i);
  const LoopAccess &to = loops.outputs[0];
  const Tensor &source = *context.buffers.read[from.buffer];
  Tensor &target = *context.buffers.written[to.buffer];
  const Offsets froms = offsetsOf(loops, outputs, from), tos = offsetsOf(loops, outputs, to);
  auto addTo = [&](size_t output, const Number &sum) {
    const auto at = static_cast<size_t>(to.offset + tos[output]);
    target.set(at, add(target.number(at), sum));
  };
  const bool termsInside = !terms.empty() && std::abs(from.strides[terms.back()]) == 1;
  if (termsInside || outputs.empty()) {
    const int64_t number = terms.empty() ? 1 : loops.extents[terms.back()];
    const int64_t stride = terms.empty() ? 0 : from.strides[terms.back()];
    if (!terms.empty())
      terms.pop_back();
    const Offsets runs = offsetsOf(loops, terms, from);
    for (size_t output = 0; output < froms.size(); ++output)
      for (int64_t run : runs)
        addTo(output, sumOf(source, from.offset + froms[output] + run, number, stride));
    return;
  }
  const Offsets runs = offsetsOf(loops, terms, from);
  std::vector<Number> sums(strip);
  for (size_t first = 0; first < froms.size(); first += strip) {
    const size_t size = std::min<size_t>(strip, froms.size() - first);
    std::fill(sums.begin(), sums.end(), Number{});
    for (int64_t run : runs)
      for (size_t k = 0; k < size; ++k) {
        const auto at = static_cast<size_t>(from.offset + froms[first + k] + run);
        sums[k] = {FieldP::add(sums[k].p, source.p[at]), FieldQ::add(sums[k].q, source.q[at]),
                   sums[k].f + source.f[at]};
      }
    for (size_t k = 0; k < size; ++k)
      addTo(first + k, settled(sums[k]));
  }
}

/// Whether the operands and outputs are next to each other along a long loop, and there is no other reuse of them: strips
/// along it are faster.
static bool isElementwise(const LoopNest &loops, Operands operands) {
  bool isLong = false;
  for (size_t i = 0; i < loops.extents.size(); ++i) {
    if (loops.reduces[i] || loops.extents[i] == 1)
      continue;
    if (operands.a->strides[i] == 0 || operands.b->strides[i] == 0)
      return false;
    isLong |= operands.a->strides[i] == 1 && operands.b->strides[i] == 1 && loops.extents[i] >= 64;
  }
  return isLong;
}

bool dgc::verify::runContraction(const NestContext &context, const LoopNest &loops) {
  const Operands operands = operandsOf(context.nest, loops);
  if (!operands.a || (operands.b && isElementwise(loops, operands)))
    return false;
  if (operands.b)
    Products(context, loops, ordered(loops, operands)).run();
  else
    runSums(context, loops, *operands.a);
  return true;
}
