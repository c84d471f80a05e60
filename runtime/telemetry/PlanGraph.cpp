// Finds out which step reads what which other one has written, by the memory that they work on.
#include "runtime/telemetry/PlanGraph.h"

#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Enums.h"
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/base/Shape.h"
#include "runtime/base/Status.h"
#include "runtime/telemetry/tensorboard.pb.h"

#include <algorithm>
#include <map>
#include <set>

using namespace dgc::rt;
namespace fb = dgc::artifact;

namespace {
/// A range of an arena.
struct Range {
  fb::Space space;
  uint64_t begin, end;
};

/// Who wrote what is in memory.
class Writers {
public:
  void write(const Range &range, const std::string &node) {
    cut(range.space, range.begin);
    cut(range.space, range.end);
    auto &pieces = memory[range.space];
    pieces.erase(pieces.lower_bound(range.begin), pieces.lower_bound(range.end));
    if (range.begin < range.end)
      pieces[range.begin] = {range.end, node};
  }
  std::set<std::string> of(const Range &range) const {
    std::set<std::string> nodes;
    const auto space = memory.find(range.space);
    if (space == memory.end())
      return nodes;
    auto at = space->second.upper_bound(range.begin);
    if (at != space->second.begin() && std::prev(at)->second.first > range.begin)
      --at;
    for (; at != space->second.end() && at->first < range.end; ++at)
      nodes.insert(at->second.second);
    return nodes;
  }

private:
  /// No piece is on both sides of `at`.
  void cut(fb::Space space, uint64_t at) {
    auto &pieces = memory[space];
    auto next = pieces.lower_bound(at);
    if (next == pieces.begin())
      return;
    auto &[end, node] = std::prev(next)->second;
    if (end <= at)
      return;
    pieces[at] = {end, node};
    end = at;
  }

  std::map<fb::Space, std::map<uint64_t, std::pair<uint64_t, std::string>>> memory; // by where a piece begins
};

Range rangeOf(const fb::Buffer &buffer) {
  const uint64_t bytes = byteSize(toDType(buffer.dtype()), toVector(buffer.shape())).value_or(0);
  return {buffer.space(), buffer.offset(), buffer.offset() + bytes};
}

/// The memory that a step reads and writes.
class StepMemory : public ActionSink<StepMemory> {
public:
  StepMemory(const fb::Plan &plan, const fb::Program &program, const fb::Step &step) : program(program) {
    if (const fb::KernelCall *call = step.action_as_KernelCall()) { // whose last arguments are the results
      const fb::Kernel &kernel = *plan.kernels()->Get(call->kernel());
      const auto args = toVector(call->args());
      const size_t results = kernel.inplace() ? kernel.inplace()->size() : 1;
      for (size_t i = 0; i < args.size(); ++i)
        operand("", i + results < args.size() ? Role::Read : Role::Written, args[i]);
      return;
    }
    describe(step, *this);
  }

  void operand(std::string_view, Role role, int64_t index) {
    if (index < 0)
      return;
    const Range range = rangeOf(*program.buffers()->Get(static_cast<uint32_t>(index)));
    if (mayRead(role))
      reads.push_back(range);
    if (mayWrite(role))
      writes.push_back(range);
  }
  void range(uint64_t src, uint64_t srcCount, uint64_t dst, uint64_t dstCount, fb::DType dtype) {
    const uint64_t size = sizeOf(toDType(dtype));
    reads.push_back({fb::Space::Shared, src, src + srcCount * size});
    writes.push_back({fb::Space::Shared, dst, dst + dstCount * size});
  }

  std::vector<Range> reads, writes;

private:
  const fb::Program &program;
};

/// Names of nodes: a / makes a group, and no two are equal.
class Names {
public:
  std::string unique(const std::string &group, std::string_view name) {
    std::string clean = group;
    for (char c : name.empty() ? std::string_view("step") : name) {
      const bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
      clean += isPlain ? c : '_';
    }
    const int before = taken[clean]++;
    return before == 0 ? clean : unique(group, str(name, ".", before + 1));
  }

private:
  std::map<std::string, int> taken;
};
} // namespace

static std::string text(const flatbuffers::String *value) { return value ? value->str() : ""; }

static void addProgram(const fb::Plan &plan, const fb::Program &program, tensorboard::GraphDef &graph) {
  const std::string group =
      program.group() < 0 ? "" : text(plan.groups()->Get(static_cast<uint32_t>(program.group()))->name()) + "/";
  Writers writers;
  Names names;
  auto addNode = [&](const std::string &name, std::string_view op) {
    tensorboard::NodeDef &node = *graph.add_node();
    node.set_name(name);
    node.set_op(std::string(op));
    if (!group.empty())
      node.set_device(group.substr(0, group.size() - 1));
    return &node;
  };
  for (uint32_t v = 0; plan.variables() && v < plan.variables()->size(); ++v) {
    const fb::Variable &variable = *plan.variables()->Get(v);
    if (!belongs(variable.group(), program.group()))
      continue;
    const std::string name = names.unique(group + "variables/", text(variable.name()));
    addNode(name, "variable");
    writers.write(rangeOf(*plan.variable_buffers()->Get(variable.buffer())), name);
  }
  for (uint32_t i = 0; program.inputs() && i < program.inputs()->size(); ++i) {
    const fb::Input &input = *program.inputs()->Get(i);
    const std::string name = names.unique(group + "inputs/", text(input.name()));
    addNode(name, "input");
    writers.write(rangeOf(*program.buffers()->Get(input.buffer())), name);
  }
  for (uint32_t i = 0; program.steps() && i < program.steps()->size(); ++i) {
    const fb::Step &step = *program.steps()->Get(i);
    const StepMemory memory(plan, program, step);
    const std::string name = names.unique(group + "train/", text(step.name()));
    tensorboard::NodeDef &node = *addNode(name, nameOf(step.action_type()));
    std::set<std::string> inputs;
    for (const Range &range : memory.reads)
      inputs.merge(writers.of(range));
    for (const std::string &input : inputs)
      node.add_input(input);
    if (step.location())
      (*node.mutable_attr())["location"].set_s(text(step.location()));
    for (const Range &range : memory.writes)
      writers.write(range, name);
  }
}

std::string dgc::rt::graphOf(const fb::Plan &plan) {
  tensorboard::GraphDef graph;
  for (uint32_t i = 0; plan.programs() && i < plan.programs()->size(); ++i)
    if (const fb::Program &program = *plan.programs()->Get(i); program.name()->string_view() == "train")
      addProgram(plan, program, graph);
  if (graph.node_size() == 0)
    return "";
  graph.mutable_versions()->set_producer(22);
  return graph.SerializeAsString();
}
