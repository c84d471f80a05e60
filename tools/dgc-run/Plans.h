// The plans of a job: one, or one for each number of workers that it may have.
#pragma once

#include "runtime/artifact/PlanRange.h"
#include "runtime/cluster/Identity.h"
#include "tools/dgc-run/Flags.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace dgc::tool {

class Plans {
public:
  static absl::StatusOr<Plans> open(const Flags &flags, rt::Signers signers);

  /// Whether the file has plans for several numbers of workers.
  bool isRange() const { return range.isRange(); }
  /// How many workers a job begins with, by the flags and by what has started this process. An error where neither says that
  /// and the plans leave it open.
  absl::StatusOr<uint32_t> beginsWith(const Flags &flags, const std::optional<rt::Identity> &identity) const;
  /// The plan for so many; it lives as long as this. An error where there is none. Of the main thread.
  absl::StatusOr<const rt::Artifact *> of(uint32_t workers);
  /// What workers compare.
  std::string digest() const;
  /// --elastic: an error where there is not a plan for each number of workers, or the job cannot be elastic.
  absl::Status checkElastic(const Flags &flags);

private:
  Plans(rt::PlanRange range, rt::Signers signers) : range(std::move(range)), signers(std::move(signers)) {}
  std::string sizesText() const;

  rt::PlanRange range;
  rt::Signers signers;
  std::map<uint32_t, std::unique_ptr<rt::Artifact>> loaded;
};

/// Whether this process joins an elastic job as one more: it has the address of the job, and no rank.
inline bool joinsAsOneMore(const Flags &flags) {
  return flags.elastic && flags.coordinator && !flags.rank && !flags.worldSize;
}

} // namespace dgc::tool
