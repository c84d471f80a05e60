// The page about a plan holds it as JSON that no name in it can break out of.
#include "runtime/telemetry/Report.h"

#include "runtime/artifact/Writer.h"
#include "runtime/telemetry/PlanJson.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <regex>

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

// The script of the page reads nothing of the plan that the JSON does not have.
TEST(Report, ScriptKnowsTheKeys) {
  fb::PlanT plan;
  plan.target = std::make_unique<fb::TargetT>();
  plan.target->kind = "cpu";
  plan.world_size = 1;
  auto artifact = loadBytes(*finishPlan(std::move(plan)));
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const std::string page = reportAsHtml(**artifact);
  const auto json = nlohmann::json::parse(describeAsJson(**artifact));
  const std::regex use("\\bplan\\.([a-z_]+)");
  int found = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), use), end; at != end; ++at, ++found)
    EXPECT_TRUE(json.contains((*at)[1].str())) << (*at)[0].str();
  EXPECT_GT(found, 10);
}
