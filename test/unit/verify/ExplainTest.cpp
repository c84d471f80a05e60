// Each explanation of a difference, of values that are made for it.
#include "runtime/verify/Compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

using namespace dgc;
using namespace dgc::verify;
using ::testing::HasSubstr;

namespace {
constexpr size_t count = 6;

Number drawn(size_t i) { return fromDouble(static_cast<double>(i * i + 3 * i + 7) / 4); }

TensorRef tensor(const std::function<Number(size_t)> &at, size_t n = count) {
  auto result = std::make_shared<Tensor>(reference::Type::F32, n);
  for (size_t i = 0; i < n; ++i)
    result->set(i, at(i));
  return result;
}

/// A value of 6 elements, on workers of the mesh data=2, model=3.
class ExplainTest : public ::testing::Test {
protected:
  ExplainTest() {
    artifact::PlanT plan;
    plan.file_digest = std::make_unique<artifact::Digest>();
    plan.target = std::make_unique<artifact::TargetT>();
    plan.target->kind = "reference";
    plan.global_batch = 8;
    plan.world_size = 6;
    for (auto [name, size] : {std::pair("data", 2U), {"model", 3U}}) {
      plan.mesh.push_back(std::make_unique<artifact::MeshAxisT>());
      plan.mesh.back()->name = name;
      plan.mesh.back()->size = size;
    }
    artifact::FinishPlanBuffer(builder, artifact::Plan::Pack(builder, &plan));
    comparison.what = "variable 'w'";
    comparison.shape = {count};
    comparison.expected = tensor(drawn);
    comparison.validCount = 8;
  }

  void addPart(uint32_t rank, TensorRef value, int64_t first = 0) {
    Part part;
    part.rank = rank;
    part.slice.offsets = {first};
    part.slice.sizes = {static_cast<int64_t>(value->count)};
    part.value = std::move(value);
    part.writerOf = [](size_t element) { return "the writer of element " + std::to_string(element); };
    parts.push_back(std::move(part));
  }

  /// What is said of one worker that has these elements.
  std::string reasonOf(const std::function<Number(size_t)> &at) {
    addPart(0, tensor(at));
    return reason();
  }
  std::string reason() {
    difference = compare(comparison, parts, *artifact::GetPlan(builder.GetBufferPointer()), compared);
    return difference.reason;
  }
  void setBefore() {
    comparison.before = tensor([](size_t i) { return fromDouble(static_cast<double>(i) * 5 + 1); });
  }
  Number before(size_t i) const { return comparison.before->number(i); }
  /// The value after `times` the update.
  Number updated(size_t i, int64_t times) const {
    return add(before(i), multiply(subtract(drawn(i), before(i)), fromInteger(times)));
  }

