// An artifact as JSON.
#include "runtime/telemetry/PlanJson.h"

#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/PlanTraffic.h"
#include "runtime/artifact/Spelling.h"

#include "nlohmann/json.hpp"

using namespace dgc;
using namespace dgc::artifact;
using Json = nlohmann::ordered_json;

static Json text(const flatbuffers::String *s) { return s ? s->str() : ""; }

static Json hex(const Digest *digest) {
  std::string result;
  for (uint32_t i = 0; digest && i < 32; ++i) {
    result += "0123456789abcdef"[digest->bytes()->Get(i) >> 4];
    result += "0123456789abcdef"[digest->bytes()->Get(i) & 15];
  }
  return result;
}

template <typename T> static Json list(const flatbuffers::Vector<T> *v) { return rt::toVector(v); }

template <typename T, typename F> static Json map(const flatbuffers::Vector<flatbuffers::Offset<T>> *v, F f) {
  Json result = Json::array();
  for (uint32_t i = 0; v && i < v->size(); ++i)
    result.push_back(f(*v->Get(i)));
  return result;
}

static Json sharding(const Plan &plan, const Sharding *s) {
  if (!s)
    return nullptr;
  return map(s->dims(), [&](const DimSharding &dim) {
    Json axes = Json::array();
    for (uint32_t axis : rt::toVector(dim.axes()))
      axes.push_back(plan.mesh()->Get(axis)->name()->str());
    return axes;
  });
}

/// Who decided on the axes of a sharding: "data by strategy data-parallel".
static Json origins(const Plan &plan, const Sharding *s) {
  Json result = Json::array();
  for (uint32_t d = 0; s && s->dims() && d < s->dims()->size(); ++d) {
    const DimSharding &dim = *s->dims()->Get(d);
    for (uint32_t i = 0; dim.origins() && i < dim.origins()->size(); ++i)
      result.push_back(plan.mesh()->Get(dim.axes()->Get(i))->name()->str() + " by " + dim.origins()->Get(i)->str());
  }
  return result;
}

static Json buffer(const Buffer &b) {
  return {{"space", rt::snakeCase(EnumNameSpace(b.space()))},
          {"offset", b.offset()},
          {"dtype", rt::snakeCase(EnumNameDType(b.dtype()))},
          {"shape", list(b.shape())},
          {"name", text(b.name())}};
}

static Json postOps(const flatbuffers::Vector<flatbuffers::Offset<PostOp>> *ops) {
  return map(ops, [](const PostOp &op) {
    Json result = {{"kind", rt::snakeCase(EnumNamePostOpKind(op.kind()))}};
    if (op.arg() >= 0)
      result["arg"] = op.arg();
    return result;
  });
}

/// What a collective works on, as ranges of the shared arena.
static Json ranges(const Collective &collective) {
  Json result = Json::array();
  auto add = [&](const auto &range) {
    result.push_back({{"src", range.src()},
                      {"src_count", range.src_count()},
                      {"dst", range.dst()},
                      {"dst_count", range.dst_count()}});
  };
  add(collective);
  for (uint32_t i = 0; collective.more() && i < collective.more()->size(); ++i)
    add(*collective.more()->Get(i));
  return result;
}

static Json axisNames(const Plan &plan, const flatbuffers::Vector<uint32_t> *axes) {
  Json names = Json::array();
  for (uint32_t axis : rt::toVector(axes))
    names.push_back(plan.mesh()->Get(axis)->name()->str());
  return names;
}

/// The name of a group of workers; null when it is none.
static Json groupName(const Plan &plan, int32_t group) {
  return group < 0 ? Json(nullptr) : Json(text(plan.groups()->Get(static_cast<uint32_t>(group))->name()));
}

/// The rank at the other end of a transfer, or the group in which it is at the same place.
static Json peer(const Plan &plan, int32_t group, uint32_t rank) {
  return group < 0 ? Json(rank) : groupName(plan, group);
}

