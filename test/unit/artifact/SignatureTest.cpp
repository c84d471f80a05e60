// Signed artifacts: what holds, and that everything else is refused before it is looked into.
#include "SamplePlan.h"

#include "runtime/artifact/PlanSignature.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "test/unit/fuzz/Seeds.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>
#include <vector>

using namespace dgc::rt;
using namespace dgc::rt::test;
using ::testing::HasSubstr;

namespace {

// The pair of RFC 8410, and its SHA-256 as openssl prints it.
constexpr char kPrivate[] = "-----BEGIN PRIVATE KEY-----\n"
                            "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
                            "-----END PRIVATE KEY-----\n";
constexpr char kPublic[] = "-----BEGIN PUBLIC KEY-----\n"
                           "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
                           "-----END PUBLIC KEY-----\n";
constexpr char kFingerprint[] = "a1e9156054e04fac899ae9f275132cdc07a5dbc4ea2c2ad3a1ffc6e0d253681f";
// Another one.
constexpr char kOtherPrivate[] = "-----BEGIN PRIVATE KEY-----\n"
                                 "MC4CAQAwBQYDK2VwBCIEIAFuDVbLp+RoAADz7bPUvcNcZ9A7vQxV4RoQMg5EzG68\n"
                                 "-----END PRIVATE KEY-----\n";
constexpr char kEncrypted[] = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                              "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiQFYt0RSD6AgICCAAw\n"
                              "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEEqAgQAJcVr0zlhtdT8SRU4EQCxd\n"
                              "7jQ+zgFYeFsPo3ucwIxq+lcNvMHz7SuAyZ1KXNzex5CBuml7vqb4C3c5XSuvR4pi\n"
                              "Ef5K7ElQUGPpb76vuZ4=\n"
                              "-----END ENCRYPTED PRIVATE KEY-----\n";
constexpr char kRsa[] = "-----BEGIN PUBLIC KEY-----\n"
                        "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAPCssdbYGQ0ZSAOHkdPqKZhAMAn/Gbud\n"
                        "+y/lRUaoSQoq8wEI/m1kHp7yK7it07TST+YfioSf4oYce9g+B6rimdECAwEAAQ==\n"
                        "-----END PUBLIC KEY-----\n";

/// A file with this text, while the object lives.
class KeyFile {
public:
  explicit KeyFile(std::string_view text) : path(str(::testing::TempDir(), "/dgc-key-", ::getpid(), "-", ++number)) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~KeyFile() { std::filesystem::remove(path); }
  KeyFile(const KeyFile &) = delete;

