// What two plans may differ in and still have one schedule, and what they may not.
#include "runtime/verify/Schedule.h"
#include "runtime/base/Status.h"
#include "test/unit/artifact/SamplePlan.h"
#include "test/unit/device/reference/SampleKernel.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

using namespace dgc;
using namespace dgc::verify;
namespace bc = dgc::reference;
namespace fb = dgc::artifact;
using rt::test::addBuffer;
using rt::test::addStep;

namespace {
using Change = std::function<void(fb::PlanT &plan, bc::KernelsT &kernels)>;

/// The number of the step that addCollectives adds.
constexpr size_t kSecond = 7;

fb::ProgramT &train(fb::PlanT &plan) { return *plan.programs[0]; }
template <typename ActionT> ActionT &action(fb::PlanT &plan, size_t step) {
  return *static_cast<ActionT *>(train(plan).steps[step]->action.value);
}

/// A second all-reduce behind the one of the sample, of another value and over both axes.
void addCollectives(fb::PlanT &plan) {
  auto axis = std::make_unique<fb::MeshAxisT>();
  axis->name = "model";
  axis->size = 1;
  plan.mesh.push_back(std::move(axis));
  addBuffer(train(plan), 64, {4}, fb::DType::F32, fb::Space::Shared);
  fb::CollectiveT second;
  second.id = 1;
  second.axes = {0, 1};
  second.dtype = fb::DType::F32;
  second.src = second.dst = 64;
  second.src_count = second.dst_count = 4;
  addStep(train(plan), std::move(second), "all_reduce");
}

/// Two groups of one worker; the first sends two values to the other.
void addTransfers(fb::PlanT &plan) {
  auto receiver = std::make_unique<fb::ProgramT>();
  receiver->name = "train";
  for (int group = 0; group < 2; ++group) {
    auto each = std::make_unique<fb::GroupT>();
    each->name = group == 0 ? "first" : "second";
    each->first_rank = static_cast<uint32_t>(group);
    each->rank_count = 1;
    each->private_bytes = plan.private_bytes;
    each->shared_bytes = plan.shared_bytes;
    plan.groups.push_back(std::move(each));
  }
  auto stage = std::make_unique<fb::MeshAxisT>();
  stage->name = "stage";
  stage->size = 2;
  plan.mesh[0]->size = 1;
  plan.mesh.insert(plan.mesh.begin(), std::move(stage));
  action<fb::CollectiveT>(plan, 4).axes = {1};
  action<fb::CollectiveT>(plan, kSecond).axes = {1, 2};
  train(plan).inputs[0]->global_shape = {2, 4};
  train(plan).inputs[0]->sharding.reset();
  train(plan).group = plan.variables[0]->group = 0;
  receiver->group = 1;
  for (uint32_t channel = 0; channel < 2; ++channel) {
    fb::SendT send;
    send.channel = channel;
    send.group = 1;
    send.buffer = addBuffer(train(plan), 128 + 64 * channel, {4}, fb::DType::F32, fb::Space::Shared);
    addStep(train(plan), std::move(send), "send");
    fb::ReceiveT receive;
    receive.channel = channel;
    receive.group = 0;
    receive.buffer = addBuffer(*receiver, 128 + 64 * channel, {4}, fb::DType::F32, fb::Space::Shared);
    addStep(*receiver, std::move(receive), "receive");
  }
  plan.programs.push_back(std::move(receiver));
}

std::unique_ptr<rt::Artifact> artifactOf(const std::vector<Change> &changes) {
  fb::PlanT plan = rt::test::samplePlan();
  bc::KernelsT kernels = dgc::testing::sampleKernels();
  kernels.kernels[0]->symbol = "kernel_0";
  addCollectives(plan);
  for (const Change &change : changes)
    change(plan, kernels);
  auto section = std::make_unique<fb::SectionT>();
  section->name = "semantics";
  section->data = dgc::testing::packed(kernels);
  plan.semantics_section = static_cast<int32_t>(plan.sections.size());
  plan.sections.push_back(std::move(section));
  absl::StatusOr<std::unique_ptr<rt::Artifact>> artifact = rt::loadBytes(*rt::finishPlan(std::move(plan)));
  if (!artifact.ok())
    throw std::runtime_error(std::string(artifact.status().message()));
  return *std::move(artifact);
}

/// The first difference that a change makes, for each part: Values, Communication, All; as "-" where there is none.
std::string differences(const Change &change, const std::vector<Change> &base = {}) {
  std::vector<Change> changed = base;
  changed.push_back(change);
  const auto plan = artifactOf(base), other = artifactOf(changed);
  std::string text;
  for (SchedulePart part : {SchedulePart::Values, SchedulePart::Communication, SchedulePart::All}) {
    absl::StatusOr<std::string> found = differenceOfSchedules(*plan, *other, part);
    text += (text.empty() ? "" : "; ") + (found.ok() ? (found->empty() ? "-" : *found) : found.status().ToString());
  }
  return text;
}

/// What all parts say.
std::string thrice(const std::string &difference) { return difference + "; " + difference + "; " + difference; }

/// A change of an attribute of something.
template <typename T, typename V> Change set(const std::function<T &(fb::PlanT &)> &of, V T::*field, const V &value) {
  return [=](fb::PlanT &plan, bc::KernelsT &) { of(plan).*field = value; };
}

TEST(Schedule, IsTheSameForSizes) {
  const std::string same = thrice("-");
  EXPECT_EQ(differences([](fb::PlanT &, bc::KernelsT &) {}), same);
  // Twice the batch: shapes, places, counts, sizes of library calls, extents of kernels.
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &kernels) {
              plan.global_batch = 8;
              train(plan).inputs[0]->global_shape = {8, 4};
              for (uint32_t buffer : {1, 2})
                train(plan).buffers[buffer]->shape = {4, 4};
              train(plan).buffers[5]->offset = 4096;
              action<fb::MatmulT>(plan, 0).m = 4;
              const auto constant = kernels.kernels[0]->symbol;
              kernels = dgc::testing::sampleKernels(6, 8);
              kernels.kernels[0]->symbol = constant;
            }),
            same);
  // Numbers that may follow from a size, and texts for people.
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) {
              action<fb::FillT>(plan, 6).value = 0.25;
              action<fb::CollectiveT>(plan, 4).origin = "another cause";
              plan.variables[0]->a = 16;
              train(plan).steps[0]->name = "another name";
            }),
            same);
}

