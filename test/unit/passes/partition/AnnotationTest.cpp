// A model that says itself how values are spread, by running: as without its annotations on one device.
#include "test/unit/passes/partition/Compare.h"

#include <regex>

using namespace dgc::testing;

namespace {

/// Trains three steps with what the model says of meshes and shardings, and without, on one device: the same.
void expectAsOnOneDevice(const std::string &annotated, int64_t batch, int64_t outputs, const std::string &links = "",
                         const std::string &strategy = "") {
  std::string plain = std::regex_replace(annotated, std::regex(" \\{dist\\.sharding = [^\n]*>\\}"), "");
  plain = std::regex_replace(plain, std::regex("dist\\.mesh[^\n]*"), "");
  plain = std::regex_replace(plain, std::regex("%h2 = dist.constraint %h1[^\n]*"), "");
  plain = std::regex_replace(plain, std::regex("%h2"), "%h1");
  NamedArrays inputs = {{"x", array({batch, 6}, 1)}, {"y", array({batch, outputs}, 2)}};
  ExecuteOptions options;
  options.from = "input";
  options.batch = batch;
  options.run.program = "train";
  options.run.steps = 3;
  auto alone = execute(plain, inputs, options);
  ASSERT_TRUE(alone.ok()) << alone.status();
  options.links = links;
  options.strategy = strategy;
  auto cut = execute(annotated, inputs, options);
  ASSERT_TRUE(cut.ok()) << cut.status();
  expectClose(alone->variables, cut->variables, 2e-6);
  expectClose(alone->outputs, cut->outputs, 2e-6);
}

const char *annotated = R"(
dist.mesh @mesh <batch = 2, model = 2>
dgc.model @mlp {
  %x = dgc.input "x" {dist.sharding = #dist.sharding<@mesh, [{"batch"}, {}]>} : tensor<?x6xf32>
  %y = dgc.input "y" : tensor<?x10xf32>
  %w1 = dgc.variable "w1" glorot_uniform {dist.sharding = #dist.sharding<@mesh, [{?}, {"model"}]>} : tensor<6x16xf32>
  %b1 = dgc.variable "b1" zeros : tensor<16xf32>
  %w2 = dgc.variable "w2" glorot_uniform {dist.sharding = #dist.sharding<@mesh, [{"model", "batch"}, {}]>} : tensor<16x10xf32>
  %h0 = dgc.dense %x, %w1, %b1
  %h1 = dgc.gelu %h0
  %h2 = dist.constraint %h1 to <@mesh, [{?}, {"batch"}]>
  %o = dgc.dense %h2, %w2
  %loss = dgc.mean_squared_error %o, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1 momentum 0.9
}
)";

TEST(Annotation, TrainsAsOneDeviceDoes) { expectAsOnOneDevice(annotated, 8, 10); }

// Strategies that distribute over no axis go with a mesh of the model's own.
TEST(Annotation, TrainsInPartsAndComputesAgain) {
  for (const char *strategy : {"recompute=*", "accumulate=2", "accumulate=3,recompute=*"}) {
    SCOPED_TRACE(strategy);
    expectAsOnOneDevice(annotated, 8, 10, "", strategy);
  }
}

// The same devices as a grid and as a row, in one model: values go from one to the other.
const char *twoMeshes = R"(
dist.mesh @grid <a = 2, b = 3>
dist.mesh @row <all = 6>
dgc.model @mlp {
  %x = dgc.input "x" {dist.sharding = #dist.sharding<@row, [{"all"}, {}]>} : tensor<?x6xf32>
  %y = dgc.input "y" : tensor<?x10xf32>
  %w1 = dgc.variable "w1" glorot_uniform {dist.sharding = #dist.sharding<@grid, [{"a"}, {"b"}]>} : tensor<6x16xf32>
  %b1 = dgc.variable "b1" zeros : tensor<16xf32>
  %w2 = dgc.variable "w2" glorot_uniform {dist.sharding = #dist.sharding<@row, [{}, {"all"}]>} : tensor<16x10xf32>
  %h0 = dgc.dense %x, %w1, %b1
  %h1 = dgc.gelu %h0
  %h2 = dist.constraint %h1 to <@grid, [{"b"}, {"a"}]>
  %o = dgc.dense %h2, %w2
  %loss = dgc.mean_squared_error %o, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1 momentum 0.9
}
)";

TEST(Annotation, SeveralMeshesOfTheSameDevices) { expectAsOnOneDevice(twoMeshes, 8, 10); }

// Two axes for the batch, one of them over slow links: gradients are combined in two levels.
const char *twoLevels = R"(
dist.mesh @mesh <host = 2, local = 3>
dgc.model @mlp {
  %x = dgc.input "x" {dist.sharding = #dist.sharding<@mesh, [{"host", "local"}, {}]>} : tensor<?x6xf32>
  %y = dgc.input "y" : tensor<?x7xf32>
  %w1 = dgc.variable "w1" glorot_uniform {dist.sharding = #dist.sharding<@mesh, [{}, {}]>} : tensor<6x16xf32>
  %b1 = dgc.variable "b1" zeros {dist.sharding = #dist.sharding<@mesh, [{}]>} : tensor<16xf32>
  %w2 = dgc.variable "w2" glorot_uniform {dist.sharding = #dist.sharding<@mesh, [{}, {}]>} : tensor<16x7xf32>
  %h0 = dgc.dense %x, %w1, %b1
  %h1 = dgc.gelu %h0
  %o = dgc.dense %h1, %w2
  %loss = dgc.mean_squared_error %o, %y
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}
)";

TEST(Annotation, HierarchicalAllReduce) { expectAsOnOneDevice(twoLevels, 12, 7, "host=1us:1MB/s,local=0us:1GB/s"); }

} // namespace
