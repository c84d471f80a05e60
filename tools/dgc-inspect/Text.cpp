// An artifact as text.
#include "tools/dgc-inspect/Describe.h"

#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Numerics.h"
#include "runtime/artifact/PlanTraffic.h"
#include "runtime/artifact/Spelling.h"
#include "runtime/base/Status.h"
#include "runtime/telemetry/Progress.h"

using namespace dgc;
using namespace dgc::artifact;
using rt::str;

namespace {
class Description {
public:
  explicit Description(const rt::Artifact &artifact) : artifact(artifact), plan(artifact.plan()) {}

  std::string print(bool steps) {
    header();
    variables();
    for (uint32_t i = 0; plan.programs() && i < plan.programs()->size(); ++i)
      program(*plan.programs()->Get(i), steps);
    kernels();
    return std::move(out);
  }

private:
  /// Adds a line, without the blanks after a name that is empty.
  template <typename... Args> void line(const Args &...args) {
    out += str(args...);
    out.resize(out.find_last_not_of(' ') + 1);
    out += "\n";
  }

  static std::string text(const flatbuffers::String *s) {
    std::string result = s ? s->str() : "";
    for (char &c : result)
      if (static_cast<unsigned char>(c) < 32 || c == 127)
        c = '?'; // names come from the file
    return result;
  }

  template <typename Range> static std::string join(const Range &range, const char *separator) {
    std::string result;
    for (const auto &item : range)
      result += str(result.empty() ? "" : separator, item);
    return result;
  }

  /// "f32 [784x512]", and per dimension the axes that cut it: "f32 [128/data x 784]".
  std::string type(DType dtype, const flatbuffers::Vector<int64_t> *shape, const Sharding *sharding) const {
    std::string result = str(rt::spelled(dtype), " [");
    for (uint32_t d = 0; shape && d < shape->size(); ++d) {
      result += str(d ? "x" : "", shape->Get(d));
      if (sharding && sharding->dims() && sharding->dims()->Get(d)->axes())
        for (uint32_t axis : *sharding->dims()->Get(d)->axes())
          result += str("/", text(plan.mesh()->Get(axis)->name()));
    }
    return result + "]";
  }

  void header() {
    line("model       ", text(plan.model()));
    line("producer    ", text(plan.producer()), ", format ", plan.format());
    line("digest      ", artifact.digestHex());
    line("signed      ", artifact.signer() ? str("by ", artifact.signer()->fingerprint()) : "no");
    line("verified    ", plan.verified() ? rt::spelled(*plan.verified()) : "no");
    line("size        ", rt::formatBytes(artifact.sizeBytes()));
    std::vector<std::string> features;
    for (uint32_t i = 0; plan.target()->features() && i < plan.target()->features()->size(); ++i)
      features.push_back(text(plan.target()->features()->Get(i)));
    line("target      ", text(plan.target()->kind()), " ", text(plan.target()->triple()), " ",
         text(plan.target()->cpu()));
    if (const Target *host = plan.host_target())
      line("on CPUs     ", text(host->triple()), " ", text(host->cpu()));
    if (!features.empty())
      line("features    ", join(features, " "));
    std::vector<std::string> axes;
    // With parameter servers the first axis numbers groups of different sizes; they follow.
    bool hasServers =
        plan.groups() && plan.groups()->size() && !rt::isFull(plan, static_cast<int32_t>(plan.groups()->size()) - 1);
    for (uint32_t i = hasServers; plan.mesh() && i < plan.mesh()->size(); ++i)
      axes.push_back(str(text(plan.mesh()->Get(i)->name()), "=", plan.mesh()->Get(i)->size()));
    line("workers     ", plan.world_size(), axes.empty() ? "" : str(" (", join(axes, ", "), ")"));
    if (const Asynchronous *servers = plan.asynchronous())
      line("servers     ", plan.world_size() - 1, ", asynchronous, of any number of workers (", servers->workers(),
           " as compiled), staleness ",
           servers->staleness() == UINT64_MAX ? std::string("without a limit") : str("up to ", servers->staleness()));
    line("batch       ", plan.global_batch());
    line("memory      ", rt::formatBytes(plan.private_bytes()), " private, ", rt::formatBytes(plan.shared_bytes()),
         " shared");
    for (uint32_t i = 0; plan.groups() && i < plan.groups()->size(); ++i) {
      const Group &g = *plan.groups()->Get(i);
      line("group       ", text(g.name()), ", ranks ", g.first_rank(), " to ", g.first_rank() + g.rank_count() - 1,
           ", ", rt::formatBytes(g.private_bytes()), " private, ", rt::formatBytes(g.shared_bytes()), " shared",
           g.on_host() ? ", on CPUs" : "");
    }
    for (uint32_t i = 0; plan.options() && i < plan.options()->size(); ++i) {
      const CompilerOption &option = *plan.options()->Get(i);
      line("option      ", rt::optionText(text(option.name()), text(option.value()), option.origin()));
    }
    for (uint32_t i = 0; plan.sections() && i < plan.sections()->size(); ++i)
      line("section     ", text(plan.sections()->Get(i)->name()), ", ",
           rt::formatBytes(plan.sections()->Get(i)->data()->size()));
  }

