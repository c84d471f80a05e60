// An artifact as JSON.
#include "runtime/telemetry/PlanJson.h"

#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Numerics.h"
#include "runtime/artifact/PlanTraffic.h"
#include "runtime/artifact/Spelling.h"

#include "nlohmann/json.hpp"

using namespace dgc;
using namespace dgc::artifact;
using Json = nlohmann::ordered_json;

static Json text(const flatbuffers::String *s) { return s ? s->str() : ""; }

static Json hex(const Digest *digest) { return digest ? Json(rt::spelled(*digest)) : Json(); }

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
  return {{"space", rt::spelled(b.space())},
          {"offset", b.offset()},
          {"dtype", rt::spelled(b.dtype())},
          {"shape", list(b.shape())},
          {"name", text(b.name())}};
}

/// The name of a group of workers; null when it is none.
static Json groupName(const Plan &plan, int32_t group) {
  return group < 0 ? Json(nullptr) : Json(text(plan.groups()->Get(static_cast<uint32_t>(group))->name()));
}

namespace {
/// The fields of an action, and the buffers that it reads and writes.
class ActionJson : public rt::ActionSink<ActionJson> {
public:
  explicit ActionJson(const Plan &plan) : plan(plan) {}

  void operand(std::string_view name, rt::Role role, int64_t buffer) {
    add(name, buffer);
    note(role, buffer);
  }
  void operands(std::string_view name, rt::Role role, const flatbuffers::Vector<uint32_t> *buffers) {
    add(name, list(buffers));
    for (uint32_t buffer : rt::toVector(buffers))
      note(role, buffer);
  }
  void postOps(std::string_view name, const flatbuffers::Vector<flatbuffers::Offset<PostOp>> *ops) {
    add(name, map(ops, [&](const PostOp &op) {
          Json result = {{"kind", rt::spelled(op.kind())}};
          if (op.arg() >= 0)
            result["arg"] = op.arg();
          note(rt::Role::Read, op.arg());
          return result;
        }));
  }

  template <typename T> void value(std::string_view name, const T &field) {
    if constexpr (std::is_enum_v<T>)
      add(name, rt::spelled(field));
    else
      add(name, field);
  }
  void value(std::string_view name, const flatbuffers::String *field) { add(name, text(field)); }
  template <typename T> void value(std::string_view name, const flatbuffers::Vector<T> *field) {
    add(name, list(field));
  }
  void axes(std::string_view name, const flatbuffers::Vector<uint32_t> *axes) {
    Json names = Json::array();
    for (uint32_t axis : rt::toVector(axes))
      names.push_back(plan.mesh()->Get(axis)->name()->str());
    add(name, std::move(names));
  }
  void kernel(std::string_view name, uint32_t index) { add(name, plan.kernels()->Get(index)->symbol()->str()); }
  /// The rank at the other end, or the group in which it is at the same place.
  void peer(std::string_view name, int32_t group, uint32_t rank) {
    add(name, group < 0 ? Json(rank) : groupName(plan, group));
  }
  void range(uint64_t src, uint64_t srcCount, uint64_t dst, uint64_t dstCount, DType) {
    fields["ranges"].push_back({{"src", src}, {"src_count", srcCount}, {"dst", dst}, {"dst_count", dstCount}});
  }

  Json fields = Json::object(), reads = Json::array(), writes = Json::array();

private:
  void add(std::string_view name, Json field) { fields[std::string(name)] = std::move(field); }
  void note(rt::Role role, int64_t buffer) {
    if (buffer >= 0 && rt::mayRead(role))
      reads.push_back(buffer);
    if (buffer >= 0 && rt::mayWrite(role))
      writes.push_back(buffer);
  }

  const Plan &plan;
};
} // namespace

static Json step(const Plan &plan, const Step &s) {
  ActionJson action(plan);
  rt::describe(s, action);
  if (const Collective *collective = s.action_as_Collective())
    action.fields["payload_bytes"] = rt::payloadBytes(*collective);
  return {{"action", rt::nameOf(s.action_type())},
          {"name", text(s.name())},
          {"location", text(s.location())},
          {"queue", s.queue()},
          {"waits", list(s.waits())},
          {"reads", action.reads},
          {"writes", action.writes},
          {"arguments", action.fields}};
}

/// Where inputs, outputs and variables are among the arguments and the results of a program; -1: not said.
static int32_t positionOf(const Input &input) { return input.argument(); }
static int32_t positionOf(const Output &output) { return output.result(); }

static Json stateUse(const StateUse &state) {
  return {{"variable", text(state.variable())},
          {"is_written", state.is_written()},
          {"argument", state.argument()},
          {"result", state.result()}};
}

template <typename T> static Json signature(const Plan &plan, const T &t) {
  return {{"name", text(t.name())},
          {"role", rt::spelled(t.role())},
          {"buffer", t.buffer()},
          {"global_shape", list(t.global_shape())},
          {"sharding", sharding(plan, t.sharding())},
          {"origins", origins(plan, t.sharding())},
          {"batch_dim", t.batch_dim()},
          {"position", positionOf(t)}};
}

