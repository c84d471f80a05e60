#include "runtime/artifact/PlanSignature.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>

using namespace dgc;
using namespace dgc::rt;

static constexpr std::string_view kMagic = "dgc sig1";
static constexpr std::string_view kContext = "dgc plan 1\n";
/// What stands before the 32 bytes of a key of Ed25519 in DER (RFC 8410).
static constexpr std::array<uint8_t, 12> kDerPrefix = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                       0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
/// A PEM file of a key has some hundred bytes.
static constexpr uint64_t kMostKeyBytes = 1 << 16;
static constexpr std::string_view kHowToMake =
    "openssl genpkey -algorithm ed25519 -out KEY.pem makes a key, openssl pkey -in KEY.pem -pubout -out PUBLIC.pem its "
    "public half";

namespace {
struct FreeOpenSsl {
  void operator()(EVP_PKEY *key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX *context) const { EVP_MD_CTX_free(context); }
  void operator()(BIO *bio) const { BIO_free(bio); }
};
template <class T> using Owned = std::unique_ptr<T, FreeOpenSsl>;
using Message = std::array<uint8_t, kContext.size() + 64>;
} // namespace

/// What is signed in the place of the bytes themselves.
static Message messageOf(std::span<const uint8_t> artifact) {
  Message message;
  std::memcpy(message.data(), kContext.data(), kContext.size());
  EVP_Digest(artifact.data(), artifact.size(), message.data() + kContext.size(), nullptr, EVP_sha512(), nullptr);
  return message;
}

std::string SigningKey::fingerprint() const {
  Sha256 sha;
  sha.add(std::as_bytes(std::span(kDerPrefix)));
  sha.add(std::as_bytes(std::span(bytes)));
  return sha.finishHex();
}

SignedBytes dgc::rt::splitSignature(std::span<const uint8_t> file) {
  if (file.size() < kSignatureTrailerBytes ||
      std::memcmp(file.data() + file.size() - kMagic.size(), kMagic.data(), kMagic.size()) != 0)
    return {file, std::nullopt};
  SignedBytes result{file.first(file.size() - kSignatureTrailerBytes), PlanSignature{}};
  const std::span<const uint8_t> trailer = file.last(kSignatureTrailerBytes);
  std::copy_n(trailer.begin(), 32, result.signature->key.bytes.begin());
  std::copy_n(trailer.begin() + 32, 64, result.signature->signature.begin());
  return result;
}

static bool holds(const SignedBytes &file) {
  const PlanSignature &signature = *file.signature;
  Owned<EVP_PKEY> key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, signature.key.bytes.data(), 32));
  Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  const Message message = messageOf(file.artifact);
  return key && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.signature.data(), signature.signature.size(), message.data(),
                          message.size()) == 1;
}

static std::string fingerprintsOf(std::span<const SigningKey> keys) {
  std::string text;
  for (const SigningKey &key : keys)
    text += str(text.empty() ? "" : " or ", key.fingerprint());
  return text;
}

absl::Status dgc::rt::checkSignature(const SignedBytes &file, std::span<const SigningKey> signers) {
  if (!file.signature)
    return signers.empty() ? absl::OkStatus()
                           : absl::DataLossError(str("the plan is not signed, or its end is cut off, and "
                                                     "--require-signature asks for a signature by the key ",
                                                     fingerprintsOf(signers),
                                                     ": compile it with dgc-compile --sign KEY.pem, or copy it again"));
  const SigningKey &key = file.signature->key;
  if (!signers.empty() && std::find(signers.begin(), signers.end(), key) == signers.end())
    return absl::DataLossError(str("the plan is signed by the key ", key.fingerprint(),
                                   ", and --require-signature asks for a signature by ", fingerprintsOf(signers),
                                   ": get the plan from who has that key, or, if you trust this one, name its public "
                                   "half with another --require-signature"));
  if (!holds(file))
    return absl::DataLossError(str("the plan was changed after it was signed by the key ", key.fingerprint(),
                                   ": the signature is not one of this content; copy it again, or compile and sign it "
                                   "again"));
  return absl::OkStatus();
}

