// What the checks found, as a table and as JSON.
#pragma once

#include <string>
#include <vector>

enum class Outcome { Passed, Failed, Skipped };

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

void printTable(const std::vector<Row> &rows);
std::string asJson(const std::vector<Row> &rows, const std::vector<std::string> &device, double seconds);
