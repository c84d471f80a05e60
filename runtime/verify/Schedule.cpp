#include "runtime/verify/Schedule.h"

#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Enums.h"
#include "runtime/base/Status.h"
#include "runtime/device/reference/Bytecode.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace dgc;
using namespace dgc::verify;
using rt::str;

namespace {
/// A part of a plan: what it is without sizes, and where, for people.
struct Line {
  std::string text, where;
};

/// What an action is without sizes.
struct Outline : rt::ActionSink<Outline> {
  Outline(const artifact::Program &program, const std::vector<std::string> &kernels, bool hasBuffers, bool isOrdered,
          bool isPool)
      : program(program), kernels(kernels), hasBuffers(hasBuffers), isOrdered(isOrdered), isPool(isPool) {}

  void operand(std::string_view name, rt::Role, int64_t buffer);
  template <typename T> void value(std::string_view name, const T &field) {
    if (isSize(name) || (!isOrdered && name == "id"))
      return;
    if constexpr (std::is_same_v<T, const flatbuffers::String *>)
      add(name, field ? field->string_view() : "");
    else if constexpr (std::is_pointer_v<T>)
      addAll(name, field);
    else
      add(name, static_cast<double>(field));
  }
  void axes(std::string_view name, const flatbuffers::Vector<uint32_t> *axes) { addAll(name, axes); }
  void kernel(std::string_view, uint32_t index) { text += " computes " + kernels.at(index); }
  void peer(std::string_view name, int32_t group, uint32_t rank) {
    add(name, group);
    add(name, rank);
  }
  void range(uint64_t, uint64_t, uint64_t, uint64_t, artifact::DType) {
    if (isOrdered)
      text += " range";
  }
  void postOps(std::string_view, const flatbuffers::Vector<flatbuffers::Offset<artifact::PostOp>> *ops) {
    for (uint32_t i = 0; ops && i < ops->size(); ++i)
      operand(EnumNamePostOpKind(ops->Get(i)->kind()), rt::Role::Read, ops->Get(i)->arg());
  }

  std::string text;

private:
  template <typename T> void add(std::string_view name, const T &value) { text += str(" ", name, " ", value); }
  template <typename V> void addAll(std::string_view name, const V *values) {
    for (uint32_t i = 0; values && i < values->size(); ++i)
      add(name, values->Get(i));
  }
  /// Also texts for people, and numbers that may follow from a size, as that of a pool that is a whole dimension.
  bool isSize(std::string_view name) const {
    if (isPool && (name == "window" || name == "strides"))
      return true;
    static constexpr std::string_view sizes[] = {"batch",   "m",     "n",     "k",      "batch_sizes", "a_strides",
                                                 "groups",  "outer", "count", "inner",  "size",        "b_strides",
                                                 "padding", "scale", "value", "origin", "dst_strides", "rounds"};
    return std::find(std::begin(sizes), std::end(sizes), name) != std::end(sizes);
  }

  const artifact::Program &program;
  const std::vector<std::string> &kernels;
  bool hasBuffers, isOrdered, isPool;
};

/// The lines of a plan.
class Schedule {
public:
  static absl::StatusOr<std::vector<Line>> of(const rt::Artifact &artifact, SchedulePart part);

private:
  Schedule(const rt::Artifact &artifact, SchedulePart part)
      : plan(artifact.plan()), hasBuffers(part == SchedulePart::All), isOrdered(part != SchedulePart::Values) {}
  void addWorkers();
  void addVariables();
  absl::Status findKernels(const rt::Artifact &artifact);
  void addProgram(const artifact::Program &program);
  void addStep(const artifact::Program &program, const std::string &name, uint32_t number);
  void addCounts(const std::string &program);

  const artifact::Plan &plan;
  bool hasBuffers, isOrdered;
  std::vector<std::string> kernels; // what each computes
  std::vector<Line> lines;
  std::map<std::string, std::pair<uint64_t, std::string>> counts; // of steps of a program without order, and their kind
};
} // namespace

