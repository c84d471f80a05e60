#include "TransportSuite.h"

#include "ExpectedResults.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace dgc::rt::test {

void PrintTo(const SuiteCase &c, std::ostream *os) { *os << c.harness.name << " W=" << c.worldSize; }
std::string caseName(const ::testing::TestParamInfo<SuiteCase> &info) {
  return info.param.harness.name + "W" + std::to_string(info.param.worldSize);
}
std::vector<SuiteCase> suiteCases(const Harness &harness) {
  std::vector<SuiteCase> cases;
  for (int w : {1, 2, 3, 4, 8})
    cases.push_back({harness, w});
  return cases;
}

void TransportSuite::SetUp() {
  if (std::string reason = GetParam().harness.skipReason(); !reason.empty())
    GTEST_SKIP() << reason;
}

std::vector<std::string> TransportSuite::run(const TransportOptions &options, const RankProgram &program) {
  return GetParam().harness.run(worldSize(), options, program);
}

namespace {

// Runs all of `descs` in one job and compares each with the plain program.
#define EXPECT_COLLECTIVES(descs, opts)                                                                                \
  do {                                                                                                                 \
    auto expect_ = run(opts, [&](Transport &t) {                                                                       \
      for (const CollectiveDesc &d : descs) {                                                                          \
        if (std::find(d.group.begin(), d.group.end(), uint32_t(t.rank())) == d.group.end())                            \
          continue;                                                                                                    \
        std::string got = perform(t, d);                                                                               \
        if (got != expected(d, t.rank()))                                                                              \
          return absl::StrCat("error: ", std::string(nameOf(d.kind)), " reduction ", int(d.reduction), " of ",         \
                              d.srcCount, " ", std::string(nameOf(d.dtype)), " differs; ", brief(got));                \
      }                                                                                                                \
      return std::string("same");                                                                                      \
    });                                                                                                                \
    for (size_t r_ = 0; r_ < expect_.size(); ++r_)                                                                     \
      EXPECT_EQ(expect_[r_], "same") << "rank " << r_;                                                                 \
  } while (false)

TEST_P(TransportSuite, ReducesEveryTypeAndReductionInMemberOrder) {
  std::vector<CollectiveDesc> descs;
  for (int t = 0; t < numDTypes; ++t)
    for (Reduction r : {Reduction::Sum, Reduction::Product, Reduction::Max, Reduction::Min}) {
      CollectiveDesc d = describe(CollectiveKind::AllReduce, DType(t), everyone(worldSize()), 331);
      d.reduction = r;
      descs.push_back(d);
    }
  EXPECT_COLLECTIVES(descs, options());
}

TEST_P(TransportSuite, MovesWhatEachKindSays) {
  std::vector<CollectiveDesc> descs;
  for (CollectiveKind kind : kKinds)
    for (DType type : {DType::F32, DType::BF16, DType::F64, DType::I8})
      for (uint64_t k : {0, 1, 5, 64, 1021})
        descs.push_back(describe(kind, type, everyone(worldSize()), k));
  EXPECT_COLLECTIVES(descs, options());
}

// Several ranges at once: what each of them gives alone. The last ones are larger than what is staged at a time.
TEST_P(TransportSuite, DoesTheSameToSeveralRanges) {
  for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather}) {
    std::vector<CollectiveDesc> alone;
    uint64_t end = 0;
    for (uint64_t k : {3, 1021, 0, 70'000, 64, 290'000}) {
      CollectiveDesc d = describe(kind, DType::F32, everyone(worldSize()), k);
      d.dst += end, d.src += end;
      end = (d.dst + d.dstCount * 4 + 63) / 64 * 64;
      alone.push_back(d);
    }
    CollectiveDesc all = alone[0];
    for (size_t i = 1; i < alone.size(); ++i)
      all.more.push_back({alone[i].src, alone[i].srcCount, alone[i].dst, alone[i].dstCount});
    auto results = run(options(end + 4096), [&](Transport &t) {
      auto op = t.prepare(all);
      if (!op.ok())
        return absl::StrCat("error: ", op.status().ToString());
      std::vector<std::string> sources, results;
      for (const CollectiveDesc &d : alone) {
        sources.push_back(sourceOf(d, t.rank()));
        results.push_back(expected(d, t.rank()));
      }
      for (int repeat = 0; repeat < 2; ++repeat) {
        for (size_t i = 0; i < alone.size(); ++i)
          std::memcpy(t.sharedArena().data() + alone[i].src, sources[i].data(), sources[i].size());
        if (absl::Status s = (*op)->run(); !s.ok())
          return absl::StrCat("error: ", s.ToString());
        for (size_t i = 0; i < alone.size(); ++i)
          if (std::memcmp(t.sharedArena().data() + alone[i].dst, results[i].data(), results[i].size()) != 0)
            return absl::StrCat("error: the range of ", alone[i].srcCount, " elements differs");
      }
      return std::string("same");
    });
    for (size_t r = 0; r < results.size(); ++r)
      EXPECT_EQ(results[r], "same") << nameOf(kind) << ", rank " << r;
  }
}