TEST(Schedule, HasWorkersAndVariables) {
  auto mesh = [](fb::PlanT &plan) -> fb::MeshAxisT & { return *plan.mesh[0]; };
  EXPECT_EQ(differences(set<fb::MeshAxisT, std::string>(mesh, &fb::MeshAxisT::name, "rows")), thrice("the mesh"));
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) {
              plan.mesh[0]->size = plan.world_size = 4;
              train(plan).inputs[0]->global_shape = {8, 4};
            }),
            thrice("the mesh"));
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) { plan.groups[1]->name = "third"; },
                        {[](fb::PlanT &plan, bc::KernelsT &) { addTransfers(plan); }}),
            thrice("the mesh"));
  const std::string variable = thrice("variable 'w'");
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) { plan.variables[0]->role = fb::VariableRole::Slot; }),
            variable);
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) { plan.variables[0]->init = fb::InitKind::Zeros; }),
            variable);
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) {
              plan.variables[0]->sharding = rt::test::sharding({{0}, {}});
              plan.variables[0]->global_shape = {8, 4};
            }),
            variable);
  EXPECT_EQ(differences(
                [](fb::PlanT &plan, bc::KernelsT &) {
                  plan.variables[0]->sharding = rt::test::sharding({{}, {0}});
                  plan.variables[0]->global_shape = {4, 8};
                },
                {[](fb::PlanT &plan, bc::KernelsT &) {
                  plan.variables[0]->sharding = rt::test::sharding({{0}, {}});
                  plan.variables[0]->global_shape = {8, 4};
                }}),
            variable);
}

