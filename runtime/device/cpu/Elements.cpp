// The post-ops in plain code, and oneDNN's small change.
#include "runtime/artifact/Spelling.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/device/cpu/Ops.h"

#include <cerrno>
#include <cmath>

using namespace dgc;
using namespace dgc::rt;

//===-- Post-ops in plain code ------------------------------------------===//

absl::Status dgc::rt::checkPostOps(const PostOpVector *list) {
  for (uint32_t i = 0; list && i < list->size(); ++i) {
    const artifact::PostOpKind kind = list->Get(i)->kind();
    if (kind == artifact::PostOpKind::ReluGrad || kind == artifact::PostOpKind::GeluTanhGrad)
      return absl::UnimplementedError(str("CPUs have no post-op ", spelled(kind)));
  }
  return absl::OkStatus();
}

PlainPostOps::PlainPostOps(const OpContext &context, const PostOpVector *list, int64_t channels) : channels(channels) {
  for (uint32_t i = 0; list && i < list->size(); ++i) {
    const artifact::PostOp &op = *list->Get(i);
    Op plain{op.kind(), {}, false};
    accumulate |= op.kind() == artifact::PostOpKind::Accumulate;
    if (op.kind() == artifact::PostOpKind::Add || op.kind() == artifact::PostOpKind::Multiply) {
      plain.arg = context.buffers[static_cast<size_t>(op.arg())];
      plain.perChannel = plain.arg.numElements() == channels;
    }
    ops.push_back(std::move(plain));
  }
}

double PlainPostOps::apply(double value, double before, int64_t index) const {
  using artifact::PostOpKind;
  for (const Op &op : ops) {
    int64_t at = op.perChannel ? index % channels : index;
    switch (op.kind) {
    case PostOpKind::Add:
      value += loadElement(op.arg, at);
      break;
    case PostOpKind::Multiply:
      value *= loadElement(op.arg, at);
      break;
#define DGC_POST_FUNCTION(Kind, Algorithm, function)                                                                   \
  case PostOpKind::Kind: {                                                                                             \
    const double x = value;                                                                                            \
    value = function;                                                                                                  \
    break;                                                                                                             \
  }
#include "runtime/device/cpu/PostFunctions.def"
#undef DGC_POST_FUNCTION
    case PostOpKind::Accumulate:
      value += before;
      break;
    case PostOpKind::ReluGrad:
    case PostOpKind::GeluTanhGrad:
      break; // checkPostOps
    }
  }
  return value;
}

//===-- oneDNN ----------------------------------------------------------===//

std::optional<dnnl::memory::data_type> dgc::rt::dnnlType(DType type) {
  switch (type) {
  case DType::F32:
    return dnnl::memory::data_type::f32;
  case DType::BF16:
    return dnnl::memory::data_type::bf16;
  case DType::I1:
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64:
  case DType::U8:
  case DType::U16:
  case DType::U32:
  case DType::U64:
  case DType::F16:
  case DType::F64:
    break;
  }
  return std::nullopt;
}

namespace {
struct ScratchLimit {
  size_t bytes;
};
} // namespace

void dgc::rt::reserveScratch(const OpContext &context, size_t bytes) {
  if (bytes <= context.scratch.limit())
    return context.scratch.reserve(bytes);
  if (context.takesOthers)
    throw dnnl::error(dnnl_unimplemented, "needs more scratch memory than the plan has");
  throw ScratchLimit{bytes};
}

absl::Status dgc::rt::guarded(const char *what, const std::function<void()> &f) {
  try {
    f();
    return absl::OkStatus();
  } catch (const dnnl::error &e) {
    if (e.status == dnnl_unimplemented)
      return absl::UnimplementedError(str(what, ": ", e.what()));
    if (e.status == dnnl_out_of_memory)
      return withExitCode(errnoStatus(ENOMEM, what), ExitCode::Machine);
    return absl::InternalError(str(what, ": ", e.what()));
  } catch (const ScratchLimit &need) {
    return absl::OutOfRangeError(str(what, ": needs ", need.bytes, " bytes of scratch memory"));
  } catch (const std::bad_alloc &) {
    return withExitCode(errnoStatus(ENOMEM, what), ExitCode::Machine);
  }
}

