// Damages plans in the ways that bugs of partitioners do.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::testing {

/// The ways, with what they are called and the reports that they stand for.
enum class Mutation : uint8_t {
#define DGC_MUTATION(Name, text, reports) Name,
#include "test/unit/verify/Mutations.def"
};
inline constexpr std::string_view mutationNames[] = {
#define DGC_MUTATION(Name, text, reports) text,
#include "test/unit/verify/Mutations.def"
};
inline constexpr std::string_view mutationReports[] = {
#define DGC_MUTATION(Name, text, reports) reports,
#include "test/unit/verify/Mutations.def"
};
inline constexpr size_t numMutations = std::size(mutationNames);

struct Mutant {
  std::string what;           // "drop a collective: train, step 17 'all_reduce ..'"
  std::vector<uint8_t> bytes; // the artifact
};

/// A plan that says what its kernels compute, damaged once at a random place; none where it has no such place, or the damage left it
/// as it was.
std::optional<Mutant> mutate(const std::vector<uint8_t> &plan, Mutation mutation, std::mt19937 &random);

} // namespace dgc::testing
