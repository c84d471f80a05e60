// Random programs of dgc ops, whole or with random shardings.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace dgc::testing {

struct RandomMesh {
  std::string option; // "data=2,model=3", as for --mesh
  std::string op;     // dist.mesh @mesh <data = 2, model = 3>
  std::vector<std::string> axes;
};

struct RandomGraph {
  std::string text;                         // one function @f
  std::string elementType;                  // of its arguments and results: f32 or f64
  std::vector<std::vector<int64_t>> inputs; // shapes of its arguments
};

RandomMesh randomMesh(uint32_t seed);

/// "<@mesh, [{"data", ?}, {}]>", for a value of that rank: each axis cuts one dimension or none.
std::string randomSharding(size_t rank, const RandomMesh &mesh, std::mt19937 &random);

/// The program number `seed`. With a mesh, arguments, results and values in between get shardings that follow from
/// `shardingSeed`; the ops are the same.
RandomGraph randomGraph(uint32_t seed, const RandomMesh *mesh = nullptr, uint32_t shardingSeed = 0);

} // namespace dgc::testing
