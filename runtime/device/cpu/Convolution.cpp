// Convolution by oneDNN. Activations are channels last at the interface; what oneDNN prefers in another layout is
// reordered before and after, once per call.
#include "runtime/device/cpu/Convolution.h"
#include "runtime/base/Status.h"
#include "runtime/device/cpu/PlainConvolution.h"

#include <algorithm>
#include <string_view>
#include <vector>

using namespace dgc;
using namespace dgc::rt;

/// [N, spatial.., C] as the [N, C, spatial..] of oneDNN, channels last.
static dnnl::memory::desc activations(const Operand &operand, dnnl::memory::data_type type) {
  dnnl::memory::dims dims{operand.shape.front(), operand.shape.back()};
  size_t rank = operand.shape.size();
  dims.insert(dims.end(), operand.shape.begin() + 1, operand.shape.end() - 1);
  dnnl::memory::dims stride(rank);
  stride[1] = 1;
  int64_t step = dims[1];
  for (size_t d = rank - 1; d >= 2; --d) {
    stride[d] = step;
    step *= dims[d];
  }
  stride[0] = step;
  return {dims, type, stride};
}

/// [spatial.., C / groups, O] as [groups, O / groups, C / groups, spatial..].
static dnnl::memory::desc filter(const Operand &operand, int64_t groups, dnnl::memory::data_type type) {
  size_t rank = operand.shape.size(), spatial = rank - 2;
  int64_t in = operand.shape[rank - 2], out = operand.shape[rank - 1];
  dnnl::memory::dims dims{out / groups, in}, stride{1, out};
  dims.insert(dims.end(), operand.shape.begin(), operand.shape.end() - 2);
  stride.resize(rank);
  int64_t step = in * out;
  for (size_t d = spatial; d-- > 0;) {
    stride[d + 2] = step;
    step *= operand.shape[d];
  }
  if (groups > 1) {
    dims.insert(dims.begin(), groups);
    stride.insert(stride.begin(), out / groups);
  }
  return {dims, type, stride};
}

ConvolutionShape::ConvolutionShape(const OpContext &context, const artifact::Convolution &op,
                                   dnnl::memory::data_type type)
    : type(type), groups(op.groups()), src(activations(context.buffers[op.src()], type)),
      dst(activations(context.buffers[op.dst()], type)), weights(filter(context.buffers[op.weights()], groups, type)) {
  if (op.bias() >= 0)
    bias = dnnl::memory::desc({context.buffers[op.dst()].shape.back()}, type, dnnl::memory::dims{1});
  for (uint32_t d = 0; d < op.strides()->size(); ++d) {
    strides.push_back(op.strides()->Get(d));
    low.push_back(op.pad_low()->Get(d));
    high.push_back(op.pad_high()->Get(d));
    dilation.push_back(op.dilation()->Get(d) - 1);
  }
}

ConvolutionShape::InputRows ConvolutionShape::inputRows(int64_t row, int64_t rows) const {
  const int64_t window = weights.dims()[groups > 1 ? 3 : 2], reach = (window - 1) * (dilation[0] + 1) + 1;
  const int64_t begin = row * strides[0] - low[0], end = (row + rows - 1) * strides[0] - low[0] + reach;
  const int64_t extent = src.dims()[2];
  InputRows result{std::clamp<int64_t>(begin, 0, extent), std::clamp<int64_t>(end, 0, extent), 0, 0};
  result.low = result.begin - begin;
  result.high = end - result.end;
  return result;
}

/// Bytes of the weights of one result up to which brgconv adds up in one order: 3x3x64 in f32. The least with which the
/// order was seen to change, with up to 64 threads, is four times as much.
static constexpr size_t bytesOfOneOrder = 2304;

/// Whether brgconv of oneDNN adds up in an order that does not depend on the number of threads. The blocks of results
/// depend on it. From their size follows that of the blocks of channels where the weights are large. Where columns of
/// windows are padding, a block takes the columns that are not in an order of its own, but for small windows.
static bool hasOneOrder(const ConvolutionShape &shape) {
  const auto outputs = static_cast<size_t>(shape.dst.dims()[1]);
  const int64_t window = shape.weights.dims().back(), low = shape.low.back(), high = shape.high.back();
  const bool isSmall = window == 3 && shape.dilation.back() == 0 && low <= 1 && high <= 1;
  return shape.weights.get_size() / outputs <= bytesOfOneOrder && (isSmall || (low <= 0 && high <= 0));
}

