// Which buffers have tangents, and the nests that compute them.
#include "runtime/verify/Tangent.h"

#include "runtime/base/Status.h"
#include "runtime/verify/TangentOps.h"

#include <algorithm>
#include <limits>

using namespace dgc;
using namespace dgc::verify;
using reference::AccessT;
using reference::Instruction;
using reference::KernelT;
using reference::NestT;
using reference::Opcode;
using reference::Type;

static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

static Opcode opcodeOf(const Instruction &op) { return static_cast<Opcode>(op.opcode()); }

/// The floating-point buffers that a nest reads.
static std::vector<uint32_t> buffersRead(const KernelT &kernel, const NestT &nest) {
  std::vector<uint32_t> result;
  auto add = [&](uint32_t buffer) {
    if (reference::isFloat(kernel.buffers[buffer]->type))
      result.push_back(buffer);
  };
  for (const auto &load : nest.loads)
    add(load->buffer);
  for (const Instruction &op : nest.body)
    if (opcodeOf(op) == Opcode::LoadAt)
      add(op.a());
  return result;
}

//===-- Activity --------------------------------------------------------===//

/// The buffers that a result depends on. A buffer is taken as a whole, and a nest as one function.
static std::vector<bool> neededBuffers(const KernelT &kernel, const Tangents &tangents) {
  std::vector<bool> needed(kernel.buffers.size());
  for (uint32_t result : tangents.results)
    needed[kernel.inputs + result] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = kernel.nests.size(); i-- > 0;) {
      const NestT &nest = *kernel.nests[i];
      if (std::none_of(nest.outputs.begin(), nest.outputs.end(),
                       [&](const auto &output) { return needed[output->access->buffer]; }))
        continue;
      for (uint32_t buffer : buffersRead(kernel, nest)) {
        changed |= !needed[buffer];
        needed[buffer] = true;
      }
    }
  }
  return needed;
}

/// Whether a derivative passes through an instruction.
static bool passes(Opcode opcode) {
  return opcode != Opcode::Floor && opcode != Opcode::Ceil && opcode != Opcode::Round && opcode != Opcode::RoundEven;
}

/// Whether each output of a nest depends on a buffer of `active`.
static std::vector<bool> activeOutputs(const NestT &nest, const std::vector<bool> &active) {
  std::vector<bool> values(nest.body.size()), outputs(nest.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = active[nest.outputs[i]->access->buffer];
  for (size_t i = 0; i < values.size(); ++i) {
    const Instruction &op = nest.body[i];
    const Opcode opcode = opcodeOf(op);
    const std::string_view signature = reference::opcodeTable[op.opcode()].signature;
    if (!reference::isFloat(op.type()) || !passes(opcode))
      continue;
    const size_t operands = signature.find('-');
    if (opcode == Opcode::Load)
      values[i] = active[nest.loads[op.a()]->buffer];
    else if (opcode == Opcode::LoadAt)
      values[i] = active[op.a()];
    else if (opcode == Opcode::Current)
      values[i] = outputs[op.a()];
    else
      values[i] =
          (operands > 0 && values[op.a()]) || (operands > 1 && values[op.b()]) || (operands > 2 && values[op.c()]);
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = outputs[i] || values[nest.outputs[i]->value];
  return outputs;
}

/// The buffers that get tangents: those that depend on the inputs and that the results depend on.
static std::vector<bool> activeBuffers(const KernelT &kernel, const Tangents &tangents) {
  const std::vector<bool> needed = neededBuffers(kernel, tangents);
  std::vector<bool> active(kernel.buffers.size());
  for (uint32_t input : tangents.inputs)
    active[input] = needed[input];
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto &nest : kernel.nests) {
      const std::vector<bool> outputs = activeOutputs(*nest, active);
      for (size_t i = 0; i < outputs.size(); ++i) {
        const uint32_t buffer = nest->outputs[i]->access->buffer;
        if (outputs[i] && needed[buffer] && !active[buffer])
          active[buffer] = changed = true;
      }
    }
  }
  return active;
}

//===-- Sums of products ------------------------------------------------===//

namespace {
/// One output is a sum of elements, or of products of two: the form that the interpreter has a fast path for. Operands are
/// loads.
struct SumForm {
  const Instruction *a = nullptr, *b = nullptr; // null: another form; no second factor
};
} // namespace