TEST(Schedule, HasInputsAndOutputs) {
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) {
              train(plan).inputs[0]->sharding.reset();
              train(plan).inputs[0]->global_shape = {2, 4};
            }),
            thrice("train, 'x'"));
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) { train(plan).inputs[0]->batch_dim = 1; }),
            thrice("train, 'x'"));
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) { train(plan).outputs[0]->role = fb::OutputRole::Metric; }),
            thrice("train, 'loss'"));
}

TEST(Schedule, HasCollectivesOfTheirKinds) {
  const std::string place = "train, step 7 collective (model.mlir:1:1)";
  const std::string found = "train, the number of steps AllReduce; " + place + "; " + place;
  auto differs = [](const std::function<void(fb::CollectiveT &)> &change) {
    return differences([&](fb::PlanT &plan, bc::KernelsT &) { change(action<fb::CollectiveT>(plan, kSecond)); });
  };
  EXPECT_EQ(differs([](fb::CollectiveT &op) { op.reduction = fb::Reduction::Max; }), found);
  EXPECT_EQ(differs([](fb::CollectiveT &op) { op.axes = {0}; }), found);
  EXPECT_EQ(differs([](fb::CollectiveT &op) { op.dtype = fb::DType::I32; }), found);
  EXPECT_EQ(differs([](fb::CollectiveT &op) { op.kind = fb::CollectiveKind::Broadcast; }), found);
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) { train(plan).steps.pop_back(); }),
            "train, the number of steps AllReduce; " + place + " / the end of train; " + place + " / the end of train");
  auto permute = [](const std::vector<uint32_t> &to) {
    return [to](fb::PlanT &plan, bc::KernelsT &) {
      auto &op = action<fb::CollectiveT>(plan, kSecond);
      op.kind = fb::CollectiveKind::Permute;
      op.permutation = to;
    };
  };
  EXPECT_EQ(differences(permute({1, 0}), {permute({0, 1})}),
            "train, the number of steps Permute; " + place + "; " + place);
}

TEST(Schedule, HasLibraryCallsOfTheirKinds) {
  auto found = [](const std::string &kind, int step) {
    const std::string place = rt::str("train, step ", step, " ", kind, " (model.mlir:1:1)");
    return "train, the number of steps " + kind + "; " + place + "; " + place;
  };
  auto matmul = [](const std::function<void(fb::MatmulT &)> &change) {
    return differences([&](fb::PlanT &plan, bc::KernelsT &) { change(action<fb::MatmulT>(plan, 0)); });
  };
  EXPECT_EQ(matmul([](fb::MatmulT &op) { op.bias = -1; }), found("matmul", 0));
  EXPECT_EQ(matmul([](fb::MatmulT &op) { op.post_ops[0]->kind = fb::PostOpKind::Tanh; }), found("matmul", 0));
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) {
              action<fb::MatmulT>(plan, 0).transpose_b = true; // of a square matrix
            }),
            found("matmul", 0));
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) {
              auto &op = action<fb::ConvolutionT>(plan, 2);
              op.pad_low = {2, 1};
              op.pad_high = {0, 1};
            }),
            found("convolution", 2));
  // A pool over a whole dimension has another window where that has another size.
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) {
              auto &op = action<fb::PoolT>(plan, 3);
              op.window = op.strides = {4, 4};
              train(plan).buffers[9]->shape = {1, 1, 1, 2};
            }),
            thrice("-"));
}

// What is at once, and what comes first, is no matter of values.
TEST(Schedule, OrdersCollectives) {
  const std::string place = "train, step 4 collective (model.mlir:1:1)", found = "-; " + place + "; " + place;
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) {
              std::swap(train(plan).steps[4], train(plan).steps[kSecond]);
              action<fb::CollectiveT>(plan, 4).id = 0;
              action<fb::CollectiveT>(plan, kSecond).id = 1;
            }),
            found);
  const Change sameAxes = [](fb::PlanT &plan, bc::KernelsT &) { action<fb::CollectiveT>(plan, kSecond).axes = {0}; };
  EXPECT_EQ(differences(
                [](fb::PlanT &plan, bc::KernelsT &) {
                  auto more = std::make_unique<fb::CollectiveRangeT>();
                  more->src = more->dst = 64;
                  more->src_count = more->dst_count = 4;
                  action<fb::CollectiveT>(plan, 4).more.push_back(std::move(more));
                  train(plan).steps.pop_back();
                },
                {sameAxes}),
            found);
}

