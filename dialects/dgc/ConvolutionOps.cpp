// Convolution and its gradients: types, sharding, cost and derivatives. Lowering: ConvolutionLowering.cpp.

#include "dialects/dgc/Assembly.h"
#include "dialects/dgc/InferUtil.h"
#include "dialects/dgc/TensorUtil.h"

using namespace mlir;
using namespace dgc;

#define GET_OP_CLASSES
#include "dialects/dgc/ConvolutionOps.cpp.inc"

namespace dgc {
void registerConvolutionOps(DGCDialect &dialect) {
  dialect.registerFamily<
#define GET_OP_LIST
#include "dialects/dgc/ConvolutionOps.cpp.inc"
      >();
}
} // namespace dgc

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The types of both operands, which have equal ranks, at least 3, and equal element types.
static FailureOr<std::pair<RankedTensorType, RankedTensorType>> operandTypes(std::optional<Location> location,
                                                                             StringRef name, Value first,
                                                                             StringRef firstName, Value second,
                                                                             StringRef secondName) {
  auto a = staticTensor(location, name, firstName, first), b = staticTensor(location, name, secondName, second);
  if (failed(a) || failed(b))
    return failure();
  if (a->getRank() < 3)
    return emitOptionalError(location, "'", name, "' op ", firstName, " is ", *a,
                             "; it must have a batch dimension, spatial dimensions and channels");
  if (b->getRank() != a->getRank())
    return emitOptionalError(location, "'", name, "' op ", secondName, " is ", *b, "; it must have rank ", a->getRank(),
                             " as ", firstName, " (", *a, ")");
  if (a->getElementType() != b->getElementType())
    return emitOptionalError(location, "'", name, "' op combines ", a->getElementType(), " with ", b->getElementType(),
                             "; convert one of them, the element types must be equal");
  return std::pair(*a, *b);
}

static ArrayRef<int64_t> spatialSizes(RankedTensorType activations) {
  return activations.getShape().drop_front().drop_back();
}
static ArrayRef<int64_t> kernelSizes(RankedTensorType weights) { return weights.getShape().drop_back(2); }
static int64_t channels(RankedTensorType type) { return type.getShape().back(); }

/// The geometry of a convolution whose channels are checked against the groups.
template <typename Op>
static FailureOr<ConvolutionGeometry> inferGeometry(std::optional<Location> location, StringRef name, Op op,
                                                    int64_t batch, ArrayRef<int64_t> input, ArrayRef<int64_t> kernel,
                                                    int64_t inputChannels, int64_t outputChannels) {
  int64_t groups = op.getGroups();
  if (groups < 1)
    return emitOptionalError(location, "'", name, "' op has ", groups, " groups; there must be at least one");
  if (inputChannels % groups != 0 || outputChannels % groups != 0)
    return emitOptionalError(location, "'", name, "' op: ", groups, " groups do not divide ", inputChannels,
                             " input channels and ", outputChannels, " output channels evenly");
  auto spatial = inferWindow(location, name, input, kernel,
                             {op.getStrides(), op.getPadding(), op.getDilation(), op.getLhsDilation()});
  if (failed(spatial))
    return failure();
  return ConvolutionGeometry{batch, inputChannels, outputChannels, groups, std::move(*spatial)};
}

/// Checks that a result gradient has the spatial sizes that the convolution gives.
static LogicalResult checkResultGradient(std::optional<Location> location, StringRef name,
                                         const ConvolutionGeometry &geometry, RankedTensorType gradient) {
  for (auto [i, dim] : llvm::enumerate(geometry.spatial))
    if (gradient.getDimSize(i + 1) != dim.output)
      return emitOptionalError(location, "'", name, "' op spatial dimension ", i, " of the result gradient (", gradient,
                               ") has size ", gradient.getDimSize(i + 1),
                               ", but the result of the convolution has size ", dim.output, " there");
  return success();
}

static RankedTensorType activationsType(int64_t batch, ArrayRef<int64_t> spatial, int64_t channels, Type element) {
  SmallVector<int64_t> shape{batch};
  llvm::append_range(shape, spatial);
  shape.push_back(channels);
  return RankedTensorType::get(shape, element);
}