static const Instruction *withoutConversions(const NestT &nest, uint32_t value) {
  const Instruction *op = &nest.body[value];
  while (opcodeOf(*op) == Opcode::ConvertFloat)
    op = &nest.body[op->a()];
  return op;
}

static SumForm sumFormOf(const NestT &nest) {
  if (nest.outputs.size() != 1)
    return {};
  const Instruction &sum = nest.body[nest.outputs[0]->value];
  if (opcodeOf(sum) != Opcode::AddF)
    return {};
  const Instruction *current = &nest.body[sum.a()], *term = withoutConversions(nest, sum.b());
  if (opcodeOf(*current) != Opcode::Current) {
    current = &nest.body[sum.b()];
    term = withoutConversions(nest, sum.a());
  }
  if (opcodeOf(*current) != Opcode::Current)
    return {};
  if (opcodeOf(*term) == Opcode::Load)
    return {term, nullptr};
  if (opcodeOf(*term) != Opcode::MulF)
    return {};
  const Instruction *a = withoutConversions(nest, term->a()), *b = withoutConversions(nest, term->b());
  return opcodeOf(*a) == Opcode::Load && opcodeOf(*b) == Opcode::Load ? SumForm{a, b} : SumForm{};
}

static std::unique_ptr<AccessT> copied(const AccessT &access, uint32_t buffer) {
  auto result = std::make_unique<AccessT>(access);
  result->buffer = buffer;
  return result;
}

/// A nest over the loops of `nest` that adds to the buffer `to` the elements of `a`, or products of `a` and `b`.
static std::unique_ptr<NestT> sumNest(const NestT &nest, std::unique_ptr<AccessT> a, std::unique_ptr<AccessT> b,
                                      const SumForm &form, uint32_t to) {
  auto result = std::make_unique<NestT>();
  result->extents = nest.extents;
  result->reduces = nest.reduces;
  const Type type = nest.body[nest.outputs[0]->value].type();
  auto emit = [&](Opcode opcode, Type of, uint32_t x = 0, uint32_t y = 0) {
    result->body.emplace_back(static_cast<uint8_t>(opcode), of, x, y, 0, 0);
    return static_cast<uint32_t>(result->body.size() - 1);
  };
  auto load = [&](std::unique_ptr<AccessT> access, const Instruction &op) {
    result->loads.push_back(std::move(access));
    const uint32_t value = emit(Opcode::Load, op.type(), static_cast<uint32_t>(result->loads.size() - 1));
    return op.type() == type ? value : emit(Opcode::ConvertFloat, type, value);
  };
  uint32_t term = load(std::move(a), *form.a);
  if (b) {
    const uint32_t factor = load(std::move(b), *form.b);
    term = emit(Opcode::MulF, type, term, factor);
  }
  auto output = std::make_unique<reference::OutputT>();
  output->access = copied(*nest.outputs[0]->access, to);
  const uint32_t current = emit(Opcode::Current, type, 0);
  output->value = emit(Opcode::AddF, type, current, term);
  result->outputs.push_back(std::move(output));
  return result;
}

//===-- The kernel ------------------------------------------------------===//

namespace {
class Differentiated {
public:
  Differentiated(const KernelT &kernel, const Tangents &tangents);
  absl::StatusOr<KernelT> run();

private:
  void number();
  uint32_t add(const reference::BufferT &like);
  std::optional<uint32_t> tangentOf(uint32_t buffer) const {
    return tangentNumbers[buffer] == kNone ? std::nullopt : std::optional(tangentNumbers[buffer]);
  }
  absl::Status addNest(const NestT &nest);
  void addSums(const NestT &nest, const SumForm &form);
  uint32_t finalNumber(uint32_t buffer) const;
  void renumber(NestT &nest) const;

  const KernelT &kernel;
  const Tangents &tangents;
  std::vector<bool> active;
  std::vector<uint32_t> numbers, tangentNumbers; // in the result, of the buffers of `kernel`
  KernelT result;
};
} // namespace

Differentiated::Differentiated(const KernelT &kernel, const Tangents &tangents)
    : kernel(kernel), tangents(tangents), active(activeBuffers(kernel, tangents)),
      numbers(kernel.buffers.size(), kNone), tangentNumbers(kernel.buffers.size(), kNone) {}

