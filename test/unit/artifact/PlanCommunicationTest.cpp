// Plans whose workers run different programs, most of them made so that somebody waits for ever or two meet that do
// not mean the same.
#include "SamplePlan.h"

#include "runtime/artifact/PlanCheck.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/Status.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <ctime>
#include <functional>

using namespace dgc::rt;
using namespace dgc::rt::test;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

namespace {
/// What one worker does: collectives and transfers in order.
class Worker {
public:
  Worker() { addBuffer(*program, 0, {4}, fb::DType::F32, fb::Space::Shared); }

  Worker &allReduce(std::vector<uint32_t> axes, const std::function<void(fb::CollectiveT &)> &change = {}) {
    fb::CollectiveT op;
    op.id = collectives++;
    op.axes = std::move(axes);
    op.dtype = fb::DType::F32;
    op.src_count = op.dst_count = 4;
    if (change)
      change(op);
    addStep(*program, std::move(op), "all_reduce");
    return *this;
  }
  Worker &send(uint32_t to, uint32_t channel = 0) {
    fb::SendT op;
    op.peer = to;
    op.channel = channel;
    addStep(*program, std::move(op), "send");
    return *this;
  }
  Worker &receive(uint32_t from, uint32_t channel = 0) {
    fb::ReceiveT op;
    op.peer = from;
    op.channel = channel;
    addStep(*program, std::move(op), "receive");
    return *this;
  }
  /// A counted loop of `rounds`, with what `body` adds in it.
  Worker &loop(uint64_t rounds, const std::function<void(Worker &)> &body) {
    fb::WhileT op;
    op.rounds = rounds;
    op.counted = true;
    addStep(*program, op, "while");
    const size_t first = program->steps.size();
    body(*this);
    program->steps[first - 1]->action.AsWhile()->body_steps = static_cast<uint32_t>(program->steps.size() - first);
    return *this;
  }
  Worker &wider() {
    program->buffers[0]->shape = {8};
    return *this;
  }

  std::shared_ptr<fb::ProgramT> program = std::make_shared<fb::ProgramT>();

private:
  uint32_t collectives = 0;
};

/// The verdict on a plan of a mesh of these sizes in which rank r is workers[r].
std::string verdict(const std::vector<uint32_t> &mesh, std::vector<Worker> workers) {
  fb::PlanT plan;
  plan.target = std::make_unique<fb::TargetT>();
  plan.target->kind = "cpu";
  plan.world_size = 1;
  for (uint32_t size : mesh) {
    auto axis = std::make_unique<fb::MeshAxisT>();
    axis->name = std::string(1, static_cast<char>('a' + plan.mesh.size()));
    axis->size = size;
    plan.world_size *= size;
    plan.mesh.push_back(std::move(axis));
  }
  plan.shared_bytes = 1024;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    workers[rank].program->name = "p" + std::to_string(rank);
    plan.programs.push_back(std::make_unique<fb::ProgramT>(*workers[rank].program));
  }
  std::vector<uint8_t> bytes = *finishPlan(std::move(plan));
  const fb::Plan &written = *fb::GetPlan(bytes.data());
  std::vector<const fb::Program *> programs(written.programs()->begin(), written.programs()->end());
  absl::Status s = checkTogether(written, programs);
  return s.ok() ? "ends" : std::string(s.message());
}

TEST(PlanCommunication, SameOrderEnds) {
  std::vector<Worker> workers(4);
  for (Worker &worker : workers)
    worker.allReduce({0}).allReduce({1}).allReduce({0, 1});
  EXPECT_EQ(verdict({2, 2}, workers), "ends");
}

