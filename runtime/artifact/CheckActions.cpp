// Semantic checks of the actions of a program: that the buffers of each have
// the sizes and types that the device code relies on.
#include "runtime/artifact/ActionCheck.h"
#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Groups.h"

using namespace dgc::rt;
namespace a = dgc::artifact;

absl::Status ActionCheck::operand(std::string_view what, int64_t index) const {
  if (!buffer(index))
    return bad(str(what, " is buffer ", index, ", which does not exist"));
  return absl::OkStatus();
}

absl::Status ActionCheck::operand(std::string_view what, int64_t index, uint64_t elements, a::DType dtype) const {
  DGC_RETURN_IF_ERROR(operand(what, index));
  const a::Buffer &b = *buffer(index);
  if (b.dtype() != dtype || count(b) != elements)
    return bad(str(what, " must have ", elements, " elements of ", a::EnumNameDType(dtype), ", buffer ", index, " has ",
                   count(b), " of ", a::EnumNameDType(b.dtype())));
  return absl::OkStatus();
}

absl::Status ActionCheck::apart(std::string_view what, int64_t written, int64_t read) const {
  if (overlap(*buffer(written), *buffer(read)))
    return bad(str("the result overlaps ", what, " in memory"));
  return absl::OkStatus();
}

absl::Status ActionCheck::check(const a::KernelCall &call) const {
  if (call.kernel() >= sizeOf(context.plan.kernels()))
    return bad(str("kernel ", call.kernel(), " does not exist"));
  const a::Kernel &kernel = *context.plan.kernels()->Get(call.kernel());
  bool onHost = isOnHost(context.plan, context.program.group());
  if (kernel.on_host() != onHost)
    return bad(str("kernel '", kernel.symbol()->c_str(), "' is for workers ", onHost ? "with GPUs" : "on the host",
                   ", and these are not"));
  if (sizeOf(call.args()) != kernel.arg_count())
    return bad(str("kernel '", kernel.symbol()->c_str(), "' takes ", kernel.arg_count(), " arguments, ",
                   sizeOf(call.args()), " given"));
  return checkResults(context.program, kernel, call, sizeOf(kernel.inplace()));
}

absl::Status dgc::rt::checkResults(const a::Program &program, const a::Kernel &kernel, const a::KernelCall &call,
                                   uint32_t results) {
  const uint32_t number = sizeOf(call.args()), inputs = number - results;
  for (uint32_t j = inputs; j < number; ++j) {
    const a::Buffer &result = *program.buffers()->Get(call.args()->Get(j));
    const int64_t operand = kernel.inplace() ? kernel.inplace()->Get(j - inputs) : -1;
    for (uint32_t i = 0; i < j; ++i) {
      const a::Buffer &other = *program.buffers()->Get(call.args()->Get(i));
      const bool isInPlace =
          i == operand && other.offset() == result.offset() && ActionCheck::bytes(other) == ActionCheck::bytes(result);
      if (!isInPlace && ActionCheck::overlap(result, other))
        return bad(str("result ", j - inputs, " overlaps argument ", i, " of the kernel in memory"));
    }
  }
  return absl::OkStatus();
}

static absl::Status checkPeer(const ProgramContext &context, int32_t group, uint32_t peer, uint32_t channel) {
  const a::Plan &plan = context.plan;
  if (group < -1 || group >= static_cast<int64_t>(sizeOf(plan.groups())))
    return bad(str("there is no group ", group));
  if (group >= 0 && group == context.program.group())
    return bad(str("group ", group, " is not another one"));
  if (group < 0 && peer >= plan.world_size())
    return bad(str("peer ", peer, " is not below the world size ", plan.world_size()));
  if (channel >= 256)
    return bad(str("channel ", channel, " is not below 256"));
  return absl::OkStatus();
}

/// A transfer in parts goes from a group of several workers to one of one, or the other way round. The one has the parts.
static absl::Status checkGathered(const ProgramContext &context, int32_t from, int32_t to, const TransferEnd &end,
                                  const a::Buffer &buffer) {
  auto ranks = [&](int32_t group) {
    return group < 0 ? 0 : context.plan.groups()->Get(static_cast<uint32_t>(group))->rank_count();
  };
  if (std::min(ranks(from), ranks(to)) != 1 || std::max(ranks(from), ranks(to)) < 2)
    return bad(str("a gathered transfer goes from several workers to one, or from one to several, and this one from ",
                   ranks(from), " to ", ranks(to)));
  const auto *shape = buffer.shape();
  if (const uint32_t parts = partsOf(context.plan, end); sizeOf(shape) == 0 || shape->Get(0) % parts != 0)
    return bad(str("the buffer has no equal parts along dimension 0 for the ", parts, " workers at the other end"));
  return absl::OkStatus();
}

absl::Status ActionCheck::check(const a::Send &op) const {
  if (buffer(op.buffer())->space() != a::Space::Shared)
    return bad("a buffer that is sent must be in shared memory");
  DGC_RETURN_IF_ERROR(checkPeer(context, op.group(), op.peer(), op.channel()));
  return op.gathered() ? checkGathered(context, context.program.group(), op.group(), op, *buffer(op.buffer()))
                       : absl::OkStatus();
}