static Json action(const Plan &plan, const Step &step) {
  switch (step.action_type()) {
  case Action::KernelCall: {
    const KernelCall &a = *step.action_as_KernelCall();
    return {{"kernel", plan.kernels()->Get(a.kernel())->symbol()->str()}, {"args", list(a.args())}};
  }
  case Action::Matmul: {
    const Matmul &a = *step.action_as_Matmul();
    Json result = {{"a", a.a()},
                   {"b", a.b()},
                   {"dst", a.dst()},
                   {"bias", a.bias()},
                   {"batch", a.batch()},
                   {"m", a.m()},
                   {"n", a.n()},
                   {"k", a.k()},
                   {"transpose_a", a.transpose_a()},
                   {"transpose_b", a.transpose_b()},
                   {"post_ops", postOps(a.post_ops())}};
    if (a.aux() != -1)
      result["aux"] = a.aux();
    if (a.bias_gradient() != -1) {
      result["bias_gradient"] = a.bias_gradient();
      result["bias_gradient_of"] = rt::snakeCase(EnumNameMatmulValue(a.bias_gradient_of()));
    }
    return result;
  }
  case Action::Convolution: {
    const Convolution &a = *step.action_as_Convolution();
    return {{"kind", rt::snakeCase(EnumNameConvKind(a.kind()))},
            {"src", a.src()},
            {"weights", a.weights()},
            {"dst", a.dst()},
            {"bias", a.bias()},
            {"strides", list(a.strides())},
            {"pad_low", list(a.pad_low())},
            {"pad_high", list(a.pad_high())},
            {"dilation", list(a.dilation())},
            {"groups", a.groups()},
            {"post_ops", postOps(a.post_ops())}};
  }
  case Action::Pool: {
    const Pool &a = *step.action_as_Pool();
    return {{"kind", rt::snakeCase(EnumNamePoolKind(a.kind()))},
            {"src", a.src()},
            {"dst", a.dst()},
            {"diff_src", a.diff_src()},
            {"diff_dst", a.diff_dst()},
            {"indices", a.indices()},
            {"window", list(a.window())},
            {"strides", list(a.strides())},
            {"pad_low", list(a.pad_low())},
            {"pad_high", list(a.pad_high())},
            {"count_include_pad", a.count_include_pad()}};
  }
  case Action::ScatterAdd: {
    const ScatterAdd &a = *step.action_as_ScatterAdd();
    return {{"indices", a.indices()}, {"updates", a.updates()}, {"offset", a.offset()}, {"dst", a.dst()},
            {"outer", a.outer()},     {"count", a.count()},     {"inner", a.inner()},   {"size", a.size()}};
  }
  case Action::Attention: {
    const Attention &a = *step.action_as_Attention();
    return {{"backward", a.backward()},
            {"query", a.query()},
            {"key", a.key()},
            {"value", a.value()},
            {"result", a.result()},
            {"log_sum", a.log_sum()},
            {"result_gradient", a.result_gradient()},
            {"query_gradient", a.query_gradient()},
            {"key_gradient", a.key_gradient()},
            {"value_gradient", a.value_gradient()},
            {"heads", a.heads()},
            {"causal", a.causal()},
            {"scale", a.scale()}};
  }
  case Action::Collective: {
    const Collective &a = *step.action_as_Collective();
    return {{"id", a.id()},
            {"kind", rt::snakeCase(EnumNameCollectiveKind(a.kind()))},
            {"reduction", rt::snakeCase(EnumNameReduction(a.reduction()))},
            {"axes", axisNames(plan, a.axes())},
            {"dtype", rt::snakeCase(EnumNameDType(a.dtype()))},
            {"ranges", ranges(a)},
            {"padding", a.padding()},
            {"payload_bytes", rt::payloadBytes(a)},
            {"permutation", list(a.permutation())},
            {"origin", text(a.origin())}};
  }
  case Action::Send: {
    const Send &a = *step.action_as_Send();
    return {{"channel", a.channel()},
            {"peer", peer(plan, a.group(), a.peer())},
            {"buffer", a.buffer()},
            {"gathered", a.gathered()},
            {"origin", text(a.origin())}};
  }
  case Action::Receive: {
    const Receive &a = *step.action_as_Receive();
    return {{"channel", a.channel()},
            {"peer", peer(plan, a.group(), a.peer())},
            {"buffer", a.buffer()},
            {"gathered", a.gathered()},
            {"origin", text(a.origin())}};
  }
  case Action::Copy:
    return {{"src", step.action_as_Copy()->src()}, {"dst", step.action_as_Copy()->dst()}};
  case Action::Fill:
    return {{"dst", step.action_as_Fill()->dst()}, {"value", step.action_as_Fill()->value()}};
  case Action::NONE:
    break;
  }
  return nullptr;
}

static Json step(const Plan &plan, const Step &s) {
  return {{"action", rt::snakeCase(EnumNameAction(s.action_type()))},
          {"name", text(s.name())},
          {"location", text(s.location())},
          {"queue", s.queue()},
          {"waits", list(s.waits())},
          {"arguments", action(plan, s)}};
}

template <typename T> static Json signature(const Plan &plan, const T &t, const char *role) {
  return {{"name", text(t.name())},
          {"role", rt::snakeCase(role)},
          {"buffer", t.buffer()},
          {"global_shape", list(t.global_shape())},
          {"sharding", sharding(plan, t.sharding())},
          {"origins", origins(plan, t.sharding())},
          {"batch_dim", t.batch_dim()}};
}

