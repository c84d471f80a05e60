// Attention as a graph of cuDNN: products, a softmax and a mask, which one engine does at once.
#include "runtime/device/cuda/DnnAttention.h"

#include "runtime/artifact/GpuSizes.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include <limits>

namespace dgc::rt::cuda {
namespace {

/// A graph over [batch, heads, places, features], in f32 between the products. The engine is found by the form of the
/// graph, so the order of the operations matters.
class AttentionGraph {
public:
  AttentionGraph(Cudnn &library, const DnnAttention &a) : a(a), graph(library) {}

  absl::StatusOr<std::unique_ptr<PreparedDnn>> prepare() {
    if (a.backward)
      backward();
    else
      forward();
    DnnChoice choice;
    choice.workspaceLimit = workspaceBytesOf(a);
    choice.anyOrder = true;
    choice.what =
        str(a.backward ? "the gradient of " : "", "attention of ", a.heads, " heads with ", a.features,
            a.mixed == a.features ? "" : str(" and ", a.mixed), " features, ", a.to, " x ", a.from, " places");
    return graph.prepare(choice);
  }

private:
  using Sizes = std::vector<int64_t>;
  struct Tensor {
    DnnHandle handle;
    Sizes dims;
  };

  /// [b, t, h * d] in memory as [b, h, t, d].
  DnnTensor stored(int64_t places, int64_t features, Address data) const {
    return {.type = a.type,
            .dims = {a.batch, a.heads, places, features},
            .strides = {places * a.heads * features, features, a.heads * features, 1},
            .data = data};
  }
  static DnnTensor transposed(DnnTensor tensor) {
    std::swap(tensor.dims[2], tensor.dims[3]);
    std::swap(tensor.strides[2], tensor.strides[3]);
    return tensor;
  }
  static Sizes rowMajor(const Sizes &dims) { return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1}; }
  /// One number for each row of scores, [b, h, t, 1].
  DnnTensor rows(Address data) const {
    Sizes dims{a.batch, a.heads, a.to, 1};
    return {.type = DType::F32, .dims = dims, .strides = rowMajor(dims), .data = data};
  }
  DnnTensor between(const Sizes &dims, DType type = DType::F32) const {
    return {.type = type, .dims = dims, .strides = rowMajor(dims), .isVirtual = true};
  }
  DnnTensor number(float value) const {
    return {.type = DType::F32, .dims = {1, 1, 1, 1}, .strides = {1, 1, 1, 1}, .constant = value};
  }

  DnnHandle add(const DnnTensor &tensor) { return graph.tensor(tensor); }

  void multiply(DnnHandle x, DnnHandle y, DnnHandle product) {
    if (!matmul)
      matmul = graph.make(kDnnMatmul, {DnnAttribute::choice(kDnnMatmulComputeType, kDnnTypeDataType, kDnnF32)});
    graph.add(kDnnMatmulOperation,
              {DnnAttribute::descriptor(kDnnMatmulA, x), DnnAttribute::descriptor(kDnnMatmulB, y),
               DnnAttribute::descriptor(kDnnMatmulC, product), DnnAttribute::descriptor(kDnnMatmulDescriptor, matmul)});
  }
  void reduce(int mode, DnnHandle x, DnnHandle y) {
    DnnHandle reduction =
        graph.make(kDnnReduction, {DnnAttribute::choice(kDnnReductionMode, kDnnTypeReduction, mode),
                                   DnnAttribute::choice(kDnnReductionComputeType, kDnnTypeDataType, kDnnF32)});
    graph.add(kDnnReductionOperation,
              {DnnAttribute::descriptor(kDnnReductionX, x), DnnAttribute::descriptor(kDnnReductionY, y),
               DnnAttribute::descriptor(kDnnReductionDescriptor, reduction)});
  }
  void reshape(DnnHandle x, DnnHandle y) {
    graph.add(kDnnReshapeOperation,
              {DnnAttribute::descriptor(kDnnReshapeX, x), DnnAttribute::descriptor(kDnnReshapeY, y)});
  }
  /// A pointwise operation with a result between others.
  DnnHandle pointwise(int mode, DnnHandle x, DnnHandle b, const Sizes &dims) {
    DnnHandle y = add(between(dims));
    graph.addPointwise(mode, x, b, y);
    return y;
  }
  /// With attributes that only few have.
  void special(int mode, int computeType, std::vector<DnnAttribute> ofMode, std::vector<DnnAttribute> operands) {
    ofMode.push_back(DnnAttribute::choice(kDnnPointwiseMode, kDnnTypePointwise, mode));
    ofMode.push_back(DnnAttribute::choice(kDnnPointwiseComputeType, kDnnTypeDataType,
                                          computeType)); // NOLINT(readability-suspicious-call-argument)
    operands.push_back(DnnAttribute::descriptor(kDnnPointwiseDescriptor, graph.make(kDnnPointwise, ofMode)));
    graph.add(kDnnPointwiseOperation, operands);
  }