/// f(element) for each element of a vector that may be absent.
template <typename V, typename F> static void forEach(const V *vector, F &&f) {
  for (uint32_t i = 0; vector && i < vector->size(); ++i)
    f(vector->Get(i));
}

static std::string outlineOf(const reference::Nest &nest) {
  std::string text = " nest";
  forEach(nest.reduces(), [&](bool reduces) { text += reduces ? " r" : " k"; });
  forEach(nest.loads(), [&](const reference::Access *load) { text += str(" from ", load->buffer()); });
  forEach(nest.body(), [&](const reference::Instruction *op) {
    text += str(" ", int{op->opcode()}, ".", static_cast<int>(op->type()), ".", op->a(), ".", op->b(), ".", op->c());
  });
  forEach(nest.outputs(), [&](const reference::Output *output) {
    text += str(" to ", output->access()->buffer(), "=", output->value());
  });
  return text;
}

static std::string outlineOf(const reference::Kernel &kernel) {
  std::string text;
  forEach(kernel.buffers(), [&](const reference::Buffer *buffer) { text += str(" ", EnumNameType(buffer->type())); });
  forEach(kernel.nests(), [&](const reference::Nest *nest) { text += outlineOf(*nest); });
  return text;
}

static std::string outlineOf(const artifact::Sharding *sharding) {
  std::string text;
  if (sharding)
    forEach(sharding->dims(), [&](const artifact::DimSharding *dim) {
      text += " [";
      forEach(dim->axes(), [&](uint32_t axis) { text += str(" ", axis); });
      text += " ]";
    });
  return text;
}

static std::string outlineOf(const artifact::Buffer &buffer) {
  return str(EnumNameDType(buffer.dtype()), " in ", EnumNameSpace(buffer.space()), " of rank ",
             buffer.shape() ? buffer.shape()->size() : 0);
}

void Outline::operand(std::string_view name, rt::Role, int64_t buffer) {
  if (hasBuffers || buffer < 0)
    add(name, buffer);
  else
    add(name, outlineOf(*program.buffers()->Get(static_cast<uint32_t>(buffer))));
}

void Schedule::addWorkers() {
  std::string mesh = str(plan.world_size(), " workers");
  forEach(plan.mesh(),
          [&](const artifact::MeshAxis *axis) { mesh += str(", ", axis->name()->str(), " ", axis->size()); });
  forEach(plan.groups(), [&](const artifact::Group *group) {
    mesh += str("; ", group->name()->str(), " from ", group->first_rank(), ", ", group->rank_count());
  });
  lines.push_back({mesh, "the mesh"});
}

void Schedule::addVariables() {
  forEach(plan.variables(), [&](const artifact::Variable *variable) {
    const artifact::Buffer &buffer = *plan.variable_buffers()->Get(variable->buffer());
    lines.push_back({str(variable->name()->str(), " ", EnumNameVariableRole(variable->role()), " ",
                         EnumNameInitKind(variable->init()), " ", outlineOf(buffer), " group ", variable->group(),
                         variable->row_count() ? " block" : "", outlineOf(variable->sharding())),
                     str("variable '", variable->name()->str(), "'")});
  });
}

void Schedule::addProgram(const artifact::Program &program) {
  const std::string name = str(program.name()->str(), program.group() < 0 ? "" : str(" of group ", program.group()));
  auto add = [&](const auto *value) {
    lines.push_back({str(value->name()->str(), " role ", static_cast<int>(value->role()), " batch ", value->batch_dim(),
                         outlineOf(value->sharding()), hasBuffers ? str(" buffer ", value->buffer()) : ""),
                     str(name, ", '", value->name()->str(), "'")});
  };
  forEach(program.inputs(), add);
  forEach(program.outputs(), add);
  for (uint32_t i = 0; hasBuffers && i < program.buffers()->size(); ++i)
    lines.push_back({outlineOf(*program.buffers()->Get(i)), str(name, ", buffer ", i)});
  for (uint32_t i = 0; program.steps() && i < program.steps()->size(); ++i)
    addStep(program, name, i);
  addCounts(name);
  lines.push_back({"end", str("the end of ", name)});
}

