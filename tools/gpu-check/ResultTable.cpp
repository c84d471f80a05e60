// Writes the table and the JSON.
#include "tools/gpu-check/ResultTable.h"

#include "nlohmann/json.hpp"

#include <cstdio>

static const char *nameOf(Outcome outcome) {
  return outcome == Outcome::Passed ? "ok" : outcome == Outcome::Failed ? "FAILED" : "skipped";
}

static std::string number(const char *format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return value < 0 ? "-" : text;
}

void printTable(const std::vector<Row> &rows) {
  const char *format = "%-28s %-14s %-8s %-11s %-11s %-11s %-8s %-9s %s\n";
  std::printf(format, "case", "what", "", "difference", "us a step", "samples/s", "GB/s", "TFLOP/s", "");
  for (const Row &row : rows)
    std::printf(format, row.name.c_str(), row.what.c_str(), nameOf(row.outcome), number("%.2e", row.difference).c_str(),
                number("%.1f", row.microseconds).c_str(), number("%.0f", row.samples).c_str(),
                number("%.0f", row.gigabytes).c_str(), number("%.2f", row.teraflops).c_str(), row.detail.c_str());
}

std::string asJson(const std::vector<Row> &rows, const std::vector<std::string> &device, double seconds) {
  nlohmann::json json{{"device", device}, {"seconds", seconds}, {"rows", nlohmann::json::array()}};
  for (const Row &row : rows) {
    nlohmann::json one{
        {"case", row.name}, {"what", row.what}, {"verdict", nameOf(row.outcome)}, {"detail", row.detail}};
    for (auto [key, value] : {std::pair("difference", row.difference), std::pair("microseconds", row.microseconds),
                              std::pair("samples_per_second", row.samples),
                              std::pair("gigabytes_per_second", row.gigabytes), std::pair("teraflops", row.teraflops)})
      if (value >= 0)
        one[key] = value;
    json["rows"].push_back(one);
  }
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}