namespace {
/// Which operands oneDNN may lay out as it likes.
struct Layouts {
  bool anySrc = false, anyWeights = false, anyDst = false;
};

/// Primitives in order: reorders, the convolution, reorders.
class PrimitiveSequence final : public PreparedOp {
public:
  void add(BoundPrimitive primitive) { primitives.push_back(std::move(primitive)); }
  absl::Status run(const dgc_step &) override {
    for (BoundPrimitive &primitive : primitives)
      DGC_RETURN_IF_ERROR(primitive.run());
    return absl::OkStatus();
  }

private:
  std::vector<BoundPrimitive> primitives;
};

class ConvolutionMaker {
public:
  ConvolutionMaker(const OpContext &context, const ConvolutionCall &call, bool takesReference)
      : context(context), call(call), shape(call.shape), sequence(std::make_unique<PrimitiveSequence>()),
        used(call.scratchBegin), takesReference(takesReference) {
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  }

  /// Whether make() has refused what is faster in parts, on one thread each, than in other layouts.
  bool isFasterInParts() const { return fasterInParts; }

  PreparedConvolution make(artifact::ConvKind kind, Layouts layouts) {
    auto choice = [](const dnnl::memory::desc &plain, bool any) {
      return any ? dnnl::memory::desc(plain.dims(), plain.data_type(), dnnl::memory::format_tag::any) : plain;
    };
    dnnl::memory::desc s = choice(shape.src, layouts.anySrc);
    dnnl::memory::desc w = choice(shape.weights, layouts.anyWeights && !call.packedWeights);
    dnnl::memory::desc d = choice(shape.dst, layouts.anyDst);
    switch (kind) {
    case artifact::ConvKind::Forward:
      forward(s, w, d);
      break;
    case artifact::ConvKind::BackwardData:
      backwardData(s, w, d);
      break;
    case artifact::ConvKind::BackwardWeights:
      backwardWeights(s, w, d);
      break;
    }
    return {std::move(sequence), used, weightsLayout};
  }

private:
  dnnl::convolution_forward::primitive_desc forwardDesc(const dnnl::memory::desc &s, const dnnl::memory::desc &w,
                                                        const dnnl::memory::desc &d, const dnnl::memory::desc &b,
                                                        const dnnl::primitive_attr &attributes) const {
    return {dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, s,
                                            w, b, d, shape.strides, shape.dilation, shape.low, shape.high),
            attributes, context.library.engine};
  }

  /// Products by GEMM split sums among threads as it suits them.
  template <typename PrimitiveDesc> void refuseSplitSums(const PrimitiveDesc &pd) {
    const std::string_view name = pd.impl_info_str();
    auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
    if ((!takesReference || call.packedWeights) && name.starts_with("ref"))
      throw dnnl::error(dnnl_unimplemented, "a slow implementation, which other layouts may avoid");
    if (call.isOnOneThread)
      return;
    fasterInParts = has("brgconv") && !has("brgconv_1x1") && !hasOneOrder(shape);
    if (fasterInParts || has("gemm"))
      throw dnnl::error(dnnl_unimplemented, "sums whose order depends on threads");
  }

  void bindWeights(BoundPrimitive &primitive, const dnnl::memory::desc &wanted) {
    weightsLayout = wanted;
    if (call.packedWeights)
      primitive.bindScratch(DNNL_ARG_WEIGHTS, wanted, *call.packedWeights);
    else
      bindInput(primitive, DNNL_ARG_WEIGHTS, shape.weights, wanted, call.weights);
  }

  /// Binds an operand that the convolution reads, reordering it before if it
  /// wants another layout.
  void bindInput(BoundPrimitive &primitive, int argument, const dnnl::memory::desc &plain,
                 const dnnl::memory::desc &wanted, void *memory) {
    if (wanted == plain) {
      primitive.bind(argument, plain, memory);
      return;
    }
    size_t offset = reserve(wanted.get_size());
    primitive.bindScratch(argument, wanted, offset);
    BoundPrimitive reorder = makeReorder(plain, wanted);
    reorder.bind(DNNL_ARG_FROM, plain, memory);
    reorder.bindScratch(DNNL_ARG_TO, wanted, offset);
    sequence->add(std::move(reorder));
  }