template <typename Op> static FailureOr<ConvolutionGeometry> forwardGeometry(std::optional<Location> location, Op op) {
  StringRef name = ConvolutionOp::getOperationName();
  auto types = operandTypes(location, name, op.getInput(), "the input", op.getWeights(), "the weights");
  if (failed(types))
    return failure();
  auto [input, weights] = *types;
  auto geometry = inferGeometry(location, name, op, input.getDimSize(0), spatialSizes(input), kernelSizes(weights),
                                channels(input), channels(weights));
  if (failed(geometry))
    return failure();
  int64_t weightChannels = weights.getDimSize(weights.getRank() - 2);
  if (weightChannels != geometry->channelsPerGroup())
    return emitOptionalError(location, "'", name, "' op the weights (", weights, ") are for ", weightChannels,
                             " input channels, but the input (", input, ") has ", geometry->channelsPerGroup(),
                             geometry->groups == 1 ? "" : " in each group");
  return geometry;
}

template <typename Op>
static FailureOr<ConvolutionGeometry> inputGradGeometry(std::optional<Location> location, Op op) {
  StringRef name = ConvolutionInputGradOp::getOperationName();
  auto types =
      operandTypes(location, name, op.getResultGradient(), "the result gradient", op.getWeights(), "the weights");
  if (failed(types))
    return failure();
  auto [gradient, weights] = *types;
  if (channels(gradient) != channels(weights))
    return emitOptionalError(location, "'", name, "' op the result gradient (", gradient, ") has ", channels(gradient),
                             " channels, but the weights (", weights, ") give ", channels(weights));
  if (llvm::any_of(op.getInputSize(), [](int64_t size) { return size < 0; }) ||
      int64_t(op.getInputSize().size()) != gradient.getRank() - 2)
    return emitOptionalError(location, "'", name, "' op input_size must give the size of each of the ",
                             gradient.getRank() - 2, " spatial dimensions");
  auto geometry = inferGeometry(location, name, op, gradient.getDimSize(0), op.getInputSize(), kernelSizes(weights),
                                weights.getDimSize(weights.getRank() - 2) * op.getGroups(), channels(weights));
  if (failed(geometry) || failed(checkResultGradient(location, name, *geometry, gradient)))
    return failure();
  return geometry;
}

template <typename Op>
static FailureOr<ConvolutionGeometry> weightGradGeometry(std::optional<Location> location, Op op) {
  StringRef name = ConvolutionWeightGradOp::getOperationName();
  auto types = operandTypes(location, name, op.getInput(), "the input", op.getResultGradient(), "the result gradient");
  if (failed(types))
    return failure();
  auto [input, gradient] = *types;
  if (input.getDimSize(0) != gradient.getDimSize(0))
    return emitOptionalError(location, "'", name, "' op the input (", input, ") and the result gradient (", gradient,
                             ") have different batch sizes");
  auto geometry = inferGeometry(location, name, op, input.getDimSize(0), spatialSizes(input), op.getKernelSize(),
                                channels(input), channels(gradient));
  if (failed(geometry) || failed(checkResultGradient(location, name, *geometry, gradient)))
    return failure();
  return geometry;
}

ConvolutionGeometry ConvolutionOp::getGeometry() { return *forwardGeometry(std::nullopt, *this); }
ConvolutionGeometry ConvolutionInputGradOp::getGeometry() { return *inputGradGeometry(std::nullopt, *this); }
ConvolutionGeometry ConvolutionWeightGradOp::getGeometry() { return *weightGradGeometry(std::nullopt, *this); }

LogicalResult ConvolutionOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  auto geometry = forwardGeometry(location, adaptor);
  if (failed(geometry))
    return failure();
  auto sizes = llvm::map_to_vector(geometry->spatial, [](const WindowDim &dim) { return dim.output; });
  types.push_back(activationsType(geometry->batch, sizes, geometry->outputChannels, elementOf(adaptor.getInput())));
  return success();
}

LogicalResult ConvolutionInputGradOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  auto geometry = inputGradGeometry(location, adaptor);
  if (failed(geometry))
    return failure();
  types.push_back(activationsType(geometry->batch, adaptor.getInputSize(), geometry->inputChannels,
                                  elementOf(adaptor.getWeights())));
  return success();
}