  flatbuffers::FlatBufferBuilder builder;
  Comparison comparison;
  std::vector<Part> parts;
  Difference difference;
  uint64_t compared = 0;
};

TEST_F(ExplainTest, NothingDiffers) {
  EXPECT_EQ(reasonOf(drawn), "");
  EXPECT_TRUE(difference.isNone());
  EXPECT_EQ(compared, count);
}

TEST_F(ExplainTest, NamesElementsWorkerWriterAndLine) {
  comparison.location = "model.mlir:3:4";
  addPart(0, tensor(drawn));
  for (uint32_t rank : {1, 2, 3})
    addPart(rank, tensor([&](size_t i) {
              return i == 2 || i == 4 ? fromInteger(1000 + static_cast<int64_t>(i)) : drawn(i);
            }));
  EXPECT_THAT(reason(), HasSubstr("worker 0, which should have the same"));
  EXPECT_THAT(difference.text(),
              HasSubstr("variable 'w'[2..4] differs on worker 1 (2 of 6 elements), as on 2 others: "));
  EXPECT_THAT(difference.text(),
              HasSubstr("; written by the writer of element 2; the model computes it at model.mlir:3:4"));
}

TEST_F(ExplainTest, LineThatTheWriterHasIsNotRepeated) {
  comparison.location = "element 0";
  reasonOf([](size_t) { return Number(); });
  EXPECT_EQ(difference.origin, "written by the writer of element 0");
}

TEST_F(ExplainTest, ElementsThatNoWorkerHas) {
  addPart(0, tensor(drawn, 2), 0);
  addPart(1, tensor([](size_t i) { return drawn(i + 4); }, 2), 4);
  EXPECT_EQ(reason(), "no worker has it");
  EXPECT_EQ(difference.text(), "variable 'w'[2..3]: no worker has it");
}

TEST_F(ExplainTest, NoFiniteNumber) {
  EXPECT_THAT(reasonOf([](size_t) { return fromDouble(NAN); }), HasSubstr("memory that nobody wrote"));
}

TEST_F(ExplainTest, Zero) {
  EXPECT_THAT(reasonOf([](size_t) { return Number(); }), HasSubstr("it is 0: nothing was added"));
}

TEST_F(ExplainTest, PaddingThatIsNotMasked) {
  comparison.expected = tensor([](size_t i) { return i < 4 ? drawn(i) : Number(); });
  EXPECT_EQ(reasonOf(drawn), "expected 0 at [4..5]: padding is not masked");
}

TEST_F(ExplainTest, NotUpdated) {
  setBefore();
  EXPECT_THAT(reasonOf([&](size_t i) { return before(i); }), HasSubstr("it was not updated"));
}

TEST_F(ExplainTest, OppositeSign) {
  EXPECT_EQ(reasonOf([](size_t i) { return negate(drawn(i)); }), "it is minus the expected value");
}

TEST_F(ExplainTest, OppositeSignOfTheUpdate) {
  setBefore();
  EXPECT_EQ(reasonOf([&](size_t i) { return updated(i, -1); }), "its update is minus the expected one");
}

TEST_F(ExplainTest, Twice) {
  EXPECT_EQ(reasonOf([](size_t i) { return multiply(drawn(i), fromInteger(2)); }),
            "it is twice the expected value: counted by the 2 ranks of `data`");
}

TEST_F(ExplainTest, UpdateOfSeveralAxes) {
  setBefore();
  EXPECT_EQ(reasonOf([&](size_t i) { return updated(i, 6); }),
            "its update is 6 times the expected one: counted by the 6 ranks of `data` and `model`");
}

TEST_F(ExplainTest, MultipleOfNoAxis) {
  EXPECT_EQ(reasonOf([](size_t i) { return multiply(drawn(i), fromInteger(5)); }),
            "it is 5 times the expected value: added up 5 times");
}

TEST_F(ExplainTest, Third) {
  EXPECT_EQ(
      reasonOf([](size_t i) { return multiply(drawn(i), Number{FieldP::inverse(3), FieldQ::inverse(3), 1.0 / 3}); }),
      "it is 1/3 of the expected value: divided once too often by the number of ranks, or not added up over the 3 "
      "ranks of `model`");
}

TEST_F(ExplainTest, MeanOverAllExamplesOfTheBatch) {
  comparison.validCount = 5;
  const Number inverse{FieldP::inverse(8), FieldQ::inverse(8), 1.0 / 8};
  EXPECT_EQ(reasonOf([&](size_t i) { return multiply(multiply(drawn(i), fromInteger(5)), inverse); }),
            "it is divided by the 8 examples of the batch, of which 5 are real");
}

TEST_F(ExplainTest, ContributionOfOneRank) {
  setBefore();
  // Ranks 1 and 4 differ along `data`.
  auto part = [&](size_t i, int64_t share) {
    return add(before(i), share ? fromInteger(static_cast<int64_t>(i) + 3)
                                : subtract(subtract(drawn(i), before(i)), fromInteger(static_cast<int64_t>(i) + 3)));
  };
  for (uint32_t rank = 0; rank < 6; ++rank)
    addPart(rank, tensor([&](size_t i) { return part(i, rank / 3); }));
  EXPECT_EQ(reason(),
            "its update is the contribution of this rank alone: the sum over the 2 ranks of `data` is what is "
            "expected, and is not taken");
}

TEST_F(ExplainTest, MeanOfContributions) {
  for (uint32_t rank = 0; rank < 3; ++rank)
    addPart(rank, tensor([&](size_t i) { return add(drawn(i), fromInteger(rank == 0 ? 2 : -1)); }));
  EXPECT_EQ(reason(), "it is the contribution of this rank alone: the mean over the 3 ranks of `model` is what is "
                      "expected, and is not taken");
}

TEST_F(ExplainTest, PartOfAnotherRank) {
  addPart(0, tensor([](size_t i) { return drawn(i + 3); }, 3), 0);
  addPart(1, tensor([](size_t i) { return drawn(i + 3); }, 3), 3);
  EXPECT_EQ(reason(), "it is the part that worker 1 should have");
}

TEST_F(ExplainTest, AnotherValue) {
  const std::vector<std::pair<std::string, TensorRef>> others{
      {"variable 'w'", comparison.expected},
      {"output 'x'", tensor([](size_t i) { return fromInteger(static_cast<int64_t>(i * 11) + 1); })}};
  comparison.others = others;
  EXPECT_EQ(reasonOf([](size_t i) { return fromInteger(static_cast<int64_t>(i * 11) + 1); }),
            "it is what output 'x' should be");
}

TEST_F(ExplainTest, Shifted) {
  EXPECT_EQ(reasonOf([](size_t i) { return i < 4 ? drawn(i + 2) : drawn(i); }),
            "each element has what is expected 2 elements further: it is in the wrong place");
}

TEST_F(ExplainTest, OneElementOfAnotherPlace) {
  EXPECT_EQ(reasonOf([](size_t i) { return i == 1   ? drawn(5)
                                           : i == 2 ? fromInteger(12345)
                                                    : drawn(i); }),
            "element [1] has what is expected at [5]: it is in the wrong place");
}

TEST_F(ExplainTest, ConstantFactor) {
  setBefore();
  const Number factor{FieldP::multiply(3, FieldP::inverse(4)), FieldQ::multiply(3, FieldQ::inverse(4)), 0.75};
  EXPECT_EQ(reasonOf([&](size_t i) { return add(before(i), multiply(subtract(drawn(i), before(i)), factor)); }),
            "its update is a constant times the expected one, about 0.75");
}

TEST_F(ExplainTest, ReplicasThatDiffer) {
  addPart(0, tensor([](size_t i) { return fromInteger(static_cast<int64_t>(i * i * i) + 100); }));
  addPart(3, tensor([](size_t i) { return fromInteger(static_cast<int64_t>(i * i) + 200); }));
  EXPECT_EQ(
      reason(),
      "worker 3, which should have the same, has something else: what they computed was not combined over `data`");
}

TEST_F(ExplainTest, NoneIsKnown) {
  EXPECT_EQ(reasonOf([](size_t i) { return fromInteger(static_cast<int64_t>(i * i * i) + 100); }), "");
  EXPECT_FALSE(difference.isNone());
}
} // namespace
