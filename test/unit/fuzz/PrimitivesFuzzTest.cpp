// Random functions of primitive ops: the targets `reference` and `cpu` give the same, and so do one worker and several
// with random shardings. DGC_FUZZ_FIRST and DGC_FUZZ_COUNT choose the seeds; the target `fuzz` runs 2000.
#include "compiler/driver/Registration.h"
#include "compiler/import/Import.h"
#include "compiler/import/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/base/DType.h"
#include "test/unit/fuzz/RandomPrimitives.h"
#include "test/unit/fuzz/Seeds.h"
#include "test/unit/support/Execute.h"

#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>

using namespace dgc;
using namespace dgc::testing;

namespace {

/// Messages with which a program may be refused, each with its reason. There is none.
const std::vector<std::string> expectedRefusals = {};

const char *const targets[] = {"reference", "cpu"};

/// The program with the ops of StableHLO as those of dgc.
absl::StatusOr<std::string> inOpsOfDgc(const std::string &text) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  import::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    message += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::PassManager manager(&context);
  manager.addPass(createStableHLOToDGCPass());
  if (!module || failed(manager.run(*module)))
    return absl::InvalidArgumentError(message);
  std::string lowered;
  llvm::raw_string_ostream stream(lowered);
  module->print(stream);
  return lowered;
}

absl::StatusOr<rt::RunOnceResult> run(const std::string &text, const NamedArrays &inputs, const std::string &target,
                                      const std::string &mesh = "") {
  absl::StatusOr<std::string> lowered = inOpsOfDgc(text);
  if (!lowered.ok())
    return lowered.status();
  ExecuteOptions options;
  options.target = target;
  options.mesh = mesh;
  return execute(*lowered, inputs, options);
}

template <typename T> HostArray arrayOf(const Shape &shape, const std::vector<int64_t> &eighths, rt::DType type) {
  std::vector<T> values;
  for (int64_t number : eighths)
    values.push_back(std::is_floating_point_v<T> ? T(number / 8.0) : T(number));
  return HostArray::of<T>(shape, values, type);
}

/// Multiples of 1/8 from -4 to 4, or integers from -20 to 20, of unsigned types from 0.
HostArray inputOf(const RandomPrimitives::Argument &argument, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> numbers(sizeOf(argument.shape));
  const bool isSigned = argument.element[0] != 'u', isFloating = argument.element[0] == 'f';
  for (int64_t &number : numbers)
    number = isFloating ? int64_t(random() % 65) - 32 : int64_t(random() % 41) - (isSigned ? 20 : 0);
  static const std::map<std::string, HostArray (*)(const Shape &, const std::vector<int64_t> &)> makers = {
#define DGC_ARRAY(name, T, type)                                                                                       \
  {                                                                                                                    \
    name, [](const Shape &shape, const std::vector<int64_t> &values) {                                                 \
      return arrayOf<T>(shape, values, rt::DType::type);                                                               \
    }                                                                                                                  \
  }
      DGC_ARRAY("f32", float, F32),     DGC_ARRAY("f64", double, F64),    DGC_ARRAY("i8", int8_t, I8),
      DGC_ARRAY("i16", int16_t, I16),   DGC_ARRAY("i32", int32_t, I32),   DGC_ARRAY("i64", int64_t, I64),
      DGC_ARRAY("ui8", uint8_t, U8),    DGC_ARRAY("ui16", uint16_t, U16), DGC_ARRAY("ui32", uint32_t, U32),
      DGC_ARRAY("ui64", uint64_t, U64),
#undef DGC_ARRAY
  };
  return makers.at(argument.element)(argument.shape, numbers);
}

NamedArrays inputsOf(const RandomPrimitives &program, uint32_t seed) {
  NamedArrays inputs;
  for (size_t i = 0; i < program.arguments.size(); ++i)
    inputs["arg" + std::to_string(i)] = inputOf(program.arguments[i], 1000 * seed + static_cast<uint32_t>(i));
  return inputs;
}