  void variables() {
    for (uint32_t i = 0; plan.variables() && i < plan.variables()->size(); ++i) {
      const Variable &v = *plan.variables()->Get(i);
      line("variable    ", text(v.name()), " : ",
           type(plan.variable_buffers()->Get(v.buffer())->dtype(), v.global_shape(), v.sharding()), ", ",
           rt::spelled(v.role()), ", ", rt::spelled(v.init()),
           v.row_count() ? str(", rows ", v.first_row(), " to ", v.first_row() + v.row_count() - 1) : "",
           v.group() < 0 ? "" : ", on " + groupName(v.group()));
    }
  }

  std::string groupName(int32_t group) const { return text(plan.groups()->Get(static_cast<uint32_t>(group))->name()); }

  std::string peer(int32_t group, uint32_t rank) const {
    return group < 0 ? str("rank ", rank) : "the same place of " + groupName(group);
  }

  /// What is reported of a metric that is no mean.
  static std::string reported(const Output &o) {
    if (rt::isNumericsOutput(o))
      return ", of " +
             rt::counted(rt::readChecks(o.over()->string_view()).value_or(std::vector<rt::CheckedValue>()).size(),
                         "value");
    if (o.function() == MetricFunction::AreaUnderCurve)
      return ", area_under_curve of all examples with the labels " + text(o.over());
    if (o.function() == MetricFunction::Last)
      return ", the last value";
    return (o.over() ? " over " + text(o.over()) : "") +
           (o.function() == MetricFunction::Identity ? "" : ", " + rt::spelled(o.function()) + " of it");
  }

  void program(const Program &p, bool steps) {
    line("program     ", text(p.name()), p.group() < 0 ? "" : " of " + groupName(p.group()), ", ",
         rt::counted(p.steps() ? p.steps()->size() : 0, "step"));
    for (uint32_t i = 0; p.inputs() && i < p.inputs()->size(); ++i) {
      const Input &in = *p.inputs()->Get(i);
      line("  input     ", text(in.name()), " : ",
           type(p.buffers()->Get(in.buffer())->dtype(), in.global_shape(), in.sharding()), ", ",
           rt::spelled(in.role()));
    }
    for (uint32_t i = 0; p.outputs() && i < p.outputs()->size(); ++i) {
      const Output &o = *p.outputs()->Get(i);
      line("  output    ", text(o.name()), " : ",
           type(p.buffers()->Get(o.buffer())->dtype(), o.global_shape(), o.sharding()), ", ", rt::spelled(o.role()),
           reported(o));
    }
    if (steps && p.steps())
      stepsFrom(p, 0, p.steps()->size(), "  ");
  }

  /// Those of loops and branches are set apart.
  void stepsFrom(const Program &p, uint32_t begin, uint32_t end, const std::string &indent) {
    for (uint32_t i = begin; i < end; ++i) {
      const Step &each = *p.steps()->Get(i);
      line(indent, i, " ", step(p, each));
      const While *loop = each.action_as_While();
      const If *branch = each.action_as_If();
      if (!loop && !branch)
        continue;
      const uint32_t second = i + 1 + (loop ? loop->test_steps() : branch->then_steps());
      const uint32_t behind = second + (loop ? loop->body_steps() : branch->else_steps());
      stepsFrom(p, i + 1, second, indent + "  ");
      line(indent, loop ? "do" : "else");
      stepsFrom(p, second, behind, indent + "  ");
      i = behind - 1;
    }
  }

  std::string operand(const Program &p, int64_t index) const {
    const Buffer &b = *p.buffers()->Get(static_cast<uint32_t>(index));
    std::string name = text(b.name());
    return str(name.empty() ? str("#", index) : name, "@", rt::spelled(b.space()), "+", b.offset());
  }

