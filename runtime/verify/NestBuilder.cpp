#include "runtime/verify/NestBuilder.h"

#include "runtime/artifact/Enums.h"
#include "runtime/device/reference/Scalar.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::verify;
using reference::Opcode;
using reference::Type;

std::vector<int64_t> dgc::verify::stridesOf(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim])
    strides[dim] = stride;
  return strides;
}

static int64_t sizeOf(std::span<const int64_t> shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  return size;
}

//===-- Kernels ---------------------------------------------------------===//

std::vector<int64_t> KernelBuilder::shapeOf(int64_t programBuffer) const {
  const auto *shape = described(programBuffer).shape();
  return shape ? std::vector<int64_t>(shape->begin(), shape->end()) : std::vector<int64_t>();
}

uint32_t KernelBuilder::add(Origin origin, uint32_t programBuffer, Type type, uint64_t count) {
  auto buffer = std::make_unique<reference::BufferT>();
  buffer->type = type;
  buffer->count = count;
  entries.push_back({origin, programBuffer, std::move(buffer)});
  return static_cast<uint32_t>(entries.size() - 1);
}

uint32_t KernelBuilder::given(Origin origin, int64_t programBuffer) {
  const auto index = static_cast<uint32_t>(programBuffer);
  for (uint32_t i = 0; i < entries.size(); ++i)
    if (entries[i].origin == origin && entries[i].programBuffer == index)
      return i;
  const Type type = reference::typeOf(rt::toDType(described(programBuffer).dtype()));
  return add(origin, index, type, static_cast<uint64_t>(sizeOf(shapeOf(programBuffer))));
}

uint32_t KernelBuilder::own(Type type, uint64_t count) { return add(Origin::Own, 0, type, count); }

uint32_t KernelBuilder::constant(Type type, std::span<const double> values) {
  const uint32_t number = own(type, values.size());
  std::vector<uint8_t> &data = entries[number].buffer->data;
  data.resize(values.size() * reference::sizeOf(type));
  for (size_t i = 0; i < values.size(); ++i)
    reference::storeElement(type, reinterpret_cast<std::byte *>(data.data()) + i * reference::sizeOf(type),
                            {.f = reference::rounded(type, values[i])});
  return number;
}

reference::NestT &KernelBuilder::addNest() {
  nests.push_back(std::make_unique<reference::NestT>());
  return *nests.back();
}

Meaning KernelBuilder::finish(std::string_view symbol) && {
  Meaning meaning;
  std::vector<uint32_t> numbers(entries.size());
  for (Origin origin : {Origin::Input, Origin::Result, Origin::Own})
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].origin != origin)
        continue;
      numbers[i] = static_cast<uint32_t>(meaning.kernel.buffers.size());
      meaning.kernel.buffers.push_back(std::move(entries[i].buffer));
      if (origin != Origin::Own)
        (origin == Origin::Input ? meaning.inputs : meaning.results).push_back(entries[i].programBuffer);
    }
  for (const std::unique_ptr<reference::NestT> &nest : nests) {
    for (const auto &load : nest->loads)
      load->buffer = numbers[load->buffer];
    for (const auto &output : nest->outputs)
      output->access->buffer = numbers[output->access->buffer];
  }
  meaning.kernel.symbol = symbol;
  meaning.kernel.inputs = static_cast<uint32_t>(meaning.inputs.size());
  meaning.kernel.results = static_cast<uint32_t>(meaning.results.size());
  meaning.kernel.nests = std::move(nests);
  return meaning;
}

//===-- Nests -----------------------------------------------------------===//

NestBuilder::NestBuilder(KernelBuilder &kernel, std::vector<int64_t> extents, size_t reducing)
    : kernel(kernel), nest(kernel.addNest()) {
  nest.reduces.resize(extents.size());
  std::fill(nest.reduces.end() - static_cast<ptrdiff_t>(reducing), nest.reduces.end(), true);
  nest.extents = std::move(extents);
}

uint32_t NestBuilder::emit(Opcode opcode, Type type, std::initializer_list<uint32_t> operands, uint64_t immediate) {
  auto at = [&](size_t i) { return i < operands.size() ? operands.begin()[i] : 0; };
  nest.body.emplace_back(static_cast<uint8_t>(opcode), type, at(0), at(1), at(2), immediate);
  return static_cast<uint32_t>(nest.body.size() - 1);
}

static std::unique_ptr<reference::AccessT> accessOf(uint32_t buffer, std::vector<int64_t> strides, int64_t offset) {
  auto access = std::make_unique<reference::AccessT>();
  access->buffer = buffer;
  access->strides = std::move(strides);
  access->offset = offset;
  return access;
}

uint32_t NestBuilder::load(uint32_t buffer, std::vector<int64_t> strides, int64_t offset) {
  nest.loads.push_back(accessOf(buffer, std::move(strides), offset));
  return emit(Opcode::Load, kernel.typeOf(buffer), {static_cast<uint32_t>(nest.loads.size() - 1)});
}

