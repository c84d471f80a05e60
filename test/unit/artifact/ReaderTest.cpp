// The reader accepts what the writer wrote and refuses everything else: every
// flipped bit, every truncation, and files made to exhaust it.
#include "SamplePlan.h"

#include "runtime/artifact/Reader.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/Status.h"

#include "gtest/gtest.h"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <unistd.h>

using namespace dgc::rt;
using namespace dgc::rt::test;

namespace {
std::vector<uint8_t> sampleBytes() { return *finishPlan(samplePlan()); }

absl::Status statusOf(std::span<const uint8_t> bytes) { return loadBytes(bytes, "plan").status(); }

TEST(Reader, AcceptsTheSample) {
  std::vector<uint8_t> bytes = sampleBytes();
  auto loaded = loadBytes(bytes);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->plan().world_size(), 2u);
  EXPECT_EQ((*loaded)->constants().size(), 256u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*loaded)->constants().data()) % 64, 0u);
  EXPECT_EQ((*loaded)->object().size(), 100u);
  EXPECT_NE((*loaded)->program("train"), nullptr);
  EXPECT_EQ((*loaded)->program("predict"), nullptr);
  EXPECT_EQ((*loaded)->digestHex().size(), 64u);
  // What is in the caller's memory no longer matters.
  std::fill(bytes.begin(), bytes.end(), 0);
  EXPECT_EQ((*loaded)->plan().model()->str(), "sample");
}

TEST(Reader, TheSemanticsAreASectionOrTheObject) {
  auto semanticsOf = [](auto change) {
    auto plan = samplePlan();
    change(plan);
    auto loaded = loadBytes(*finishPlan(std::move(plan)));
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? (*loaded)->semantics().size() : size_t{0};
  };
  EXPECT_EQ(semanticsOf([](auto &) {}), 0u);
  EXPECT_EQ(semanticsOf([](auto &plan) { plan.semantics_section = 1; }), 256u);
  EXPECT_EQ(semanticsOf([](auto &plan) { plan.target->kind = "reference"; }), 100u);
}

TEST(Reader, WriterIsDeterministic) { EXPECT_EQ(sampleBytes(), sampleBytes()); }

/// The sample with a record of the exact check.
std::vector<uint8_t> recordedBytes() {
  fb::VerifiedT record;
  record.model = std::make_unique<fb::Digest>(digestOf(nullptr, 0));
  record.bits = 42;
  record.runs = 4;
  std::vector<uint8_t> bytes = sampleBytes();
  return *withRecord(*fb::GetPlan(bytes.data()), std::move(record));
}

TEST(Reader, ARecordChangesNothingElse) {
  std::vector<uint8_t> bytes = recordedBytes();
  auto loaded = loadBytes(bytes);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->plan().verified()->bits(), 42);
  fb::PlanT plan;
  (*loaded)->plan().UnPackTo(&plan);
  const std::unique_ptr<fb::VerifiedT> record = std::move(plan.verified);
  EXPECT_EQ(*finishPlan(std::move(plan)), sampleBytes());
  EXPECT_EQ(*withRecord((*loaded)->plan(), *record), bytes);
}

// Whoever changes a plan and writes it again has a right digest of the file, and a wrong one in the record.
TEST(Reader, ARecordIsOfOnePlan) {
  std::vector<uint8_t> bytes = recordedBytes();
  auto refused = [&](auto change) {
    fb::PlanT plan;
    fb::GetPlan(bytes.data())->UnPackTo(&plan);
    change(plan);
    absl::Status status = statusOf(*finishPlan(std::move(plan)));
    EXPECT_EQ(exitCodeOf(status), ExitCode::BadArtifact);
    return std::string(status.message());
  };
  const std::string text = "plan: the record of the exact check does not belong to this plan, which was changed after "
                           "the check: compile it again";
  EXPECT_EQ(refused([](fb::PlanT &plan) { plan.model = "other"; }), text);
  EXPECT_EQ(refused([](fb::PlanT &plan) { plan.programs[0]->steps.pop_back(); }), text);
  EXPECT_EQ(refused([](fb::PlanT &plan) { plan.sections[0]->data[0] ^= 1; }), text);
  EXPECT_EQ(refused([](fb::PlanT &plan) { plan.verified->bits = 99; }), text);
  EXPECT_EQ(refused([](fb::PlanT &plan) { plan.verified->model = std::make_unique<fb::Digest>(); }), text);
}