  /// The same for the result; the reorder comes after.
  void bindResult(BoundPrimitive &primitive, int argument, const dnnl::memory::desc &plain,
                  const dnnl::memory::desc &wanted, void *memory) {
    auto bindTo = [&](BoundPrimitive &writer, int as) {
      if (memory)
        writer.bind(as, plain, memory);
      else
        writer.bindScratch(as, plain, call.resultOffset);
    };
    if (wanted == plain) {
      bindTo(primitive, argument);
      return;
    }
    size_t offset = reserve(wanted.get_size());
    primitive.bindScratch(argument, wanted, offset);
    BoundPrimitive reorder = makeReorder(wanted, plain);
    reorder.bindScratch(DNNL_ARG_FROM, wanted, offset);
    bindTo(reorder, DNNL_ARG_TO);
    after.push_back(std::move(reorder));
  }

  BoundPrimitive makeReorder(const dnnl::memory::desc &from, const dnnl::memory::desc &to) {
    dnnl::reorder::primitive_desc pd(context.library.engine, from, context.library.engine, to, attr);
    // Its scratchpad lies after everything of the convolution.
    BoundPrimitive bound(context, dnnl::reorder(pd), dnnl::memory::desc());
    if (pd.scratchpad_desc().get_size())
      bound.bindScratch(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), reserve(pd.scratchpad_desc().get_size()));
    return bound;
  }

  /// Room in the scratch block, after the scratchpad of the convolution.
  size_t reserve(size_t bytes) {
    size_t offset = used;
    used += (bytes + 4095) & ~size_t{4095};
    reserveScratch(context, used);
    return offset;
  }

  template <typename PrimitiveDesc> void begin(const PrimitiveDesc &pd, BoundPrimitive &bound) {
    size_t bytes = pd.scratchpad_desc().get_size();
    if (bytes)
      bound.bindScratch(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), reserve(bytes));
  }

  void finish(BoundPrimitive bound) {
    sequence->add(std::move(bound));
    for (BoundPrimitive &reorder : after)
      sequence->add(std::move(reorder));
  }

  void forward(const dnnl::memory::desc &s, const dnnl::memory::desc &w, const dnnl::memory::desc &d) {
    PostOps postOps = makePostOps(context, call.postOps, shape.dst, 1, shape.dst.dims()[1], call.part);
    // Not a copy of attr: copies share their state, and the reorders would get the post-ops too.
    dnnl::primitive_attr withPostOps;
    withPostOps.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    withPostOps.set_post_ops(postOps.ops);
    auto pd = forwardDesc(s, w, d, shape.bias, withPostOps);
    refuseSplitSums(pd);
    BoundPrimitive bound(context, dnnl::convolution_forward(pd), dnnl::memory::desc());
    begin(pd, bound);
    bindInput(bound, DNNL_ARG_SRC, shape.src, pd.src_desc(), call.src);
    bindWeights(bound, pd.weights_desc());
    if (call.bias)
      bound.bind(DNNL_ARG_BIAS, shape.bias, call.bias);
    bindResult(bound, DNNL_ARG_DST, shape.dst, pd.dst_desc(), call.dst);
    bindPostOps(bound, postOps);
    finish(std::move(bound));
  }

  void backwardData(const dnnl::memory::desc &s, const dnnl::memory::desc &w, const dnnl::memory::desc &d) {
    auto hint = forwardDesc(s, w, d, dnnl::memory::desc(), {});
    dnnl::convolution_backward_data::primitive_desc pd(
        dnnl::convolution_backward_data::desc(dnnl::algorithm::convolution_direct, s, w, d, shape.strides,
                                              shape.dilation, shape.low, shape.high),
        attr, context.library.engine, hint);
    refuseSplitSums(pd);
    BoundPrimitive bound(context, dnnl::convolution_backward_data(pd), dnnl::memory::desc());
    begin(pd, bound);
    bindInput(bound, DNNL_ARG_DIFF_DST, shape.dst, pd.diff_dst_desc(), call.dst);
    bindWeights(bound, pd.weights_desc());
    bindResult(bound, DNNL_ARG_DIFF_SRC, shape.src, pd.diff_src_desc(), call.src);
    finish(std::move(bound));
  }

  void backwardWeights(const dnnl::memory::desc &s, const dnnl::memory::desc &w, const dnnl::memory::desc &d) {
    auto hint = forwardDesc(s, w, d, dnnl::memory::desc(), {});
    dnnl::convolution_backward_weights::primitive_desc pd(
        dnnl::convolution_backward_weights::desc(dnnl::algorithm::convolution_direct, s, w, d, shape.strides,
                                                 shape.dilation, shape.low, shape.high),
        attr, context.library.engine, hint);
    BoundPrimitive bound(context, dnnl::convolution_backward_weights(pd), dnnl::memory::desc());
    begin(pd, bound);
    bindInput(bound, DNNL_ARG_SRC, shape.src, pd.src_desc(), call.src);
    bindInput(bound, DNNL_ARG_DIFF_DST, shape.dst, pd.diff_dst_desc(), call.dst);
    weightsLayout = pd.diff_weights_desc();
    bindResult(bound, DNNL_ARG_DIFF_WEIGHTS, shape.weights, pd.diff_weights_desc(), call.weights);
    finish(std::move(bound));
  }

  const OpContext &context;
  const ConvolutionCall &call;
  const ConvolutionShape &shape;
  dnnl::primitive_attr attr;
  std::unique_ptr<PrimitiveSequence> sequence;
  std::vector<BoundPrimitive> after;
  dnnl::memory::desc weightsLayout;
  bool fasterInParts = false;
  size_t used;
  bool takesReference;
};
} // namespace

