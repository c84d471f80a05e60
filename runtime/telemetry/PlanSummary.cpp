// Prints plans.
#include "runtime/telemetry/PlanSummary.h"

#include "runtime/artifact/Actions.h"
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/PlanTraffic.h"
#include "runtime/artifact/Spelling.h"
#include "runtime/artifact/VariableParts.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"
#include "runtime/telemetry/Progress.h"

#include <algorithm>

using namespace dgc::rt;
namespace fb = dgc::artifact;

template <typename T> static size_t sizeOfVector(const T *vector) { return vector ? vector->size() : 0; }

static std::string text(const flatbuffers::String *value) { return value ? value->str() : ""; }

static uint64_t sectionBytes(const fb::Plan &plan, int32_t index) {
  return index < 0 ? 0 : plan.sections()->Get(index)->data()->size();
}

/// What the inside of library calls takes, where most.
static uint64_t libraryBytes(const fb::Plan &plan) {
  uint64_t most = 0;
  for (size_t i = 0; i < sizeOfVector(plan.programs()); ++i)
    most = std::max<uint64_t>(most, plan.programs()->Get(i)->scratch_bytes());
  return most;
}

uint64_t dgc::rt::workerBytes(const fb::Plan &plan) {
  return plan.private_bytes() + plan.shared_bytes() + libraryBytes(plan) + sectionBytes(plan, plan.constant_section()) +
         sectionBytes(plan, plan.object_section());
}

/// "1 kernel", "3 kernels".
static std::string plural(uint64_t n, std::string_view what) { return str(n, " ", what, n == 1 ? "" : "s"); }

static std::string axisNames(const fb::Plan &plan, const flatbuffers::Vector<uint32_t> *axes) {
  std::string names;
  for (uint32_t axis : toVector(axes))
    names += str(names.empty() ? "" : ",", text(plan.mesh()->Get(axis)->name()));
  return names.empty() ? "-" : names;
}

std::string dgc::rt::workersText(const fb::Plan &plan) {
  if (const fb::Asynchronous *servers = plan.asynchronous())
    return str(plural(servers->workers(), "worker"), " that do not wait for each other, ",
               plural(plan.world_size() - 1, "server"), " and a chief, batch ", plan.global_batch());
  std::string out = plural(plan.world_size(), "worker");
  // With parameter servers the first axis numbers groups of different sizes; they follow.
  bool hasServers = sizeOfVector(plan.groups()) && !isFull(plan, static_cast<int32_t>(plan.groups()->size()) - 1);
  for (size_t i = hasServers; i < sizeOfVector(plan.mesh()); ++i) {
    const fb::MeshAxis *axis = plan.mesh()->Get(i);
    out += str(i > hasServers ? " x " : ", mesh ", text(axis->name()), "=", axis->size());
  }
  return out + str(", global batch ", plan.global_batch());
}

/// Which number of `variables` counts a variable.
static size_t columnOf(fb::VariableRole role) {
  switch (role) {
  case fb::VariableRole::Weight:
    return 0;
  case fb::VariableRole::Slot:
  case fb::VariableRole::LossScale:
    return 1;
  case fb::VariableRole::Statistic:
    return 2;
  case fb::VariableRole::Total:
    return 3;
  }
  return 0;
}

/// Elements and bytes of all variables, whole.
static std::string variables(const fb::Plan &plan) {
  uint64_t elements[4] = {}, bytes = 0, count = 0;
  for (size_t i = 0; i < sizeOfVector(plan.variables()); ++i) {
    const fb::Variable *variable = plan.variables()->Get(i);
    const fb::Buffer *buffer = plan.variable_buffers()->Get(variable->buffer());
    std::vector<int64_t> shape = toVector(variable->row_count() ? buffer->shape() : variable->global_shape());
    count += variable->first_row() == 0 ? countParts(*variable) : 0; // blocks of rows are one variable
    DType dtype = toDType(buffer->dtype());
    uint64_t size = byteSize(dtype, shape).value_or(0);
    bytes += size;
    elements[columnOf(variable->role())] += size / sizeOf(dtype);
  }
  return str(count, " (", formatCount(static_cast<double>(elements[0])), " weights, ",
             formatCount(static_cast<double>(elements[1])), " of optimizer state, ",
             formatCount(static_cast<double>(elements[2])), " statistics",
             elements[3] ? str(", ", formatCount(static_cast<double>(elements[3])), " running sums") : "", "), ",
             formatBytes(bytes));
}

