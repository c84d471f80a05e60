// Opens an artifact. Nothing of it is used before all of it has been checked,
// and what was checked cannot change afterwards: it is a sealed copy.
#pragma once

#include "runtime/artifact/PlanSignature.h"
#include "runtime/artifact/dgcx_generated.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dgc::rt {

/// The keys of which a plan has to be signed by one; none: it need not be signed.
using Signers = std::vector<SigningKey>;

/// A checked artifact. Immutable; safe to share between threads.
class Artifact {
public:
  ~Artifact();
  Artifact(const Artifact &) = delete;
  Artifact &operator=(const Artifact &) = delete;

  const artifact::Plan &plan() const { return *artifact::GetPlan(bytes.data()); }
  /// SHA-256 of the file (with its digest field zero): what workers compare.
  std::span<const uint8_t, 32> digest() const;
  /// The digest as 64 hexadecimal digits.
  std::string digestHex() const;
  /// The machine code, empty if there is none.
  std::span<const std::byte> object() const;
  /// Every kernel as bytecode of the reference (runtime/device/reference/Bytecode.fbs), whatever the target is; empty where
  /// the artifact does not have that.
  std::span<const std::byte> semantics() const;
  /// The constant memory, empty if there is none; aligned to 64 bytes.
  std::span<const std::byte> constants() const;
  /// Initial values of variables, empty if none is stored.
  std::span<const std::byte> initialValues() const;
  /// Without the signature.
  uint64_t sizeBytes() const { return bytes.size(); }
  /// Who has signed it; the signature holds.
  const std::optional<SigningKey> &signer() const { return signedBy; }
  /// Finds an entry point; null if there is none of this name.
  const artifact::Program *program(std::string_view name) const;

private:
  friend absl::StatusOr<std::unique_ptr<Artifact>> adoptSealed(int fd, uint64_t size, std::string_view name,
                                                               const Signers &signers);
  Artifact() = default;
  std::span<const std::byte> section(int32_t index) const;

  struct Free {
    void operator()(std::byte *p) const { std::free(p); }
  };

  int fd = -1;
  std::span<const uint8_t> mapped; // of fd
  std::span<const uint8_t> bytes;  // of these the artifact, without a signature
  std::optional<SigningKey> signedBy;
  // The constants, where they lie in the file at an odd multiple of 32
  // (FlatBuffers aligns no further).
  std::unique_ptr<std::byte[], Free> alignedConstants;
};

/// Reads and checks `path`, the signature before all else. Errors are one line that begins with the path and
/// carry ExitCode::BadArtifact (BadData when the file cannot be read).
absl::StatusOr<std::unique_ptr<Artifact>> load(const std::string &path, const Signers &signers = {});

/// The same for bytes in memory, which may change or go away afterwards. `name`
/// is used in messages.
absl::StatusOr<std::unique_ptr<Artifact>> loadBytes(std::span<const uint8_t> bytes, std::string_view name = "artifact",
                                                    const Signers &signers = {});

/// A new anonymous file of these bytes that nobody can change any more. The
/// caller closes it.
absl::StatusOr<int> sealedCopy(std::span<const std::byte> bytes, const char *name);

} // namespace dgc::rt