/// The layouts to try, best first; the first that oneDNN can do is taken, in its reference implementation only if there
/// is no other. Measured on AVX-512 with the shapes of the reference models: reordering the weights alone is best,
/// except for the gradient of the weights (28x28x1 to 32: 150 against 211 us; 26x26x32 to 64: 8.4 against 9.5 ms). Not
/// measured at run time: the choice decides the order of additions, and results must not depend on timing.
static std::vector<Layouts> layoutsOf(artifact::ConvKind kind) {
  const Layouts weights{false, true, false}, all{true, true, true}, none{};
  if (kind == artifact::ConvKind::BackwardWeights)
    return {all, weights, none};
  return {weights, all, none};
}

absl::StatusOr<PreparedConvolution> dgc::rt::prepareCall(const OpContext &context, const ConvolutionCall &call,
                                                         artifact::ConvKind kind) {
  absl::Status last;
  for (bool takesReference : {false, true})
    for (const Layouts &layouts : layoutsOf(kind)) {
      PreparedConvolution prepared;
      ConvolutionMaker maker(context, call, takesReference);
      last = guarded("convolution", [&] { prepared = maker.make(kind, layouts); });
      if (last.ok())
        return prepared;
      if (!absl::IsUnimplemented(last) || maker.isFasterInParts())
        return last;
    }
  return last;
}

ConvolutionCall dgc::rt::wholeConvolution(const OpContext &context, const artifact::Convolution &op,
                                          dnnl::memory::data_type type) {
  auto data = [&](int64_t buffer) {
    return buffer < 0 ? nullptr : static_cast<std::byte *>(context.buffers[static_cast<size_t>(buffer)].data);
  };
  return {ConvolutionShape(context, op, type),
          data(op.src()),
          data(op.weights()),
          data(op.dst()),
          data(op.bias()),
          op.post_ops()};
}

absl::StatusOr<PreparedConvolution> dgc::rt::prepareCallOrParts(const OpContext &context, const ConvolutionCall &call,
                                                                artifact::ConvKind kind) {
  auto prepared = prepareCall(context, call, kind);
  return absl::IsUnimplemented(prepared.status()) ? prepareParts(context, call, kind) : std::move(prepared);
}

static PreparedOrStatus prepareWhole(const OpContext &context, const artifact::Convolution &op,
                                     dnnl::memory::data_type type) {
  const bool isOfWeights = op.kind() == artifact::ConvKind::BackwardWeights;
  auto prepared =
      (isOfWeights ? prepareParts : prepareCallOrParts)(context, wholeConvolution(context, op, type), op.kind());
  if (!prepared.ok())
    return prepared.status();
  return std::move(prepared->op);
}

PreparedOrStatus dgc::rt::prepareConvolution(const OpContext &context, const artifact::Convolution &op) {
  if (op.weights_out_first())
    return absl::UnimplementedError("a convolution of a plan for GPUs; compile the model again with --target=cpu");
  DGC_RETURN_IF_ERROR(checkPostOps(op.post_ops()));
  auto type = dnnlType(context.buffers[op.dst()].dtype);
  if (!type)
    return makePlainConvolution(context, op);
  using Maker = PreparedOrStatus (*)(const OpContext &, const artifact::Convolution &, dnnl::memory::data_type);
  const bool isOfWeights = op.kind() == artifact::ConvKind::BackwardWeights;
  for (Maker make : {isOfWeights ? prepareWeightGradient : prepareLongConvolution, Maker{prepareWhole}}) {
    PreparedOrStatus prepared = make(context, op, *type);
    if (prepared.ok() || !absl::IsUnimplemented(prepared.status()))
      return prepared;
  }
  return makePlainConvolution(context, op);
}