TEST_P(TransportSuite, RefusesRangesThatMeet) {
  CollectiveDesc d = describe(CollectiveKind::AllGather, DType::F32, everyone(worldSize()), 16);
  d.more.push_back({d.dst, 16, d.dst + 65536, 16 * uint64_t(worldSize())});
  auto results = run(options(), [&](Transport &t) { return std::string(t.prepare(d).status().message()); });
  EXPECT_NE(results[0].find("ranges 0 and 1 overlap"), std::string::npos) << results[0];
  d = describe(CollectiveKind::Permute, DType::F32, everyone(worldSize()), 16);
  d.more.push_back({65536, 16, 2 * 65536, 16});
  results = run(options(), [&](Transport &t) { return std::string(t.prepare(d).status().message()); });
  EXPECT_NE(results[0].find("more than one range"), std::string::npos) << results[0];
}

TEST_P(TransportSuite, ReducesInPlace) {
  std::vector<CollectiveDesc> descs;
  for (uint64_t k : {1, 3, 17, 1000, 65537}) {
    CollectiveDesc d = describe(CollectiveKind::AllReduce, DType::F32, everyone(worldSize()), k);
    d.dst = d.src;
    descs.push_back(d);
    d.kind = CollectiveKind::Broadcast;
    descs.push_back(d);
  }
  EXPECT_COLLECTIVES(descs, options());
}

