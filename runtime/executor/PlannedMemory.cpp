// Adds up what a plan says about memory.
#include "runtime/executor/PlannedMemory.h"

#include "runtime/artifact/Describe.h"
#include "runtime/artifact/DeviceTraits.h"
#include "runtime/artifact/GpuSizes.h"
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"
#include "runtime/collective/Mapped.h"

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace dgc::rt;
namespace a = dgc::artifact;

template <typename T> static uint32_t count(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

static uint64_t bytesOf(const a::Buffer &buffer) {
  return byteSize(toDType(buffer.dtype()), toVector(buffer.shape())).value_or(0);
}

/// The variables lie at the start of the private arena.
static uint64_t variableBytes(const a::Plan &plan, int32_t group) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < count(plan.variables()); ++i) {
    const a::Variable &variable = *plan.variables()->Get(i);
    const a::Buffer &buffer = *plan.variable_buffers()->Get(variable.buffer());
    if (belongs(variable.group(), group))
      end = std::max(end, buffer.offset() + bytesOf(buffer));
  }
  return end;
}

static uint64_t endOf(const a::Program &program, a::Space space) {
  uint64_t end = 0;
  for (const a::Buffer *buffer : *program.buffers())
    if (buffer->space() == space)
      end = std::max(end, buffer->offset() + bytesOf(*buffer));
  return end;
}

static uint64_t segmentBytes(const a::Plan &plan, uint64_t shared) {
  return SegmentLayout{plan.world_size(), TransportOptions().channels, shared}.residentBytes();
}

static uint64_t stagingOf(const a::Plan &plan, const a::Program &program) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < count(program.steps()); ++i)
    if (const a::Collective *c = program.steps()->Get(i)->action_as_Collective()) {
      uint32_t members = 1;
      for (uint32_t axis : toVector(c->axes()))
        members *= plan.mesh()->Get(axis)->size();
      std::vector<CollectiveDesc::Range> ranges;
      forEachRange(*c, [&](const auto &range) {
        ranges.push_back({range.src(), range.src_count(), range.dst(), range.dst_count()});
      });
      most = std::max(most, stagingBytes(toCollectiveKind(c->kind()), sizeOf(toDType(c->dtype())), ranges, members));
    }
  return most;
}

static uint64_t constantBytes(const a::Plan &plan) {
  auto section = static_cast<uint32_t>(plan.constant_section()); // -1: beyond all
  return section < count(plan.sections()) ? plan.sections()->Get(section)->data()->size() : 0;
}

/// What library calls and kernels need.
static uint64_t workspaceOf(const a::Plan &plan, const a::Program &program) {
  uint64_t most = program.scratch_bytes();
  for (uint32_t i = 0; i < count(program.steps()); ++i)
    if (const a::KernelCall *call = program.steps()->Get(i)->action_as_KernelCall())
      most = std::max(most, plan.kernels()->Get(call->kernel())->workspace_bytes());
  return most;
}

/// Inputs that wait for their runs, on the host as on the device.
static uint64_t inputBytes(const a::Program &program) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count(program.inputs()); ++i)
    bytes += gpu::stagedBytes(bytesOf(*program.buffers()->Get(program.inputs()->Get(i)->buffer())));
  return bytes * gpu::stagedRuns;
}

/// Pinned copies of what a program gets from the host and gives to it.
static uint64_t pinnedBytes(const a::Program &program) {
  uint64_t outputs = 0, received = 0, predicates = 0;
  for (uint32_t i = 0; i < count(program.outputs()); ++i)
    if (const a::Buffer &buffer = *program.buffers()->Get(program.outputs()->Get(i)->buffer());
        buffer.space() != a::Space::Constant)
      outputs += gpu::stagedBytes(bytesOf(buffer));
  for (uint32_t i = 0; i < count(program.steps()); ++i) {
    const a::Step &step = *program.steps()->Get(i);
    if (const a::Receive *receive = step.action_as_Receive())
      if (const a::Buffer &buffer = *program.buffers()->Get(receive->buffer()); buffer.space() != a::Space::Shared)
        received += bytesOf(buffer);
    predicates += infoOf(step.action_type()).kind == ActionKind::Control; // a byte each
  }
  return inputBytes(program) + outputs * gpu::stagedRuns + received + predicates;
}

