// How many damaged plans the exact check finds, and how many a comparison of numbers does: docs/exact-results.md.
//
// usage: mutation_score [MUTANTS] [SEED] [--list]
#include "runtime/base/Status.h"
#include "test/unit/verify/Subject.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

using namespace dgc::testing;

namespace {
struct Row {
  int refused = 0, found = 0, numbers = 0, equivalent = 0, equal = 0, missed = 0;
  void add(const Judgement &judgement) {
    constexpr double tolerance = 1e-5; // of tests that compare weights after a step
    refused += judgement.fate == Fate::Refused;
    found += judgement.fate == Fate::Found;
    numbers += judgement.fate == Fate::Found && judgement.distance > tolerance;
    equivalent += judgement.fate == Fate::Equivalent;
    equal += judgement.fate == Fate::Equal;
    missed += judgement.fate == Fate::Missed;
  }
};
} // namespace

/// What a way is called, with the reports that it stands for.
static std::string nameOf(size_t kind) {
  const std::string name(mutationNames[kind]), reports(mutationReports[kind]);
  return reports.empty() ? name : name + " (" + reports + ")";
}

static void print(const std::map<std::string, Row> &rows) {
  std::printf(
      "\n| | mutants | refused by the artifact check | found exactly | of these by numbers | equivalent | equal, "
      "not run | missed |\n|---|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const auto &[name, row] : rows)
    std::printf("| %s | %d | %d | %d | %d | %d | %d | %d |\n", name.c_str(),
                row.refused + row.found + row.equivalent + row.equal + row.missed, row.refused, row.found, row.numbers,
                row.equivalent, row.equal, row.missed);
}

int main(int argc, char **argv) {
  int wanted = 2000;
  unsigned seed = 1;
  bool lists = false;
  int position = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--list")
      lists = true;
    else if (position++ == 0)
      wanted = static_cast<int>(std::strtol(argv[i], nullptr, 10));
    else
      seed = static_cast<unsigned>(std::strtol(argv[i], nullptr, 10));
  }
  std::map<std::string, Row> byKind, bySubject;
  Row all;
  const int each = wanted / static_cast<int>(subjects().size());
  for (const SubjectText &text : subjects()) {
    absl::StatusOr<std::unique_ptr<Subject>> subject = Subject::create(text);
    if (!subject.ok()) {
      std::fprintf(stderr, "mutation_score: %s: %s\n", text.name.c_str(),
                   std::string(subject.status().message()).c_str());
      return 1;
    }
    std::mt19937 random(seed);
    int made = 0;
    for (size_t kind = 0, without = 0; made < each && without < numMutations; kind = (kind + 1) % numMutations) {
      std::optional<Mutant> mutant = mutate((*subject)->plan(), static_cast<Mutation>(kind), random);
      without = mutant ? 0 : without + 1;
      if (!mutant)
        continue;
      ++made;
      const Judgement judgement = (*subject)->judge(*mutant);
      for (Row *row : {&all, &byKind[nameOf(kind)], &bySubject[text.name]})
        row->add(judgement);
      if (lists || judgement.fate == Fate::Missed || judgement.fate == Fate::Equivalent ||
          judgement.fate == Fate::Equal) {
        static constexpr const char *fates[] = {"refused", "found", "equivalent", "equal, not run", "MISSED"};
        std::printf("%s: %s: %s (numbers %.1e %s) %s\n", text.name.c_str(), fates[static_cast<int>(judgement.fate)],
                    mutant->what.c_str(), judgement.distance, judgement.farthest.c_str(), judgement.why.c_str());
      }
    }
    std::fprintf(stderr, "mutation_score: %s: %d mutants\n", text.name.c_str(), made);
  }
  print(byKind);
  print(bySubject);
  print({{"all", all}});
  return all.missed ? 1 : 0;
}
