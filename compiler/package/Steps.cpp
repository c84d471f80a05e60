//===- Steps.cpp - how the steps of a program are written ------------------===//

#include "compiler/package/Enums.h"
#include "compiler/package/Package.h"
#include "compiler/package/ProgramWriter.h"

using namespace mlir;
using namespace dgc;
using namespace dgc::exec;
namespace fb = dgc::artifact;

static std::vector<std::unique_ptr<fb::PostOpT>> postOps(std::optional<ArrayAttr> ops, ValueRange args,
                                                         const ProgramWriter &writer) {
  std::vector<std::unique_ptr<fb::PostOpT>> result;
  if (!ops) {
    return result;
  }
  for (auto op : ops->getAsRange<PostOpAttr>()) {
    auto entry = std::make_unique<fb::PostOpT>();
    entry->kind = toArtifact(op.getKind());
    entry->arg = op.getArg() < 0 ? -1 : writer.optionalIndex(args[op.getArg()]);
    result.push_back(std::move(entry));
  }
  return result;
}

/// The distances of neighbours along the dimensions `order` of a dense row-major shape.
static std::vector<int64_t> stridesOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> order) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;) {
    strides[dim - 1] = strides[dim] * shape[dim];
  }
  std::vector<int64_t> result;
  for (int64_t dim : order) {
    result.push_back(strides[dim]);
  }
  return result;
}

namespace {

struct Launch : PackageOpInterface::ExternalModel<Launch, LaunchOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto launch = cast<LaunchOp>(op);
    StringRef symbol = launch.getKernel().getLeafReference();
    auto it = writer.kernels().find(symbol);
    if (it == writer.kernels().end()) {
      return op->emitOpError("launches ") << launch.getKernel() << ", for which no code was generated";
    }
    fb::KernelCallT call;
    call.kernel = it->second;
    call.args = writer.indexAll(launch.getInputs());
    llvm::append_range(call.args, writer.indexAll(launch.getOuts()));
    writer.addStep(op, std::move(call), symbol);
    return success();
  }
};

struct Matmul : PackageOpInterface::ExternalModel<Matmul, exec::MatmulOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto matmul = cast<exec::MatmulOp>(op);
    auto shape = cast<ShapedType>(matmul.getOuts()[0].getType()).getShape();
    auto a = cast<ShapedType>(matmul.getA().getType()).getShape();
    fb::MatmulT call;
    call.a = writer.index(matmul.getA());
    call.b = writer.index(matmul.getB());
    call.dst = writer.index(matmul.getOuts()[0]);
    call.bias = writer.optionalIndex(matmul.getBias());
    SmallVector<int64_t> order = matmul.getStoredOrder(), leftOrder = matmul.getStoredOrderA();
    for (int64_t dim : ArrayRef(order).drop_back(2)) {
      call.batch *= shape[dim];
    }
    call.m = shape[order[order.size() - 2]];
    call.n = shape[order.back()];
    call.k = a[leftOrder.back()];
    call.transpose_a = matmul.getTransposeA();
    call.transpose_b = matmul.getTransposeB();
    if (matmul.isStrided()) {
      call.transpose_a = call.transpose_b = false;
      for (int64_t dim : ArrayRef(order).drop_back(2)) {
        call.batch_sizes.push_back(shape[dim]);
      }
      call.a_strides = stridesOf(a, leftOrder);
      call.b_strides = stridesOf(cast<ShapedType>(matmul.getB().getType()).getShape(), matmul.getStoredOrderB());
      call.dst_strides = stridesOf(shape, order);
    }
    call.post_ops = postOps(matmul.getPostOps(), matmul.getArgs(), writer);
    auto next = matmul.getOuts().begin() + 1;
    if (matmul.getKeepAux()) {
      call.aux = writer.optionalIndex(*next++);
    }
    if (std::optional<MatmulValue> of = matmul.getBiasGradient()) {
      call.bias_gradient = writer.optionalIndex(*next);
      call.bias_gradient_of = toArtifact(*of);
    }
    writer.addStep(op, std::move(call));
    return success();
  }
};

struct Convolution : PackageOpInterface::ExternalModel<Convolution, exec::ConvolutionOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto conv = cast<exec::ConvolutionOp>(op);
    ConvKind kind = conv.getKind();
    uint32_t lhs = writer.index(conv.getLhs()), rhs = writer.index(conv.getRhs());
    uint32_t out = writer.index(conv.getOuts()[0]);
    fb::ConvolutionT call;
    call.kind = toArtifact(kind);
    call.src = kind == ConvKind::BackwardData ? out : lhs;
    call.weights = kind == ConvKind::BackwardWeights ? out : rhs;
    call.dst = kind == ConvKind::Forward ? out : kind == ConvKind::BackwardData ? lhs : rhs;
    call.bias = writer.optionalIndex(conv.getBias());
    call.strides = toVector(conv.getStrides());
    call.pad_low = toVector(conv.getPadLow());
    call.pad_high = toVector(conv.getPadHigh());
    call.dilation = toVector(conv.getDilation());
    call.groups = conv.getGroups();
    call.weights_out_first = conv.getWeightsOutFirst();
    call.post_ops = postOps(conv.getPostOps(), conv.getArgs(), writer);
    writer.addStep(op, std::move(call), ("convolution." + stringifyConvKind(kind)).str());
    return success();
  }
};

