// Builds the bytecode of one kernel, nest by nest.
#pragma once

#include "runtime/verify/Meaning.h"

#include <initializer_list>
#include <span>
#include <string_view>

namespace dgc::verify {

/// The type that a library computes in.
constexpr reference::Type computeType(reference::Type type) {
  return type == reference::Type::F16 || type == reference::Type::BF16 ? reference::Type::F32 : type;
}

/// The distances in elements of the dimensions of a dense array.
std::vector<int64_t> stridesOf(std::span<const int64_t> shape);

/// The buffers of a kernel, and its nests as NestBuilder makes them. Buffers have numbers of the kernel; those of the
/// program that are read are inputs, those that are written results, and one may be both.
class KernelBuilder {
public:
  explicit KernelBuilder(const artifact::Program &program) : program(program) {}

  uint32_t input(int64_t programBuffer) { return given(Origin::Input, programBuffer); }
  uint32_t result(int64_t programBuffer) { return given(Origin::Result, programBuffer); }
  uint32_t own(reference::Type type, uint64_t count);
  /// A buffer with these elements, rounded to the type.
  uint32_t constant(reference::Type type, std::span<const double> values);

  reference::Type typeOf(uint32_t buffer) const { return entries[buffer].buffer->type; }
  int64_t countOf(uint32_t buffer) const { return static_cast<int64_t>(entries[buffer].buffer->count); }
  const artifact::Buffer &described(int64_t programBuffer) const {
    return *program.buffers()->Get(static_cast<uint32_t>(programBuffer));
  }
  std::vector<int64_t> shapeOf(int64_t programBuffer) const;

  /// A new nest at the end. It stays where it is.
  reference::NestT &addNest();
  /// All that was built, with the buffers in the order that a kernel has.
  Meaning finish(std::string_view symbol) &&;

private:
  enum class Origin : uint8_t { Input, Result, Own };
  struct Entry {
    Origin origin;
    uint32_t programBuffer;
    std::unique_ptr<reference::BufferT> buffer;
  };
  uint32_t given(Origin origin, int64_t programBuffer);
  uint32_t add(Origin origin, uint32_t programBuffer, reference::Type type, uint64_t count);

  const artifact::Program &program;
  std::vector<Entry> entries;
  std::vector<std::unique_ptr<reference::NestT>> nests;
};

/// One nest, at the end of a kernel. Values are the numbers of instructions.
class NestBuilder {
public:
  /// The last `reducing` loops reduce.
  NestBuilder(KernelBuilder &kernel, std::vector<int64_t> extents, size_t reducing = 0);

  uint32_t emit(reference::Opcode opcode, reference::Type type, std::initializer_list<uint32_t> operands,
                uint64_t immediate = 0);
  /// An operation that gives the type of its first operand.
  uint32_t emit(reference::Opcode opcode, std::initializer_list<uint32_t> operands) {
    return emit(opcode, typeOf(*operands.begin()), operands);
  }
  uint32_t load(uint32_t buffer, std::vector<int64_t> strides, int64_t offset = 0);
  uint32_t current(uint32_t output, reference::Type type) { return emit(reference::Opcode::Current, type, {output}); }
  uint32_t index(uint32_t loop) { return emit(reference::Opcode::Index, reference::Type::I64, {loop}); }
  /// The sum of a constant and of indices of loops times factors.
  uint32_t affine(int64_t constant, std::span<const int64_t> factors, size_t firstLoop);

  uint32_t number(double value, reference::Type type);
  uint32_t integer(int64_t value, reference::Type type = reference::Type::I64);
  /// A floating-point number, or an integer that is extended by zeros or cut, in another type.
  uint32_t converted(uint32_t value, reference::Type type);

  uint32_t add(uint32_t a, uint32_t b) { return emit(reference::Opcode::AddF, {a, b}); }
  uint32_t subtract(uint32_t a, uint32_t b) { return emit(reference::Opcode::SubF, {a, b}); }
  uint32_t multiply(uint32_t a, uint32_t b) { return emit(reference::Opcode::MulF, {a, b}); }
  uint32_t divide(uint32_t a, uint32_t b) { return emit(reference::Opcode::DivF, {a, b}); }
  /// With a constant that is rounded to the type of `a`.
  uint32_t plus(uint32_t a, double b) { return add(a, number(b, typeOf(a))); }
  uint32_t times(uint32_t a, double b) { return multiply(a, number(b, typeOf(a))); }

  /// `value` is of the type of the buffer; of another floating-point type only where it is a sum.
  void output(uint32_t buffer, std::vector<int64_t> strides, uint32_t value, int64_t offset = 0);

  reference::Type typeOf(uint32_t value) const { return nest.body[value].type(); }

private:
  KernelBuilder &kernel;
  reference::NestT &nest;
};

//===-- Nests that several meanings have --------------------------------===//

/// Every element of `buffer` is `value`.
void fill(KernelBuilder &kernel, uint32_t buffer, double value);

/// `to` is `from`, both dense and of as many elements, in the type of `to`.
void convert(KernelBuilder &kernel, uint32_t from, uint32_t to);

/// An array in memory, dense.
struct Array {
  uint32_t buffer;
  std::vector<int64_t> shape;

  std::vector<int64_t> strides() const { return stridesOf(shape); }
};

/// How a dimension is spread: `low` elements before it, `step` - 1 between its elements, `high` behind it.
struct Spread {
  int64_t low = 0, high = 0, step = 1;
};

/// `from` with elements of `value` between and around, in a buffer of its own; `from` itself where there are none.
Array spread(KernelBuilder &kernel, const Array &from, std::span<const Spread> dims, double value);

/// A loop over a and b with what they, and what they are added to, advance by.
struct Loop {
  int64_t extent, a, b, to;
};
/// A member of all loops, as strides and extents are given.
std::vector<int64_t> columnOf(std::span<const Loop> kept, std::span<const Loop> reduced, int64_t Loop::*member);

/// A buffer from an element on.
struct NestOperand {
  uint32_t buffer;
  int64_t offset = 0;
};

/// Each element of `to` is the sum over `reduced` of a * b, in its type. Elements that no loop reaches are 0.
void sumProducts(KernelBuilder &kernel, std::span<const Loop> kept, std::span<const Loop> reduced, NestOperand a,
                 NestOperand b, uint32_t to);
/// The same of a alone.
void sum(KernelBuilder &kernel, std::span<const Loop> kept, std::span<const Loop> reduced, NestOperand a, uint32_t to);

/// Where sums that become `result` are added up: there, or in f32 where that has 16 bits.
uint32_t sumsOf(KernelBuilder &kernel, uint32_t result);
/// `result` from its sums.
void storeSums(KernelBuilder &kernel, uint32_t sums, uint32_t result);

} // namespace dgc::verify