// A file chooses where its tables have their digests.
TEST(Reader, DigestsThatOverlapAreRefused) {
  std::vector<uint8_t> bytes = recordedBytes();
  bytes.resize(bytes.size() + 64);
  auto move = [&](const auto *table, flatbuffers::voffset_t field, size_t to) {
    const auto *begin = reinterpret_cast<const uint8_t *>(table);
    const ptrdiff_t vtable = begin - flatbuffers::ReadScalar<flatbuffers::soffset_t>(begin) - bytes.data();
    flatbuffers::WriteScalar(bytes.data() + vtable + field,
                             static_cast<flatbuffers::voffset_t>(bytes.data() + to - begin));
  };
  const fb::Plan *plan = fb::GetPlan(bytes.data());
  const size_t place = bytes.size() - 40;
  move(plan->verified(), fb::Verified::VT_DIGEST, place + 8);
  move(plan, fb::Plan::VT_FILE_DIGEST, place);
  const fb::Digest digest = digestOfFile(bytes.data(), bytes.size(), place);
  std::memcpy(bytes.data() + place, &digest, sizeof digest);
  absl::Status status = statusOf(bytes);
  EXPECT_EQ(exitCodeOf(status), ExitCode::BadArtifact);
  EXPECT_NE(status.message().find("the record of the exact check does not belong to this plan"), std::string::npos)
      << status;
}

TEST(Reader, EveryFlippedBitIsRefused) {
  std::vector<uint8_t> bytes = recordedBytes();
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= static_cast<uint8_t>(1 << bit);
      absl::Status s = statusOf(bytes);
      ASSERT_FALSE(s.ok()) << "byte " << i << " bit " << bit;
      ASSERT_EQ(exitCodeOf(s), ExitCode::BadArtifact);
      ASSERT_EQ(s.message().find('\n'), absl::string_view::npos);
      bytes[i] ^= static_cast<uint8_t>(1 << bit);
    }
}

TEST(Reader, EveryTruncationIsRefused) {
  std::vector<uint8_t> bytes = sampleBytes();
  for (size_t n = 0; n < bytes.size(); ++n)
    ASSERT_FALSE(statusOf(std::span(bytes).first(n)).ok()) << n;
  bytes.resize(bytes.size() + 64);
  EXPECT_FALSE(statusOf(bytes).ok());
}

TEST(Reader, FilesAndTheirErrors) {
  std::string path = str(::testing::TempDir(), "dgc-reader-", ::getpid());
  std::vector<uint8_t> bytes = sampleBytes();
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  ASSERT_TRUE(writeFileAtomically(realDisk(), path, text).ok());
  EXPECT_TRUE(load(path).ok());
  ASSERT_TRUE(writeFileAtomically(realDisk(), path, std::string(100, 'x')).ok());
  absl::Status s = load(path).status();
  EXPECT_EQ(s.message(), str(path, ": not an artifact of dgc-compile: the "
                                   "identifier DGCX is missing"));
  std::filesystem::remove(path);
  EXPECT_EQ(exitCodeOf(load(path).status()), ExitCode::BadData);
  EXPECT_FALSE(load("/tmp").ok());
}

// Files that somebody changed and gave a new digest: whatever the checks let through, they come to an end, and every
// index and size that is used while loading is one that exists.
TEST(Hostile, ChangedAndSealedAgain) {
  const std::vector<uint8_t> original = sampleBytes();
  std::vector<uint8_t> bytes = original;
  const auto *field = reinterpret_cast<const uint8_t *>(fb::GetPlan(bytes.data())->file_digest());
  const size_t offset = static_cast<size_t>(field - bytes.data());
  std::mt19937 random(20261121);
  int accepted = 0;
  constexpr int count = 20000;
  for (int i = 0; i < count; ++i) {
    bytes = original;
    for (uint32_t change = 0; change <= random() % 3; ++change) {
      uint8_t &byte = bytes[random() % bytes.size()];
      byte = random() % 2 ? static_cast<uint8_t>(random()) : static_cast<uint8_t>(byte ^ 1 << random() % 8);
    }
    fb::Digest digest = digestOfFile(bytes.data(), bytes.size(), offset);
    std::memcpy(bytes.data() + offset, &digest, sizeof digest);
    auto loaded = loadBytes(bytes, "plan");
    if (loaded.ok()) {
      ++accepted;
      continue;
    }
    ASSERT_EQ(exitCodeOf(loaded.status()), ExitCode::BadArtifact) << loaded.status();
    ASSERT_EQ(loaded.status().message().find('\n'), absl::string_view::npos);
  }
  EXPECT_GT(accepted, count / 100); // names, places of the model, costs
  EXPECT_LT(accepted, count * 9 / 10);
}