struct Pool : PackageOpInterface::ExternalModel<Pool, PoolOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto pool = cast<PoolOp>(op);
    PoolKind kind = pool.getKind();
    int32_t first = writer.optionalIndex(pool.getInputs()[0]), out = writer.optionalIndex(pool.getOuts()[0]);
    bool forward = kind == PoolKind::MaxForward || kind == PoolKind::AvgForward;
    fb::PoolT call;
    call.kind = toArtifact(kind);
    call.src = forward || kind == PoolKind::MaxBackward ? first : -1;
    call.dst = forward ? out : -1;
    call.diff_src = forward ? -1 : out;
    call.diff_dst = forward ? -1 : writer.optionalIndex(pool.getInputs().back());
    call.window = toVector(pool.getWindow());
    call.strides = toVector(pool.getStrides());
    call.pad_low = toVector(pool.getPadLow());
    call.pad_high = toVector(pool.getPadHigh());
    call.count_include_pad = pool.getCountIncludePad();
    writer.addStep(op, std::move(call), ("pool." + stringifyPoolKind(kind)).str());
    return success();
  }
};

uint64_t product(ArrayRef<int64_t> sizes) {
  uint64_t result = 1;
  for (int64_t size : sizes) {
    result *= size;
  }
  return result;
}

struct UpdateSlice : PackageOpInterface::ExternalModel<UpdateSlice, exec::UpdateSliceOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto updating = cast<exec::UpdateSliceOp>(op);
    auto shape = cast<ShapedType>(updating.getOuts()[0].getType()).getShape();
    int64_t dim = updating.getDimension();
    fb::UpdateSliceT call;
    call.src = writer.index(updating.getOperand());
    call.update = writer.index(updating.getUpdate());
    call.start = writer.index(updating.getStart());
    call.dst = writer.index(updating.getOuts()[0]);
    call.outer = product(shape.take_front(dim));
    call.extent = cast<ShapedType>(updating.getUpdate().getType()).getDimSize(dim);
    call.inner = product(shape.drop_front(dim + 1));
    call.size = shape[dim];
    writer.addStep(op, std::move(call));
    return success();
  }
};

struct ScatterAdd : PackageOpInterface::ExternalModel<ScatterAdd, exec::ScatterAddOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto scatter = cast<exec::ScatterAddOp>(op);
    auto shape = cast<ShapedType>(scatter.getOuts()[0].getType()).getShape();
    int64_t dim = scatter.getDimension();
    fb::ScatterAddT call;
    call.indices = writer.index(scatter.getIndices());
    call.updates = writer.index(scatter.getUpdates());
    call.dst = writer.index(scatter.getOuts()[0]);
    call.offset = writer.optionalIndex(scatter.getOffset());
    call.outer = product(shape.take_front(dim));
    call.size = shape[dim];
    call.inner = product(shape.drop_front(dim + 1));
    call.count = product(cast<ShapedType>(scatter.getIndices().getType()).getShape());
    writer.addStep(op, std::move(call));
    return success();
  }
};

struct Attention : PackageOpInterface::ExternalModel<Attention, exec::AttentionOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto attention = cast<exec::AttentionOp>(op);
    bool backward = attention.getBackward();
    auto input = [&](unsigned index) { return writer.index(attention.getInputs()[index]); };
    auto out = [&](unsigned index) { return writer.index(attention.getOuts()[index]); };
    fb::AttentionT call;
    call.backward = backward;
    call.query = input(0);
    call.key = input(1);
    call.value = input(2);
    call.result = backward ? input(3) : out(0);
    call.log_sum = backward ? input(4) : out(1);
    if (backward) {
      call.result_gradient = static_cast<int32_t>(input(5));
      call.query_gradient = static_cast<int32_t>(out(0));
      call.key_gradient = static_cast<int32_t>(out(1));
      call.value_gradient = static_cast<int32_t>(out(2));
    }
    call.heads = attention.getHeads();
    call.causal = attention.getCausal();
    call.scale = attention.getScale().convertToDouble();
    writer.addStep(op, std::move(call), backward ? "attention.backward" : "attention");
    return success();
  }
};

