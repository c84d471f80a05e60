// Damaged plans: each that computes something else is found.
#include "runtime/base/Status.h"
#include "test/unit/verify/Subject.h"

#include <gtest/gtest.h>

using namespace dgc::testing;

class MutationTest : public testing::TestWithParam<size_t> {};

// One mutant of each kind, as far as the plan has a place for it. All of them: mutation_score.
TEST_P(MutationTest, IsFoundOrChangesNothing) {
  absl::StatusOr<std::unique_ptr<Subject>> subject = Subject::create(subjects()[GetParam()]);
  ASSERT_TRUE(subject.ok()) << subject.status();
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  int found = 0;
  for (size_t kind = 0; kind < numMutations; ++kind) {
    std::optional<Mutant> mutant = mutate((*subject)->plan(), static_cast<Mutation>(kind), random);
    if (!mutant)
      continue;
    const Judgement judgement = (*subject)->judge(*mutant);
    EXPECT_NE(judgement.fate, Fate::Missed) << mutant->what << ": numbers differ by " << judgement.distance;
    found += judgement.fate == Fate::Found;
  }
  EXPECT_GE(found, 8);
}

INSTANTIATE_TEST_SUITE_P(All, MutationTest, testing::Range(size_t{0}, subjects().size()));