BoundPrimitive::BoundPrimitive(OpContext context, dnnl::primitive p, const dnnl::memory::desc &scratchpad)
    : stream(&context.library.stream), scratch(&context.scratch), primitive(std::move(p)) {
  reserveScratch(context, scratchpad.get_size());
  if (scratchpad.get_size())
    bindScratch(DNNL_ARG_SCRATCHPAD, scratchpad, 0);
}

void BoundPrimitive::bind(int argument, const dnnl::memory::desc &desc, void *data) {
  memories.emplace_back(desc, stream->get_engine(), data);
  arguments.push_back({argument, memories.back().get()});
}

void BoundPrimitive::bindScratch(int argument, const dnnl::memory::desc &desc, size_t offset) {
  bind(argument, desc, DNNL_MEMORY_NONE);
  unresolved.push_back({memories.back(), offset});
}

absl::Status BoundPrimitive::run() {
  // The scratch block has its address from finish() on.
  for (ScratchArgument &argument : unresolved)
    dnnl_memory_set_data_handle(argument.memory.get(), scratch->data() + argument.offset);
  if (!unresolved.empty())
    unresolved.clear();
  dnnl_status_t status =
      dnnl_primitive_execute(primitive.get(), stream->get(), static_cast<int>(arguments.size()), arguments.data());
  if (status != dnnl_success)
    return absl::InternalError(str("oneDNN failed with status ", static_cast<int>(status)));
  return absl::OkStatus();
}

PostOps dgc::rt::makePostOps(const OpContext &context, const PostOpVector *list, const dnnl::memory::desc &result,
                             int channelAxis, int64_t channels, ResultPart part) {
  using artifact::PostOpKind;
  PostOps chain;
  for (uint32_t i = 0; list && i < list->size(); ++i) {
    const artifact::PostOp &op = *list->Get(i);
    switch (op.kind()) {
#define DGC_POST_FUNCTION(Kind, Algorithm, function)                                                                   \
  case PostOpKind::Kind:                                                                                               \
    chain.ops.append_eltwise(1.0f, dnnl::algorithm::Algorithm, 0, 0);                                                  \
    break;
#include "runtime/device/cpu/PostFunctions.def"
#undef DGC_POST_FUNCTION
    case PostOpKind::Accumulate:
      chain.ops.append_sum(1.0f);
      break;
    case PostOpKind::Add:
    case PostOpKind::Multiply: {
      const Operand &arg = context.buffers[static_cast<size_t>(op.arg())];
      dnnl::memory::desc desc = result;
      int64_t first = part.element;
      if (arg.numElements() == channels) {
        dnnl::memory::dims dims(result.dims().size(), 1), strides(dims);
        dims[static_cast<size_t>(channelAxis)] = result.dims()[static_cast<size_t>(channelAxis)];
        for (int d = 0; d < channelAxis; ++d)
          strides[static_cast<size_t>(d)] = channels;
        desc = dnnl::memory::desc(dims, result.data_type(), strides);
        first = part.channel;
      }
      std::byte *data = static_cast<std::byte *>(arg.data) + static_cast<size_t>(first) * sizeOf(arg.dtype);
      chain.arguments.push_back({chain.ops.len(), desc, data});
      chain.ops.append_binary(op.kind() == PostOpKind::Add ? dnnl::algorithm::binary_add : dnnl::algorithm::binary_mul,
                              desc);
      break;
    }
    case PostOpKind::ReluGrad:
    case PostOpKind::GeluTanhGrad:
      break; // checkPostOps
    }
  }
  return chain;
}

void dgc::rt::bindPostOps(BoundPrimitive &primitive, const PostOps &postOps) {
  for (const PostOps::Argument &argument : postOps.arguments)
    primitive.bind(DNNL_ARG_ATTR_MULTIPLE_POST_OP(argument.position) | DNNL_ARG_SRC_1, argument.desc, argument.data);
}
