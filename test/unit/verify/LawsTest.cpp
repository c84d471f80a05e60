// Each law of runtime/verify/Laws.def is needed: a right plan or a right gradient that is not found equal without it.
#include "test/unit/passes/gradient/GradientCases.h"
#include "test/unit/passes/gradient/GradientModel.h"
#include "test/unit/verify/Subject.h"

#include <algorithm>
#include <fstream>
#include <iterator>

using namespace dgc;
using namespace dgc::testing;
using dgc::test::GradientCase;
using verify::Law;
using verify::LawSet;

namespace {

/// What needs a law: the plan of a model, or of one that is written in another way, or, by its name in gradientCases, a function
/// with its gradient.
struct Need {
  SubjectText plan;
  std::string gradient;
  SubjectText other = {}; // the model that the plan is compared with; without a name: its own
};

/// A model whose parts are joined by the ops `body`, from %h to %z.
SubjectText planOf(const std::string &body, const std::string &mesh, const std::string &strategy) {
  SubjectText text{"",
                   R"(
dgc.model @one {
  %x = dgc.input "x" : tensor<?x6xf32>
  %y = dgc.input "y" : tensor<?x4xf32>
  %w = dgc.variable "w" normal 0 0.5 : tensor<6x4xf32>
  %h = dgc.matmul %x, %w
)" + body + R"(
  %loss = dgc.mean_squared_error %z, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
)",
                   {}};
  text.options.from = "input";
  text.options.mesh = mesh;
  text.options.strategy = strategy;
  text.options.batch = 5;
  text.options.target = "reference";
  return text;
}

/// The plan calls a library for what the model has as loops.
SubjectText pooledOnCpu() {
  const std::vector<SubjectText> &all = subjects();
  SubjectText text = *std::find_if(all.begin(), all.end(),
                                   [](const SubjectText &each) { return each.name == "convolution, data-parallel"; });
  text.options.target = "cpu";
  text.options.withSemantics = true;
  return text;
}

/// The same function %f of an input, %y, written in two ways.
Need forms(const std::string &plan, const std::string &model) {
  const std::string product = "\n%z = dgc.multiply %h, %f";
  Need need{planOf(plan + product, "data=2", "data-parallel"), "", planOf(model + product, "data=2", "data-parallel")};
  need.other.name = "other";
  return need;
}

Need needOf(Law law) {
  switch (law) {
  case Law::ExpOfSum:
    return {{}, "softplus"};
  case Law::ExpOfMask:
    return forms("%m = dgc.subtract %y, 1.0e30\n%e = dgc.exponential %m\n%f = dgc.add %y, %e", "%f = dgc.add %y, 0.0");
  case Law::ZeroOrOne:
    return forms("%n = dgc.subtract %y, %y\n%e = dgc.exponential %n\n%f = dgc.multiply %y, %e", "%f = dgc.add %y, 0.0");
  case Law::ExpMinusOne:
    return forms("%f = dgc.exponential_minus_one %y", "%e = dgc.exponential %y\n%f = dgc.subtract %e, 1.0");
  case Law::LogPlusOne:
    return forms("%q = dgc.multiply %y, %y\n%f = dgc.log_plus_one %q",
                 "%q = dgc.multiply %y, %y\n%s = dgc.add %q, 1.0\n%f = dgc.log %s");
  case Law::InverseOfConstant:
    return forms("%f = dgc.divide %y, 3.0", "%a = dgc.divide %y, 6.0\n%f = dgc.add %a, %a");
  case Law::RootByInverse:
    return forms("%q = dgc.multiply %y, %y\n%p = dgc.add %q, 1.0\n%f = dgc.sqrt %p",
                 "%q = dgc.multiply %y, %y\n%p = dgc.add %q, 1.0\n%r = dgc.rsqrt %p\n%f = dgc.multiply %p, %r");
  case Law::RootOfSquare:
    return forms("%i = dgc.iota dim 0 : tensor<4xf32>\n%q = dgc.multiply %i, %i\n%r = dgc.sqrt %q\n"
                 "%f = dgc.multiply %y, %r",
                 "%i = dgc.iota dim 0 : tensor<4xf32>\n%f = dgc.multiply %y, %i");
  case Law::PowerIsProduct:
    return forms("%f = dgc.power %y, 3.0", "%q = dgc.multiply %y, %y\n%f = dgc.multiply %q, %y");
  case Law::Comparison:
    return {pooledOnCpu(), ""};
  case Law::Extremum: // of the parts of each row
    return {planOf("%z = dgc.softmax %h", "model=2", "tensor-parallel=w:1"), ""};
  case Law::Conversion: // sums of f64 are f32 between workers
    return {planOf("%z = dgc.tanh %h", "data=2", "data-parallel"), ""};
  case Law::IntegerAsFloat:
    return {planOf("%i = dgc.iota dim 0 : tensor<4xf32>\n%p = dgc.compare lt %i, 2\n%z = dgc.select %p, %h, 0.5",
                   "data=2", "data-parallel"),
            ""};
  case Law::Inverse:
    return {{}, "softmax"};
  case Law::InverseOfRoot:
    return {{}, "rsqrt"};
  case Law::ExpOfLogarithm:
    return {{}, "log_softmax"};
  case Law::Absolute:
    return {{}, "abs"};
  case Law::Rounding:
  case Law::Remainder:
    return {{}, "remainder"};
  case Law::SmallFraction:
    return {{}, "layer_norm_of_three"};
  case Law::Decimal:
    return {{}, "gelu_tanh"};
  case Law::RootsOfConstants:
    return {{}, "gelu"};
  }
  std::abort();
}

/// What the check says, and empty where all is equal.
std::string differenceOfPlan(const Subject &subject, const Subject &model, LawSet leftOut) {
  const absl::StatusOr<verify::CheckResult> verdict = subject.check(model.modelOf(), leftOut);
  return verdict.ok() ? verdict->difference : std::string(verdict.status().message());
}

std::string differenceOfGradient(const verify::Model &model, LawSet leftOut) {
  verify::CheckOptions options;
  options.leftOut = leftOut;
  const absl::StatusOr<verify::GradientCheckResult> verdict = verify::checkGradient(model, options);
  return verdict.ok() ? verdict->difference : std::string(verdict.status().message());
}

class EachLaw : public ::testing::TestWithParam<size_t> {};

TEST_P(EachLaw, IsNeeded) {
  const Law law = static_cast<Law>(GetParam());
  const Need need = needOf(law);
  if (need.gradient.empty()) {
    absl::StatusOr<std::unique_ptr<Subject>> subject = Subject::create(need.plan); // fails where it is not equal
    ASSERT_TRUE(subject.ok()) << subject.status();
    absl::StatusOr<std::unique_ptr<Subject>> other = need.other.name.empty() ? nullptr : Subject::create(need.other);
    ASSERT_TRUE(other.ok()) << other.status();
    const Subject &model = *other ? **other : **subject;
    EXPECT_EQ(differenceOfPlan(**subject, model, {}), "");
    EXPECT_NE(differenceOfPlan(**subject, model, law), "");
    return;
  }
  const auto row = std::find_if(std::begin(test::gradientCases), std::end(test::gradientCases),
                                [&](const GradientCase &each) { return each.name == need.gradient; });
  ASSERT_NE(row, std::end(test::gradientCases));
  absl::StatusOr<verify::Model> model = test::gradientModel(*row);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(differenceOfGradient(*model, {}), "");
  EXPECT_NE(differenceOfGradient(*model, law), "");
}

TEST_P(EachLaw, IsInTheDesign) {
  const verify::LawInfo &law = verify::lawTable[GetParam()];
  std::ifstream file(DGC_SOURCE_DIR "/docs/design/exact-verification.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  const std::string row = rt::str("| ", law.statement, " | ", law.purpose, " |\n");
  EXPECT_NE(page.find(row), std::string::npos) << row;
  EXPECT_EQ(page.find(row) > page.find("## The gradient"), law.where == verify::LawInfo::Gradients) << row;
}

INSTANTIATE_TEST_SUITE_P(Table, EachLaw, ::testing::Range(size_t{0}, verify::numLaws),
                         [](const auto &info) { return std::string(verify::lawTable[info.param].name); });

} // namespace