  Sizes ofScores() const { return {a.batch, a.heads, a.to, a.from}; }

  /// The scores where a place may look, else -infinity.
  DnnHandle masked(DnnHandle scores) {
    if (!a.causal)
      return scores;
    auto place = [&](int64_t axis) {
      DnnHandle y = add(between(ofScores(), DType::I32));
      special(kDnnGenerateIndex, kDnnF32, {DnnAttribute::integer(kDnnPointwiseAxis, axis)},
              {DnnAttribute::descriptor(kDnnPointwiseX, scores), DnnAttribute::descriptor(kDnnPointwiseY, y)});
      return y;
    };
    DnnHandle from = place(2), to = place(3), seen = add(between(ofScores(), DType::I1)),
              hidden = add(number(-std::numeric_limits<float>::infinity())), result = add(between(ofScores()));
    special(kDnnGreaterOrEqual, kDnnBoolean, {},
            {DnnAttribute::descriptor(kDnnPointwiseX, from), DnnAttribute::descriptor(kDnnPointwiseB, to),
             DnnAttribute::descriptor(kDnnPointwiseY, seen)});
    special(kDnnSelect, kDnnF32, {},
            {DnnAttribute::descriptor(kDnnPointwiseX, scores), DnnAttribute::descriptor(kDnnPointwiseB, hidden),
             DnnAttribute::descriptor(kDnnPointwiseT, seen), DnnAttribute::descriptor(kDnnPointwiseY, result)});
    return result;
  }

  /// query key^T, scaled.
  DnnHandle scaledScores(DnnHandle query, DnnHandle keyTransposed, DnnHandle scale) {
    DnnHandle product = add(between(ofScores()));
    multiply(query, keyTransposed, product);
    return pointwise(kDnnMultiply, product, scale, ofScores());
  }

  void forward() {
    DnnHandle query = add(stored(a.to, a.features, a.query)), key = add(transposed(stored(a.from, a.features, a.key)));
    DnnHandle scores = masked(scaledScores(query, key, add(number(a.scale))));
    Sizes ofRows{a.batch, a.heads, a.to, 1};
    DnnHandle largest = add(between(ofRows)), sum = add(between(ofRows));
    reduce(kDnnReduceMax, scores, largest);
    DnnHandle powers = pointwise(kDnnExp, pointwise(kDnnSubtract, scores, largest, ofScores()), nullptr, ofScores());
    reduce(kDnnReduceSum, powers, sum);
    DnnHandle logarithm = pointwise(kDnnLog, sum, nullptr, ofRows);
    graph.addPointwise(kDnnAdd, largest, logarithm, add(rows(a.logSum)));
    DnnHandle weights = add(between(ofScores(), a.type));
    graph.addPointwise(kDnnDivide, powers, sum, weights);
    multiply(weights, add(stored(a.from, a.mixed, a.value)), add(stored(a.to, a.mixed, a.result)));
  }