  const std::string path;

private:
  static inline int number = 0;
};

/// The seeds of a test of random files: DGC_FUZZ_COUNT of them, from DGC_FUZZ_FIRST.
template <class Test> void forSeeds(uint32_t count, Test test) {
  const uint32_t first = dgc::testing::numberOf("DGC_FUZZ_FIRST", 0);
  for (uint32_t seed = first; seed < first + dgc::testing::numberOf("DGC_FUZZ_COUNT", count); ++seed) {
    dgc::testing::nameSeedOnCrash(seed);
    SCOPED_TRACE(str("seed ", seed));
    std::mt19937_64 random(seed);
    test(random);
  }
}

PlanSigner signerOf(const char *pem) {
  absl::StatusOr<PlanSigner> signer = PlanSigner::read(realDisk(), KeyFile(pem).path);
  EXPECT_TRUE(signer.ok()) << signer.status();
  return *std::move(signer);
}

std::vector<uint8_t> signedBytes(const PlanSigner &signer) {
  std::vector<uint8_t> bytes = *finishPlan(samplePlan());
  EXPECT_TRUE(signer.sign(bytes).ok());
  return bytes;
}

std::string refusal(std::span<const uint8_t> bytes, const Signers &signers) {
  absl::Status status = loadBytes(bytes, "plan", signers).status();
  EXPECT_EQ(exitCodeOf(status), ExitCode::BadArtifact) << status;
  EXPECT_EQ(status.message().find('\n'), absl::string_view::npos);
  return std::string(status.message());
}

TEST(Signature, HoldsForItsKeyAndChangesNothingElse) {
  const PlanSigner signer = signerOf(kPrivate), other = signerOf(kOtherPrivate);
  absl::StatusOr<SigningKey> key = readSigningKey(realDisk(), KeyFile(kPublic).path);
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(*key, signer.key());
  EXPECT_EQ(key->fingerprint(), kFingerprint);
  const std::vector<uint8_t> plain = *finishPlan(samplePlan()), bytes = signedBytes(signer);
  EXPECT_EQ(bytes.size(), plain.size() + kSignatureTrailerBytes);
  for (const Signers &signers : {Signers{}, {*key}, {other.key(), *key}}) {
    auto loaded = loadBytes(bytes, "plan", signers);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ((*loaded)->signer(), *key);
    EXPECT_EQ((*loaded)->sizeBytes(), plain.size());
    EXPECT_EQ((*loaded)->digestHex(), (*loadBytes(plain))->digestHex());
  }
  EXPECT_FALSE((*loadBytes(plain))->signer());
}

TEST(Signature, IsReplacedByAnother) {
  const PlanSigner signer = signerOf(kPrivate), other = signerOf(kOtherPrivate);
  std::vector<uint8_t> bytes = signedBytes(signer);
  ASSERT_TRUE(other.sign(bytes).ok());
  EXPECT_EQ(bytes, signedBytes(other));
  EXPECT_NE(bytes, signedBytes(signer));
}

TEST(Signature, RefusesWhoIsNotAsked) {
  const PlanSigner signer = signerOf(kPrivate), other = signerOf(kOtherPrivate);
  EXPECT_EQ(refusal(signedBytes(signer), {other.key()}),
            str("plan: the plan is signed by the key ", kFingerprint,
                ", and --require-signature asks for a signature by ", other.key().fingerprint(),
                ": get the plan from who has that key, or, if you trust this one, name its public half with another "
                "--require-signature"));
  EXPECT_EQ(refusal(*finishPlan(samplePlan()), {signer.key(), other.key()}),
            str("plan: the plan is not signed, or its end is cut off, and --require-signature asks for a signature by "
                "the key ",
                kFingerprint, " or ", other.key().fingerprint(),
                ": compile it with dgc-compile --sign KEY.pem, or copy it again"));
}

// The key of another signer in the trailer of this one, and the trailer of another plan.
TEST(Signature, CannotBeBorrowed) {
  const PlanSigner signer = signerOf(kPrivate), other = signerOf(kOtherPrivate);
  std::vector<uint8_t> bytes = signedBytes(other);
  std::copy_n(signer.key().bytes.begin(), 32, bytes.end() - kSignatureTrailerBytes);
  const std::string changed = str("plan: the plan was changed after it was signed by the key ", kFingerprint,
                                  ": the signature is not one of this content; copy it again, or compile and sign it "
                                  "again");
  EXPECT_EQ(refusal(bytes, {signer.key()}), changed);
  fb::PlanT plan = samplePlan();
  plan.model = "other";
  std::vector<uint8_t> mixed = *finishPlan(std::move(plan));
  ASSERT_TRUE(loadBytes(mixed).ok());
  const std::vector<uint8_t> from = signedBytes(signer);
  mixed.insert(mixed.end(), from.end() - kSignatureTrailerBytes, from.end());
  EXPECT_EQ(refusal(mixed, {signer.key()}), changed);
  EXPECT_EQ(refusal(mixed, {}), changed); // nobody asked for a signature, but there is one
}

TEST(Signature, IsLookedAtBeforeTheContent) {
  const PlanSigner signer = signerOf(kPrivate), other = signerOf(kOtherPrivate);
  std::vector<uint8_t> garbage(100000, 0x55);
  EXPECT_THAT(refusal(garbage, {signer.key()}), HasSubstr("is not signed"));
  ASSERT_TRUE(other.sign(garbage).ok());
  EXPECT_THAT(refusal(garbage, {signer.key()}), HasSubstr("is signed by the key"));
  EXPECT_THAT(refusal(garbage, {other.key()}), HasSubstr("not an artifact")); // who signs garbage is told what it is
  garbage[500] ^= 1;
  EXPECT_THAT(refusal(garbage, {other.key()}), HasSubstr("was changed after it was signed"));
}

TEST(Signature, EveryFlippedBitAndEveryTruncationIsRefused) {
  const PlanSigner signer = signerOf(kPrivate);
  std::vector<uint8_t> bytes = signedBytes(signer);
  ASSERT_TRUE(loadBytes(bytes, "plan", {signer.key()}).ok());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint8_t flip = static_cast<uint8_t>(1 << i % 8);
    bytes[i] ^= flip;
    ASSERT_NE(refusal(bytes, {signer.key()}), "") << "byte " << i;
    ASSERT_NE(refusal(bytes, {}), "") << "byte " << i;
    bytes[i] ^= flip;
    ASSERT_NE(refusal(std::span(bytes).first(i), {signer.key()}), "") << "cut at " << i;
  }
  bytes.push_back(0);
  refusal(bytes, {signer.key()});
}