static Json variable(const Plan &plan, const Variable &v) {
  return {{"name", text(v.name())},
          {"role", rt::snakeCase(EnumNameVariableRole(v.role()))},
          {"dtype", rt::snakeCase(EnumNameDType(plan.variable_buffers()->Get(v.buffer())->dtype()))},
          {"global_shape", list(v.global_shape())},
          {"sharding", sharding(plan, v.sharding())},
          {"origins", origins(plan, v.sharding())},
          {"init", rt::snakeCase(EnumNameInitKind(v.init()))},
          {"a", v.a()},
          {"b", v.b()},
          {"rng_id", v.rng_id()},
          {"file", text(v.file())},
          {"group", groupName(plan, v.group())},
          {"first_row", v.first_row()},
          {"row_count", v.row_count()},
          {"buffer", buffer(*plan.variable_buffers()->Get(v.buffer()))}};
}

/// The axes; with parameter servers without the first one, which numbers groups of different sizes.
static Json meshOf(const Plan &plan) {
  Json axes = map(plan.mesh(), [](const MeshAxis &a) { return Json{{"name", text(a.name())}, {"size", a.size()}}; });
  if (plan.groups() && plan.groups()->size() && !rt::isFull(plan, static_cast<int32_t>(plan.groups()->size()) - 1))
    axes.erase(0);
  return axes;
}

static Json describe(const rt::Artifact &artifact) {
  const Plan &plan = artifact.plan();
  Json result = {
      {"format", plan.format()},
      {"bytes", artifact.sizeBytes()},
      {"digest", artifact.digestHex()},
      {"producer", text(plan.producer())},
      {"model", text(plan.model())},
      {"target",
       {{"kind", text(plan.target()->kind())},
        {"triple", text(plan.target()->triple())},
        {"cpu", text(plan.target()->cpu())},
        {"features", Json::array()}}},
      {"mesh", meshOf(plan)},
      {"world_size", plan.world_size()},
      {"global_batch", plan.global_batch()},
      {"private_bytes", plan.private_bytes()},
      {"shared_bytes", plan.shared_bytes()},
      {"groups",
       map(plan.groups(),
           [](const Group &g) {
             return Json{
                 {"name", text(g.name())}, {"first_rank", g.first_rank()},       {"rank_count", g.rank_count()},
                 {"on_host", g.on_host()}, {"private_bytes", g.private_bytes()}, {"shared_bytes", g.shared_bytes()}};
           })},
      {"variables", map(plan.variables(), [&](const Variable &v) { return variable(plan, v); })},
      {"programs",
       map(plan.programs(),
           [&](const Program &p) {
             return Json{
                 {"name", text(p.name())},
                 {"group", groupName(plan, p.group())},
                 {"private_bytes", rt::privateBytesOf(plan, p.group())},
                 {"shared_bytes", rt::sharedBytesOf(plan, p.group())},
                 {"inputs",
                  map(p.inputs(), [&](const Input &i) { return signature(plan, i, EnumNameInputRole(i.role())); })},
                 {"outputs",
                  map(p.outputs(), [&](const Output &o) { return signature(plan, o, EnumNameOutputRole(o.role())); })},
                 {"buffers", map(p.buffers(), buffer)},
                 {"steps", map(p.steps(), [&](const Step &s) { return step(plan, s); })}};
           })},
      {"kernels", map(plan.kernels(),
                      [](const Kernel &k) {
                        return Json{{"symbol", text(k.symbol())}, {"arg_count", k.arg_count()},
                                    {"extent", k.extent()},       {"cost_ns", k.cost_ns()},
                                    {"flops", k.flops()},         {"digest", hex(k.digest())}};
                      })},
      {"sections", map(plan.sections(),
                       [](const Section &s) {
                         return Json{
                             {"name", text(s.name())}, {"bytes", s.data()->size()}, {"digest", hex(s.digest())}};
                       })},
      {"attributes", Json::object()},
  };
  for (uint32_t i = 0; plan.target()->features() && i < plan.target()->features()->size(); ++i)
    result["target"]["features"].push_back(plan.target()->features()->Get(i)->str());
  for (uint32_t i = 0; plan.attributes() && i < plan.attributes()->size(); ++i)
    result["attributes"][text(plan.attributes()->Get(i)->key()).get<std::string>()] =
        text(plan.attributes()->Get(i)->value());
  return result;
}

std::string rt::describeAsJson(const Artifact &artifact, int indent) {
  return ::describe(artifact).dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}
