// Signed artifacts: who has compiled a plan, and that nobody has changed it since.
//
// A signed file is an artifact with a trailer of a fixed size behind it, so that no length has to be read of a file that is
// not trusted yet, and the artifact itself has the same bytes as one that is not signed:
//   key        32 bytes  the public key of the signer, Ed25519
//   signature  64 bytes  of "dgc plan 1\n" and the SHA-512 of all bytes of the artifact
//   magic       8 bytes  "dgc sig1"
#pragma once

#include "runtime/base/Disk.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dgc::rt {

/// The public key of a signer.
struct SigningKey {
  std::array<uint8_t, 32> bytes{};
  /// SHA-256 of the key as OpenSSL writes it in DER, as 64 hexadecimal digits:
  /// openssl pkey -pubin -in PUBLIC.pem -outform DER | openssl dgst -sha256
  std::string fingerprint() const;
  bool operator==(const SigningKey &) const = default;
};

struct PlanSignature {
  SigningKey key;
  std::array<uint8_t, 64> signature{};
};

inline constexpr size_t kSignatureTrailerBytes = 32 + 64 + 8;

/// The bytes of a file: of the artifact, and of the trailer if there is one.
struct SignedBytes {
  std::span<const uint8_t> artifact;
  std::optional<PlanSignature> signature;
};
SignedBytes splitSignature(std::span<const uint8_t> file);

/// Whether a file may be used where plans have to be signed by one of `signers`; none: it need not be signed, but a
/// signature that does not hold is an error as well. Nothing of the artifact is interpreted.
absl::Status checkSignature(const SignedBytes &file, std::span<const SigningKey> signers);

/// Signs plans. The key is wiped from memory with the object.
class PlanSigner {
public:
  /// Reads a private key of Ed25519 from a PEM file. Errors carry ExitCode::Usage.
  static absl::StatusOr<PlanSigner> read(Disk &disk, const std::string &path);
  PlanSigner(PlanSigner &&) = default;
  PlanSigner &operator=(PlanSigner &&) = default;

  /// Puts the trailer behind an artifact, in the place of one that is there.
  absl::Status sign(std::vector<uint8_t> &file) const;
  const SigningKey &key() const { return publicKey; }

private:
  struct Free {
    void operator()(void *key) const;
  };
  explicit PlanSigner(std::unique_ptr<void, Free> key) : privateKey(std::move(key)) {}

  std::unique_ptr<void, Free> privateKey; ///< EVP_PKEY
  SigningKey publicKey;
};

/// Reads a public key of Ed25519 from a PEM file. Errors carry ExitCode::Usage.
absl::StatusOr<SigningKey> readSigningKey(Disk &disk, const std::string &path);

} // namespace dgc::rt