/// Milliseconds until `bytes` are refused.
double refusalMs(std::span<const uint8_t> bytes, std::string_view reason) {
  auto start = std::chrono::steady_clock::now();
  absl::Status s = statusOf(bytes);
  std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  EXPECT_FALSE(s.ok());
  EXPECT_NE(std::string(s.message()).find(reason), std::string::npos) << s;
  return spent.count();
}

/// Serializes with `make(builder)` giving the programs, digest included.
template <typename F> std::vector<uint8_t> handMade(F make) {
  flatbuffers::FlatBufferBuilder builder;
  auto programs = make(builder);
  auto target = fb::CreateTargetDirect(builder, "cpu");
  fb::PlanBuilder plan(builder);
  fb::Digest zero{};
  plan.add_file_digest(&zero);
  plan.add_format(artifactFormat);
  plan.add_target(target);
  plan.add_world_size(1);
  plan.add_programs(programs);
  fb::FinishPlanBuffer(builder, plan.Finish());
  std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  auto *field = fb::GetMutablePlan(bytes.data())->mutable_file_digest();
  size_t offset = static_cast<size_t>(reinterpret_cast<uint8_t *>(field) - bytes.data());
  fb::Digest digest = digestOfFile(bytes.data(), bytes.size(), offset);
  std::memcpy(field, &digest, sizeof digest);
  return bytes;
}

// One program of 2000 entries that are one step, 5000 times the same program:
// ten million steps to walk in some 30 KB.
TEST(Hostile, AliasedTables) {
  std::vector<uint8_t> bytes = handMade([](auto &b) {
    auto step = fb::CreateStepDirect(b, fb::Action::Fill, fb::CreateFill(b).Union(), "s");
    std::vector<flatbuffers::Offset<fb::Step>> steps(2000, step);
    auto program =
        fb::CreateProgram(b, b.CreateString("train"), b.CreateVector(std::vector<flatbuffers::Offset<fb::Buffer>>()), 0,
                          0, b.CreateVector(steps));
    return b.CreateVector(std::vector<flatbuffers::Offset<fb::Program>>(5000, program));
  });
  EXPECT_LT(refusalMs(bytes, "plan: "), 2000);
}

// The same with vectors of plain numbers: half a megabyte of waits, shared by
// every step.
TEST(Hostile, AliasedVectors) {
  std::vector<uint8_t> bytes = handMade([](auto &b) {
    auto waits = b.CreateVector(std::vector<uint32_t>(125000));
    std::vector<flatbuffers::Offset<fb::Step>> steps;
    for (int i = 0; i < 20000; ++i) {
      auto fill = fb::CreateFill(b).Union();
      steps.push_back(fb::CreateStep(b, fb::Action::Fill, fill, 0, 0, 0, waits));
    }
    auto program =
        fb::CreateProgram(b, b.CreateString("train"), b.CreateVector(std::vector<flatbuffers::Offset<fb::Buffer>>()), 0,
                          0, b.CreateVector(steps));
    return b.CreateVector(&program, 1);
  });
  EXPECT_LT(refusalMs(bytes, "overlap"), 2000);
}

TEST(Hostile, UnknownAction) {
  std::vector<uint8_t> bytes = handMade([](auto &b) {
    auto step = fb::CreateStepDirect(b, static_cast<fb::Action>(77), fb::CreateFill(b).Union(), "s");
    auto program =
        fb::CreateProgram(b, b.CreateString("train"), b.CreateVector(std::vector<flatbuffers::Offset<fb::Buffer>>()), 0,
                          0, b.CreateVector(&step, 1));
    return b.CreateVector(&program, 1);
  });
  EXPECT_LT(refusalMs(bytes, "unknown"), 2000);
}
} // namespace
