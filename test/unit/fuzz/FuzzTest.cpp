// Random programs with random shardings: each is compiled, or refused with an error; what is compiled gives what one
// device gives. DGC_FUZZ_FIRST and DGC_FUZZ_COUNT choose the seeds; the target `fuzz` runs 5000.
#include "test/unit/fuzz/RandomGraph.h"
#include "test/unit/fuzz/Seeds.h"
#include "test/unit/passes/partition/Compare.h"

#include <cstdio>
#include <map>

using namespace dgc::testing;

namespace {
HostArray input(const std::vector<int64_t> &shape, unsigned seed, const std::string &type) {
  HostArray single = array(shape, seed);
  if (type == "f32")
    return single;
  std::vector<float> values = single.as<float>();
  return HostArray::of(shape, std::vector<double>(values.begin(), values.end()));
}

/// The largest difference over the numbers that there are, relative to their size but for small ones.
double difference(const HostArray &a, const HostArray &b) {
  auto values = [](const HostArray &array) {
    if (array.dtype == dgc::rt::DType::F64)
      return array.as<double>();
    std::vector<float> single = array.as<float>();
    return std::vector<double>(single.begin(), single.end());
  };
  std::vector<double> x = values(a), y = values(b);
  double largest = 1, most = 0;
  for (double value : x)
    largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < x.size(); ++i)
    most = std::isnan(x[i]) != std::isnan(y[i]) ? INFINITY : std::max(most, std::fabs(x[i] - y[i]));
  return most / largest;
}

TEST(Fuzz, CutProgramsGiveWhatOneDeviceGives) {
  const uint32_t first = numberOf("DGC_FUZZ_FIRST", 0), count = numberOf("DGC_FUZZ_COUNT", 200);
  uint32_t compiled = 0;
  std::map<std::string, std::vector<uint32_t>> refusals; // the seeds
  for (uint32_t seed = first; seed < first + count; ++seed) {
    nameSeedOnCrash(seed);
    // Four shardings of one program.
    RandomMesh mesh = randomMesh(seed / 4);
    RandomGraph whole = randomGraph(seed / 4), cut = randomGraph(seed / 4, &mesh, seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + cut.text);
    NamedArrays inputs;
    for (size_t i = 0; i < whole.inputs.size(); ++i)
      inputs["arg" + std::to_string(i)] = input(whole.inputs[i], i + 1, whole.elementType);
    static absl::StatusOr<dgc::rt::RunOnceResult> alone;
    if (seed == first || seed % 4 == 0)
      alone = execute(whole.text, inputs);
    ASSERT_TRUE(alone.ok()) << alone.status();
    ExecuteOptions options;
    options.mesh = mesh.option;
    auto result = execute(cut.text, inputs, options);
    if (!result.ok()) {
      // A refusal is a diagnostic at a place of the program, not a failure inside.
      std::string message(result.status().message());
      EXPECT_TRUE(absl::IsInvalidArgument(result.status()) && message.starts_with("loc(")) << message;
      for (const char *inside : {"failed to", "internal", "assert", "cannot be built", "failed to legalize"})
        EXPECT_EQ(message.find(inside), std::string::npos) << message;
      refusals[message.substr(message.rfind(": ") + 2)].push_back(seed);
      continue;
    }
    ++compiled;
    ASSERT_EQ(alone->outputs.size(), result->outputs.size());
    for (const auto &[name, expected] : alone->outputs) {
      ASSERT_EQ(result->outputs.at(name).shape, expected.shape);
      EXPECT_LE(difference(expected, result->outputs.at(name)), whole.elementType == "f32" ? 2e-5 : 1e-12) << name;
    }
  }
  std::printf("%u of %u programs were compiled and run\n", compiled, count);
  for (const auto &[message, seeds] : refusals)
    std::printf("%5zu refused, as seed %u: %s\n", seeds.size(), seeds.front(), message.c_str());
  EXPECT_GE(compiled, count / 4) << "most programs are refused: this shows little";
}
} // namespace
