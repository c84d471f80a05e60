// What gpu-check makes up, compares and writes. How it runs cases is tested by test/lit/tools/gpu-check.
#include "tools/gpu-check/Cases.h"
#include "tools/gpu-check/Compare.h"
#include "tools/gpu-check/Inputs.h"
#include "tools/gpu-check/ResultTable.h"

#include <cmath>
#include <gmock/gmock.h>

using namespace dgc::rt;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Lt;

namespace {

HostArray arrayOf(const std::vector<float> &values) {
  return HostArray::of({static_cast<int64_t>(values.size())}, values);
}

TEST(Inputs, ChooseRowsThatTheTableHas) {
  EXPECT_THAT(makeInput(DType::I32, {1000}, 3, 0).as<int32_t>(), Each(Lt(3)));
  EXPECT_THAT(makeInput(DType::U8, {100, 10}, 3, 0).as<uint8_t>(), Each(Lt(3)));
}

TEST(Inputs, WithoutALimitIntegersAreSmallAndImagesAreNot) {
  EXPECT_THAT(makeInput(DType::I32, {1000}, 0, 2).as<int32_t>(), Each(Lt(8)));
  std::vector<uint8_t> image = makeInput(DType::U8, {100, 10}, 0, 2).as<uint8_t>();
  EXPECT_GT(*std::ranges::max_element(image), 200);
}

TEST(Difference, IsRelativeToTheLargestValue) {
  EXPECT_DOUBLE_EQ(difference(arrayOf({4, 0}), arrayOf({4, 1})), 0.25);
  EXPECT_EQ(difference(arrayOf({4, NAN}), arrayOf({4, 1})), INFINITY);
  EXPECT_EQ(difference(arrayOf({4}), arrayOf({4, 1})), INFINITY);
}

TEST(Difference, OfNoiseIsRelativeToTheFloor) {
  HostArray noise = arrayOf({1e-9F}), zero = arrayOf({-1e-9F});
  EXPECT_GT(difference(noise, zero), 1);
  EXPECT_LT(difference(noise, zero, kFloor * 0.5), 1e-4);
}

TEST(Difference, OfResultsOf16BitsIsSeen) {
  auto sixteen = [](float a, float b) { return HostArray::of<uint16_t>({2}, {toBF16(a), toBF16(b)}, DType::BF16); };
  EXPECT_DOUBLE_EQ(difference(sixteen(2, 1), sixteen(2, 0)), 0.5);
  EXPECT_EQ(difference(sixteen(2, 1), sixteen(2, 1)), 0);
  EXPECT_TRUE(isFinite(sixteen(2, 1)));
  EXPECT_FALSE(isFinite(sixteen(2, NAN)));
}

TEST(Results, AnOldLibraryIsNoFailure) {
  EXPECT_EQ(outcomeOfError("rank 0: cuDNN 9.14.0 has no gradient of attention with 64 places that is right; 9.15.1 is "
                           "needed: install a newer cuDNN, or compile the model with --attention=expanded"),
            Outcome::Skipped);
  EXPECT_EQ(outcomeOfError("cuDNN has no engine for attention: install a newer cuDNN, or compile the model with "
                           "--attention=expanded"),
            Outcome::Failed);
  EXPECT_EQ(outcomeOfError("out of memory"), Outcome::Failed);
}

TEST(Results, AreReadAsTheyWereWritten) {
  CaseResult result{"mnist_mlp/compare", 1.5, {{"mnist_mlp", "train", Outcome::Passed, "", 1e-6}}};
  result.rows.push_back({"mnist_mlp", "evaluate", Outcome::Failed, "differs: \"loss\"\n", INFINITY, 3.5});
  const std::string line = asLine(result);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const std::string other = asLine(CaseResult{"device/self-test", 0, {{"device", "GPU", Outcome::Skipped, "none"}}});
  auto known = resultsOf(deviceLine({"GPU 0"}) + line + other + line.substr(0, line.size() / 2) + "\n");
  ASSERT_EQ(known.size(), 2u);
  const CaseResult &read = known.at("mnist_mlp/compare");
  EXPECT_EQ(read.seconds, 1.5);
  EXPECT_EQ(read.outcome(), Outcome::Failed);
  ASSERT_EQ(read.rows.size(), 2u);
  EXPECT_EQ(read.rows[0].difference, 1e-6);
  EXPECT_EQ(read.rows[1].detail, "differs: \"loss\"\n");
  EXPECT_EQ(read.rows[1].microseconds, 3.5);
  EXPECT_EQ(known.at("device/self-test").outcome(), Outcome::Skipped);
}

std::vector<std::string> idsOf(Suite suite) {
  std::vector<std::filesystem::path> plans;
  for (const char *name :
       {"attention", "gpt_char", "kernels", "layers-bf16", "mnist_mlp", "refused-newer", "timed-gpt2"})
    plans.emplace_back(std::string("/nothing/") + name + ".cuda.dgcx");
  std::vector<std::string> ids;
  for (const Case &one : casesOf(plans, suite))
    ids.push_back(one.id());
  return ids;
}

TEST(Cases, ComeInTheOrderInWhichFaultsAreFoundSoon) {
  EXPECT_THAT(idsOf(Suite::WithoutTiming),
              ElementsAre("kernels/compare", "device/self-test", "layers-bf16/compare", "attention/compare",
                          "gpt_char/compare", "mnist_mlp/compare", "refused-newer/compare", "kernels/memcheck",
                          "kernels/racecheck"));
  EXPECT_THAT(idsOf(Suite::Sanitized), ElementsAre("kernels/memcheck", "device/memcheck", "layers-bf16/memcheck",
                                                   "attention/memcheck", "gpt_char/memcheck", "mnist_mlp/memcheck"));
  EXPECT_EQ(idsOf(Suite::All)[9], "timed-gpt2/times");
}

} // namespace
