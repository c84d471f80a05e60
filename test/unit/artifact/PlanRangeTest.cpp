// Files with plans for several numbers of workers: what was packed is loaded, and every damage is one clear error.
#include "SamplePlan.h"

#include "runtime/artifact/PlanRange.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace dgc::rt;
using namespace dgc::rt::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {
using Bytes = std::vector<uint8_t>;

/// The sample, for so many workers.
Bytes planFor(uint32_t workers) {
  fb::PlanT plan = samplePlan();
  plan.mesh[0]->size = workers;
  plan.world_size = workers;
  plan.global_batch = 2 * workers;
  plan.programs[0]->inputs[0]->global_shape = {2 * workers, 4};
  return *finishPlan(std::move(plan));
}

Bytes rangeOf(const std::vector<Bytes> &plans) { return *packRange({plans.begin(), plans.end()}); }

/// A file with these bytes, while the object lives.
class File {
public:
  explicit File(std::span<const uint8_t> bytes)
      : path(str(::testing::TempDir(), "/dgc-range-", ::getpid(), "-", ++number)) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  ~File() { std::filesystem::remove(path); }
  File(const File &) = delete;

  const std::string path;

private:
  static inline int number = 0;
};

/// The message about a file that is damaged, without its path.
std::string refused(const absl::Status &status, const std::string &path) {
  EXPECT_EQ(exitCodeOf(status), ExitCode::BadArtifact) << status;
  EXPECT_EQ(status.message().find('\n'), absl::string_view::npos);
  const std::string text(status.message()), start = path + ": ";
  EXPECT_THAT(text, StartsWith(start));
  return text.substr(std::min(text.size(), start.size()));
}

std::string openError(std::span<const uint8_t> bytes) {
  const File file(bytes);
  return refused(PlanRange::open(file.path).status(), file.path);
}

std::string loadError(std::span<const uint8_t> bytes, uint32_t workers) {
  const File file(bytes);
  auto range = PlanRange::open(file.path);
  EXPECT_TRUE(range.ok()) << range.status();
  return range.ok() ? refused(range->load(workers).status(), file.path) : "";
}

template <typename T> Bytes with(Bytes bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

/// Where an entry is, and its fields in it.
constexpr size_t entryAt(size_t i) { return 16 + 56 * i; }
constexpr size_t kZero = 4, kOffset = 8, kBytes = 16, kDigest = 24;

TEST(PlanRange, GivesEachPlanAsItWasPacked) {
  const std::vector<Bytes> plans = {planFor(4), planFor(2), planFor(3)}; // in any order
  const File file(rangeOf(plans));
  auto opened = PlanRange::open(file.path);
  ASSERT_TRUE(opened.ok()) << opened.status();
  PlanRange range = *std::move(opened);
  EXPECT_TRUE(range.isRange());
  EXPECT_THAT(range.sizes(), ElementsAre(2, 3, 4));
  EXPECT_TRUE(range.has(3));
  EXPECT_FALSE(range.has(1));
  std::filesystem::remove(file.path); // the open file remains
  for (int twice = 0; twice < 2; ++twice)
    for (const Bytes &plan : plans) {
      const uint32_t workers = fb::GetPlan(plan.data())->world_size();
      auto loaded = range.load(workers);
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      EXPECT_EQ((*loaded)->plan().world_size(), workers);
      EXPECT_EQ((*loaded)->digestHex(), (*loadBytes(plan))->digestHex());
      EXPECT_EQ((*loaded)->sizeBytes(), plan.size());
    }
  absl::Status status = range.load(5).status();
  EXPECT_EQ(exitCodeOf(status), ExitCode::Usage);
  EXPECT_EQ(status.message(), str(file.path, ": there is no plan for 5 workers; the file has plans for 2, 3 and 4 "
                                             "workers: take one of these, or compile for this size as well, as with "
                                             "--mesh data=2:4"));
}

TEST(PlanRange, HasTheDigestOfItsTable) {
  const Bytes bytes = rangeOf({planFor(2), planFor(3)});
  EXPECT_EQ(bytes, rangeOf({planFor(3), planFor(2)}));
  const fb::Digest expected = digestOf(bytes.data(), entryAt(2));
  const File file(bytes);
  EXPECT_EQ(std::memcmp(PlanRange::open(file.path)->digest().data(), &expected, 32), 0);
}

TEST(PlanRange, AnArtifactAloneIsOne) {
  const Bytes plan = planFor(2);
  const File file(plan);
  auto range = PlanRange::open(file.path);
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_FALSE(range->isRange());
  EXPECT_THAT(range->sizes(), ElementsAre(2));
  EXPECT_EQ(range->entries()[0].bytes, plan.size());
  EXPECT_EQ(std::memcmp(range->digest().data(), (*loadBytes(plan))->digest().data(), 32), 0);
  std::filesystem::remove(file.path);
  for (int times = 0; times < 3; ++times) {
    auto loaded = range->load(2);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ((*loaded)->sizeBytes(), plan.size());
  }
  EXPECT_EQ(range->load(3).status().message(),
            str(file.path, ": there is no plan for 3 workers; the file has one for 2 workers: take one of these, or "
                           "compile for this size as well, as with --mesh data=2:4"));
  EXPECT_THAT(openError(std::span(plan).first(plan.size() - 1)), HasSubstr("damaged"));
  EXPECT_THAT(openError(Bytes(100, 0x55)), HasSubstr("not an artifact of dgc-compile"));
  EXPECT_EQ(exitCodeOf(PlanRange::open("/nowhere.dgcx").status()), ExitCode::BadData);
  EXPECT_EQ(exitCodeOf(PlanRange::open("/").status()), ExitCode::BadData);
}

// What cannot be read twice is kept in memory.
TEST(PlanRange, ReadsAPipe) {
  const std::string path = str(::testing::TempDir(), "/dgc-range-pipe-", ::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  auto opened = [&](Bytes bytes) {
    std::thread writer([&] {
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    });
    auto range = PlanRange::open(path);
    writer.join();
    return range;
  };
  const Bytes bytes = rangeOf({planFor(2), planFor(3)});
  auto range = opened(bytes);
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ((*range->load(3))->plan().world_size(), 3u);
  EXPECT_EQ((*range->load(2))->plan().world_size(), 2u);
  Bytes cut = bytes, longer = bytes;
  cut.pop_back();
  longer.push_back(0);
  EXPECT_THAT(refused(opened(cut).status(), path), HasSubstr("is cut off: it has"));
  EXPECT_THAT(refused(opened(longer).status(), path), HasSubstr("more bytes follow the"));
  EXPECT_THAT(opened(planFor(4))->sizes(), ElementsAre(4));
  std::filesystem::remove(path);
}

TEST(PlanRange, KeepsSignatures) {
  // The keys of RFC 8410.
  const File pem(
      std::span(reinterpret_cast<const uint8_t *>("-----BEGIN PRIVATE KEY-----\n"
                                                  "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
                                                  "-----END PRIVATE KEY-----\n"),
                119));
  absl::StatusOr<PlanSigner> signer = PlanSigner::read(realDisk(), pem.path);
  ASSERT_TRUE(signer.ok()) << signer.status();
  Bytes mine = planFor(2);
  ASSERT_TRUE(signer->sign(mine).ok());
  SigningKey other = signer->key();
  other.bytes[0] ^= 1;
  {
    const File file(rangeOf({mine, planFor(3)}));
    auto range = PlanRange::open(file.path, {signer->key()}); // the table itself is not signed
    ASSERT_TRUE(range.ok()) << range.status();
    EXPECT_EQ((*range->load(2, {signer->key()}))->signer(), signer->key());
    EXPECT_TRUE(range->load(3).ok());
    EXPECT_THAT(refused(range->load(3, {signer->key()}).status(), file.path),
                StartsWith("the plan for 3 workers: the plan is not signed"));
    EXPECT_THAT(refused(range->load(2, {other}).status(), file.path), HasSubstr("is signed by the key"));
  }
  const File alone(mine);
  EXPECT_THAT(refused(PlanRange::open(alone.path, {other}).status(), alone.path), HasSubstr("is signed by the key"));
  auto range = PlanRange::open(alone.path);
  EXPECT_THAT(refused(range->load(2, {other}).status(), alone.path), HasSubstr("is signed by the key"));
  EXPECT_EQ((*range->load(2, {signer->key()}))->signer(), signer->key());
}

TEST(PlanRange, CannotBePackedOfNothingOrTwiceTheSame) {
  EXPECT_EQ(packRange({}).status().message(), "a range holds 1 to 1024 plans, not 0");
  const Bytes plan = planFor(2);
  EXPECT_EQ(packRange({plan, plan}).status().message(), "two plans of the range are for 2 workers");
  EXPECT_FALSE(packRange({std::span(plan).first(3)}).ok());
}

// Who needs one plan says which there are.
TEST(PlanRange, IsNoPlan) {
  auto error = [](std::span<const uint8_t> bytes, const Signers &signers = {}) {
    const File file(bytes);
    return refused(load(file.path, signers).status(), file.path);
  };
  const Bytes range = rangeOf({planFor(2), planFor(3), planFor(4)});
  const char *expected = "the file is a range of plans, for 2, 3 and 4 workers, and one plan is needed: dgc-run takes "
                         "--nproc N or --elastic MIN:MAX, dgc-inspect --workers N; other tools need a plan that is "
                         "compiled for one size";
  EXPECT_EQ(error(range), expected);
  EXPECT_EQ(error(range, {SigningKey{}}), expected);
  EXPECT_EQ(refused(loadBytes(range, "plan").status(), "plan"), expected);
  EXPECT_THAT(error(std::span(range).first(20)), HasSubstr("cut off in its table"));
  EXPECT_THAT(error(rangeOf({planFor(1)})), StartsWith("the file is a range of plans, for 1 worker, and"));
  std::vector<Bytes> many;
  for (uint32_t workers = 1; workers <= 20; ++workers)
    many.push_back(planFor(workers));
  EXPECT_THAT(error(rangeOf(many)), HasSubstr("for 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 .. 20 workers,"));
  // A range is no plan of a range.
  Bytes nested = rangeOf({planFor(2), planFor(3)});
  std::memcpy(nested.data() + 128, range.data(), range.size() < 300 ? range.size() : 300);
  EXPECT_THAT(loadError(nested, 2), StartsWith("the plan for 2 workers: the file is a range of plans"));
}

TEST(PlanRange, SaysWhatIsDamaged) {
  const std::vector<Bytes> plans = {planFor(2), planFor(3)};
  const Bytes good = rangeOf(plans);
  const std::string again = "; copy or compile it again", damaged = "the range of plans is damaged: ";
  EXPECT_EQ(openError(std::span(good).first(12)), "the range of plans is cut off in its table" + again);
  EXPECT_EQ(openError(std::span(good).first(good.size() - 1)),
            str("the range of plans is cut off: it has ", good.size() - 1, " bytes, and its table says ", good.size(),
                again));
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_EQ(openError(longer), str(damaged, "more bytes follow the ", good.size(), " of its table", again));
  EXPECT_EQ(openError(with(good, 8, uint32_t{2})), "a range of plans in version 2 of its form, and this program reads "
                                                   "version 1: compile it again, or use the dgc that wrote it");
  EXPECT_EQ(openError(with(good, 12, uint32_t{0})),
            damaged + "it says that it holds 0 plans, and 1 to 1024 are accepted" + again);
  EXPECT_EQ(openError(with(good, 12, uint32_t{1025})),
            damaged + "it says that it holds 1025 plans, and 1 to 1024 are accepted" + again);
  EXPECT_EQ(openError(with(good, entryAt(0), uint32_t{0})),
            damaged + "its plan 1 of 2 is for 0 workers, and the numbers have to ascend from 1" + again);
  EXPECT_EQ(openError(with(good, entryAt(1), uint32_t{2})),
            damaged + "its plan 2 of 2 is for 2 workers, and the numbers have to ascend from 1" + again);
  EXPECT_EQ(openError(with(good, entryAt(0) + kZero, uint32_t{7})),
            damaged + "its plan 1 of 2 has 7 where a zero is expected" + again);
  EXPECT_EQ(openError(with(good, entryAt(0) + kOffset, uint64_t{64})),
            damaged + "its plan 1 of 2 begins at byte 64, and what precedes it ends at byte 128" + again);
  EXPECT_EQ(openError(with(good, entryAt(1) + kOffset, uint64_t{128})),
            str(damaged, "its plan 2 of 2 begins at byte 128, and what precedes it ends at byte ",
                128 + plans[0].size(), again));
  EXPECT_THAT(openError(with(good, entryAt(0) + kBytes, uint64_t{0})),
              HasSubstr("has 0 bytes, and an artifact has 1 to"));
  EXPECT_THAT(openError(with(good, entryAt(1) + kBytes, ~uint64_t{0})),
              HasSubstr("has 18446744073709551615 bytes, and"));
  EXPECT_THAT(openError(with(good, entryAt(1) + kBytes, uint64_t{plans[1].size() + 1})),
              HasSubstr("is cut off: it has"));
  EXPECT_EQ(loadError(with(good, entryAt(1), uint32_t{4}), 4),
            "the plan for 4 workers: " + damaged + "the plan there is for 3 workers" + again);
  EXPECT_EQ(loadError(with(good, entryAt(0) + kDigest, ~uint64_t{0}), 2),
            "the plan for 2 workers: " + damaged + "its SHA-256 is not the one of the table" + again);
  EXPECT_THAT(loadError(with(good, good.size() - 8, ~uint64_t{0}), 3), StartsWith("the plan for 3 workers: "));
}

TEST(PlanRange, ShrinksWhileItIsOpen) {
  const Bytes bytes = rangeOf({planFor(2), planFor(3)});
  const File file(bytes);
  auto range = PlanRange::open(file.path);
  ASSERT_TRUE(range.ok()) << range.status();
  std::filesystem::resize_file(file.path, 400);
  EXPECT_THAT(refused(range->load(2).status(), file.path), HasSubstr("has become shorter since it was opened"));
}

// Each byte of the table changed, and the file cut behind each: the file is refused, or none but the untouched plan is loaded.
TEST(PlanRange, EveryDamageOfTheTableIsRefused) {
  const Bytes good = rangeOf({planFor(2), planFor(3)});
  for (size_t i = 0; i < entryAt(2); ++i)
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      Bytes bytes = good;
      bytes[i] ^= flip;
      const File file(bytes);
      auto range = PlanRange::open(file.path);
      if (!range.ok()) {
        ASSERT_NE(refused(range.status(), file.path), "") << "byte " << i;
        ASSERT_FALSE(load(file.path).ok());
        continue;
      }
      size_t loaded = 0;
      for (uint32_t workers : range->sizes()) {
        absl::Status status = range->load(workers).status();
        loaded += status.ok();
        ASSERT_TRUE(status.ok() || exitCodeOf(status) == ExitCode::BadArtifact) << "byte " << i << ": " << status;
      }
      ASSERT_LT(loaded, 2u) << "byte " << i;
    }
  for (size_t size = 0; size < entryAt(2) + 16; ++size)
    ASSERT_NE(openError(std::span(good).first(size)), "") << "cut at " << size;
}

} // namespace