TEST(PlanCommunication, OtherOrderOfGroups) {
  std::vector<Worker> workers(4);
  for (uint32_t i = 0; i < 4; ++i) {
    bool other = i == 0 || i == 3;
    workers[i].allReduce({other}).allReduce({!other});
  }
  auto waits = [](int rank, const char *axis, int other) { // where, and for whom
    return ContainsRegex(
        str("rank ", rank, " in all_reduce [^;]*over ", axis, " [^;]*'p", rank, "'[^;]* waits for rank ", other));
  };
  EXPECT_THAT(verdict({2, 2}, workers), AllOf(HasSubstr("does not come to an end"), waits(0, "b", 1), waits(1, "a", 3),
                                              waits(3, "b", 2), waits(2, "a", 0)));
}

/// Two workers that reduce over all of the mesh, one of them something else.
std::string verdictWith(const std::function<void(fb::CollectiveT &)> &change) {
  std::vector<Worker> workers(2);
  workers[0].allReduce({0, 1});
  workers[1].allReduce({0, 1}, change);
  return verdict({2, 1}, workers);
}

TEST(PlanCommunication, MembersMustMeanTheSame) {
  EXPECT_EQ(verdictWith({}), "ends");
  const std::function<void(fb::CollectiveT &)> changes[] = {
      [](fb::CollectiveT &op) { op.dtype = fb::DType::I32; },
      [](fb::CollectiveT &op) { op.src_count = op.dst_count = 5; },
      [](fb::CollectiveT &op) { op.reduction = fb::Reduction::Max; },
      [](fb::CollectiveT &op) { op.kind = fb::CollectiveKind::Broadcast; },
      [](fb::CollectiveT &op) { op.src = 64; },
      [](fb::CollectiveT &op) { op.dst = 64; },
  };
  for (const auto &change : changes)
    EXPECT_THAT(verdictWith(change), HasSubstr("which is not the same"));
  auto permute = [](const std::vector<uint32_t> &to) {
    return [to](fb::CollectiveT &op) {
      op.kind = fb::CollectiveKind::Permute;
      op.permutation = to;
    };
  };
  std::vector<Worker> workers(2);
  workers[0].allReduce({0}, permute({1, 0}));
  workers[1].allReduce({0}, permute({0, 1}));
  EXPECT_THAT(verdict({2}, workers), HasSubstr("which is not the same"));
}

TEST(PlanCommunication, MembersAreNumberedInTheSameWay) {
  std::vector<Worker> workers(4);
  for (int i = 0; i < 4; ++i)
    workers[i].allReduce(i ? std::vector<uint32_t>{0, 1} : std::vector<uint32_t>{1, 0});
  EXPECT_THAT(verdict({2, 2}, workers), HasSubstr("which is not the same"));
}

TEST(PlanCommunication, MemberThatNeverComes) {
  std::vector<Worker> workers(2);
  workers[0].allReduce({0});
  EXPECT_THAT(verdict({2}, workers),
              ContainsRegex("rank 0 in all_reduce .*over a .*'p0'.* waits for rank 1,.*nothing left to do"));
}

TEST(PlanCommunication, Transfers) {
  auto pair = [](const Worker &a, const Worker &b) { return verdict({2}, {a, b}); };
  EXPECT_EQ(pair(Worker().send(1).receive(1, 1), Worker().receive(0).send(0, 1)), "ends");
  EXPECT_THAT(pair(Worker().send(1).receive(1), Worker().send(0).receive(0)), HasSubstr("nobody can go on"));
  EXPECT_THAT(pair(Worker().send(1), Worker().receive(0).wider()), HasSubstr("f32 [8]"));
  EXPECT_THAT(pair(Worker().send(1), Worker()), HasSubstr("nothing left to do"));
  EXPECT_THAT(pair(Worker().send(0), Worker()), HasSubstr("no such partner"));
  EXPECT_THAT(pair(Worker().send(1, 0), Worker().receive(0, 1)), HasSubstr("nobody can go on"));
}

