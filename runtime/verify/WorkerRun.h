// One worker of a plan in the exact check.
#pragma once

#include "runtime/verify/Exchange.h"
#include "runtime/verify/PlanRun.h"

#include <algorithm>
#include <deque>
#include <tuple>

namespace dgc::verify {

/// The elements of a buffer of a plan, their type in the bytecode, and its bytes.
uint64_t countOf(const artifact::Buffer &buffer);
reference::Type typeOf(const artifact::Buffer &buffer);
uint64_t bytesOf(const artifact::Buffer &buffer);

/// A collective that members arrive at.
struct PendingCollective {
  int64_t collective = 0;
  std::vector<uint32_t> group;
  std::vector<Member> arrived;
  bool done = false;

  const Member &memberOf(uint32_t rank) const {
    return *std::find_if(arrived.begin(), arrived.end(), [&](const Member &each) { return each.rank == rank; });
  }
  uint32_t stepOf(uint32_t rank) const { return static_cast<uint32_t>(memberOf(rank).writer.step); }
};

/// Where the workers of a run meet.
class Rendezvous {
public:
  struct Message {
    TensorRef value;
    Clock clock; // of the sender
  };
  using Messages = std::deque<Message>;

  explicit Rendezvous(uint32_t workers) : tasks(workers) {}

  /// Where `rank` meets the others the next time that it comes to the collective: in a loop, in each round.
  PendingCollective &next(uint32_t collective, const std::vector<uint32_t> &group, uint32_t rank) {
    std::deque<PendingCollective> &meetings = collectives[{collective, group}];
    // Behind the last one that it has been to, which is one of the last: no member is far ahead of the others.
    auto found = std::find_if(meetings.rbegin(), meetings.rend(), [&](const PendingCollective &each) {
      return std::any_of(each.arrived.begin(), each.arrived.end(),
                         [&](const Member &member) { return member.rank == rank; });
    });
    if (found.base() != meetings.end())
      return *found.base();
    return meetings.emplace_back(PendingCollective{collective, group, {}});
  }
  /// The first of them at which all members are and that has not had its effect.
  PendingCollective &complete(uint32_t collective, const std::vector<uint32_t> &group) {
    return **std::find_if(waiting.begin(), waiting.end(), [&](const PendingCollective *each) {
      return each->collective == collective && each->group == group;
    });
  }
  Messages &messages(uint32_t from, uint32_t to, uint32_t channel) { return queues[{from, to, channel}]; }
  void post(uint32_t from, uint32_t to, uint32_t channel, Message message) {
    messages(from, to, channel).push_back(std::move(message));
    ++numChanges;
  }
  void arrive(PendingCollective &pending, Member member) {
    pending.arrived.push_back(std::move(member));
    if (pending.arrived.size() == pending.group.size())
      waiting.push_back(&pending);
  }
  /// Those at which all members are and that have not had their effect.
  const std::vector<PendingCollective *> &complete() const { return waiting; }
  void finish(PendingCollective &pending) {
    pending.done = true;
    std::erase(waiting, &pending);
    ++numChanges;
  }
  /// How often something came to be that workers wait for.
  uint64_t changes() const { return numChanges; }
  /// The number of a task that begins.
  uint32_t newTask() { return tasks++; }

private:
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, std::deque<PendingCollective>> collectives;
  std::vector<PendingCollective *> waiting;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Messages> queues;
  uint32_t tasks;
  uint64_t numChanges = 0;
};

class WorkerRun {
public:
  WorkerRun(PlanRun &plan, uint32_t rank);

  /// Gives variables and inputs their values and begins the program, if this worker has a part in it.
  absl::Status begin(const Call &call, uint64_t run, Rendezvous &rendezvous);
  /// Whether there is a next step, and nothing that it waits for.
  bool canStep() const;
  /// Does the next step, or, of a collective, arrives at it.
  absl::Status doStep();
  /// Does steps up to one that communicates or waits, at most so many. Other workers may do theirs at the same time.
  absl::Status computeSteps(uint32_t most);
  /// Notes what a collective does to the arena of this member.
  absl::Status noteCollective(Member &member);
  bool isDone() const;
  /// What it waits for.
  std::string position() const { return describe(static_cast<int32_t>(next)); }

  uint32_t rank() const { return rank_; }
  Part part(const std::string &name, const rt::Slice &slice, const artifact::Buffer &buffer) const;
  const artifact::Program *current() const { return program; }
  int32_t groupNumber() const { return group; }
  absl::Status named(const absl::Status &status, uint32_t step) const;

private:
  /// A collective whose end nobody has waited for.
  struct StartedCollective {
    uint32_t step;
    const PendingCollective *pending;
  };

  uint32_t numSteps() const { return program->steps() ? program->steps()->size() : 0; }
  const artifact::Step &step(uint32_t number) const { return *program->steps()->Get(number); }
  Memory &memoryOf(const artifact::Buffer &buffer) { return buffer.space() == artifact::Space::Shared ? shared : own; }
  Writer writer(uint32_t step) const { return {run, static_cast<int32_t>(step)}; }
  std::string describe(int32_t step) const;

  absl::Status set(const artifact::Buffer &buffer, const Tensor &global, const std::vector<int64_t> &shape,
                   const rt::Slice &slice);
  absl::Status beginVariables(const Call &call);
  absl::Status beginInputs(const Call &call);

  absl::Status communicate(const artifact::Collective &collective);
  absl::Status communicate(const artifact::Send &send);
  absl::Status communicate(const artifact::Receive &receive);
  absl::Status compute();
  absl::Status enter(const artifact::While &loop);
  absl::Status enter(const artifact::If &branch);
  absl::Status follow();
  absl::StatusOr<bool> holds(uint32_t predicate);
  absl::Status act();
  const PendingCollective *pendingOf(uint32_t step) const;
  bool waits() const;
  void await(uint32_t step);
  /// Notes an access that this worker's step does at `clock`.
  absl::Status note(ByteRange range, const Access &access, const Clock &clock);
  absl::Status note(uint32_t buffer, bool writes);
  absl::StatusOr<TensorRef> read(uint32_t buffer);

  PlanRun &plan;
  uint32_t rank_;
  int32_t group;
  Memory own, shared;
  uint64_t run = 0;
  const artifact::Program *program = nullptr;
  Rendezvous *rendezvous = nullptr;
  uint32_t next = 0;
  /// A loop or a branch that steps are in. At the end of what decides on a loop, `body`, its predicate is read.
  struct Control {
    uint32_t begin, body, end; // a branch has no begin: it ends at `body`, and what is skipped at `end`
    uint32_t predicate;
    bool isLoop;
    uint64_t known = 0; // how many rounds a loop has, as the plan says; 0: it does not
    uint32_t rounds = 0;
  };
  std::vector<Control> controls; // the innermost one last
  /// The last step was a collective in a loop or a branch: where to go on is decided when it has ended.
  bool follows = false;
  /// What was found of a step, after so many changes: nothing that a step waits for goes away again.
  struct Readiness {
    int64_t step = -1;
    uint64_t changes = 0;
    bool waits = true;
  };
  mutable Readiness found;
  std::vector<StartedCollective> started; // those of this queue at most until the next step
  Clock clock;
  Moment now;    // of the step
  AccessLog log; // of the shared arena: what goes on during other steps works on nothing else
};

} // namespace dgc::verify