LogicalResult ConvolutionWeightGradOp::inferTypes(std::optional<Location> location, Adaptor adaptor,
                                                  SmallVectorImpl<Type> &types) {
  auto geometry = weightGradGeometry(location, adaptor);
  if (failed(geometry))
    return failure();
  SmallVector<int64_t> shape(adaptor.getKernelSize());
  shape.append({geometry->channelsPerGroup(), geometry->outputChannels});
  types.push_back(RankedTensorType::get(shape, elementOf(adaptor.getInput())));
  return success();
}

//===----------------------------------------------------------------------===//
// Sharding and cost
//===----------------------------------------------------------------------===//

namespace {
/// The roles of the tensors of a convolution: which operand or result has them.
struct Roles {
  enum Role { Input, Weights, Output };
  Role operands[2], result;

  /// The factor dimensions when the tensors of each role have it at the given place; -1: not at all.
  DimOccurrence at(int64_t input, int64_t weights, int64_t output) const {
    int64_t dims[] = {input, weights, output};
    return {{dims[operands[0]], dims[operands[1]]}, {dims[result]}};
  }
};
} // namespace

/// The factors of all three ops: each product of an element of the input and one of the weights counts into an element
/// of the output, so what the result lacks is a sum.
static ShardingRule convolutionRule(Operation *op, const ConvolutionGeometry &geometry, const Roles &roles) {
  int64_t last = geometry.spatial.size() + 1;
  ShardingRuleBuilder rule(op);
  auto add = [&](const DimOccurrence &dims, int64_t size, std::optional<FactorKind> kind = {}) {
    FactorKind natural = dims.results[0] < 0 ? FactorKind::Reduction : FactorKind::PassThrough;
    rule.factor(dims.operands, dims.results, size, kind.value_or(natural));
  };
  add(roles.at(0, -1, 0), geometry.batch);
  if (geometry.isDepthwise()) { // the channels are cut with their groups
    add(roles.at(last, last, last), geometry.groups);
    add(roles.at(-1, last - 1, -1), 1, FactorKind::NeedReplication);
  } else if (geometry.groups == 1) {
    add(roles.at(last, last - 1, -1), geometry.inputChannels);
    add(roles.at(-1, last, last), geometry.outputChannels);
  } else {
    // Parts of several channels of each group would have to be strided ones.
    add(roles.at(last, -1, -1), geometry.inputChannels, FactorKind::NeedReplication);
    add(roles.at(-1, last - 1, -1), geometry.channelsPerGroup(), FactorKind::NeedReplication);
    add(roles.at(-1, last, -1), geometry.outputChannels, FactorKind::NeedReplication);
    add(roles.at(-1, -1, last), geometry.outputChannels, FactorKind::NeedReplication);
  }
  for (auto [i, dim] : llvm::enumerate(geometry.spatial)) {
    DimOccurrence input = roles.at(i + 1, -1, -1), output = roles.at(-1, -1, i + 1);
    addSlidingFactor(rule, dim, input, output, roles.result == Roles::Input ? dim.input : dim.output,
                     roles.result == Roles::Weights);
  }
  for (auto [i, dim] : llvm::enumerate(geometry.spatial))
    add(roles.at(-1, i, -1), dim.window, FactorKind::NeedReplication);
  return rule.build();
}

ShardingRule ConvolutionOp::getShardingRule() {
  return convolutionRule(*this, getGeometry(), {{Roles::Input, Roles::Weights}, Roles::Output});
}
ShardingRule ConvolutionInputGradOp::getShardingRule() {
  return convolutionRule(*this, getGeometry(), {{Roles::Output, Roles::Weights}, Roles::Input});
}
ShardingRule ConvolutionWeightGradOp::getShardingRule() {
  return convolutionRule(*this, getGeometry(), {{Roles::Input, Roles::Output}, Roles::Weights});
}

