// The record of an exact check in an artifact.
#include "SamplePlan.h"

#include "runtime/artifact/Reader.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <utility>

using namespace dgc::rt;
using namespace dgc::rt::test;
using ::testing::ContainsRegex;

// A record goes through the digest that covers it, so what is wrong in it is looked at behind that.
TEST(CheckRecord, OfACheckThatCannotBe) {
  auto statusOf = [](double bits, uint32_t runs) {
    fb::VerifiedT record;
    record.model = std::make_unique<fb::Digest>();
    record.bits = bits;
    record.runs = runs;
    std::vector<uint8_t> bytes = *finishPlan(samplePlan());
    return loadBytes(*withRecord(*fb::GetPlan(bytes.data()), std::move(record))).status();
  };
  EXPECT_TRUE(statusOf(40.5, 4).ok());
  for (auto [bits, runs] : {std::pair(std::nan(""), 4U), {-1.0, 4U}, {HUGE_VAL, 4U}, {40.5, 0U}})
    EXPECT_THAT(std::string(statusOf(bits, runs).message()), ContainsRegex("record .* of no check"));
}
