// The hand-written plan of an MLP.
#include "test/unit/executor/MlpPlan.h"

#include "runtime/base/Disk.h"
#include "test/unit/artifact/SamplePlan.h"

using namespace dgc::rt;
using namespace dgc::rt::test;

namespace {
constexpr uint64_t align(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

class MlpBuilder {
public:
  MlpBuilder(const MlpOptions &options, const std::string &kernels) : o(options), rows(o.batch / o.world) {
    plan.producer = "test";
    plan.model = "mlp";
    plan.target = std::make_unique<fb::TargetT>();
    plan.target->kind = "cpu";
    auto axis = std::make_unique<fb::MeshAxisT>();
    axis->name = "data";
    axis->size = o.world;
    plan.mesh.push_back(std::move(axis));
    plan.world_size = o.world;
    plan.global_batch = static_cast<uint64_t>(o.batch);
    section("object", *readFile(realDisk(), kernels));
    plan.object_section = 0;
    const struct {
      const char *symbol;
      uint32_t args;
    } symbols[] = {
        {"mlp_scale", 3}, {"mlp_loss", 8}, {"mlp_relu_gradient", 4}, {"mlp_bias_gradient", 3}, {"mlp_sgd", 3}};
    for (auto [symbol, args] : symbols) {
      auto kernel = std::make_unique<fb::KernelT>();
      kernel->symbol = symbol;
      kernel->arg_count = args;
      plan.kernels.push_back(std::move(kernel));
    }
    const std::vector<int64_t> shapes[] = {{784, o.hidden}, {o.hidden},     {o.hidden, o.hidden},
                                           {o.hidden},      {o.hidden, 10}, {10}};
    const char *names[] = {"w1", "b1", "w2", "b2", "w3", "b3"};
    for (size_t i = 0; i < 6; ++i)
      variable(names[i], shapes[i]);
    variableBytes = end;
  }

  fb::PlanT build() {
    int64_t constants[16] = {rows, o.hidden};
    constants[8] = static_cast<int64_t>(variableBytes / 4);
    section("constants", std::string(reinterpret_cast<const char *>(constants), sizeof constants));
    plan.constant_section = 1;
    program("train", true);
    program("evaluate", false);
    plan.private_bytes = most;
    plan.shared_bytes = variableBytes + 128;
    return std::move(plan);
  }

private:
  void section(const char *name, const std::string &data) {
    auto s = std::make_unique<fb::SectionT>();
    s->name = name;
    s->data.assign(data.begin(), data.end());
    plan.sections.push_back(std::move(s));
  }

  void variable(const char *name, const std::vector<int64_t> &shape) {
    auto buffer = std::make_unique<fb::BufferT>();
    buffer->offset = end;
    buffer->dtype = fb::DType::F32;
    buffer->shape = shape;
    auto v = std::make_unique<fb::VariableT>();
    v->name = name;
    v->buffer = static_cast<uint32_t>(plan.variables.size());
    v->global_shape = shape;
    v->rng_id = plan.variables.size();
    if (shape.size() == 2) {
      v->init = fb::InitKind::GlorotUniform;
      v->a = static_cast<double>(shape[0]);
      v->b = static_cast<double>(shape[1]);
    }
    uint64_t bytes = 4;
    for (int64_t extent : shape)
      bytes *= static_cast<uint64_t>(extent);
    end += align(bytes);
    plan.variable_buffers.push_back(std::move(buffer));
    plan.variables.push_back(std::move(v));
  }

  /// A buffer in the private arena, behind what is there.
  uint32_t local(fb::ProgramT &p, std::vector<int64_t> shape, fb::DType type = fb::DType::F32) {
    uint64_t bytes = type == fb::DType::U8 ? 1 : type == fb::DType::I64 ? 8 : 4;
    for (int64_t extent : shape)
      bytes *= static_cast<uint64_t>(extent);
    uint32_t index = addBuffer(p, end, std::move(shape), type);
    end += align(bytes);
    most = std::max(most, end);
    return index;
  }

  void call(fb::ProgramT &p, uint32_t kernel, std::vector<uint32_t> args, const char *name) {
    fb::KernelCallT c;
    c.kernel = kernel;
    c.args = std::move(args);
    addStep(p, std::move(c), name);
  }

  struct Product {
    int64_t m, n, k;
    bool transposeA = false, transposeB = false;
    int32_t bias = -1;
    bool relu = false;
  };
  void matmul(fb::ProgramT &p, uint32_t a, uint32_t b, uint32_t dst, const Product &s, const char *name) {
    fb::MatmulT op;
    op.a = a;
    op.b = b;
    op.dst = dst;
    op.bias = s.bias;
    op.m = static_cast<uint64_t>(s.m);
    op.n = static_cast<uint64_t>(s.n);
    op.k = static_cast<uint64_t>(s.k);
    op.transpose_a = s.transposeA;
    op.transpose_b = s.transposeB;
    if (s.relu) {
      op.post_ops.push_back(std::make_unique<fb::PostOpT>());
      op.post_ops[0]->kind = fb::PostOpKind::Relu;
    }
    addStep(p, std::move(op), name);
  }

  void input(fb::ProgramT &p, const char *name, uint32_t buffer, fb::InputRole role, std::vector<int64_t> shape = {}) {
    auto in = std::make_unique<fb::InputT>();
    in->name = name;
    in->role = role;
    in->buffer = buffer;
    if (!shape.empty()) {
      std::vector<std::vector<uint32_t>> dims(shape.size());
      dims[0] = {0};
      in->sharding = sharding(dims);
      in->batch_dim = 0;
    }
    in->global_shape = std::move(shape);
    p.inputs.push_back(std::move(in));
  }

  void output(fb::ProgramT &p, const char *name, uint32_t buffer, fb::OutputRole role) {
    auto out = std::make_unique<fb::OutputT>();
    out->name = name;
    out->role = role;
    out->buffer = buffer;
    p.outputs.push_back(std::move(out));
  }

  void program(const char *name, bool train) {
    auto owned = std::make_unique<fb::ProgramT>();
    fb::ProgramT &p = *owned;
    p.name = name;
    p.scratch_bytes = 8 << 20; // with less the products would be the plain ones, which take a hundred times as long
    end = variableBytes;
    uint32_t v[6], g[6];
    for (uint32_t i = 0; i < 6; ++i) {
      const fb::BufferT &b = *plan.variable_buffers[i];
      v[i] = addBuffer(p, b.offset, b.shape);
      g[i] = addBuffer(p, b.offset, b.shape, fb::DType::F32, fb::Space::Shared);
    }
    uint32_t sizes = addBuffer(p, 0, {2}, fb::DType::I64, fb::Space::Constant);
    uint32_t count = addBuffer(p, 64, {1}, fb::DType::I64, fb::Space::Constant);
    uint32_t loss = addBuffer(p, variableBytes, {}, fb::DType::F32, fb::Space::Shared);
    uint32_t accuracy = addBuffer(p, variableBytes + 64, {}, fb::DType::F32, fb::Space::Shared);
    uint32_t image = local(p, {rows, 28, 28}, fb::DType::U8), label = local(p, {rows}, fb::DType::U8);
    uint32_t valid = local(p, {}, fb::DType::I32), rank = local(p, {}, fb::DType::I64);
    uint32_t x = local(p, {rows, 784}), h1 = local(p, {rows, o.hidden}), h2 = local(p, {rows, o.hidden});
    uint32_t z = local(p, {rows, 10}), dz = local(p, {rows, 10});
    uint32_t d2 = local(p, {rows, o.hidden}), d1 = local(p, {rows, o.hidden});
    input(p, "image", image, fb::InputRole::Data, {o.batch, 28, 28});
    input(p, "label", label, fb::InputRole::Data, {o.batch});
    input(p, "valid", valid, fb::InputRole::ValidCount);
    input(p, "data", rank, fb::InputRole::AxisIndex);
    output(p, "loss", loss, fb::OutputRole::Loss);
    output(p, "accuracy", accuracy, fb::OutputRole::Metric);
    auto bias = [&](int i) { return static_cast<int32_t>(v[i]); };
    int64_t h = o.hidden;
    call(p, 0, {sizes, image, x}, "scale");
    matmul(p, x, v[0], h1, {rows, h, 784, false, false, bias(1), true}, "dense_1");
    matmul(p, h1, v[2], h2, {rows, h, h, false, false, bias(3), true}, "dense_2");
    matmul(p, h2, v[4], z, {rows, 10, h, false, false, bias(5)}, "dense_3");
    call(p, 1, {sizes, z, label, valid, rank, dz, loss, accuracy}, "cross_entropy");
    if (train) {
      matmul(p, h2, dz, g[4], {h, 10, rows, true}, "gradient_w3");
      call(p, 3, {sizes, dz, g[5]}, "gradient_b3");
      matmul(p, dz, v[4], d2, {rows, h, 10, false, true}, "gradient_h2");
      call(p, 2, {sizes, h2, d2, g[3]}, "gradient_relu_2");
      matmul(p, h1, d2, g[2], {h, h, rows, true}, "gradient_w2");
      matmul(p, d2, v[2], d1, {rows, h, h, false, true}, "gradient_h1");
      call(p, 2, {sizes, h1, d1, g[1]}, "gradient_relu_1");
      matmul(p, x, d1, g[0], {784, h, rows, true}, "gradient_w1");
    }
    fb::CollectiveT reduce;
    reduce.axes = {0};
    reduce.dtype = fb::DType::F32;
    reduce.src = reduce.dst = train ? 0 : variableBytes;
    reduce.src_count = reduce.dst_count = (variableBytes + 128 - reduce.src) / 4;
    reduce.origin = "gradients and loss";
    addStep(p, std::move(reduce), "all_reduce");
    if (train)
      call(p, 4, {count, v[0], g[0]}, "sgd");
    plan.programs.push_back(std::move(owned));
  }

  MlpOptions o;
  int64_t rows;
  fb::PlanT plan;
  uint64_t end = 0, most = 0, variableBytes = 0;
};
} // namespace

fb::PlanT dgc::rt::test::mlpPlan(const MlpOptions &options, const std::string &kernels) {
  return MlpBuilder(options, kernels).build();
}
