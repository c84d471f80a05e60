// Loops and branches of a plan, and slices that are replaced: one violation each, as in CheckTest.cpp.
#include "SamplePlan.h"

#include "runtime/artifact/Reader.h"
#include "runtime/artifact/Varying.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace dgc::rt;
using namespace dgc::rt::test;
using ::testing::ContainsRegex;

namespace {
using P = fb::PlanT &;

struct Violation {
  const char *name;
  void (*change)(fb::PlanT &);
  const char *where, *what; // parts of the message
};

/// A loop of a round of one copy behind the other steps, as long as a buffer is true, which a copy sets.
fb::WhileT &loop(P p) {
  fb::ProgramT &program = *p.programs[0];
  const uint32_t x = addBuffer(program, 4096, {1}, fb::DType::I1), y = addBuffer(program, 4160, {1}, fb::DType::I1);
  fb::WhileT op;
  op.predicate = x;
  op.test_steps = op.body_steps = 1;
  fb::WhileT &result = addStep(program, op, "while");
  fb::CopyT copy;
  copy.src = y;
  copy.dst = x;
  addStep(program, copy, "copy");
  addStep(program, copy, "copy");
  return result;
}

/// Lets the first copy of a loop take what decides from an input of one element. Returns the loop's first step.
size_t decideBy(P p, std::unique_ptr<fb::ShardingT> cut) {
  fb::ProgramT &program = *p.programs[0];
  loop(p);
  const auto from = static_cast<uint32_t>(program.buffers.size() - 1);
  auto input = std::make_unique<fb::InputT>();
  input->name = "decides";
  input->buffer = from;
  input->global_shape = {cut ? 2 : 1};
  input->sharding = std::move(cut);
  program.inputs.push_back(std::move(input));
  return program.steps.size() - 3;
}

/// Moves the collective of the sample into the body of the loop at step `at`.
void communicate(P p, size_t at) {
  auto &steps = p.programs[0]->steps;
  const auto isCollective = [](const auto &step) { return step->action.type == fb::Action::Collective; };
  const auto collective = std::find_if(steps.begin(), steps.end(), isCollective);
  std::rotate(collective, collective + 1, steps.end());
  steps[at - 1]->action.AsWhile()->body_steps = 2;
}

/// What is sent to another worker.
fb::SendT send(P p) {
  fb::SendT op;
  op.buffer = addBuffer(*p.programs[0], 0, {1}, fb::DType::F32, fb::Space::Shared);
  op.peer = 1;
  return op;
}

fb::BufferT &buffer(P p, uint32_t index) { return *p.programs[0]->buffers[index]; }

/// A slice of 2 of 6 places, behind the other steps.
fb::UpdateSliceT &updateSlice(P p) {
  fb::ProgramT &program = *p.programs[0];
  fb::UpdateSliceT op;
  op.src = addBuffer(program, 8192, {3, 6, 4}, fb::DType::F32);
  op.dst = addBuffer(program, 8192 + 512, {3, 6, 4}, fb::DType::F32);
  op.update = addBuffer(program, 8192 + 1024, {3, 2, 4}, fb::DType::F32);
  op.start = addBuffer(program, 8192 + 1536, {}, fb::DType::I32);
  op.outer = 3, op.size = 6, op.extent = 2, op.inner = 4;
  p.private_bytes = 65536;
  return addStep(program, std::move(op), "update");
}

const Violation violations[] = {
    {"UpdateSliceSizes", [](P p) { updateSlice(p).inner = 5; }, "'update'", "dst"},
    {"UpdateSliceOverflow", [](P p) { updateSlice(p).outer = ~0ull; }, "'update'", "the sizes overflow"},
    {"UpdateSliceEmpty", [](P p) { updateSlice(p).extent = 0; }, "'update'", "sizes must be at least 1"},
    {"UpdateSliceExtent", [](P p) { updateSlice(p).extent = 7; }, "'update'", "extent 7, its dimension has only 6"},
    {"UpdateSliceStart", [](P p) { buffer(p, updateSlice(p).start).dtype = fb::DType::F32; }, "'update'",
     "start must be an integer"},
    {"UpdateSliceType", [](P p) { buffer(p, updateSlice(p).update).dtype = fb::DType::I32; }, "'update'", "update"},
    {"UpdateSliceOverlap", [](P p) { buffer(p, updateSlice(p).update).offset = 8192 + 512; }, "'update'",
     "the result overlaps update"},
    {"UpdateSliceSource", [](P p) { buffer(p, updateSlice(p).src).offset = 8192 + 256; }, "'update'", "overlaps"},
    {"LoopPredicate", [](P p) { loop(p).predicate = 999; }, "'while'", "predicate is buffer 999, which does not exist"},
    {"LoopPredicateType",
     [](P p) {
       loop(p);
       p.programs[0]->buffers[p.programs[0]->buffers.size() - 2]->dtype = fb::DType::I8;
     },
     "'while'", "predicate must have 1 elements of I1"},
    {"LoopTooLong", [](P p) { loop(p).body_steps = 2; }, "", "decides on 1 and 2 steps behind it, and there are 2"},
    {"LoopOverflows", [](P p) { loop(p).test_steps = loop(p).body_steps = UINT32_MAX; }, "", "decides on"},
    {"LoopCommunicates",
     [](P p) {
       loop(p);
       auto &steps = p.programs[0]->steps;
       std::rotate(steps.begin() + 4, steps.begin() + 5, steps.end() - 1); // the collective is in the loop
     },
     "", "communicates in the loop or branch of step .*not known to be the same on all workers along data"},
    {"LoopDecidedByItsPart",
     [](P p) { // from round to round: the input that the predicate is made of is cut
       communicate(p, decideBy(p, sharding({{0}})));
     },
     "", "communicates in the loop or branch of step .* along data; step .* makes it differ"},
    {"LoopTransfers",
     [](P p) {
       loop(p);
       p.programs[0]->steps.back()->action.Set(send(p));
     },
     "", "sends or receives in a branch, or in a loop that is not counted"},
    {"TestTransfers",
     [](P p) {
       fb::WhileT &op = loop(p);
       op.counted = true;
       op.rounds = 2;
       auto &steps = p.programs[0]->steps;
       steps[steps.size() - 2]->action.Set(send(p));
     },
     "", "sends or receives in a branch, or in a loop that is not counted"},
    {"LoopAwaits",
     [](P p) {
       loop(p);
       p.programs[0]->steps[4]->queue = 1;
       p.programs[0]->steps.back()->waits = {4};
     },
     "", "waits for others"},
    {"LoopsNested",
     [](P p) {
       loop(p).body_steps = 0;
       fb::ProgramT &program = *p.programs[0];
       program.steps.pop_back();
       for (uint32_t i = 0; i < 65; ++i) { // each is in the branch before it
         fb::IfT branch;
         branch.predicate = static_cast<uint32_t>(program.buffers.size() - 2);
         branch.then_steps = 64 - i;
         addStep(program, branch, "if");
       }
     },
     "", "is in 64 loops and branches"},
    {"BranchPredicate",
     [](P p) {
       fb::IfT branch;
       branch.predicate = 0;
       addStep(*p.programs[0], branch, "if");
     },
     "'if'", "predicate must have 1 elements of I1"},
};

class CheckControl : public ::testing::TestWithParam<Violation> {};

TEST_P(CheckControl, IsRefusedByName) {
  fb::PlanT plan = samplePlan();
  GetParam().change(plan);
  absl::Status s = loadBytes(*finishPlan(std::move(plan))).status();
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(std::string(s.message()), ContainsRegex(std::string(GetParam().where) + ".*" + GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(Plan, CheckControl, ::testing::ValuesIn(violations),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(CheckControlFlow, CommunicatesWhereAllDecideAlike) {
  fb::PlanT plan = samplePlan();
  communicate(plan, decideBy(plan, nullptr));
  const absl::Status status = loadBytes(*finishPlan(std::move(plan))).status();
  EXPECT_TRUE(status.ok()) << status;
}

TEST(VaryingBytes, KeepRangesApart) {
  VaryingBytes bytes;
  EXPECT_EQ(bytes.of(0, 8), ~AxisMask{0}); // nothing has been written
  bytes.set(0, 100, 4);
  EXPECT_EQ(bytes.of(99, 100), 4u);
  bytes.set(0, 100, 0);
  bytes.set(20, 30, 1);
  EXPECT_EQ(bytes.of(0, 20), 0u);
  EXPECT_EQ(bytes.of(29, 31), 1u);
  EXPECT_EQ(bytes.of(30, 100), 0u);
  EXPECT_EQ(bytes.of(5, 5), 0u);
  std::vector<uint64_t> parts;
  bytes.forEachPart(
      10, 25, [&](uint64_t begin, uint64_t end, AxisMask axes) { parts.insert(parts.end(), {begin, end, axes}); });
  EXPECT_EQ(parts, (std::vector<uint64_t>{10, 20, 0, 20, 25, 1}));
  VaryingBytes other;
  other.set(0, 100, 0);
  other.set(25, 35, 2);
  EXPECT_TRUE(bytes.join(other));
  EXPECT_EQ(bytes.of(20, 25), 1u);
  EXPECT_EQ(bytes.of(25, 30), 3u);
  EXPECT_EQ(bytes.of(30, 35), 2u);
  EXPECT_FALSE(bytes.join(other));
  bytes.set(0, 100, 0);
  EXPECT_EQ(bytes.of(0, 100), 0u);
}

TEST(CheckControlFlow, LoopsAndBranches) {
  fb::PlanT plan = samplePlan();
  loop(plan);
  EXPECT_TRUE(loadBytes(*finishPlan(std::move(plan))).status().ok());
}
} // namespace