void Schedule::addStep(const artifact::Program &program, const std::string &name, uint32_t number) {
  const artifact::Step &step = *program.steps()->Get(number);
  const rt::ActionKind kind = rt::infoOf(step.action_type()).kind;
  if (!hasBuffers && (kind == rt::ActionKind::Kernel || kind == rt::ActionKind::Memory))
    return;
  Outline outline(program, kernels, hasBuffers, isOrdered, step.action_type() == artifact::Action::Pool);
  rt::describe(step, outline);
  if (!isOrdered && kind != rt::ActionKind::Transfer) {
    const artifact::Collective *collective = step.action_as_Collective();
    auto &[count, what] = counts[str(rt::nameOf(step.action_type()), outline.text)];
    count += collective && collective->more() ? 1 + collective->more()->size() : 1;
    what = collective ? EnumNameCollectiveKind(collective->kind()) : rt::nameOf(step.action_type());
    return;
  }
  std::string text = str(rt::nameOf(step.action_type()), " queue ", step.queue(), outline.text);
  if (hasBuffers)
    forEach(step.waits(), [&](uint32_t awaited) { text += str(" waits ", awaited); });
  const std::string location = step.location() ? step.location()->str() : "";
  lines.push_back({std::move(text), str(name, ", step ", number, " ", rt::nameOf(step.action_type()),
                                        location.empty() ? "" : str(" (", location, ")"))});
}

void Schedule::addCounts(const std::string &program) {
  for (const auto &[text, counted] : counts)
    lines.push_back({str(text, " ", counted.first), str(program, ", the number of steps ", counted.second)});
  counts.clear();
}

absl::Status Schedule::findKernels(const rt::Artifact &artifact) {
  if (!plan.kernels() || plan.kernels()->size() == 0)
    return absl::OkStatus();
  if (artifact.semantics().empty())
    return absl::FailedPreconditionError(
        "the artifact does not say what its kernels compute: compile it with --with-semantics");
  DGC_ASSIGN_OR_RETURN(const reference::Kernels *bytecode, reference::readKernels(artifact.semantics()));
  std::map<std::string, std::string> bySymbol;
  forEach(bytecode->kernels(),
          [&](const reference::Kernel *kernel) { bySymbol[kernel->symbol()->str()] = outlineOf(*kernel); });
  forEach(plan.kernels(),
          [&](const artifact::Kernel *kernel) { kernels.push_back(bySymbol[kernel->symbol()->str()]); });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Line>> Schedule::of(const rt::Artifact &artifact, SchedulePart part) {
  Schedule schedule(artifact, part);
  DGC_RETURN_IF_ERROR(schedule.findKernels(artifact));
  schedule.addWorkers();
  schedule.addVariables();
  forEach(schedule.plan.programs(), [&](const artifact::Program *program) { schedule.addProgram(*program); });
  return std::move(schedule.lines);
}

absl::StatusOr<std::string> dgc::verify::differenceOfSchedules(const rt::Artifact &plan, const rt::Artifact &other,
                                                               SchedulePart part) {
  DGC_ASSIGN_OR_RETURN(const std::vector<Line> mine, Schedule::of(plan, part));
  DGC_ASSIGN_OR_RETURN(const std::vector<Line> its, Schedule::of(other, part));
  for (size_t i = 0; i < std::min(mine.size(), its.size()); ++i)
    if (mine[i].text != its[i].text)
      return mine[i].where == its[i].where ? mine[i].where : str(mine[i].where, " / ", its[i].where);
  return mine.size() == its.size() ? "" : "the number of programs";
}
