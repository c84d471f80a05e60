// Mesh positions, groups and slices, against small cases worked by hand.
#include "SamplePlan.h"

#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Reader.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace dgc::rt;
using namespace dgc::rt::test;

namespace {
/// Mesh data = 2, model = 3; variable v [4, 6] cut by (model) and (data).
std::unique_ptr<Artifact> meshPlan(std::vector<std::vector<uint32_t>> dims, std::vector<int64_t> local,
                                   std::vector<int64_t> global = {12, 6}) {
  fb::PlanT plan = samplePlan();
  auto axis = std::make_unique<fb::MeshAxisT>();
  axis->name = "model";
  axis->size = 3;
  plan.mesh.push_back(std::move(axis));
  plan.world_size = 6;
  plan.programs.clear();
  plan.variables[0]->global_shape = std::move(global);
  plan.variables[0]->sharding = sharding(std::move(dims));
  plan.variable_buffers[0]->shape = std::move(local);
  auto loaded = loadBytes(*finishPlan(std::move(plan)));
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return *std::move(loaded);
}

Slice sliceOf(const Artifact &a, uint32_t rank) {
  const fb::Variable *v = a.plan().variables()->Get(0);
  return localSlice(a.plan(), v->global_shape(), v->sharding(), rank);
}

TEST(Mesh, PositionsAndGroups) {
  auto a = meshPlan({{}, {}}, {12, 6});
  EXPECT_EQ(meshPosition(a->plan(), 5), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(meshPosition(a->plan(), 3), (std::vector<uint32_t>{1, 0}));
  flatbuffers::FlatBufferBuilder b;
  auto group = [&](const std::vector<uint32_t> &axes, uint32_t rank) {
    b.Clear();
    b.Finish(b.CreateVector(axes));
    return meshGroup(a->plan(), flatbuffers::GetRoot<flatbuffers::Vector<uint32_t>>(b.GetBufferPointer()), rank);
  };
  EXPECT_EQ(group({0}, 4), (std::vector<uint32_t>{1, 4}));
  EXPECT_EQ(group({1}, 4), (std::vector<uint32_t>{3, 4, 5}));
  EXPECT_EQ(group({0, 1}, 4), (std::vector<uint32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(group({1, 0}, 4), (std::vector<uint32_t>{0, 3, 1, 4, 2, 5}));
}

TEST(Mesh, PositionsAlongAxes) {
  auto a = meshPlan({{}, {}}, {12, 6});
  EXPECT_EQ(positionAlong(a->plan(), "data", 5), 1);
  EXPECT_EQ(positionAlong(a->plan(), "model", 5), 2);
  EXPECT_EQ(positionAlong(a->plan(), "data,model", 4), 4);
  EXPECT_EQ(positionAlong(a->plan(), "model,data", 4), 3);
  EXPECT_EQ(positionAlong(a->plan(), "pipe", 4), -1);
}

TEST(Mesh, Slices) {
  auto a = meshPlan({{1}, {0}}, {4, 3});
  EXPECT_EQ(sliceOf(*a, 5), (Slice{{8, 3}, {4, 3}}));
  EXPECT_EQ(sliceOf(*a, 1), (Slice{{4, 0}, {4, 3}}));
  // Two axes on one dimension, the first is major.
  auto b = meshPlan({{1, 0}, {}}, {2, 6});
  EXPECT_EQ(sliceOf(*b, 4), (Slice{{6, 0}, {2, 6}})); // data 1, model 1: block 3
}

TEST(Mesh, SlicesTileTheTensor) {
  auto a = meshPlan({{1}, {0}}, {4, 3});
  std::vector<int32_t> global(72), back(72, -1), local(12);
  std::iota(global.begin(), global.end(), 0);
  for (uint32_t rank = 0; rank < 6; ++rank) {
    Slice s = sliceOf(*a, rank);
    copySliceOut(reinterpret_cast<std::byte *>(global.data()), {12, 6}, s, 4,
                 reinterpret_cast<std::byte *>(local.data()));
    EXPECT_EQ(local[0], s.offsets[0] * 6 + s.offsets[1]);
    EXPECT_EQ(local[11], (s.offsets[0] + 3) * 6 + s.offsets[1] + 2);
    copySliceIn(reinterpret_cast<std::byte *>(local.data()), {12, 6}, s, 4, reinterpret_cast<std::byte *>(back.data()));
  }
  EXPECT_EQ(global, back);
}

// 11 over 6 workers in blocks of 2: the last has 1. 7 over 3 in blocks of 3: 3, 3, 1. 2 over 6 in blocks of 1: four
// workers have none.
TEST(Mesh, UnequalParts) {
  auto a = meshPlan({{0, 1}, {}}, {2, 7}, {11, 7});
  EXPECT_EQ(sliceOf(*a, 4), (Slice{{8, 0}, {2, 7}}));
  EXPECT_EQ(sliceOf(*a, 5), (Slice{{10, 0}, {1, 7}, {2, 7}}));
  auto b = meshPlan({{0}, {1}}, {6, 3}, {11, 7});
  EXPECT_EQ(sliceOf(*b, 1), (Slice{{0, 3}, {6, 3}}));
  EXPECT_EQ(sliceOf(*b, 2), (Slice{{0, 6}, {6, 1}, {6, 3}}));
  EXPECT_EQ(sliceOf(*b, 5), (Slice{{6, 6}, {5, 1}, {6, 3}}));
  auto c = meshPlan({{0, 1}, {}}, {1, 7}, {2, 7});
  EXPECT_EQ(sliceOf(*c, 1), (Slice{{1, 0}, {1, 7}}));
  EXPECT_EQ(sliceOf(*c, 2), (Slice{{2, 0}, {0, 7}, {1, 7}}));
  EXPECT_EQ(sliceOf(*c, 2).numElements(), 0);
}

TEST(Mesh, UnequalSlicesTileTheTensorAndLeavePadding) {
  auto a = meshPlan({{0}, {1}}, {6, 3}, {11, 7});
  std::vector<int32_t> global(77), back(77, -1);
  std::iota(global.begin(), global.end(), 0);
  for (uint32_t rank = 0; rank < 6; ++rank) {
    Slice s = sliceOf(*a, rank);
    std::vector<int32_t> local(18, -7), again(18, -7);
    auto *bytes = reinterpret_cast<std::byte *>(local.data());
    copySliceOut(reinterpret_cast<std::byte *>(global.data()), {11, 7}, s, 4, bytes);
    for (int64_t i = 0; i < 6; ++i)
      for (int64_t j = 0; j < 3; ++j) {
        bool real = i < s.sizes[0] && j < s.sizes[1];
        EXPECT_EQ(local[i * 3 + j], real ? (s.offsets[0] + i) * 7 + s.offsets[1] + j : -7);
      }
    std::vector<std::byte> dense = packed(bytes, s, 4);
    EXPECT_EQ(dense.size(), s.numElements() * 4);
    unpack(dense.data(), s, 4, reinterpret_cast<std::byte *>(again.data()));
    EXPECT_EQ(local, again);
    copySliceIn(bytes, {11, 7}, s, 4, reinterpret_cast<std::byte *>(back.data()));
  }
  EXPECT_EQ(global, back);
}

TEST(Mesh, ScalarsAndEmptySlices) {
  int32_t from = 42, to = 0;
  copySliceOut(reinterpret_cast<std::byte *>(&from), {}, Slice{}, 4, reinterpret_cast<std::byte *>(&to));
  EXPECT_EQ(to, 42);
  EXPECT_EQ((Slice{{0, 0}, {0, 3}}).numElements(), 0);
}
} // namespace
