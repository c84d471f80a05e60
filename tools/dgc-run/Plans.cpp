#include "tools/dgc-run/Plans.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"
#include "runtime/cluster/Cluster.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::rt;
using namespace dgc::tool;

absl::StatusOr<Plans> Plans::open(const Flags &flags, Signers signers) {
  DGC_ASSIGN_OR_RETURN(PlanRange range, PlanRange::open(flags.run.plan, signers));
  return Plans(std::move(range), std::move(signers));
}

absl::StatusOr<uint32_t> Plans::beginsWith(const Flags &flags, const std::optional<Identity> &identity) const {
  if (!isRange())
    return range.sizes().front();
  if (flags.nproc)
    return static_cast<uint32_t>(*flags.nproc);
  if (identity)
    return static_cast<uint32_t>(identity->worldSize);
  if (flags.elastic)
    return static_cast<uint32_t>(flags.elastic->second);
  return usageError(str("the file has plans for ", range.sizesText(), ": say for how many, with --nproc"));
}

absl::StatusOr<const Artifact *> Plans::of(uint32_t workers) {
  std::unique_ptr<Artifact> &plan = loaded[workers];
  if (!plan) {
    DGC_ASSIGN_OR_RETURN(plan, range.load(workers, signers));
    if (!plan->plan().programs() || plan->plan().programs()->size() == 0)
      return withExitCode(absl::InvalidArgumentError("the plan has no programs: compile the model again"),
                          ExitCode::BadArtifact);
  }
  return plan.get();
}

std::string Plans::digest() const {
  const std::array<uint8_t, 32> bytes = range.digest();
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

absl::Status Plans::checkElastic(const Flags &flags, int workers) {
  if (!flags.elastic)
    return absl::OkStatus();
  const auto [least, most] = *flags.elastic;
  if (!isRange())
    return usageError(str("--elastic: the plan is for ", range.sizes().front(),
                          " workers alone: compile it for each number, with dgc-compile --mesh data=", least, ":",
                          most));
  for (const int size : {least, most})
    if (!range.has(static_cast<uint32_t>(size)))
      return usageError(str("--elastic ", least, ":", most, ": there is no plan for ", size, " workers, but for ",
                            range.sizesText(), ": give --elastic numbers of these, or compile the model for all"));
  if (workers < std::max(least, 2) || workers > most)
    return usageError(str("--elastic ", least, ":", most, ": the job cannot begin with ", counted(workers, "worker"),
                          ": begin with ", std::max(least, 2), " to ", most));
  DGC_ASSIGN_OR_RETURN(const Artifact *any, of(static_cast<uint32_t>(most)));
  if (any->plan().asynchronous())
    return usageError(
        "--elastic: to a plan with asynchronous parameter servers workers come and go anyway, with --role "
        "worker");
  if (flags.transport == "in-process")
    return usageError("--elastic: with --transport=in-process all workers are lost with the process");
  return absl::OkStatus();
}

CoordinatorCore::Options::Sizes Plans::elasticSizes(const Flags &flags) const {
  const std::vector<uint32_t> sizes = range.sizes();
  return {flags.elastic->first, flags.elastic->second, {sizes.begin(), sizes.end()}};
}

absl::StatusOr<std::optional<Identity>> dgc::tool::identityOf(const Flags &flags) {
  if (!flags.role.empty())
    return std::nullopt;
  if (flags.elastic && flags.coordinator && !flags.rank && !flags.worldSize) {
    DGC_ASSIGN_OR_RETURN(const std::optional<Identity> given, resolveIdentity({}, processEnvironment()));
    if (!given)
      return Identity{ClusterOptions::kNoRankYet, flags.elastic->second, *flags.coordinator, "--elastic"};
  }
  return resolveIdentity({flags.rank, flags.worldSize, flags.coordinator}, processEnvironment());
}
