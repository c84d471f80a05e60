// The table of actions: each is dispatched as what it is, and its operands have the roles that its fields say.
#include "runtime/artifact/Describe.h"
#include "runtime/artifact/Enums.h"
#include "runtime/artifact/Spelling.h"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

using namespace dgc::rt;
namespace fb = dgc::artifact;

/// f(step) with an action that was built.
template <typename F> static auto withStep(fb::ActionUnion action, F &&f) {
  flatbuffers::FlatBufferBuilder builder;
  fb::StepT step;
  step.action = std::move(action);
  builder.Finish(fb::Step::Pack(builder, &step));
  return f(*flatbuffers::GetRoot<fb::Step>(builder.GetBufferPointer()));
}

template <typename T> static fb::ActionUnion actionOf(T action) {
  fb::ActionUnion result;
  result.Set(std::move(action));
  return result;
}

TEST(Actions, EachIsDispatchedInItsOwnType) {
  std::set<std::string_view> names;
#define DGC_ACTION(Type, name, kind)                                                                                   \
  names.insert(name);                                                                                                  \
  EXPECT_EQ(withStep(actionOf(fb::Type##T()),                                                                          \
                     [](const fb::Step &step) {                                                                        \
                       return visit(step, [](const auto &action) {                                                     \
                         return std::is_same_v<decltype(action), const fb::Type &> ? nameOf<fb::Type>() : "another";   \
                       });                                                                                             \
                     }),                                                                                               \
            name);
#include "runtime/artifact/Actions.def"
  EXPECT_EQ(names.size(), static_cast<size_t>(numActions));
}

TEST(Actions, TheTablesOfTheRuntimeSpellTheirEnumsAsTheSchemaDoes) {
  for (int i = 0; i < numDTypes; ++i)
    EXPECT_EQ(nameOf(static_cast<DType>(i)), spelled(static_cast<fb::DType>(i)));
  for (int i = 0; i < numCollectiveKinds; ++i)
    EXPECT_EQ(nameOf(static_cast<CollectiveKind>(i)), spelled(static_cast<fb::CollectiveKind>(i)));
  for (int i = 0; i < numReductions; ++i)
    EXPECT_EQ(nameOf(static_cast<Reduction>(i)), spelled(static_cast<fb::Reduction>(i)));
  for (int i = 1; i <= numActions; ++i)
    EXPECT_EQ(nameOf(static_cast<fb::Action>(i)), snakeCase(fb::EnumNameAction(static_cast<fb::Action>(i))));
}

TEST(Actions, OnlyThoseOfTheUnionAreKnown) {
  EXPECT_FALSE(isKnown(fb::Action::NONE));
  EXPECT_TRUE(isKnown(fb::Action::KernelCall));
  EXPECT_TRUE(isKnown(fb::Action::MAX));
  EXPECT_FALSE(isKnown(static_cast<fb::Action>(static_cast<int>(fb::Action::MAX) + 1)));
}

TEST(Actions, CommunicationIsVisitedApart) {
  auto visits = [](fb::ActionUnion action) {
    return withStep(std::move(action), [](const fb::Step &step) {
      int visits = 0;
      visitCommunication(step, [&](const auto &) { ++visits; });
      return visits;
    });
  };
#define DGC_LOCAL_ACTION(Type, name, kind) EXPECT_EQ(visits(actionOf(fb::Type##T())), 0) << name;
#define DGC_COMMUNICATION_ACTION(Type, name, kind) EXPECT_EQ(visits(actionOf(fb::Type##T())), 1) << name;
#define DGC_CONTROL_ACTION(Type, name, kind) EXPECT_EQ(visits(actionOf(fb::Type##T())), 0) << name;
#include "runtime/artifact/Actions.def"
}

namespace {
/// "src:read dst:written", of the operands that are there.
struct Roles : ActionSink<Roles> {
  void operand(std::string_view name, Role role, int64_t buffer) {
    constexpr std::string_view names[] = {"read", "written", "updated", "unknown"};
    if (buffer >= 0)
      text += (text.empty() ? "" : " ") + std::string(name) + ":" + std::string(names[static_cast<int>(role)]);
  }
  void range(uint64_t src, uint64_t, uint64_t dst, uint64_t, fb::DType) {
    text += (text.empty() ? "" : " ") + std::to_string(src) + "->" + std::to_string(dst);
  }
  std::string text;
};
} // namespace

template <typename T> static std::string rolesOf(T action) {
  return withStep(actionOf(std::move(action)), [](const fb::Step &step) {
    Roles roles;
    describe(step, roles);
    return roles.text;
  });
}

TEST(Actions, AConvolutionWritesWhatItsKindSays) {
  fb::ConvolutionT op;
  EXPECT_EQ(rolesOf(op), "src:read weights:read dst:written");
  op.kind = fb::ConvKind::BackwardData;
  EXPECT_EQ(rolesOf(op), "src:written weights:read dst:read");
  op.kind = fb::ConvKind::BackwardWeights;
  EXPECT_EQ(rolesOf(op), "src:read weights:written dst:read");
}

TEST(Actions, WhatIsAccumulatedIsUpdated) {
  fb::MatmulT op;
  op.bias = 3;
  EXPECT_EQ(rolesOf(op), "a:read b:read dst:written bias:read");
  op.post_ops.push_back(std::make_unique<fb::PostOpT>());
  op.post_ops[0]->kind = fb::PostOpKind::Accumulate;
  EXPECT_EQ(rolesOf(op), "a:read b:read dst:updated bias:read");
  op.post_ops[0]->kind = fb::PostOpKind::Multiply;
  op.post_ops[0]->arg = 4;
  op.aux = 5;
  EXPECT_EQ(rolesOf(op), "a:read b:read dst:written bias:read the argument of a post-op:read aux:written");
}

TEST(Actions, AGradientOfAttentionReadsTheResult) {
  fb::AttentionT op;
  EXPECT_EQ(rolesOf(op), "query:read key:read value:read result:written log_sum:written");
  op.backward = true;
  op.result_gradient = op.query_gradient = 1;
  EXPECT_EQ(rolesOf(op), "query:read key:read value:read result:read log_sum:read result_gradient:read "
                         "query_gradient:written");
}

TEST(Actions, ACollectiveHasAllItsRanges) {
  fb::CollectiveT op;
  op.dst = 64;
  op.more.push_back(std::make_unique<fb::CollectiveRangeT>());
  op.more[0]->src = 128;
  op.more[0]->dst = 192;
  EXPECT_EQ(rolesOf(op), "0->64 128->192");
}
