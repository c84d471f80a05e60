// Which worker gives which part of which variable, where one of those that hold the same is enough.
#pragma once

#include "runtime/executor/Executor.h"

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace dgc::rt {

/// Of the workers that hold the same part of what a checkpoint has, the one that gives the fewest bytes so far. The same on all
/// workers.
class Shares {
public:
  explicit Shares(const artifact::Plan &plan);

  bool gives(uint32_t rank, const artifact::Variable *variable, const std::string &part) const {
    return givers.contains({variable, part, rank});
  }

  /// What a rank gives.
  struct Given {
    uint32_t rank;
    uint32_t variable, part;      // in Plan.variables, and of a stacked one which part
    std::vector<int64_t> offsets; // where the block of the variable begins; no two blocks of it have these
    uint64_t bytes;               // without padding
  };
  /// Of all ranks; sorted by rank, variable and part: those of one rank are in the order of shareOf().
  const std::vector<Given> &given() const { return all; }

private:
  struct Part {
    uint32_t variable, number;
    std::string name;
  };

  const artifact::Variable &variableOf(uint32_t v) const { return *plan.variables()->Get(v); }
  uint64_t bytesOf(uint32_t v) const;
  void choose(const Part &part);

  const artifact::Plan &plan;
  std::vector<Part> parts;
  std::vector<uint64_t> load; // bytes that each rank gives, about
  std::vector<Given> all;
  std::set<std::tuple<const artifact::Variable *, std::string, uint32_t>> givers;
};

/// The parts of variables that a rank gives.
std::vector<VariableView> shareOf(const artifact::Plan &plan, const Executor &executor, uint32_t rank);

/// The elements of a part without padding: the memory itself, or a copy in `copy`.
std::span<const std::byte> elementsOf(const VariableView &part, std::vector<std::byte> &copy);

} // namespace dgc::rt
