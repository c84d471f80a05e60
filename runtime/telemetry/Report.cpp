// Puts a plan into the page report.html.
#include "runtime/telemetry/Report.h"

#include "runtime/telemetry/PlanJson.h"

#include <string_view>

static constexpr std::string_view html =
#include "runtime/telemetry/ReportPage.inc"
    ;

std::string dgc::rt::reportAsHtml(const Artifact &artifact) {
  // A "</" of some name must not end the element that holds the JSON; "<\/" is the same string.
  std::string json;
  for (char c : describeAsJson(artifact, /*indent=*/-1)) {
    if (c == '/' && !json.empty() && json.back() == '<')
      json += '\\';
    json += c;
  }
  constexpr std::string_view mark = "@PLAN@";
  constexpr size_t at = html.find(mark);
  static_assert(at != std::string_view::npos);
  return std::string(html.substr(0, at)) + json + std::string(html.substr(at + mark.size()));
}