std::vector<double> numbersOf(const HostArray &array) {
  std::vector<double> numbers;
  if (array.dtype == rt::DType::F64)
    return array.as<double>();
  if (array.dtype == rt::DType::F32)
    for (float value : array.as<float>())
      numbers.push_back(value);
  else
    for (uint16_t bits : array.as<uint16_t>())
      numbers.push_back(array.dtype == rt::DType::BF16 ? rt::fromBF16(bits) : rt::fromF16(bits));
  return numbers;
}

/// Whether two runs gave the same: integers and booleans, and floats that are exact, are equal; other floats differ by no
/// more than the tolerance, relative to the largest element or to 1. `difference` says what does not.
bool areSame(const RandomPrimitives &program, const NamedArrays &expected, const NamedArrays &actual,
             std::string &difference) {
  std::ostringstream text;
  for (size_t i = 0; i < program.results.size(); ++i) {
    const RandomPrimitives::Result &result = program.results[i];
    const std::string name = "result" + std::to_string(i);
    const HostArray &a = expected.at(name), &b = actual.at(name);
    if (a.shape != b.shape || a.dtype != b.dtype) {
      text << name << " has another type\n";
      continue;
    }
    const bool isFloating = result.element[0] == 'f' || result.element[0] == 'b';
    if (!isFloating) {
      if (a.bytes != b.bytes)
        text << name << " (" << result.element << ") is another\n";
      continue;
    }
    const std::vector<double> x = numbersOf(a), y = numbersOf(b);
    double largest = 1, apart = 0;
    for (double value : x)
      largest = std::max(largest, std::fabs(value));
    for (size_t at = 0; at < x.size(); ++at)
      apart = std::isfinite(x[at]) && std::isfinite(y[at]) ? std::max(apart, std::fabs(x[at] - y[at])) : INFINITY;
    if (!(apart <= result.tolerance * largest))
      text << name << " (" << result.element << ") is " << apart << " apart, of " << result.tolerance * largest
           << " that it may be\n";
  }
  difference = text.str();
  return difference.empty();
}

/// Runs program number `seed` on one worker; each once.
const absl::StatusOr<rt::RunOnceResult> &alone(uint32_t seed, const std::string &target) {
  static std::map<std::pair<uint32_t, std::string>, absl::StatusOr<rt::RunOnceResult>> results;
  auto [result, isNew] = results.try_emplace({seed, target}, absl::UnknownError(""));
  if (isNew) {
    const RandomPrimitives program = randomPrimitives(seed);
    result->second = run(program.text, inputsOf(program, seed), target);
  }
  return result->second;
}

class PrimitivesFuzz : public ::testing::Test {
protected:
  const uint32_t first = numberOf("DGC_FUZZ_FIRST", 0), count = numberOf("DGC_FUZZ_COUNT", 6);
  std::string difference;
};

TEST_F(PrimitivesFuzz, TargetsGiveTheSame) {
  for (uint32_t seed = first; seed < first + count; ++seed) {
    nameSeedOnCrash(seed);
    const RandomPrimitives program = randomPrimitives(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + program.text);
    const auto &reference = alone(seed, "reference"), &cpu = alone(seed, "cpu");
    EXPECT_TRUE(reference.ok()) << reference.status();
    EXPECT_TRUE(cpu.ok()) << cpu.status();
    if (reference.ok() && cpu.ok())
      EXPECT_TRUE(areSame(program, reference->outputs, cpu->outputs, difference)) << difference;
  }
}

TEST_F(PrimitivesFuzz, WorkersGiveTheSameAsOne) {
  uint32_t refused = 0;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    nameSeedOnCrash(seed);
    for (uint32_t i = 0; i < 3; ++i) { // 2 workers, 2 x 2, and 3
      const RandomMesh mesh = randomMesh(i);
      const std::string target = targets[(seed + i) % 2];
      const RandomPrimitives program = randomPrimitives(seed, &mesh, 3 * seed + i);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", target " + target + ", mesh " + mesh.option + "\n" +
                   program.text);
      const auto &expected = alone(seed, target);
      ASSERT_TRUE(expected.ok()) << expected.status();
      auto result = run(program.text, inputsOf(program, seed), target, mesh.option);
      if (!result.ok()) {
        const std::string message(result.status().message());
        const bool isExpected =
            std::any_of(expectedRefusals.begin(), expectedRefusals.end(),
                        [&](const std::string &each) { return message.find(each) != std::string::npos; });
        EXPECT_TRUE(isExpected) << result.status();
        ++refused;
        continue;
      }
      EXPECT_TRUE(areSame(program, expected->outputs, result->outputs, difference)) << difference;
    }
  }
  EXPECT_LE(refused, count) << "most programs are refused: this shows little";
}