struct Collective : PackageOpInterface::ExternalModel<Collective, CollectiveOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto collective = cast<CollectiveOp>(op);
    auto elements = [](Value value) {
      return static_cast<uint64_t>(cast<ShapedType>(value.getType()).getNumElements());
    };
    SmallVector<fb::CollectiveRangeT> ranges;
    for (auto [src, dst] : llvm::zip_equal(collective.getSrc(), collective.getDst())) {
      fb::CollectiveRangeT &range = ranges.emplace_back();
      range.src = writer.buffer(src).offset;
      range.src_count = elements(src);
      range.dst = writer.buffer(dst).offset;
      range.dst_count = elements(dst);
    }
    fb::CollectiveT call;
    // Collectives are numbered by themselves; sends and receives have places in the same order of communication.
    call.id = llvm::count_if(writer.program.steps, [](const std::unique_ptr<fb::StepT> &step) {
      return step->action.type == fb::Action::Collective;
    });
    call.kind = toArtifact(collective.getKind());
    call.reduction = toArtifact(collective.getReduction());
    call.axes.assign(collective.getAxes().begin(), collective.getAxes().end());
    call.dtype = writer.buffer(collective.getSrc()[0]).dtype;
    call.src = ranges[0].src;
    call.src_count = ranges[0].src_count;
    call.dst = ranges[0].dst;
    call.dst_count = ranges[0].dst_count;
    for (const fb::CollectiveRangeT &range : ArrayRef(ranges).drop_front()) {
      call.more.push_back(std::make_unique<fb::CollectiveRangeT>(range));
    }
    call.padding = collective.getPadding();
    if (auto permutation = collective.getPermutation()) {
      call.permutation.assign(permutation->begin(), permutation->end());
    }
    call.origin = collective.getOrigin().str();
    writer.addStep(op, std::move(call), stringifyCollectiveKind(collective.getKind()));
    if (collective.getAsync()) {
      writer.beginCollective(collective.getOrder());
    }
    return success();
  }
};

struct Wait : PackageOpInterface::ExternalModel<Wait, WaitOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    writer.awaitCollective(cast<WaitOp>(op).getOrder());
    return success();
  }
};

/// Send and receive say the same of themselves.
template <typename OpT, typename ActionT>
struct Transfer : PackageOpInterface::ExternalModel<Transfer<OpT, ActionT>, OpT> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto transfer = cast<OpT>(op);
    FailureOr<int32_t> group = groupOf(op, writer.indices, transfer.getPeer());
    if (failed(group)) {
      return failure();
    }
    ActionT call;
    call.channel = transfer.getChannel();
    call.group = *group;
    call.buffer = writer.index(transfer.getBuffer());
    call.gathered = transfer.getGathered();
    call.origin = transfer.getOrigin().str();
    writer.addStep(op, std::move(call));
    return success();
  }
};

struct Copy : PackageOpInterface::ExternalModel<Copy, CopyOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto copy = cast<CopyOp>(op);
    fb::CopyT call;
    call.src = writer.index(copy.getSrc());
    call.dst = writer.index(copy.getDst());
    writer.addStep(op, std::move(call));
    return success();
  }
};

struct Fill : PackageOpInterface::ExternalModel<Fill, FillOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    auto fill = cast<FillOp>(op);
    fb::FillT call;
    call.dst = writer.index(fill.getDst());
    call.value = fill.getValue().convertToDouble();
    writer.addStep(op, std::move(call));
    return success();
  }
};

struct While : PackageOpInterface::ExternalModel<While, exec::WhileOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    fb::WhileT loop;
    loop.predicate = writer.index(cast<exec::WhileOp>(op).getPredicate());
    loop.rounds = cast<exec::WhileOp>(op).getRounds().value_or(0);
    loop.counted = cast<exec::WhileOp>(op).getCounted();
    return writer.addControlFlow(op, loop, &fb::WhileT::test_steps, &fb::WhileT::body_steps);
  }
};

struct If : PackageOpInterface::ExternalModel<If, exec::IfOp> {
  LogicalResult package(Operation *op, ProgramWriter &writer) const {
    fb::IfT branch;
    branch.predicate = writer.index(cast<exec::IfOp>(op).getPredicate());
    return writer.addControlFlow(op, branch, &fb::IfT::then_steps, &fb::IfT::else_steps);
  }
};

} // namespace

namespace dgc {

void attachSteps(MLIRContext &context) {
  LaunchOp::attachInterface<Launch>(context);
  exec::MatmulOp::attachInterface<Matmul>(context);
  exec::ConvolutionOp::attachInterface<Convolution>(context);
  PoolOp::attachInterface<Pool>(context);
  exec::ScatterAddOp::attachInterface<ScatterAdd>(context);
  exec::UpdateSliceOp::attachInterface<UpdateSlice>(context);
  exec::AttentionOp::attachInterface<Attention>(context);
  CollectiveOp::attachInterface<Collective>(context);
  WaitOp::attachInterface<Wait>(context);
  SendOp::attachInterface<Transfer<SendOp, fb::SendT>>(context);
  ReceiveOp::attachInterface<Transfer<ReceiveOp, fb::ReceiveT>>(context);
  CopyOp::attachInterface<Copy>(context);
  FillOp::attachInterface<Fill>(context);
  exec::WhileOp::attachInterface<While>(context);
  exec::IfOp::attachInterface<If>(context);
}

} // namespace dgc
