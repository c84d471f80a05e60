// The dialects and the runtime have the same actions and the same enums.
#include "compiler/package/Enums.h"
#include "compiler/package/Package.h"
#include "compiler/package/ProgramWriter.h"
#include "dialects/dgc/DGC.h"
#include "dialects/exec/Exec.h"
#include "runtime/artifact/Actions.h"
#include "runtime/artifact/Spelling.h"

#include <gmock/gmock.h>
#include <set>
#include <string>

using namespace mlir;
using namespace dgc;
using dgc::rt::spelled;
using ::testing::ElementsAreArray;
namespace fb = dgc::artifact;

TEST(Tables, EachStepOfTheDialectIsAnAction) {
  MLIRContext context;
  context.loadDialect<exec::ExecDialect>();
  dgc::attachSteps(context);
  std::set<std::string> steps;
  for (RegisteredOperationName op : context.getRegisteredOperations())
    if (op.hasInterface<dgc::PackageOpInterface>())
      steps.insert(op.stripDialect().str());
  EXPECT_EQ(steps.erase("wait"), 1u); // a field of the step after it
  EXPECT_EQ(steps.erase("launch"), 1u);
  steps.insert("kernel_call");

  std::set<std::string> actions;
#define DGC_ACTION(Type, name, kind) actions.insert(name);
#include "runtime/artifact/Actions.def"
  EXPECT_THAT(steps, ElementsAreArray(actions));
}

/// Each case of an enum of the schema, but for `without`, has the one of the dialect with its name, and that has no
/// others.
template <typename E, typename ByName, typename ByNumber>
static void expectSame(ByName byName, ByNumber byNumber, const std::set<E> &without = {}) {
  int count = 0;
  for (int i = static_cast<int>(E::MIN); i <= static_cast<int>(E::MAX); ++i) {
    const E value = static_cast<E>(i);
    auto found = byName(spelled(value));
    EXPECT_EQ(found.has_value(), without.count(value) == 0) << spelled(value);
    if (found) {
      EXPECT_EQ(dgc::toArtifact(*found), value) << spelled(value);
    }
    count += found.has_value();
  }
  for (uint32_t i = 0; i < 64; ++i)
    count -= byNumber(i).has_value();
  EXPECT_EQ(count, 0) << "cases of the dialect without one of the schema";
}

#define EXPECT_SAME(Enum, Namespace, From, ...)                                                                        \
  expectSame<fb::Enum>([](const std::string &name) { return Namespace::symbolize##From(name); },                       \
                       [](uint32_t number) { return Namespace::symbolize##From(number); } __VA_OPT__(, ) __VA_ARGS__)

TEST(Tables, EnumsHaveTheSameCases) {
  EXPECT_SAME(Space, exec, Space);
  EXPECT_SAME(PostOpKind, exec, PostOpKind, {fb::PostOpKind::Accumulate}); // of hand-written plans
  EXPECT_SAME(MatmulValue, exec, MatmulValue);
  EXPECT_SAME(ConvKind, exec, ConvKind);
  EXPECT_SAME(PoolKind, exec, PoolKind);
  EXPECT_SAME(CollectiveKind, dist, CollectiveKind);
  EXPECT_SAME(Reduction, dist, Reduction);
  EXPECT_SAME(InitKind, dgc, InitKind);
  EXPECT_SAME(VariableRole, dgc, StateRole, {fb::VariableRole::LossScale}); // an attribute of its own
}
