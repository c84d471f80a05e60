// A transformer in pipelines, trained by running, and one worker to compare with.
#pragma once

#include "test/unit/oracle/Broken.h"
#include "test/unit/oracle/Transformer.h"

#include <map>

namespace dgc::testing {

/// Cuts the weights of the transformer in front of attention and in its feed-forward layers.
inline const std::string cut = ",tensor-parallel=*query/*:-1+*key/*:-1+*value/*:-1+*up/*:-1";

struct Pipeline {
  std::string mesh, strategy;
  int microbatches;
};

inline void PrintTo(const Pipeline &p, std::ostream *os) { *os << p.mesh << " " << p.strategy; }

inline TrainOptions optionsOf(const Pipeline &pipeline, int steps) {
  TrainOptions how{pipeline.mesh, pipeline.strategy, steps};
  how.inputs = windowsOfStep;
  how.microbatches = pipeline.microbatches;
  return how;
}

inline NamedArrays trainOn(const Pipeline &pipeline, int steps, const std::string &model = smallTransformer) {
  return train(model, optionsOf(pipeline, steps));
}

/// One worker: trained once for each number of steps.
inline const NamedArrays &alone(int steps) {
  static std::map<int, NamedArrays> known;
  auto [it, isNew] = known.try_emplace(steps);
  if (isNew)
    it->second = trainOn({}, steps);
  return it->second;
}

/// The gradients and weights of one worker, and others when something is not sent.
inline void expectTheSame(const Pipeline &pipeline) {
  NamedArrays step = trainOn(pipeline, 1);
  EXPECT_LE(distance(step, alone(1)), 1e-6);
  EXPECT_LE(distance(step, alone(1), &alone(0)), 2e-5) << "gradients";
  expectBrokenIsNoticed(smallTransformer, optionsOf(pipeline, 1), alone(1), alone(0));
}

inline std::string nameOf(const ::testing::TestParamInfo<Pipeline> &info) {
  return std::regex_replace(info.param.strategy.substr(9, 30) + "_" + info.param.mesh, std::regex("[^A-Za-z0-9]+"),
                            "_");
}

} // namespace dgc::testing