/// As many groups as the part has channels, where there is one for each channel.
template <typename Op> static LogicalResult localizeGroups(Op op, TypeRange globalOperands) {
  const int64_t local = channels(cast<RankedTensorType>(op->getOperand(0).getType()));
  if (local != channels(cast<RankedTensorType>(globalOperands[0])) && op.getGroups() != 1)
    op.setGroups(local);
  return success();
}

LogicalResult ConvolutionOp::localize(TypeRange operands, TypeRange) { return localizeGroups(*this, operands); }
LogicalResult ConvolutionInputGradOp::localize(TypeRange operands, TypeRange) {
  setInputSize(spatialSizes(cast<RankedTensorType>(getResult().getType())));
  return localizeGroups(*this, operands);
}
LogicalResult ConvolutionWeightGradOp::localize(TypeRange operands, TypeRange) {
  return localizeGroups(*this, operands);
}

bool ConvolutionOp::isLinearIn(int index) { return index == 0 || index == 1; }
bool ConvolutionInputGradOp::isLinearIn(int index) { return index == 0 || index == 1; }
bool ConvolutionWeightGradOp::isLinearIn(int index) { return index == 0 || index == 1; }

static OpCost convolutionCost(Operation *op, const ConvolutionGeometry &geometry) {
  OpCost cost = costPerElement(op, 0);
  cost.flops = 2 * geometry.batch * geometry.outputChannels * geometry.channelsPerGroup();
  for (const WindowDim &dim : geometry.spatial)
    cost.flops *= dim.output * dim.window;
  return cost;
}

OpCost ConvolutionOp::getCost() { return convolutionCost(*this, getGeometry()); }
OpCost ConvolutionInputGradOp::getCost() { return convolutionCost(*this, getGeometry()); }
OpCost ConvolutionWeightGradOp::getCost() { return convolutionCost(*this, getGeometry()); }

//===----------------------------------------------------------------------===//
// Gradients. A convolution is linear in both operands, so the three ops are each other's gradients.
//===----------------------------------------------------------------------===//

namespace {
/// Builds the ops with the attributes of `op`.
template <typename Op> struct Family {
  OpBuilder &builder;
  Op op;

  template <typename Other, typename... Sizes> Value build(Value a, Value b, Sizes... sizes) {
    return Other::create(builder, op.getLoc(), a, b, sizes..., op.getStridesAttr(), op.getPaddingAttr(),
                         op.getDilationAttr(), op.getLhsDilationAttr(), op.getGroupsAttr());
  }
  Value output(Value input, Value weights) { return build<ConvolutionOp>(input, weights); }
  Value input(Value output, Value weights) {
    auto sizes = llvm::map_to_vector(op.getGeometry().spatial, [](const WindowDim &dim) { return dim.input; });
    return build<ConvolutionInputGradOp>(output, weights, builder.getDenseI64ArrayAttr(sizes));
  }
  Value weights(Value input, Value output) {
    auto sizes = llvm::map_to_vector(op.getGeometry().spatial, [](const WindowDim &dim) { return dim.window; });
    return build<ConvolutionWeightGradOp>(input, output, builder.getDenseI64ArrayAttr(sizes));
  }
};
} // namespace

SmallVector<Value> ConvolutionOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                                 const llvm::BitVector &wanted) {
  Family<ConvolutionOp> family{builder, *this};
  Value output = resultGradients[0];
  return {wanted[0] ? family.input(output, getWeights()) : Value(),
          wanted[1] ? family.weights(getInput(), output) : Value()};
}

SmallVector<Value> ConvolutionInputGradOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                                          const llvm::BitVector &wanted) {
  Family<ConvolutionInputGradOp> family{builder, *this};
  Value input = resultGradients[0];
  return {wanted[0] ? family.output(input, getWeights()) : Value(),
          wanted[1] ? family.weights(input, getResultGradient()) : Value()};
}

SmallVector<Value> ConvolutionWeightGradOp::buildGradients(OpBuilder &builder, ValueRange resultGradients,
                                                           const llvm::BitVector &wanted) {
  Family<ConvolutionWeightGradOp> family{builder, *this};
  Value weights = resultGradients[0];
  return {wanted[0] ? family.input(getResultGradient(), weights) : Value(),
          wanted[1] ? family.output(getInput(), weights) : Value()};
}
