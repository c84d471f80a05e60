// The tests that every transport passes. A transport's test file defines how to
// run one function on all ranks; the suite compares with a plain program that
// adds in member order.
#pragma once

#include "runtime/collective/Transport.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace dgc::rt::test {

/// What one rank does: it returns bytes, or "error: ...".
using RankProgram = std::function<std::string(Transport &)>;

/// Runs `program` on `worldSize` ranks of some transport and returns what each
/// rank returned.
struct Harness {
  std::string name;
  std::function<std::vector<std::string>(int worldSize, const TransportOptions &, const RankProgram &)> run;
  std::function<std::string()> skipReason = [] { return std::string(); };
  bool namesTheLate = true; // whether an error says which rank was waited for
};

struct SuiteCase {
  Harness harness;
  int worldSize;
};
void PrintTo(const SuiteCase &c, std::ostream *os);
std::string caseName(const ::testing::TestParamInfo<SuiteCase> &info);

/// World sizes that the suite runs at: 1, 2, 3, 4 and 8.
std::vector<SuiteCase> suiteCases(const Harness &harness);

class TransportSuite : public ::testing::TestWithParam<SuiteCase> {
protected:
  void SetUp() override;
  std::vector<std::string> run(const TransportOptions &options, const RankProgram &program);
  int worldSize() const { return GetParam().worldSize; }
};

} // namespace dgc::rt::test
