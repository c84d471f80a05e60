// One file with plans of the same model for several numbers of workers: what elastic jobs run.
//
// A table, and behind it the artifacts, each complete and perhaps signed; numbers are little-endian:
//   magic    8 bytes  "DGCRANGE"
//   version  u32      1
//   count    u32      of plans, from 1 to 1024
//   count entries, which ascend by their workers:
//     workers  u32       Plan.world_size, with parameter servers
//     zero     u32       0
//     offset   u64       of the artifact in the file: the first multiple of 64 behind what precedes it
//     bytes    u64       of the artifact, with its signature
//     digest   32 bytes  Artifact::digest()
// The file ends with the last artifact.
#pragma once

#include "runtime/artifact/Reader.h"
#include "runtime/base/Disk.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dgc::rt {

/// Plans of one model for several numbers of workers; an artifact alone is the range of its own number. What is said of a file
/// in Reader.h holds here as well: of an artifact nothing is used before all of it has been checked.
class PlanRange {
public:
  /// The most plans of a file.
  static constexpr uint32_t kMaxPlans = 1024;

  struct Entry {
    uint32_t workers = 0;
    uint64_t offset = 0, bytes = 0;
    std::array<uint8_t, 32> digest{};
  };

  /// Reads and checks the table, and keeps the file open; "-" is standard input. Of a range no artifact is read yet, and one
  /// that is alone is loaded, for `signers`. Errors are one line that begins with the path and carry ExitCode::BadArtifact
  /// (BadData when the file cannot be read).
  static absl::StatusOr<PlanRange> open(const std::string &path, const Signers &signers = {});
  PlanRange(PlanRange &&) noexcept;
  PlanRange &operator=(PlanRange &&) noexcept;
  ~PlanRange();

  /// False where the file is an artifact alone.
  bool isRange() const { return !isAlone; }
  const std::vector<Entry> &entries() const { return table; }
  /// The numbers of workers, ascending.
  std::vector<uint32_t> sizes() const;
  /// "2, 3 and 4 workers"; some of many.
  std::string sizesText() const;
  bool has(uint32_t workers) const { return find(workers) != nullptr; }

  /// Reads and checks the plan of this size, whose digest and size have to be those of the table, as load() does. A size that
  /// there is none of is an error with ExitCode::Usage. Not to be called by several threads at a time.
  absl::StatusOr<std::unique_ptr<Artifact>> load(uint32_t workers, const Signers &signers = {}) const;

  /// What workers compare: of an artifact alone its own digest, of a range the SHA-256 of its table, which covers the plans.
  std::array<uint8_t, 32> digest() const { return identity; }

private:
  PlanRange() = default;
  const Entry *find(uint32_t workers) const;
  absl::Status openAlone(int fd, uint64_t size, const Signers &signers);
  absl::StatusOr<std::unique_ptr<Artifact>> loadEntry(const Entry &entry, const Signers &signers) const;

  std::string name; // in messages
  int fd = -1;      // sealed, or a regular file
  bool isAlone = false;
  std::vector<Entry> table;
  std::array<uint8_t, 32> identity{};
  mutable std::unique_ptr<Artifact> checked; // the artifact that is alone, until it is handed out
};

/// Whether a file with these first bytes is a range.
bool isPlanRange(std::span<const uint8_t> start);

/// Why a range cannot be taken for an artifact: it is damaged, or one of its plans has to be chosen. `start` has its table.
absl::Status refuseRange(std::span<const uint8_t> start);

/// The most bytes that a table has.
inline constexpr size_t kMaxRangeTableBytes = 16 + PlanRange::kMaxPlans * 56;

/// Writes a file with these artifacts, in any order, each as it is with its signature. An error where two are for the same
/// number of workers or there are none, or too many.
absl::Status writeRange(WritableFile &to, const std::vector<std::span<const uint8_t>> &artifacts);

/// The bytes of that file.
absl::StatusOr<std::vector<uint8_t>> packRange(const std::vector<std::span<const uint8_t>> &artifacts);

} // namespace dgc::rt
