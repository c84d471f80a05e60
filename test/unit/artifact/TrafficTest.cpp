// The count of what the programs of a plan communicate, of steps made by hand.
#include "runtime/artifact/PlanTraffic.h"

#include <gtest/gtest.h>

namespace fb = dgc::artifact;
namespace rt = dgc::rt;

namespace {

/// A collective of `given` and `received` elements of f32.
fb::CollectiveT collective(fb::CollectiveKind kind, uint64_t given, uint64_t received) {
  fb::CollectiveT op;
  op.kind = kind;
  op.dtype = fb::DType::F32;
  op.src_count = given;
  op.dst_count = received;
  return op;
}

uint64_t payloadOf(const fb::CollectiveT &op) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::CreateCollective(builder, &op));
  return rt::payloadBytes(*flatbuffers::GetRoot<fb::Collective>(builder.GetBufferPointer()));
}

// Four ranks: the whole value, whichever side has it.
TEST(Payload, IsTheSizeOfTheWholeValue) {
  EXPECT_EQ(payloadOf(collective(fb::CollectiveKind::AllReduce, 100, 100)), 400u);
  EXPECT_EQ(payloadOf(collective(fb::CollectiveKind::ReduceScatter, 100, 25)), 400u);
  EXPECT_EQ(payloadOf(collective(fb::CollectiveKind::AllGather, 25, 100)), 400u);
  EXPECT_EQ(payloadOf(collective(fb::CollectiveKind::AllToAll, 100, 100)), 400u);
  EXPECT_EQ(payloadOf(collective(fb::CollectiveKind::Broadcast, 100, 100)), 400u);
}

TEST(Payload, AddsRangesAndLeavesOutPadding) {
  fb::CollectiveT gather = collective(fb::CollectiveKind::AllGather, 10, 40);
  gather.more.push_back(std::make_unique<fb::CollectiveRangeT>());
  gather.more[0]->src_count = 5;
  gather.more[0]->dst_count = 20;
  EXPECT_EQ(payloadOf(gather), 240u);
  fb::CollectiveT reduce = collective(fb::CollectiveKind::AllReduce, 48, 48); // 3 and 10 elements, each aligned
  reduce.padding = 35;
  EXPECT_EQ(payloadOf(reduce), 52u);
}

void add(fb::ProgramT &program, auto action) {
  auto step = std::make_unique<fb::StepT>();
  step->action.Set(std::move(action));
  program.steps.push_back(std::move(step));
}

rt::Traffic trafficOf(fb::ProgramT &program) {
  program.name = "train";
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::CreateProgram(builder, &program));
  return rt::trafficOf(*flatbuffers::GetRoot<fb::Program>(builder.GetBufferPointer()));
}

TEST(Traffic, IsCountedByKind) {
  fb::ProgramT program;
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->dtype = fb::DType::F64;
  buffer->shape = {3, 7};
  program.buffers.push_back(std::move(buffer));
  add(program, collective(fb::CollectiveKind::AllReduce, 8, 8));
  add(program, fb::KernelCallT());
  add(program, fb::SendT());
  add(program, fb::SendT());
  add(program, fb::ReceiveT());
  rt::Traffic traffic = trafficOf(program);
  EXPECT_EQ(traffic, (rt::Traffic{1, 32, 2, 336, 1, 168}));
  EXPECT_EQ(describe(traffic), "1 collective of 32 B, 2 sends of 336 B, 1 receive of 168 B");
  EXPECT_EQ(describe(rt::Traffic{}), "no communication");
}

// A loop of 5 rounds, in what decides on which 1 and in whose body 10 elements are combined, these in a loop of 8 rounds.
TEST(Traffic, OfLoopsIsThatOfAllRounds) {
  fb::ProgramT program;
  fb::WhileT outer, inner;
  outer.test_steps = 1;
  outer.body_steps = 3;
  outer.rounds = 5;
  inner.test_steps = 1;
  inner.body_steps = 1;
  inner.rounds = 8;
  add(program, outer);
  add(program, collective(fb::CollectiveKind::AllReduce, 1, 1));
  add(program, inner);
  add(program, fb::KernelCallT());
  add(program, collective(fb::CollectiveKind::AllReduce, 10, 10));
  add(program, collective(fb::CollectiveKind::AllReduce, 100, 100));
  EXPECT_EQ(trafficOf(program), (rt::Traffic{6 + 40 + 1, 6 * 4 + 40 * 40 + 400, 0, 0, 0, 0}));

  auto buffer = std::make_unique<fb::BufferT>();
  buffer->dtype = fb::DType::F32;
  buffer->shape = {7};
  program.buffers.push_back(std::move(buffer));
  outer.body_steps += 2;
  program.steps[0]->action.Set(outer);
  for (bool sends : {true, false}) {
    auto step = std::make_unique<fb::StepT>();
    sends ? step->action.Set(fb::SendT()) : step->action.Set(fb::ReceiveT());
    program.steps.insert(program.steps.begin() + 2, std::move(step));
  }
  EXPECT_EQ(trafficOf(program), (rt::Traffic{6 + 40 + 1, 6 * 4 + 40 * 40 + 400, 5, 140, 5, 140}));
  program.steps.erase(program.steps.begin() + 2, program.steps.begin() + 4);
  outer.body_steps -= 2;
  program.steps[0]->action.Set(outer);

  program.steps[2]->action.AsWhile()->rounds = 0;
  rt::Traffic traffic = trafficOf(program);
  EXPECT_EQ(traffic, (rt::Traffic{6 + 5 + 1, 6 * 4 + 5 * 40 + 400, 0, 0, 0, 0, /*isLowerBound=*/true}));
  EXPECT_EQ(describe(traffic), "at least 12 collectives of 624 B");
}

// A loop of unknown length that does not communicate leaves the sum exact.
TEST(Traffic, OfOtherLoopsIsNone) {
  fb::ProgramT program;
  fb::WhileT loop;
  loop.test_steps = loop.body_steps = 1;
  add(program, loop);
  add(program, fb::KernelCallT());
  add(program, fb::KernelCallT());
  add(program, collective(fb::CollectiveKind::AllReduce, 1, 1));
  EXPECT_EQ(describe(trafficOf(program)), "1 collective of 4 B");
}

} // namespace
