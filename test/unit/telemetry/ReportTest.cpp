// The page about a plan holds it as JSON that no name in it can break out of.
#include "runtime/telemetry/Report.h"

#include "runtime/artifact/Writer.h"
#include "runtime/telemetry/PlanJson.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace dgc::rt;
namespace fb = dgc::artifact;

TEST(Report, NamesDoNotEndTheElement) {
  fb::PlanT plan;
  plan.producer = "dgc test";
  plan.model = "</script><script>alert(1)</script>";
  plan.target = std::make_unique<fb::TargetT>();
  plan.target->kind = "cpu";
  plan.world_size = 1;
  auto bytes = finishPlan(std::move(plan));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto artifact = loadBytes(*bytes);
  ASSERT_TRUE(artifact.ok()) << artifact.status();

  std::string page = reportAsHtml(**artifact), open = "<script type=\"application/json\" id=\"plan\">";
  size_t begin = page.find(open);
  ASSERT_NE(begin, std::string::npos);
  begin += open.size();
  std::string held = page.substr(begin, page.find("</script>", begin) - begin);
  EXPECT_EQ(nlohmann::json::parse(held), nlohmann::json::parse(describeAsJson(**artifact)));
  EXPECT_EQ(nlohmann::json::parse(held)["model"], "</script><script>alert(1)</script>");
}
