// Writes the table and the lines of JSON, and reads these.
#include "tools/gpu-check/ResultTable.h"

#include "nlohmann/json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

using nlohmann::json;

static constexpr std::array<const char *, 4> kNames{"ok", "FAILED", "skipped", "left out"};

static const char *nameOf(Outcome outcome) { return kNames[static_cast<size_t>(outcome)]; }

static constexpr std::pair<const char *, double Row::*> kNumbers[] = {
    {"difference", &Row::difference},      {"microseconds", &Row::microseconds},
    {"samples_per_second", &Row::samples}, {"gigabytes_per_second", &Row::gigabytes},
    {"teraflops", &Row::teraflops},
};

Outcome CaseResult::outcome() const {
  auto is = [](Outcome outcome) { return [outcome](const Row &row) { return row.outcome == outcome; }; };
  if (std::ranges::any_of(rows, is(Outcome::Failed)))
    return Outcome::Failed;
  return std::ranges::any_of(rows, is(Outcome::Passed)) ? Outcome::Passed : Outcome::Skipped;
}

Outcome outcomeOfError(std::string_view message) {
  const size_t library = message.find("cuDNN ");
  const bool isOld = library != std::string_view::npos &&
                     message.find(" is needed: install a newer cuDNN, or compile the model with --attention=expanded",
                                  library) != std::string_view::npos;
  return isOld ? Outcome::Skipped : Outcome::Failed;
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

//===-- JSON ------------------------------------------------------------===//

static std::string dump(const json &value) { return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }

static json toJson(const Row &row) {
  json one{{"case", row.name}, {"what", row.what}, {"verdict", nameOf(row.outcome)}, {"detail", row.detail}};
  for (auto [key, member] : kNumbers)
    if (row.*member >= 0)
      one[key] = row.*member; // an infinite one becomes null
  return one;
}

/// Throws where something is missing or of another type.
static Row fromJson(const json &one) {
  Row row{one.at("case"), one.at("what")};
  const std::string verdict = one.at("verdict");
  auto found = std::ranges::find(kNames, verdict);
  row.outcome = found == kNames.end() ? Outcome::Failed : static_cast<Outcome>(found - kNames.begin());
  row.detail = one.at("detail");
  for (auto [key, member] : kNumbers)
    if (one.contains(key) && one[key].is_number())
      row.*member = one[key];
  return row;
}

std::string asLine(const Row &row) { return dump(toJson(row)); }

std::optional<Row> rowOf(const std::string &line) {
  try {
    return fromJson(json::parse(line));
  } catch (const json::exception &) {
    return std::nullopt;
  }
}

std::string asLine(const CaseResult &result) {
  const size_t slash = result.id.rfind('/');
  json line{{"case", result.id.substr(0, slash)},
            {"check", result.id.substr(slash + 1)},
            {"verdict", nameOf(result.outcome())},
            {"seconds", result.seconds},
            {"rows", json::array()}};
  for (const Row &row : result.rows)
    line["rows"].push_back(toJson(row));
  return dump(line);
}

std::map<std::string, CaseResult> resultsOf(const std::string &text) {
  std::map<std::string, CaseResult> results;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    try {
      const json one = json::parse(line);
      if (!one.contains("rows"))
        continue;
      CaseResult result;
      result.id = one.at("case").get<std::string>() + "/" + one.at("check").get<std::string>();
      result.seconds = one.at("seconds");
      for (const json &row : one["rows"])
        result.rows.push_back(fromJson(row));
      results[result.id] = std::move(result);
    } catch (const json::exception &) {
      continue; // it was cut off
    }
  return results;
}

std::string deviceLine(const std::vector<std::string> &device) { return dump(json{{"device", device}}); }