absl::Status ActionCheck::check(const a::Receive &op) const {
  DGC_RETURN_IF_ERROR(checkPeer(context, op.group(), op.peer(), op.channel()));
  return op.gathered() ? checkGathered(context, op.group(), context.program.group(), op, *buffer(op.buffer()))
                       : absl::OkStatus();
}

absl::Status ActionCheck::check(const a::Copy &op) const {
  const a::Buffer &src = *buffer(op.src()), &dst = *buffer(op.dst());
  if (bytes(src) != bytes(dst))
    return bad(str("src has ", bytes(src), " bytes, dst ", bytes(dst)));
  if (src.space() == dst.space() && src.offset() == dst.offset())
    return absl::OkStatus();
  return apart("src", op.dst(), op.src());
}

absl::Status ActionCheck::check(const a::Fill &) const { return absl::OkStatus(); }

absl::Status ActionCheck::check(const a::ScatterAdd &op) const {
  a::DType dtype = buffer(op.dst())->dtype();
  if (dtype != a::DType::F32 && dtype != a::DType::F64)
    return bad("slices of f32 or f64 are added only");
  uint64_t whole, all;
  if (!product({op.outer(), op.size(), op.inner()}, whole) || !product({op.outer(), op.count(), op.inner()}, all))
    return bad("the sizes overflow");
  if (whole == 0 || all == 0)
    return bad("all sizes must be at least 1");
  DGC_RETURN_IF_ERROR(operand("dst", op.dst(), whole, dtype));
  DGC_RETURN_IF_ERROR(operand("updates", op.updates(), all, dtype));
  a::DType index = buffer(op.indices())->dtype();
  if (!isInteger(toDType(index)))
    return bad("indices must be integers");
  DGC_RETURN_IF_ERROR(operand("indices", op.indices(), op.count(), index));
  DGC_RETURN_IF_ERROR(apart("updates", op.dst(), op.updates()));
  DGC_RETURN_IF_ERROR(apart("indices", op.dst(), op.indices()));
  if (op.offset() == -1)
    return absl::OkStatus();
  DGC_RETURN_IF_ERROR(operand("offset", op.offset(), 1, a::DType::I64));
  return apart("offset", op.dst(), op.offset());
}

absl::Status ActionCheck::check(const a::UpdateSlice &op) const {
  const a::Buffer &src = *buffer(op.src()), &dst = *buffer(op.dst());
  uint64_t whole, part;
  if (!product({op.outer(), op.size(), op.inner()}, whole) || !product({op.outer(), op.extent(), op.inner()}, part))
    return bad("the sizes overflow");
  if (whole == 0 || part == 0)
    return bad("all sizes must be at least 1");
  if (op.extent() > op.size())
    return bad(str("the slice has extent ", op.extent(), ", its dimension has only ", op.size()));
  DGC_RETURN_IF_ERROR(operand("dst", op.dst(), whole, dst.dtype()));
  DGC_RETURN_IF_ERROR(operand("src", op.src(), whole, dst.dtype()));
  DGC_RETURN_IF_ERROR(operand("update", op.update(), part, dst.dtype()));
  a::DType start = buffer(op.start())->dtype();
  if (!isInteger(toDType(start)))
    return bad("start must be an integer");
  DGC_RETURN_IF_ERROR(operand("start", op.start(), 1, start));
  DGC_RETURN_IF_ERROR(apart("update", op.dst(), op.update()));
  DGC_RETURN_IF_ERROR(apart("start", op.dst(), op.start()));
  if (src.space() == dst.space() && src.offset() == dst.offset())
    return absl::OkStatus();
  return apart("src", op.dst(), op.src());
}

namespace {
/// The operands of any action exist, and none that is written is in constant memory.
class OperandsCheck : public ActionSink<OperandsCheck> {
public:
  explicit OperandsCheck(const a::Program &program) : program(program) {}

  void operand(std::string_view name, Role role, int64_t index) {
    if (index == -1 || !status.ok())
      return;
    if (index < 0 || index >= program.buffers()->size())
      status = bad(str(name, " is buffer ", index, ", which does not exist"));
    else if (role != Role::Unknown && mayWrite(role) &&
             program.buffers()->Get(static_cast<uint32_t>(index))->space() == a::Space::Constant)
      status = bad(str(name, " is in constant memory but is written"));
  }
  void operands(std::string_view, Role role, const flatbuffers::Vector<uint32_t> *buffers) {
    ActionSink::operands("an argument", role, buffers);
  }

  absl::Status status;

private:
  const a::Program &program;
};
} // namespace

absl::Status dgc::rt::checkAction(const ProgramContext &context, const a::Step &step) {
  if (!isKnown(step.action_type()))
    return bad("unknown kind of action");
  return visit(step, [&](const auto &action) {
    OperandsCheck operands(context.program);
    describe(action, operands);
    absl::Status status = operands.status;
    if (status.ok())
      status = ActionCheck(context).check(action);
    return annotate(status, nameOf(step.action_type()));
  });
}