TEST_P(TransportSuite, LargerThanAnyInternalBuffer) {
  std::vector<CollectiveDesc> descs;
  for (CollectiveKind kind : kKinds)
    descs.push_back(describe(kind, DType::F32, everyone(worldSize()), 100'003));
  EXPECT_COLLECTIVES(descs, options(32 << 20));
}

TEST_P(TransportSuite, GroupsAreSubsetsInAnyOrder) {
  if (worldSize() < 3)
    return; // nothing to see at this size
  std::vector<uint32_t> even, odd, reversed;
  for (int r = 0; r < worldSize(); ++r) {
    (r % 2 ? odd : even).push_back(r);
    reversed.insert(reversed.begin(), r);
  }
  std::vector<CollectiveDesc> descs;
  for (CollectiveKind kind : kKinds)
    for (const auto &group : {even, odd, reversed, std::vector<uint32_t>{2, 0}, even})
      descs.push_back(describe(kind, DType::F32, group, 37));
  EXPECT_COLLECTIVES(descs, options());
}

TEST_P(TransportSuite, SendsAndReceivesInOrderOnEachChannel) {
  if (worldSize() < 2)
    return; // nothing to see at this size
  constexpr int kRounds = 5;
  auto results = run(options(), [&](Transport &t) -> std::string {
    // A chain: rank r receives from r - 1 and sends to r + 1, on two channels
    // of different sizes.
    std::byte *arena = t.sharedArena().data();
    const size_t sizes[2] = {40'000, 24};
    std::unique_ptr<PreparedCollective> send[2], receive[2];
    std::vector<std::byte> in[2];
    for (int c = 0; c < 2; ++c) {
      in[c].resize(sizes[c]);
      if (t.rank() + 1 < t.worldSize()) {
        auto op = t.prepareSend(3 + c, t.rank() + 1, {arena + c * 65536, sizes[c]});
        if (!op.ok())
          return absl::StrCat("error: ", op.status().ToString());
        send[c] = std::move(*op);
      }
      if (t.rank() > 0) {
        auto op = t.prepareReceive(3 + c, t.rank() - 1, in[c]);
        if (!op.ok())
          return absl::StrCat("error: ", op.status().ToString());
        receive[c] = std::move(*op);
      }
    }
    std::string seen;
    for (int round = 0; round < kRounds; ++round)
      for (int c = 0; c < 2; ++c) {
        if (receive[c]) {
          if (absl::Status s = receive[c]->run(); !s.ok())
            return absl::StrCat("error: ", s.ToString());
          seen += absl::StrCat(int(in[c].front()), "/", int(in[c].back()), " ");
        }
        std::memset(arena + c * 65536, t.rank() * 16 + round * 2 + c, sizes[c]);
        if (send[c])
          if (absl::Status s = send[c]->run(); !s.ok())
            return absl::StrCat("error: ", s.ToString());
      }
    return seen;
  });
  for (int r = 1; r < worldSize(); ++r) {
    std::string want;
    for (int i = 0; i < 2 * kRounds; ++i)
      want += absl::StrCat((r - 1) * 16 + i, "/", (r - 1) * 16 + i, " ");
    EXPECT_EQ(results[r], want) << "rank " << r;
  }
}

TEST_P(TransportSuite, BarrierSeparates) {
  auto results = run(options(), [&](Transport &t) -> std::string {
    // Whoever passes barrier i sees every rank at i or later.
    CollectiveDesc d = describe(CollectiveKind::AllGather, DType::I32, everyone(t.worldSize()), 1);
    auto gather = t.prepare(d);
    if (!gather.ok())
      return absl::StrCat("error: ", gather.status().ToString());
    for (int32_t i = 0; i < 200; ++i) {
      std::memcpy(t.sharedArena().data() + d.src, &i, sizeof(i));
      if (absl::Status s = t.barrier(); !s.ok())
        return absl::StrCat("error: ", s.ToString());
      if (absl::Status s = (*gather)->run(); !s.ok())
        return absl::StrCat("error: ", s.ToString());
      for (int r = 0; r < t.worldSize(); ++r) {
        int32_t seen;
        std::memcpy(&seen, t.sharedArena().data() + d.dst + 4 * r, sizeof(seen));
        if (seen != i)
          return absl::StrCat("error: at ", i, " rank ", r, " shows ", seen);
      }
    }
    return "same";
  });
  for (const std::string &r : results)
    EXPECT_EQ(r, "same");
}

TEST_P(TransportSuite, BarriersSeparateTheirGroup) {
  if (worldSize() < 3)
    return; // nothing to see at this size
  auto results = run(options(), [&](Transport &t) -> std::string {
    // Rank 1 stays away. A rank that passes barrier i reads what the others sent before it; all others follow rank 0.
    if (t.rank() == 1)
      return "same";
    std::vector<uint32_t> group{0};
    for (int r = 2; r < t.worldSize(); ++r)
      group.push_back(r);
    auto barrier = t.prepareBarrier(group);
    CollectiveDesc d = describe(CollectiveKind::Broadcast, DType::I32, group, 1);
    auto broadcast = t.prepare(d);
    if (!broadcast.ok())
      return absl::StrCat("error: ", broadcast.status().ToString());
    for (int32_t i = 0; i < 50; ++i) {
      std::memcpy(t.sharedArena().data() + d.src, &i, sizeof(i));
      absl::Status s = i % 2 ? barrier->run() : barrier->start();
      if (s.ok() && i % 2 == 0)
        s = barrier->finish();
      if (s.ok())
        s = (*broadcast)->run();
      if (!s.ok())
        return absl::StrCat("error: ", s.ToString());
      int32_t seen;
      std::memcpy(&seen, t.sharedArena().data() + d.dst, sizeof(seen));
      if (seen != i)
        return absl::StrCat("error: at ", i, " rank 0 shows ", seen);
    }
    return t.timeoutSeconds() > 0 && !t.interruption().raised() ? "same" : "other";
  });
  for (const std::string &r : results)
    EXPECT_EQ(r, "same");
}

TEST_P(TransportSuite, MissingRankEndsInATimeoutThatNamesIt) {
  if (worldSize() < 2 || !GetParam().harness.namesTheLate)
    return; // nothing to see at this size
  TransportOptions o = options();
  o.timeoutSeconds = 0.3;
  auto results = run(o, [&](Transport &t) -> std::string {
    t.progress().set(7, 100 + t.rank());
    CollectiveDesc d = describe(CollectiveKind::AllReduce, DType::F32, everyone(t.worldSize()), 100);
    d.id = 3;
    d.origin = "grad_w";
    if (t.rank() == 1)
      return "stayed away";
    auto op = t.prepare(d);
    return op.ok() ? (*op)->run().ToString() : op.status().ToString();
  });
  EXPECT_EQ(results[1], "stayed away");
  // Rank 0 waits for rank 1 first; others may notice rank 0 instead.
  EXPECT_NE(results[0].find("DEADLINE_EXCEEDED"), std::string::npos) << results[0];
  EXPECT_NE(results[0].find("rank 0 waited 0.3 s in #3 all_reduce (grad_w) for rank 1"), std::string::npos)
      << results[0];
}

TEST_P(TransportSuite, RefusesWrongDescriptions) {
  auto results = run(options(4096), [&](Transport &t) -> std::string {
    std::string out;
    auto refuse = [&](const char *want, auto change) {
      CollectiveDesc d = describe(CollectiveKind::AllReduce, DType::F32, everyone(t.worldSize()), 16);
      change(d);
      auto op = t.prepare(d);
      std::string got = op.ok() ? "accepted" : std::string(op.status().message());
      if (got.find(want) == std::string::npos)
        out += absl::StrCat("wanted '", want, "', got '", got, "'\n");
    };
    refuse("group lacks rank", [](CollectiveDesc &d) { d.group = {}; });
    refuse("the world has", [](CollectiveDesc &d) { d.group.push_back(99); });
    refuse("twice", [](CollectiveDesc &d) { d.group.push_back(d.group[0]); });
    refuse("does not fit the shared arena", [](CollectiveDesc &d) { d.src = 4096; });
    refuse("does not fit the shared arena", [](CollectiveDesc &d) { d.srcCount = UINT64_MAX / 2; });
    refuse("not a multiple of the element size", [](CollectiveDesc &d) { d.src = 2; });
    refuse("expected 16", [](CollectiveDesc &d) { d.dstCount = 17; });
    refuse("overlap", [](CollectiveDesc &d) { d.dst = d.src + 4; });
    refuse("root is member", [](CollectiveDesc &d) {
      d.kind = CollectiveKind::Broadcast;
      d.root = 1000;
    });
    refuse("permutation has", [](CollectiveDesc &d) {
      d.kind = CollectiveKind::Permute;
      d.permutation.assign(d.group.size() + 1, 0);
    });
    int peer = (t.rank() + 1) % t.worldSize();
    std::byte outside[4];
    if (peer != t.rank()) {
      auto s = t.prepareSend(0, peer, outside);
      if (s.ok() || s.status().message().find("shared arena") == std::string::npos)
        out += "send from outside the arena was accepted\n";
    }
    auto r = t.prepareReceive(100000, peer, outside);
    if (r.ok() || r.status().message().find("channels are below") == std::string::npos)
      out += "channel out of range was accepted\n";
    auto self = t.prepareReceive(0, t.rank(), outside);
    if (self.ok() || self.status().message().find("this rank itself") == std::string::npos)
      out += "receive from oneself was accepted\n";
    return out;
  });
  for (const std::string &r : results)
    EXPECT_EQ(r, "");
}

} // namespace
} // namespace dgc::rt::test