  //===-- Actions: the text before and after the operands ---------------===//

  template <typename T> std::string title(const T &) const { return std::string(rt::nameOf<T>()); }
  std::string title(const KernelCall &a) const { return "kernel " + text(plan.kernels()->Get(a.kernel())->symbol()); }
  std::string title(const Matmul &a) const {
    return str("matmul ", a.batch() > 1 ? str(a.batch(), " x ") : "", a.m(), "x", a.n(), "x", a.k());
  }
  std::string title(const Convolution &a) const { return "convolution " + rt::spelled(a.kind()); }
  std::string title(const Pool &a) const { return "pool " + rt::spelled(a.kind()); }
  std::string title(const Attention &a) const {
    return str("attention ", a.backward() ? "backward " : "", a.heads(), " heads");
  }
  std::string title(const Collective &a) const {
    std::vector<std::string> axes;
    for (uint32_t axis : *a.axes())
      axes.push_back(text(plan.mesh()->Get(axis)->name()));
    return str("collective ", a.id(), " ", rt::spelled(a.kind()), " ", rt::spelled(a.reduction()), " over ",
               join(axes, ", "), ", ", rt::formatBytes(rt::payloadBytes(a)), " at +", a.src(),
               a.origin() ? str(", for ", text(a.origin())) : "");
  }
  std::string title(const Send &a) const { return "send" + partsOf(a); }
  std::string title(const Receive &a) const { return "receive" + partsOf(a); }

  /// What is sent or received in parts: one of them, or all.
  std::string partsOf(const rt::TransferEnd &end) const {
    return !end.gathered ? "" : rt::partsOf(plan, end) > 1 ? " parts" : " part";
  }

  template <typename T> std::string ending(const T &) const { return ""; }
  std::string ending(const Send &a) const { return " to " + peer(a.group(), a.peer()); }
  std::string ending(const Receive &a) const { return " from " + peer(a.group(), a.peer()); }
  std::string ending(const Fill &a) const { return str(" with ", a.value()); }

  /// The operands of an action by their roles: those that are read, then those that are written; in parentheses those of
  /// kernels, which nobody else knows.
  struct Operands : rt::ActionSink<Operands> {
    Operands(const Description &description, const Program &program) : description(description), program(program) {}
    void operand(std::string_view, rt::Role role, int64_t buffer) {
      if (buffer < 0)
        return;
      auto &list = role == rt::Role::Unknown ? arguments : rt::mayWrite(role) ? written : read;
      list.push_back(description.operand(program, buffer));
    }
    void operands(std::string_view name, rt::Role role, const flatbuffers::Vector<uint32_t> *buffers) {
      hasArguments = true;
      ActionSink::operands(name, role, buffers);
    }
    void postOps(std::string_view, const flatbuffers::Vector<flatbuffers::Offset<PostOp>> *) {}

    std::string print() const {
      std::string result = hasArguments ? "(" + join(arguments, ", ") + ")" : "";
      if (!read.empty())
        result += " " + join(read, ", ");
      if (!written.empty())
        result += (read.empty() ? " " : " -> ") + join(written, ", ");
      return result;
    }

    const Description &description;
    const Program &program;
    std::vector<std::string> arguments, read, written;
    bool hasArguments = false;
  };

  std::string action(const Program &p, const Step &s) const {
    return rt::visit(s, [&](const auto &action) {
      Operands operands(*this, p);
      rt::describe(action, operands);
      return title(action) + operands.print() + ending(action);
    });
  }

  std::string step(const Program &p, const Step &s) const {
    std::string result = action(p, s);
    if (s.queue())
      result += str("  queue ", s.queue());
    if (s.name() && s.name()->size())
      result += str("  '", text(s.name()), "'");
    if (s.location() && s.location()->size())
      result += str("  ", text(s.location()));
    return result;
  }

  void kernels() {
    for (uint32_t i = 0; plan.kernels() && i < plan.kernels()->size(); ++i) {
      const Kernel &k = *plan.kernels()->Get(i);
      line("kernel      ", text(k.symbol()), ", ", rt::counted(k.arg_count(), "argument"), ", ",
           rt::counted(k.extent(), "part"), ", ", rt::counted(static_cast<int64_t>(k.flops()), "flop"));
    }
  }

  const rt::Artifact &artifact;
  const Plan &plan;
  std::string out;
};
} // namespace

std::string dgc::tool::describeAsText(const rt::Artifact &artifact, bool steps) {
  return Description(artifact).print(steps);
}