static Json output(const Plan &plan, const Output &o) {
  Json json = signature(plan, o);
  if (rt::isNumericsOutput(o)) {
    for (const rt::CheckedValue &value :
         rt::readChecks(o.over()->string_view()).value_or(std::vector<rt::CheckedValue>()))
      json["checks"].push_back(
          {{"name", value.name}, {"what", value.what}, {"dtype", value.dtype}, {"shape", value.shape}});
  } else if (o.over()) {
    json["over"] = text(o.over());
  }
  if (o.function() != MetricFunction::Identity)
    json["function"] = rt::spelled(o.function());
  return json;
}

static Json variable(const Plan &plan, const Variable &v) {
  return {{"name", text(v.name())},
          {"role", rt::spelled(v.role())},
          {"dtype", rt::spelled(plan.variable_buffers()->Get(v.buffer())->dtype())},
          {"global_shape", list(v.global_shape())},
          {"sharding", sharding(plan, v.sharding())},
          {"origins", origins(plan, v.sharding())},
          {"init", rt::spelled(v.init())},
          {"a", v.a()},
          {"b", v.b()},
          {"rng_id", v.rng_id()},
          {"rng_strides", list(v.rng_strides())},
          {"file", text(v.file())},
          {"begins_as", text(v.begins_as())},
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

/// What the exact check found; null where that is not recorded.
static Json verified(const Verified *record) {
  if (!record)
    return nullptr;
  return {{"model", hex(record->model())}, {"bits", record->bits()}, {"runs", record->runs()},
          {"values", record->values()},    {"seed", record->seed()}, {"producer", text(record->producer())},
          {"text", rt::spelled(*record)}};
}

/// How servers take updates of workers that do not wait for each other; null: they do.
static Json asynchronous(const Asynchronous *servers) {
  if (!servers)
    return nullptr;
  const bool isUnlimited = servers->staleness() == UINT64_MAX;
  return {{"workers", servers->workers()}, {"staleness", isUnlimited ? Json("inf") : Json(servers->staleness())}};
}

static Json describe(const rt::Artifact &artifact) {
  const Plan &plan = artifact.plan();
  Json result = {
      {"format", plan.format()},
      {"bytes", artifact.sizeBytes()},
      {"digest", artifact.digestHex()},
      {"producer", text(plan.producer())},
      {"model", text(plan.model())},
      {"signed_by", artifact.signer() ? Json(artifact.signer()->fingerprint()) : Json()},
      {"verified", verified(plan.verified())},
      {"target",
       {{"kind", text(plan.target()->kind())},
        {"triple", text(plan.target()->triple())},
        {"cpu", text(plan.target()->cpu())},
        {"features", Json::array()}}},
      {"mesh", meshOf(plan)},
      {"world_size", plan.world_size()},
      {"global_batch", plan.global_batch()},
      {"asynchronous", asynchronous(plan.asynchronous())},
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
      {"programs", map(plan.programs(),
                       [&](const Program &p) {
                         return Json{{"name", text(p.name())},
                                     {"group", groupName(plan, p.group())},
                                     {"private_bytes", rt::privateBytesOf(plan, p.group())},
                                     {"shared_bytes", rt::sharedBytesOf(plan, p.group())},
                                     {"inputs", map(p.inputs(), [&](const Input &i) { return signature(plan, i); })},
                                     {"outputs", map(p.outputs(), [&](const Output &o) { return output(plan, o); })},
                                     {"states", map(p.states(), stateUse)},
                                     {"buffers", map(p.buffers(), buffer)},
                                     {"steps", map(p.steps(), [&](const Step &s) { return step(plan, s); })}};
                       })},
      {"kernels", map(plan.kernels(),
                      [](const Kernel &k) {
                        return Json{{"symbol", text(k.symbol())}, {"arg_count", k.arg_count()},
                                    {"extent", k.extent()},       {"cost_ns", k.cost_ns()},
                                    {"flops", k.flops()},         {"inplace", list(k.inplace())},
                                    {"digest", hex(k.digest())}};
                      })},
      {"sections", map(plan.sections(),
                       [](const Section &s) {
                         return Json{
                             {"name", text(s.name())}, {"bytes", s.data()->size()}, {"digest", hex(s.digest())}};
                       })},
      {"options", map(plan.options(),
                      [](const CompilerOption &option) {
                        return Json{{"name", text(option.name())},
                                    {"value", text(option.value())},
                                    {"origin", rt::spelled(option.origin())}};
                      })},
  };
  for (uint32_t i = 0; plan.target()->features() && i < plan.target()->features()->size(); ++i)
    result["target"]["features"].push_back(plan.target()->features()->Get(i)->str());
  return result;
}

std::string rt::describeAsJson(const Artifact &artifact, int indent) {
  return ::describe(artifact).dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}