static int refusePassphrase(char *, int, int, void *) { return -1; }

/// Reads a PEM file as one kind of key; `other` is what the other kind of file has in it.
static absl::StatusOr<Owned<EVP_PKEY>> readKey(Disk &disk, const std::string &path, bool isPrivate) {
  const std::string_view what = isPrivate ? "private" : "public";
  absl::StatusOr<std::string> text = readFile(disk, path, kMostKeyBytes);
  if (!text.ok())
    return withExitCode(text.status(), ExitCode::Usage);
  Owned<BIO> bio(BIO_new_mem_buf(text->data(), static_cast<int>(text->size())));
  Owned<EVP_PKEY> key(isPrivate ? PEM_read_bio_PrivateKey(bio.get(), nullptr, refusePassphrase, nullptr)
                                : PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  const bool isEncrypted = text->find("ENCRYPTED") != std::string::npos;
  const bool hasPrivate = text->find("PRIVATE KEY-----") != std::string::npos;
  bio.reset();
  OPENSSL_cleanse(text->data(), text->size());
  if (!key && isPrivate && isEncrypted)
    return usageError(str(path, ": the key is encrypted, and no passphrase is asked for: decrypt it with openssl pkey "
                                "-in ENCRYPTED.pem -out KEY.pem"));
  if (!key && !isPrivate && hasPrivate)
    return usageError(str(path, ": this is a private key, and the public half belongs here: openssl pkey -in KEY.pem "
                                "-pubout -out PUBLIC.pem writes it"));
  if (!key)
    return usageError(str(path, ": not a PEM file with a ", what, " key; ", kHowToMake));
  if (EVP_PKEY_id(key.get()) != EVP_PKEY_ED25519)
    return usageError(str(path, ": a key of ", OBJ_nid2sn(EVP_PKEY_base_id(key.get())),
                          ", and plans are signed with Ed25519; ", kHowToMake));
  return key;
}

static absl::StatusOr<SigningKey> publicHalf(const EVP_PKEY *key) {
  SigningKey result;
  size_t size = result.bytes.size();
  if (EVP_PKEY_get_raw_public_key(key, result.bytes.data(), &size) != 1 || size != result.bytes.size())
    return absl::InternalError("OpenSSL does not give the public half of a key");
  return result;
}

absl::StatusOr<SigningKey> dgc::rt::readSigningKey(Disk &disk, const std::string &path) {
  DGC_ASSIGN_OR_RETURN(Owned<EVP_PKEY> key, readKey(disk, path, /*isPrivate=*/false));
  return publicHalf(key.get());
}

void PlanSigner::Free::operator()(void *key) const { EVP_PKEY_free(static_cast<EVP_PKEY *>(key)); }

absl::StatusOr<PlanSigner> PlanSigner::read(Disk &disk, const std::string &path) {
  DGC_ASSIGN_OR_RETURN(Owned<EVP_PKEY> key, readKey(disk, path, /*isPrivate=*/true));
  PlanSigner signer{std::unique_ptr<void, Free>(key.release())};
  DGC_ASSIGN_OR_RETURN(signer.publicKey, publicHalf(static_cast<const EVP_PKEY *>(signer.privateKey.get())));
  return signer;
}

absl::Status PlanSigner::sign(std::vector<uint8_t> &file) const {
  file.resize(splitSignature(file).artifact.size());
  const Message message = messageOf(file);
  std::array<uint8_t, 64> signature;
  size_t size = signature.size();
  Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, static_cast<EVP_PKEY *>(privateKey.get())) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, message.data(), message.size()) != 1)
    return absl::InternalError("OpenSSL cannot sign");
  file.insert(file.end(), publicKey.bytes.begin(), publicKey.bytes.end());
  file.insert(file.end(), signature.begin(), signature.end());
  file.insert(file.end(), kMagic.begin(), kMagic.end());
  return absl::OkStatus();
}