// Files that are cut, joined and changed at random: none but the original is accepted.
TEST(SignatureFuzz, NothingElseIsAccepted) {
  const PlanSigner signer = signerOf(kPrivate);
  const std::vector<uint8_t> original = signedBytes(signer);
  forSeeds(2000, [&](std::mt19937_64 &random) {
    std::vector<uint8_t> bytes = original;
    for (uint64_t change = 0; change <= random() % 3; ++change) {
      const size_t from = random() % bytes.size(), count = random() % 128;
      const auto end = bytes.begin() + static_cast<ptrdiff_t>(std::min(bytes.size(), from + count));
      const std::vector<uint8_t> part(bytes.begin() + static_cast<ptrdiff_t>(from), end);
      switch (random() % 5) {
      case 0:
        bytes[from] = static_cast<uint8_t>(random());
        break;
      case 1:
        bytes[bytes.size() - 1 - random() % std::min<size_t>(kSignatureTrailerBytes, bytes.size())] ^= 1;
        break;
      case 2:
        bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(from), end);
        break;
      case 3:
        bytes.insert(bytes.end(), part.begin(), part.end());
        break;
      default:
        bytes.insert(bytes.end(), original.end() - kSignatureTrailerBytes, original.end());
      }
      if (bytes.empty())
        bytes.push_back(0);
    }
    EXPECT_EQ(loadBytes(bytes, "plan", {signer.key()}).ok(), bytes == original);
  });
}

TEST(SignatureFuzz, DamagedKeysAreRefusedOrRead) {
  forSeeds(500, [&](std::mt19937_64 &random) {
    std::string text = random() % 2 ? kPrivate : kPublic;
    for (uint64_t change = 0; change <= random() % 3; ++change)
      text[random() % text.size()] = static_cast<char>(random());
    const KeyFile file(text);
    for (const absl::Status &status :
         {PlanSigner::read(realDisk(), file.path).status(), readSigningKey(realDisk(), file.path).status()})
      EXPECT_TRUE(status.ok() || exitCodeOf(status) == ExitCode::Usage) << status;
  });
}

TEST(Signature, KeysOfOtherKindsSayWhatToDo) {
  auto publicError = [](std::string_view text) {
    return std::string(readSigningKey(realDisk(), KeyFile(text).path).status().message());
  };
  auto privateError = [](std::string_view text) {
    return std::string(PlanSigner::read(realDisk(), KeyFile(text).path).status().message());
  };
  EXPECT_THAT(publicError(kPrivate),
              HasSubstr("this is a private key, and the public half belongs here: openssl pkey"));
  EXPECT_THAT(publicError(kRsa),
              HasSubstr("a key of rsaEncryption, and plans are signed with Ed25519; openssl genpkey"));
  EXPECT_THAT(publicError("hello"), HasSubstr("not a PEM file with a public key; openssl genpkey"));
  EXPECT_THAT(privateError(kPublic), HasSubstr("not a PEM file with a private key; openssl genpkey"));
  EXPECT_THAT(privateError(kEncrypted), HasSubstr("the key is encrypted"));
  EXPECT_EQ(exitCodeOf(readSigningKey(realDisk(), "/nowhere.pem").status()), ExitCode::Usage);
}

} // namespace