/// One line about a collective.
static std::string collective(const fb::Plan &plan, const fb::Collective &action, StepRuns runs) {
  DType dtype = toDType(action.dtype());
  uint64_t bytes = payloadBytes(action);
  std::string kind = spelled(action.kind());
  if (infoOf(toCollectiveKind(action.kind())).reduces)
    kind += " " + spelled(action.reduction());
  return str("    ", action.id(), ": ", kind, " over ", axisNames(plan, action.axes()), ", ", nameOf(dtype), " x ",
             bytes / sizeOf(dtype), " = ", formatBytes(bytes), runs.times == 1 ? "" : str(", ", runs.times, " times"),
             runs.isLowerBound ? " in each round of a loop" : "", text(action.origin()).empty() ? "" : ", ",
             text(action.origin()), "\n");
}

static std::string program(const fb::Plan &plan, const fb::Program &program) {
  uint64_t kernels = 0, library = 0;
  std::string lines;
  forEachStep(program, [&](const fb::Step &step, StepRuns runs) {
    const ActionKind kind = infoOf(step.action_type()).kind;
    kernels += kind == ActionKind::Kernel;
    library += kind == ActionKind::LibraryCall;
    if (const fb::Collective *op = step.action_as_Collective())
      lines += collective(plan, *op, runs);
  });
  std::string where = program.group() < 0 ? "" : " of " + text(plan.groups()->Get(program.group())->name());
  std::string whole = text(program.whole_batches());
  return str("program ", text(program.name()), where, ": ", plural(sizeOfVector(program.steps()), "step"), " (",
             plural(kernels, "kernel"), ", ", plural(library, "library call"),
             ")\n  communication per step: ", describe(trafficOf(program)), "\n",
             whole.empty() ? "" : str("  takes whole batches only: ", whole, "\n"), lines);
}

std::string dgc::rt::summarize(const fb::Plan &plan) {
  std::string out =
      str("plan ", text(plan.model()), " by ", text(plan.producer()), " for ", text(plan.target()->kind()));
  if (plan.target()->cpu() && plan.target()->cpu()->size())
    out += str(" (", text(plan.target()->cpu()), ")");
  for (size_t i = 0; i < sizeOfVector(plan.device_code()); ++i) {
    const fb::DeviceCode &code = *plan.device_code()->Get(i);
    out += str(i ? ", " : " (", code.binary() ? "cubin" : "ptx", " sm_", code.architecture(),
               i + 1 == plan.device_code()->size() ? ")" : "");
  }
  if (plan.host_target())
    out += str(", servers for ", text(plan.host_target()->kind()), " (", text(plan.host_target()->cpu()), ")");
  out += str("\nworkers: ", workersText(plan), "\n");
  out += str("variables: ", variables(plan), "\n");
  out += str("memory per worker, peak: ", formatBytes(workerBytes(plan)), " (private ", plan.private_bytes(),
             " B, shared ", plan.shared_bytes(), " B, libraries ", libraryBytes(plan), " B, constants ",
             sectionBytes(plan, plan.constant_section()), " B, code ", sectionBytes(plan, plan.object_section()),
             " B), and the data set\n");
  for (size_t i = 0; i < sizeOfVector(plan.groups()); ++i) {
    const fb::Group &group = *plan.groups()->Get(i);
    out += str("  ", text(group.name()), ", ranks ", group.first_rank(), " to ",
               group.first_rank() + group.rank_count() - 1, ": private ", group.private_bytes(), " B, shared ",
               group.shared_bytes(), " B", group.on_host() ? ", on CPUs" : "", "\n");
  }
  for (size_t i = 0; i < sizeOfVector(plan.programs()); ++i)
    out += program(plan, *plan.programs()->Get(i));
  return out;
}