/// The program with the last op of a kind as another one; empty where it has none of the kinds. Ops in regions stay as they are: a
/// loop might not end, and not all regions are supported.
std::string changed(const std::string &text) {
  static const std::pair<const char *, const char *> changes[] = {{"dgc.add ", "dgc.subtract "},
                                                                  {"dgc.sine ", "dgc.cosine "},
                                                                  {"dgc.maximum ", "dgc.minimum "},
                                                                  {"dgc.compare lt", "dgc.compare ge"},
                                                                  {"compare LT", "compare GT"},
                                                                  {"dgc.and ", "dgc.xor "},
                                                                  {"stablehlo.add ", "stablehlo.subtract "},
                                                                  {"dgc.multiply ", "dgc.add "}};
  for (const auto &[from, to] : changes)
    for (size_t at = text.rfind(from); at != std::string::npos; at = text.rfind(from, at - 1))
      if (text.compare(text.rfind('\n', at) + 1, 3, "  %") == 0)
        return std::string(text).replace(at, std::string(from).size(), to);
  return "";
}

// What the comparison cannot miss: another op.
TEST_F(PrimitivesFuzz, AnotherOpIsSeen) {
  uint32_t numChanged = 0, seen = 0;
  for (uint32_t seed = 0; seed < 16; ++seed) {
    const RandomPrimitives program = randomPrimitives(seed);
    const std::string text = changed(program.text);
    if (text.empty())
      continue;
    ++numChanged;
    const auto &expected = alone(seed, "reference");
    auto result = run(text, inputsOf(program, seed), "reference");
    ASSERT_TRUE(expected.ok() && result.ok()) << expected.status() << result.status() << text;
    seen += !areSame(program, expected->outputs, result->outputs, difference);
  }
  // An op whose operands are clamped, or both zero, may give the same as another one.
  std::printf("%u of %u changed programs give something else\n", seen, numChanged);
  EXPECT_GE(numChanged, 8u);
  EXPECT_GE(2 * seen, numChanged);
}

// The same where nothing hides it: one operand more or less, and a float that differs by more than rounding.
TEST_F(PrimitivesFuzz, ADifferenceIsSeen) {
  const std::string text = R"(
func.func @f(%arg0: tensor<5x7xi32>, %arg1: tensor<5x7xf32>) -> (tensor<5x7xi32>, tensor<5x7xf32>) {
  %one = dgc.constant dense<1> : tensor<5x7xi32>
  %small = dgc.constant dense<0.0001> : tensor<5x7xf32>
  %0 = dgc.add %arg0, %one : tensor<5x7xi32>
  %1 = dgc.sine %arg1 : tensor<5x7xf32>
  %2 = dgc.maximum %1, %1 : tensor<5x7xf32>
  return %0, %2 : tensor<5x7xi32>, tensor<5x7xf32>
}
)";
  RandomPrimitives program{text, {{{5, 7}, "i32"}, {{5, 7}, "f32"}}, {{"i32"}, {"f32", 1e-5}}};
  const NamedArrays inputs = inputsOf(program, 1);
  auto expected = run(text, inputs, "reference");
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const auto &[from, to] : {std::pair("dgc.add", "dgc.subtract"), std::pair("maximum %1, %1", "add %1, %small")}) {
    auto other = run(std::string(text).replace(text.find(from), std::string(from).size(), to), inputs, "reference");
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_FALSE(areSame(program, expected->outputs, other->outputs, difference)) << from;
  }
  EXPECT_TRUE(areSame(program, expected->outputs, expected->outputs, difference)) << difference;
}

} // namespace