  void backward() {
    DnnHandle gradient = add(stored(a.to, a.mixed, a.resultGradient)), result = add(stored(a.to, a.mixed, a.result));
    // What each row of the gradient of the weights is to lose: in memory, as another kernel makes it.
    Sizes ofRows{a.batch, a.heads, a.to, 1};
    DnnHandle product = pointwise(kDnnMultiply, gradient, result, {a.batch, a.heads, a.to, a.mixed});
    DnnHandle reduced = add(between(ofRows));
    reduce(kDnnReduceSum, product, reduced);
    DnnTensor inMemory = rows(0);
    inMemory.isScratch = true;
    DnnHandle mean = add(inMemory);
    graph.addPointwise(kDnnMultiply, reduced, add(number(1)), mean);

    DnnHandle query = add(stored(a.to, a.features, a.query)), scale = add(number(a.scale)),
              keyTransposed = add(transposed(stored(a.from, a.features, a.key)));
    DnnHandle scores = scaledScores(query, keyTransposed, scale);
    DnnHandle weights = pointwise(kDnnExp, masked(pointwise(kDnnSubtract, scores, add(rows(a.logSum)), ofScores())),
                                  nullptr, ofScores());
    multiply(turned(weights), gradient, add(stored(a.from, a.mixed, a.valueGradient)));

    DnnHandle ofWeights = add(between(ofScores()));
    multiply(gradient, add(transposed(stored(a.from, a.mixed, a.value))), ofWeights);
    DnnHandle ofScaled =
        pointwise(kDnnMultiply, pointwise(kDnnSubtract, ofWeights, mean, ofScores()), weights, ofScores());
    DnnHandle gradientOfScores = pointwise(kDnnMultiply, ofScaled, scale, ofScores());
    multiply(turned(gradientOfScores), query, add(stored(a.from, a.features, a.keyGradient)));

    // Blocks of keys add to the gradient of the query, in f32.
    DnnTensor key = stored(a.from, a.features, 0);
    key.isVirtual = true;
    DnnHandle keyAgain = add(key);
    reshape(keyTransposed, keyAgain);
    DnnTensor sum{.type = DType::F32, .dims = {a.batch, a.heads, a.to, a.features}, .isScratch = true};
    sum.strides = rowMajor(sum.dims);
    DnnHandle sums = add(sum);
    multiply(gradientOfScores, keyAgain, sums);
    graph.addPointwise(kDnnIdentity, sums, nullptr, add(stored(a.to, a.features, a.queryGradient)));
  }

  /// [b, h, t, s] as [b, h, s, t], in the type of the operands.
  DnnHandle turned(DnnHandle x) {
    DnnTensor tensor = transposed(between(ofScores(), a.type));
    DnnHandle y = add(tensor);
    reshape(x, y);
    return y;
  }

  const DnnAttention &a;
  DnnGraph graph;
  DnnHandle matmul = nullptr;
};

} // namespace

uint64_t workspaceBytesOf(const DnnAttention &a) {
  return gpu::attentionWorkspaceBytes(a.batch, a.heads, a.to, a.features, a.backward);
}

/// What is known not to work, or to need help that newer versions do not.
static absl::Status checkVersion(const DnnAttention &a, size_t version) {
  std::string needed;
  if (version < 91002)
    needed = "9.10.2";
  else if (a.backward && a.from % 128 != 0 && version <= 91500)
    needed = "9.15.1";
  if (needed.empty())
    return absl::OkStatus();
  return withExitCode(
      absl::UnimplementedError(str("cuDNN ", version / 10000, ".", version / 100 % 100, ".", version % 100, " has no ",
                                   a.backward ? "gradient of attention" : "attention", " with ", a.from,
                                   " places that is right; ", needed, " is needed")),
      ExitCode::Machine);
}

absl::StatusOr<std::unique_ptr<PreparedDnn>> prepareAttention(Cudnn &library, const DnnAttention &attention) {
  absl::Status usable = checkVersion(attention, library.api().version());
  absl::StatusOr<std::unique_ptr<PreparedDnn>> prepared =
      usable.ok() ? AttentionGraph(library, attention).prepare() : usable;
  if (prepared.ok() || prepared.status().code() != absl::StatusCode::kUnimplemented)
    return prepared;
  return withExitCode(
      absl::UnimplementedError(str(std::string(prepared.status().message()),
                                   ": install a newer cuDNN, or compile the model with --attention=expanded")),
      ExitCode::Machine);
}

} // namespace dgc::rt::cuda