uint32_t Differentiated::add(const reference::BufferT &like) {
  result.buffers.push_back(std::make_unique<reference::BufferT>(like));
  return static_cast<uint32_t>(result.buffers.size() - 1);
}

/// The order of a kernel: inputs, results, others, each with the tangents behind.
void Differentiated::number() {
  auto give = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      numbers[i] = add(*kernel.buffers[i]);
  };
  const size_t own = kernel.inputs + kernel.results;
  give(0, kernel.inputs);
  for (uint32_t input : tangents.inputs)
    tangentNumbers[input] = add(*kernel.buffers[input]);
  give(kernel.inputs, own);
  for (uint32_t of : tangents.results)
    tangentNumbers[kernel.inputs + of] = add(*kernel.buffers[kernel.inputs + of]);
  give(own, kernel.buffers.size());
  for (size_t i = own; i < kernel.buffers.size(); ++i)
    if (active[i])
      tangentNumbers[i] = add(*kernel.buffers[i]);
  result.symbol = kernel.symbol;
  result.inputs = static_cast<uint32_t>(kernel.inputs + tangents.inputs.size());
  result.results = static_cast<uint32_t>(kernel.results + tangents.results.size());
}

/// While a body is built, the tangents of a buffer have its number plus that of buffers of the kernel.
uint32_t Differentiated::finalNumber(uint32_t buffer) const {
  return buffer < numbers.size() ? numbers[buffer] : tangentNumbers[buffer - numbers.size()];
}

void Differentiated::renumber(NestT &nest) const {
  for (const auto &load : nest.loads)
    load->buffer = finalNumber(load->buffer);
  for (const auto &output : nest.outputs)
    output->access->buffer = finalNumber(output->access->buffer);
  for (Instruction &op : nest.body)
    if (opcodeOf(op) == Opcode::LoadAt)
      op.mutate_a(finalNumber(op.a()));
}

/// A nest for each operand with tangents.
void Differentiated::addSums(const NestT &nest, const SumForm &form) {
  const uint32_t to = tangentNumbers[nest.outputs[0]->access->buffer];
  const AccessT &a = *nest.loads[form.a->a()];
  if (!form.b) {
    if (auto tangent = tangentOf(a.buffer))
      result.nests.push_back(sumNest(nest, copied(a, *tangent), nullptr, form, to));
    return;
  }
  const AccessT &b = *nest.loads[form.b->a()];
  if (auto tangent = tangentOf(a.buffer))
    result.nests.push_back(sumNest(nest, copied(a, *tangent), copied(b, numbers[b.buffer]), form, to));
  if (auto tangent = tangentOf(b.buffer))
    result.nests.push_back(sumNest(nest, copied(a, numbers[a.buffer]), copied(b, *tangent), form, to));
}

absl::Status Differentiated::addNest(const NestT &nest) {
  auto values = std::make_unique<NestT>(nest);
  const bool hasTangents = std::any_of(nest.outputs.begin(), nest.outputs.end(), [&](const auto &output) {
    return tangentOf(output->access->buffer).has_value();
  });
  const SumForm form = sumFormOf(nest);
  const bool isSum = form.a != nullptr;
  if (hasTangents && !isSum) {
    TangentBody body(*values, [&](uint32_t buffer) {
      return tangentOf(buffer) ? std::optional(static_cast<uint32_t>(numbers.size()) + buffer) : std::nullopt;
    });
    DGC_RETURN_IF_ERROR(body.run());
  }
  renumber(*values);
  result.nests.push_back(std::move(values));
  if (hasTangents && isSum)
    addSums(nest, form);
  return absl::OkStatus();
}

absl::StatusOr<KernelT> Differentiated::run() {
  number();
  for (size_t i = 0; i < kernel.nests.size(); ++i)
    if (absl::Status status = addNest(*kernel.nests[i]); !status.ok())
      return rt::annotate(status, rt::str("nest ", i));
  return std::move(result);
}

absl::StatusOr<KernelT> dgc::verify::withTangents(const KernelT &kernel, const Tangents &tangents) {
  return Differentiated(kernel, tangents).run();
}
