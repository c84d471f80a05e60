// One worker of a plan in the exact check.
#pragma once

#include "runtime/verify/Exchange.h"
#include "runtime/verify/PlanRun.h"

#include <deque>
#include <functional>
#include <set>
#include <tuple>

namespace dgc::verify {

/// A collective that members arrive at.
struct Meeting {
  std::vector<Member> arrived;
  bool done = false;
};

/// Where the workers of a run meet.
class Rendezvous {
public:
  using Letters = std::deque<TensorRef>;

  Meeting &meeting(const artifact::Collective &collective, const std::vector<uint32_t> &group) {
    return meetings[{collective.id(), group}];
  }
  Letters &letters(uint32_t from, uint32_t to, uint32_t channel) { return mail[{from, to, channel}]; }

private:
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, Meeting> meetings;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Letters> mail;
};

class WorkerRun {
public:
  WorkerRun(PlanRun &plan, uint32_t rank);

  /// Gives variables and inputs their values and begins the program, if this worker has a part in it.
  absl::Status begin(const Call &call, uint64_t run, Rendezvous &rendezvous);
  /// Goes on as far as it can; whether it did anything.
  absl::StatusOr<bool> advance();
  bool isDone() const { return !program || (next == numSteps() && underWay.empty()); }
  /// What it waits for.
  std::string position() const { return describe(static_cast<int32_t>(next)); }

  uint32_t rank() const { return rank_; }
  Part part(const std::string &name, const rt::Slice &slice, const artifact::Buffer &buffer) const;
  const artifact::Program *current() const { return program; }
  int32_t groupNumber() const { return group; }

private:
  /// Bytes of the shared arena.
  struct Range {
    uint64_t begin = 0, end = 0;
    bool meets(const Range &other) const { return begin < other.end && other.begin < end; }
  };
  /// Communication that goes on while later steps run.
  struct Async {
    uint32_t step;
    std::vector<Range> ranges;
  };

  uint32_t numSteps() const { return program->steps() ? program->steps()->size() : 0; }
  const artifact::Step &step(uint32_t number) const { return *program->steps()->Get(number); }
  Memory &memoryOf(const artifact::Buffer &buffer) { return buffer.space() == artifact::Space::Shared ? shared : own; }
  Writer writer(uint32_t step) const { return {run, static_cast<int32_t>(step)}; }
  std::string describe(int32_t step) const;
  absl::Status named(const absl::Status &status, uint32_t step) const;

  absl::Status set(const artifact::Buffer &buffer, const Tensor &global, const std::vector<int64_t> &shape,
                   const rt::Slice &slice);
  absl::Status beginVariables(const Call &call);
  absl::Status beginInputs(const Call &call);

  absl::StatusOr<bool> tryStep();
  absl::StatusOr<bool> tryAction(uint32_t step);
  absl::StatusOr<bool> communicate(uint32_t step, const artifact::Collective &collective);
  absl::StatusOr<bool> communicate(uint32_t step, const artifact::Send &send);
  absl::StatusOr<bool> communicate(uint32_t step, const artifact::Receive &receive);
  absl::Status compute(uint32_t step);
  absl::Status checkRanges(uint32_t step) const;
  std::vector<Range> rangesOf(uint32_t step) const;
  absl::StatusOr<TensorRef> read(uint32_t buffer);

  PlanRun &plan;
  uint32_t rank_;
  int32_t group;
  Memory own, shared;
  uint64_t run = 0;
  const artifact::Program *program = nullptr;
  Rendezvous *rendezvous = nullptr;
  uint32_t next = 0;
  std::vector<Async> underWay;
  std::set<uint32_t> begun; // communication of this run, by step
};

} // namespace dgc::verify