/// What is other on devices with memory of their own, of programs that run one after the other.
static void moveToDevice(const a::Plan &plan, const std::vector<const a::Program *> &programs, uint64_t shared,
                         PlannedMemory &memory) {
  memory.host = gpu::transferBytes + memory.communication;
  memory.communication = shared;
  memory.values += constantBytes(plan);
  for (const a::Program *program : programs) {
    memory.scratch = std::max(memory.scratch, workspaceOf(plan, *program));
    memory.values += inputBytes(*program);
    memory.host += pinnedBytes(*program);
  }
}

PlannedMemory dgc::rt::plannedMemory(const a::Plan &plan, const a::Program &program) {
  PlannedMemory memory;
  memory.variables = variableBytes(plan, program.group());
  uint64_t end = wholePages(std::max(memory.variables, endOf(program, a::Space::Private)));
  memory.values = end - memory.variables;
  memory.communication = segmentBytes(plan, endOf(program, a::Space::Shared));
  memory.scratch = wholePages(workspaceOf(plan, program));
  memory.staging = stagingOf(plan, program);
  if (traitsOf(plan, program.group()).hasOwnMemory)
    moveToDevice(plan, {&program}, endOf(program, a::Space::Shared), memory);
  return memory;
}

PlannedMemory dgc::rt::plannedMemory(const a::Plan &plan, int32_t group) {
  PlannedMemory memory;
  memory.variables = variableBytes(plan, group);
  memory.values = wholePages(privateBytesOf(plan, group)) - memory.variables;
  memory.communication = segmentBytes(plan, plan.shared_bytes()); // the same on all workers
  std::vector<const a::Program *> programs;
  for (uint32_t i = 0; i < count(plan.programs()); ++i)
    if (const a::Program &program = *plan.programs()->Get(i); belongs(program.group(), group)) {
      programs.push_back(&program);
      memory.scratch = std::max(memory.scratch, wholePages(workspaceOf(plan, program)));
      memory.staging = std::max(memory.staging, stagingOf(plan, program));
    }
  if (traitsOf(plan, group).hasOwnMemory)
    moveToDevice(plan, programs, sharedBytesOf(plan, group), memory);
  return memory;
}

static std::string inMiB(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", static_cast<double>(bytes) / (1 << 20));
  return text;
}

static std::string line(const std::string &name, const PlannedMemory &memory) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-24s %10s %10s %10s %13s %10s\n", name.c_str(), inMiB(memory.total()).c_str(),
                inMiB(memory.variables).c_str(), inMiB(memory.values).c_str(), inMiB(memory.communication).c_str(),
                inMiB(memory.scratch).c_str());
  return text;
}

std::string dgc::rt::describeMemory(const a::Plan &plan) {
  std::string text = "planned memory of each worker on its device, in MiB";
  text += traitsOf(plan, -1).usesThreads
              ? str(", with ", plan.threads(), plan.threads() == 1 ? " thread:\n" : " threads:\n")
              : ":\n";
  char header[160];
  std::snprintf(header, sizeof header, "  %-24s %10s %10s %10s %13s %10s\n", "", "peak", "variables", "values",
                "communication", "libraries");
  text += header;
  const int32_t groups = static_cast<int32_t>(count(plan.groups()));
  uint64_t staging = 0, host = 0;
  for (int32_t group = groups ? 0 : -1; group < groups; ++group) {
    std::string where = groups ? " of " + plan.groups()->Get(static_cast<uint32_t>(group))->name()->str() : "";
    if (isOnHost(plan, group))
      where += ", on a CPU";
    for (uint32_t i = 0; i < count(plan.programs()); ++i)
      if (const a::Program &program = *plan.programs()->Get(i); belongs(program.group(), group))
        text += line(program.name()->str() + where, plannedMemory(plan, program));
    PlannedMemory worker = plannedMemory(plan, group);
    text += line("worker" + where, worker);
    staging = std::max(staging, worker.staging);
    host = std::max(host, worker.host);
  }
  if (host)
    text += str("  and ", inMiB(host), " of the host, pinned but for a little, to exchange values with the GPU\n");
  if (staging)
    text += str("  and ", inMiB(staging), " to communicate between hosts\n");
  return text;
}
