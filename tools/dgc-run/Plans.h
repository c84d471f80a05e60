// The plans of a job: one, or one for each number of workers that it may have.
#pragma once

#include "runtime/artifact/PlanRange.h"
#include "runtime/cluster/CoordinatorCore.h"
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
  /// --elastic: an error where there are no plans for its numbers of workers, or the job, which begins with so many, cannot be elastic.
  absl::Status checkElastic(const Flags &flags, int workers);
  /// The numbers of workers that an elastic job goes on with.
  rt::CoordinatorCore::Options::Sizes elasticSizes(const Flags &flags) const;

private:
  Plans(rt::PlanRange range, rt::Signers signers) : range(std::move(range)), signers(std::move(signers)) {}
  rt::PlanRange range;
  rt::Signers signers;
  std::map<uint32_t, std::unique_ptr<rt::Artifact>> loaded;
};

/// Who this process is; nothing where it is to start the workers. One that joins an elastic job as one more, with the address of the
/// job and no rank from anywhere, is rank ClusterOptions::kNoRankYet.
absl::StatusOr<std::optional<rt::Identity>> identityOf(const Flags &flags);

} // namespace dgc::tool