// One round proves all of them only where all begin and end their loops together.
TEST(PlanCommunication, TransfersInLoops) {
  auto pair = [](const Worker &a, const Worker &b) { return verdict({2}, {a, b}); };
  auto sends = [](uint32_t to, uint32_t channel = 0) { return [=](Worker &w) { w.send(to, channel); }; };
  auto receives = [](uint32_t from, uint32_t channel = 0) { return [=](Worker &w) { w.receive(from, channel); }; };
  EXPECT_EQ(pair(Worker().loop(3, sends(1)).receive(1), Worker().loop(3, receives(0)).send(0)), "ends");
  EXPECT_THAT(pair(Worker().loop(3, sends(1)), Worker().loop(4, receives(0))),
              HasSubstr("the beginning of a loop of 4 rounds"));
  EXPECT_THAT(pair(Worker().loop(3, sends(1)), Worker().receive(0)), HasSubstr("does not come to an end"));
  EXPECT_THAT(pair(Worker().loop(3, sends(1)).loop(3, receives(1, 1)),
                   Worker().loop(3, [](Worker &w) { w.receive(0).send(0, 1); })),
              HasSubstr("does not come to an end"));
  // Workers without such loops do not take part.
  EXPECT_EQ(verdict({3}, {Worker().loop(3, sends(1)), Worker().loop(3, receives(0)).send(2), Worker().receive(1)}),
            "ends");
  // In the first round worker 1 gets what worker 0 sends, and then what worker 2 sends once worker 0 has ended its loop.
  EXPECT_THAT(verdict({3}, {Worker().loop(2, sends(1)).send(2, 1),
                            Worker().loop(2, [](Worker &w) { w.receive(0).receive(2, 2); }),
                            Worker().receive(0, 1).loop(2, sends(1, 2))}),
              HasSubstr("does not come to an end"));
}

TEST(PlanCommunication, OneProgramForEachWorker) {
  std::vector<Worker> workers(1);
  EXPECT_THAT(verdict({2}, workers), HasSubstr("1 of 2 workers"));
}

/// Processor seconds until a plan with one program for all of 65536 workers has its verdict. Looking at each of them
/// would be more than 10^9 collectives.
double seconds(const Worker &worker, uint32_t axisSize, std::string_view expected) {
  fb::PlanT plan;
  plan.target = std::make_unique<fb::TargetT>();
  plan.target->kind = "cpu";
  plan.world_size = 65536;
  plan.shared_bytes = 1024;
  for (uint32_t left = plan.world_size; left > 1; left /= axisSize) {
    auto axis = std::make_unique<fb::MeshAxisT>();
    axis->name = "axis" + std::to_string(plan.mesh.size());
    axis->size = axisSize;
    plan.mesh.push_back(std::move(axis));
  }
  worker.program->name = "train";
  plan.programs.push_back(std::make_unique<fb::ProgramT>(*worker.program));
  std::vector<uint8_t> bytes = *finishPlan(std::move(plan));
  std::clock_t start = std::clock();
  absl::Status s = loadBytes(bytes).status();
  std::clock_t spent = std::clock() - start;
  EXPECT_THAT(s.ToString(), HasSubstr(std::string(expected)));
  return static_cast<double>(spent) / CLOCKS_PER_SEC;
}

TEST(PlanCommunication, IsBounded) {
  Worker many, kinds, transfers, little;
  for (int i = 0; i < 20000; ++i)
    many.allReduce({0});
  for (uint32_t set = 1; set < 65536; ++set) { // a group of its own kind for each set of axes
    std::vector<uint32_t> axes;
    for (uint32_t axis = 0; axis < 16; ++axis)
      if (set >> axis & 1)
        axes.push_back(axis);
    kinds.allReduce(axes);
  }
  for (int i = 0; i < 20000; ++i)
    transfers.send(1);
  little.allReduce({0}).allReduce({0});
  EXPECT_LT(seconds(many, 65536, "OK"), 60); // all are alike, however many
  EXPECT_LT(seconds(kinds, 2, "OK"), 60);
  EXPECT_LT(seconds(transfers, 65536, "more than is checked"), 60);
  EXPECT_LT(seconds(little, 65536, "OK"), 60);
}
} // namespace
