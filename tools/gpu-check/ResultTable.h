// What the checks found, as a table and as lines of JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// LeftOut: not begun, as no time is left for it.
enum class Outcome { Passed, Failed, Skipped, LeftOut };

/// One line of the table; negative numbers: not measured.
struct Row {
  std::string name, what;
  Outcome outcome = Outcome::Failed;
  std::string detail;
  double difference = -1;   // relative to the largest value
  double microseconds = -1; // a step, with the copies of its inputs and outputs
  double samples = -1;      // of the global batch, a second
  double gigabytes = -1;    // 1e9 bytes a second: all that the kernels' arguments hold, each once
  double teraflops = -1;    // 1e12 operations a second of products and convolutions
};

/// What came of one case. `id`: "mnist_mlp/compare".
struct CaseResult {
  std::string id;
  double seconds = 0;
  std::vector<Row> rows;

  /// Failed if a row is, skipped if all are.
  Outcome outcome() const;
};

/// What an error of a row means: skipped where this machine has too old a library for what is checked, and the error says
/// which one is needed; else failed.
Outcome outcomeOfError(std::string_view message);

void printTable(const std::vector<Row> &rows);

/// A row as one line, and back; nothing for what is no such line, as one that was cut off.
std::string asLine(const Row &row);
std::optional<Row> rowOf(const std::string &line);

/// The line of a case: {"case": .., "check": .., "verdict": .., "seconds": .., "rows": [..]}
std::string asLine(const CaseResult &result);
/// What a file of such lines has by id; of several of one id the last.
std::map<std::string, CaseResult> resultsOf(const std::string &text);

/// The first line: {"device": [..]}, what the machine has.
std::string deviceLine(const std::vector<std::string> &device);