uint32_t NestBuilder::affine(int64_t constant, std::span<const int64_t> factors, size_t firstLoop) {
  uint32_t value = integer(constant);
  for (size_t i = 0; i < factors.size(); ++i) {
    const uint32_t term = emit(Opcode::MulI, {index(static_cast<uint32_t>(firstLoop + i)), integer(factors[i])});
    value = emit(Opcode::AddI, {value, term});
  }
  return value;
}

uint32_t NestBuilder::number(double value, Type type) {
  return emit(Opcode::Constant, type, {}, std::bit_cast<uint64_t>(reference::rounded(type, value)));
}

uint32_t NestBuilder::integer(int64_t value, Type type) {
  return emit(Opcode::Constant, type, {}, static_cast<uint64_t>(value));
}

uint32_t NestBuilder::converted(uint32_t value, Type type) {
  const Type from = typeOf(value);
  if (from == type)
    return value;
  if (reference::isFloat(type))
    return emit(Opcode::ConvertFloat, type, {value});
  return emit(reference::widthOf(type) < reference::widthOf(from) ? Opcode::Narrow : Opcode::ExtendU, type, {value});
}

void NestBuilder::output(uint32_t buffer, std::vector<int64_t> strides, uint32_t value, int64_t offset) {
  auto output = std::make_unique<reference::OutputT>();
  output->access = accessOf(buffer, std::move(strides), offset);
  output->value = value;
  nest.outputs.push_back(std::move(output));
}

//===-- Nests that several meanings have --------------------------------===//

void dgc::verify::fill(KernelBuilder &kernel, uint32_t buffer, double value) {
  NestBuilder nest(kernel, {kernel.countOf(buffer)});
  const Type type = kernel.typeOf(buffer);
  nest.output(buffer, {1},
              reference::isFloat(type) ? nest.number(value, type) : nest.integer(static_cast<int64_t>(value), type));
}

void dgc::verify::convert(KernelBuilder &kernel, uint32_t from, uint32_t to) {
  NestBuilder nest(kernel, {kernel.countOf(to)});
  nest.output(to, {1}, nest.converted(nest.load(from, {1}), kernel.typeOf(to)));
}

Array dgc::verify::spread(KernelBuilder &kernel, const Array &from, std::span<const Spread> dims, double value) {
  if (std::all_of(dims.begin(), dims.end(), [](const Spread &d) { return !d.low && !d.high && d.step == 1; }))
    return from;
  Array to{0, from.shape};
  for (size_t i = 0; i < dims.size(); ++i)
    to.shape[i] = dims[i].low + (from.shape[i] - 1) * dims[i].step + 1 + dims[i].high;
  to.buffer = kernel.own(kernel.typeOf(from.buffer), static_cast<uint64_t>(sizeOf(to.shape)));
  fill(kernel, to.buffer, value);
  std::vector<int64_t> strides = to.strides();
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    offset += dims[i].low * strides[i];
    strides[i] *= dims[i].step;
  }
  NestBuilder nest(kernel, from.shape);
  nest.output(to.buffer, std::move(strides), nest.load(from.buffer, from.strides()), offset);
  return to;
}

std::vector<int64_t> dgc::verify::columnOf(std::span<const Loop> kept, std::span<const Loop> reduced,
                                           int64_t Loop::*member) {
  std::vector<int64_t> column;
  for (std::span<const Loop> loops : {kept, reduced})
    for (const Loop &loop : loops)
      column.push_back(loop.*member);
  return column;
}

void dgc::verify::sumProducts(KernelBuilder &kernel, std::span<const Loop> kept, std::span<const Loop> reduced,
                              NestOperand a, NestOperand b, uint32_t to) {
  fill(kernel, to, 0);
  auto column = [&](int64_t Loop::*member) { return columnOf(kept, reduced, member); };
  const Type type = kernel.typeOf(to);
  NestBuilder nest(kernel, column(&Loop::extent), reduced.size());
  uint32_t x = nest.load(a.buffer, column(&Loop::a), a.offset), y = nest.load(b.buffer, column(&Loop::b), b.offset);
  x = nest.converted(x, type);
  y = nest.converted(y, type);
  const uint32_t product = nest.multiply(x, y);
  nest.output(to, column(&Loop::to), nest.add(nest.current(0, type), product));
}

void dgc::verify::sum(KernelBuilder &kernel, std::span<const Loop> kept, std::span<const Loop> reduced, NestOperand a,
                      uint32_t to) {
  fill(kernel, to, 0);
  auto column = [&](int64_t Loop::*member) { return columnOf(kept, reduced, member); };
  const Type type = kernel.typeOf(to);
  NestBuilder nest(kernel, column(&Loop::extent), reduced.size());
  const uint32_t x = nest.converted(nest.load(a.buffer, column(&Loop::a), a.offset), type);
  nest.output(to, column(&Loop::to), nest.add(nest.current(0, type), x));
}

uint32_t dgc::verify::sumsOf(KernelBuilder &kernel, uint32_t result) {
  const Type type = computeType(kernel.typeOf(result));
  return type == kernel.typeOf(result) ? result : kernel.own(type, static_cast<uint64_t>(kernel.countOf(result)));
}

void dgc::verify::storeSums(KernelBuilder &kernel, uint32_t sums, uint32_t result) {
  if (sums != result)
    convert(kernel, sums, result);
}