TEST(Schedule, OrdersTransfers) {
  const Change transfers = [](fb::PlanT &plan, bc::KernelsT &) { addTransfers(plan); };
  const std::string place = "train of group 0, step 9 send (model.mlir:1:1)", end = " / the end of train of group 0";
  const size_t first = kSecond + 1;
  EXPECT_EQ(differences([](fb::PlanT &, bc::KernelsT &) {}, {transfers}), thrice("-"));
  EXPECT_EQ(differences(
                [](fb::PlanT &plan, bc::KernelsT &) {
                  std::swap(train(plan).steps[first], train(plan).steps[first + 1]);
                  std::swap(plan.programs[1]->steps[0], plan.programs[1]->steps[1]);
                },
                {transfers}),
            thrice("train of group 0, step 8 send (model.mlir:1:1)"));
  EXPECT_EQ(differences(
                [](fb::PlanT &plan, bc::KernelsT &) {
                  train(plan).steps.pop_back();
                  plan.programs[1]->steps.pop_back();
                },
                {transfers}),
            place + " / train of group 0, the number of steps AllReduce; " + place + end + "; " + place + end);
}

TEST(Schedule, HasPrograms) {
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) {
              plan.programs.push_back(std::make_unique<fb::ProgramT>());
              plan.programs[1]->name = "evaluate";
            }),
            thrice("the number of programs"));
}

TEST(Schedule, FormsKernels) {
  const std::string found = "-; -; train, step 1 kernel_call (model.mlir:1:1)";
  auto differs = [](const std::function<void(bc::NestT &)> &change) {
    return differences([&](fb::PlanT &, bc::KernelsT &kernels) { change(*kernels.kernels[0]->nests[1]); });
  };
  EXPECT_EQ(differs([](bc::NestT &nest) { nest.body[2] = dgc::testing::number(0, bc::Type::F64); }),
            thrice("-")); // a constant
  const auto f64 = bc::Type::F64;
  EXPECT_EQ(differs([&](bc::NestT &nest) { nest.body[3] = dgc::testing::op(bc::Opcode::AddF, f64, 1, 2); }), found);
  EXPECT_EQ(differs([&](bc::NestT &nest) { nest.body[5] = dgc::testing::op(bc::Opcode::AddF, f64, 4, 1); }), found);
  EXPECT_EQ(differences([](fb::PlanT &, bc::KernelsT &kernels) {
              kernels.kernels[0]->nests.erase(kernels.kernels[0]->nests.begin());
            }),
            found);
}

TEST(Schedule, HasOperandsAndWaits) {
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) { action<fb::FillT>(plan, 6).dst = 1; }),
            "-; -; train, step 6 fill (model.mlir:1:1)");
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) {
              std::swap(action<fb::CopyT>(plan, 5).src, action<fb::CopyT>(plan, 5).dst);
            }),
            "-; -; train, step 5 copy (model.mlir:1:1)");
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) { train(plan).steps[5]->waits = {4}; },
                        {[](fb::PlanT &plan, bc::KernelsT &) { train(plan).steps[4]->queue = 1; }}),
            "-; -; train, step 5 copy (model.mlir:1:1)");
  const std::string place = "train, step 4 collective (model.mlir:1:1)";
  EXPECT_EQ(differences([](fb::PlanT &plan, bc::KernelsT &) { train(plan).steps[4]->queue = 1; }),
            "-; " + place + "; " + place);
}

TEST(Schedule, NeedsWhatKernelsCompute) {
  const auto whole = artifactOf({});
  fb::PlanT plan = rt::test::samplePlan();
  const auto without = *rt::loadBytes(*rt::finishPlan(std::move(plan)));
  absl::StatusOr<std::string> found = differenceOfSchedules(*whole, *without, SchedulePart::All);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("--with-semantics"), std::string::npos);
}

} // namespace
