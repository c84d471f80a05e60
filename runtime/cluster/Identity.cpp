// Reads who this process is from flags and from the variables that launchers
// set.
#include "runtime/cluster/Identity.h"
#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace dgc::rt {
namespace {

constexpr int kMostWorkers = 65536;
/// The ports of jobs on several nodes of Slurm: below those that Linux gives to connections, from 32768 on.
constexpr uint64_t kFirstPort = 20000, kPorts = 12000;

/// A source that has nothing to say returns nothing.
using Found = absl::StatusOr<std::optional<Identity>>;

class Variables {
public:
  explicit Variables(const Environment &environment) : environment(environment) {}

  std::optional<std::string> text(const char *name) const {
    const char *value = environment(name);
    if (!value)
      return std::nullopt;
    std::string stripped(absl::StripAsciiWhitespace(value));
    if (stripped.empty())
      return std::nullopt;
    return stripped;
  }

  bool has(const char *name) const { return text(name).has_value(); }

  absl::StatusOr<int> number(const char *name, const std::string &source) const {
    std::optional<std::string> value = text(name);
    if (!value)
      return usageError(absl::StrCat(source, " gives no ", name,
                                     "; set it, or use --rank, --world-size and "
                                     "--coordinator"));
    int n;
    if (!absl::SimpleAtoi(*value, &n) || n < 0 || n > kMostWorkers)
      return usageError(absl::StrCat(name, " is '", *value, "'; expected a number from 0 to ", kMostWorkers));
    return n;
  }

  /// What does not decide who a worker is: 0 where it is not there, or no number.
  int hint(const char *name) const {
    int n = 0;
    return absl::SimpleAtoi(text(name).value_or(""), &n) ? std::max(n, 0) : 0;
  }

private:
  const Environment &environment;
};

/// Rank and size from two variables.
Found fromPair(const Variables &v, const char *rank, const char *size, const char *source) {
  Identity id;
  id.source = source;
  DGC_ASSIGN_OR_RETURN(id.rank, v.number(rank, source));
  DGC_ASSIGN_OR_RETURN(id.worldSize, v.number(size, source));
  return id;
}

Found fromFlags(const IdentityFlags &flags) {
  if (!flags.rank && !flags.worldSize)
    return std::nullopt;
  if (!flags.rank)
    return usageError("--world-size needs --rank");
  if (!flags.worldSize)
    return usageError("--rank needs --world-size");
  return Identity{*flags.rank, *flags.worldSize, "", "--rank"};
}

Found fromDgc(const Variables &v) {
  if (!v.has("DGC_RANK"))
    return std::nullopt;
  return fromPair(v, "DGC_RANK", "DGC_WORLD_SIZE", "DGC_RANK");
}

Found fromTorchrun(const Variables &v) {
  if (!v.has("RANK") || !(v.has("WORLD_SIZE") || v.has("MASTER_ADDR")))
    return std::nullopt;
  DGC_ASSIGN_OR_RETURN(std::optional<Identity> id, fromPair(v, "RANK", "WORLD_SIZE", "torchrun"));
  id->localWorkers = v.hint("LOCAL_WORLD_SIZE");
  if (std::optional<std::string> host = v.text("MASTER_ADDR")) {
    DGC_ASSIGN_OR_RETURN(int port, v.number("MASTER_PORT", "torchrun"));
    // torchrun's own store may be listening on MASTER_PORT.
    if (v.text("TORCHELASTIC_USE_AGENT_STORE") == "True")
      ++port;
    id->coordinator = absl::StrCat(*host, ":", port);
  }
  return id;
}

/// The index of a TF_CONFIG task: a number, or a string that holds one.
std::optional<int> taskIndex(const nlohmann::json &value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() <= kMostWorkers)
    return value.get<int>();
  int n;
  if (value.is_string() && absl::SimpleAtoi(value.get_ref<const std::string &>(), &n) && n >= 0)
    return n;
  return std::nullopt;
}

Found fromTfConfig(const Variables &v) {
  std::optional<std::string> text = v.text("TF_CONFIG");
  if (!text)
    return std::nullopt;
  auto bad = [](const std::string &why) { return usageError(absl::StrCat("TF_CONFIG ", why)); };
  nlohmann::json config = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (config.is_discarded() || !config.is_object())
    return bad("is not a JSON object");
  const auto cluster = config.find("cluster"), task = config.find("task");
  if (cluster == config.end() || !cluster->is_object())
    return bad("has no \"cluster\" with lists of addresses");
  if (task == config.end() || !task->is_object() || !task->contains("type") || !(*task)["type"].is_string() ||
      !task->contains("index"))
    return bad(R"(has no "task" with "type" and "index")");
  const std::string type = (*task)["type"];
  std::optional<int> index = taskIndex((*task)["index"]);
  if (!index)
    return bad(absl::StrCat("has task index ", (*task)["index"].dump(), "; expected a number from 0"));
  Identity id;
  id.source = "TF_CONFIG";
  if (type == "evaluator") {
    id.isEvaluator = true;
    return id;
  }
  // The chief is rank 0, the workers follow in the order of their list, and then the parameter servers.
  id.rank = -1;
  std::vector<std::string> addresses;
  for (const char *role : {"chief", "master", "worker", "ps"}) {
    auto list = cluster->find(role);
    if (list == cluster->end())
      continue;
    if (!list->is_array())
      return bad(absl::StrCat("has a \"", role, "\" that is not a list"));
    if (type == role && *index < static_cast<int>(list->size()))
      id.rank = static_cast<int>(addresses.size()) + *index;
    for (const nlohmann::json &address : *list) {
      if (!address.is_string())
        return bad(absl::StrCat("has a \"", role, "\" that is not a list of addresses"));
      addresses.push_back(address);
    }
    const int count = static_cast<int>(list->size());
    if (role == std::string_view("ps"))
      id.servers = count;
    else if (role != std::string_view("worker"))
      id.chiefs += count;
  }
  id.worldSize = static_cast<int>(addresses.size());
  if (id.rank < 0)
    return bad(absl::StrCat("makes this process ", type, " ", *index, ", which its \"cluster\" does not list"));
  id.coordinator = std::string(absl::StripAsciiWhitespace(addresses.front()));
  return id;
}

Found fromOpenMpi(const Variables &v) {
  if (!v.has("OMPI_COMM_WORLD_RANK"))
    return std::nullopt;
  DGC_ASSIGN_OR_RETURN(std::optional<Identity> id,
                       fromPair(v, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI"));
  id->localWorkers = v.hint("OMPI_COMM_WORLD_LOCAL_SIZE");
  std::optional<std::string> job = v.text("PMIX_NAMESPACE");
  if (job && id->localWorkers == id->worldSize)
    id->localJob = absl::StrCat(*job, " ", v.text("PMIX_SERVER_URI2").value_or(""));
  return id;
}

/// "node[003-007,9],other" -> "node003".
std::string firstHost(const std::string &list) {
  size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket)
    return list.substr(0, comma);
  size_t end = list.find_first_of(",-]", bracket);
  size_t close = list.find(']', bracket);
  if (end == std::string::npos || close == std::string::npos)
    return list.substr(0, bracket);
  size_t after = list.find(',', close);
  return absl::StrCat(list.substr(0, bracket), list.substr(bracket + 1, end - bracket - 1),
                      list.substr(close + 1, after == std::string::npos ? std::string::npos : after - close - 1));
}

/// Where rank 0 listens in a step on several nodes: the first of the ports that Slurm has reserved for the step, or one of the
/// job and the step, so that jobs that share a node have their own.
absl::StatusOr<int> slurmPort(const Variables &v) {
  if (std::optional<std::string> reserved = v.text("SLURM_STEP_RESV_PORTS")) {
    int port;
    if (!absl::SimpleAtoi(reserved->substr(0, reserved->find_first_of("-,")), &port) || port < 1 || port > 65535)
      return usageError(absl::StrCat("SLURM_STEP_RESV_PORTS is '", *reserved, "'; expected ports, e.g. 12000-12003"));
    return port;
  }
  uint64_t job = 0, step = 0;
  for (auto [name, value] : {std::pair("SLURM_JOB_ID", &job), {"SLURM_STEP_ID", &step}})
    if (std::optional<std::string> text = v.text(name); text && !absl::SimpleAtoi(*text, value))
      return usageError(absl::StrCat(name, " is '", *text, "'; expected a number"));
  return static_cast<int>(kFirstPort + (job % kPorts * 8 + step) % kPorts);
}

/// What a list like "4(x2),3", of the tasks of each node, says of the node with this number; 0: nothing.
int tasksOfNode(const std::string &list, int node) {
  for (absl::string_view each : absl::StrSplit(list, ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(each, absl::ByAnyChar("(x)"), absl::SkipEmpty());
    int tasks = 0, nodes = 1;
    if (parts.empty() || !absl::SimpleAtoi(parts[0], &tasks) ||
        (parts.size() > 1 && !absl::SimpleAtoi(parts[1], &nodes)))
      return 0;
    if (node < nodes)
      return std::max(tasks, 0);
    node -= nodes;
  }
  return 0;
}

Found fromSlurm(const Variables &v) {
  // Only srun sets the size of the step; a batch script itself is no worker.
  if (!v.has("SLURM_PROCID") || !v.has("SLURM_STEP_NUM_TASKS"))
    return std::nullopt;
  DGC_ASSIGN_OR_RETURN(std::optional<Identity> id, fromPair(v, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "Slurm"));
  id->localWorkers = tasksOfNode(v.text("SLURM_STEP_TASKS_PER_NODE").value_or(""), v.hint("SLURM_NODEID"));
  if (id->localWorkers > 0)
    id->cpus = v.hint("SLURM_CPUS_ON_NODE") / id->localWorkers;
  if (v.text("SLURM_STEP_NUM_NODES") == "1") {
    id->localJob = absl::StrCat(v.text("SLURM_CLUSTER_NAME").value_or(""), " ", v.text("SLURM_JOB_ID").value_or(""),
                                ".", v.text("SLURM_STEP_ID").value_or(""));
    return id;
  }
  std::optional<std::string> nodes = v.text("SLURM_STEP_NODELIST");
  if (!nodes)
    nodes = v.text("SLURM_JOB_NODELIST");
  if (nodes) {
    DGC_ASSIGN_OR_RETURN(int port, slurmPort(v));
    id->coordinator = absl::StrCat(firstHost(*nodes), ":", port);
  }
  return id;
}

/// The pods of a TrainJob have torchrun's own options as variables: with dgc-run in the place of torchrun each is a worker.
Found fromKubeflow(const Variables &v) {
  if (!v.has("PET_NODE_RANK") || !v.has("PET_NNODES"))
    return std::nullopt;
  if (std::string workers = v.text("PET_NPROC_PER_NODE").value_or("1"); workers != "1")
    return usageError(
        absl::StrCat("PET_NPROC_PER_NODE is '", workers,
                     "', but dgc-run is one worker for each pod: set numProcPerNode of the TrainJob to 1"));
  DGC_ASSIGN_OR_RETURN(std::optional<Identity> id, fromPair(v, "PET_NODE_RANK", "PET_NNODES", "Kubeflow"));
  if (std::optional<std::string> host = v.text("PET_MASTER_ADDR")) {
    DGC_ASSIGN_OR_RETURN(int port, v.number("PET_MASTER_PORT", "Kubeflow"));
    id->coordinator = absl::StrCat(*host, ":", port);
  }
  return id;
}

Found fromKubernetes(const Variables &v) {
  Identity id;
  id.source = "Kubernetes";
  if (v.has("JOB_COMPLETION_INDEX")) { // an indexed Job
    DGC_ASSIGN_OR_RETURN(id.rank, v.number("JOB_COMPLETION_INDEX", "Kubernetes"));
  } else if (v.has("KUBERNETES_SERVICE_HOST") && v.has("DGC_WORLD_SIZE")) {
    // A StatefulSet: the name of the pod ends in its number.
    std::string name = v.text("HOSTNAME").value_or("");
    size_t dash = name.rfind('-');
    if (dash == std::string::npos || !absl::SimpleAtoi(name.substr(dash + 1), &id.rank) || id.rank < 0)
      return usageError(absl::StrCat("DGC_WORLD_SIZE is set in a Kubernetes pod '", name,
                                     "' whose name does not end in its number; set DGC_RANK too"));
  } else {
    return std::nullopt;
  }
  DGC_ASSIGN_OR_RETURN(id.worldSize, v.number("DGC_WORLD_SIZE", "Kubernetes"));
  return id;
}

/// Who may say which worker a process is.
struct Source {
  Found (*find)(const Variables &);
  /// Set by a launcher for each process that it starts itself: those further down have started the launcher. Null: a user
  /// may have set what `find` reads, which others then confirm.
  const char *startedBy;
  /// Numbers pods, which are workers if nobody else says who is one.
  bool numbersPods = false;
};

/// The innermost first.
constexpr Source kSources[] = {{fromDgc, nullptr},
                               {fromTorchrun, "TORCHELASTIC_RUN_ID"},
                               {fromTfConfig, nullptr},
                               {fromOpenMpi, "OMPI_COMM_WORLD_RANK"},
                               {fromSlurm, "SLURM_STEP_NUM_TASKS"},
                               {fromKubeflow, nullptr, /*numbersPods=*/true},
                               {fromKubernetes, nullptr, /*numbersPods=*/true}};

std::string describe(const Identity &id) {
  return absl::StrCat(id.source, " says rank ", id.rank, " of ", id.worldSize);
}

} // namespace

absl::StatusOr<std::optional<Identity>> resolveIdentity(const IdentityFlags &flags, const Environment &environment) {
  Variables v(environment);
  std::vector<Identity> found;
  auto consider = [&](Found source) {
    if (source.ok() && source->has_value())
      found.push_back(**source);
    return source.status();
  };
  DGC_RETURN_IF_ERROR(consider(fromFlags(flags)));
  if (!v.has("DGC_LAUNCHED"))
    for (const Source &source : kSources) {
      if (source.numbersPods && !found.empty())
        continue;
      const size_t before = found.size();
      DGC_RETURN_IF_ERROR(consider(source.find(v)));
      if (found.size() > before && source.startedBy && v.has(source.startedBy))
        break;
    }
  if (found.empty()) {
    if (flags.coordinator)
      return usageError("--coordinator needs --rank and --world-size");
    return std::nullopt;
  }
  Identity id = found.front();
  for (const Identity &other : found)
    if (other.rank != id.rank || other.worldSize != id.worldSize || other.isEvaluator != id.isEvaluator)
      return usageError(absl::StrCat(describe(id), ", ", describe(other),
                                     "; unset the variables of the one that is "
                                     "wrong"));
  if (id.worldSize < 1 || id.rank >= id.worldSize)
    return usageError(absl::StrCat(describe(id), "; ranks are below the number of "
                                                 "workers"));
  std::optional<std::string> given = v.text("DGC_COORDINATOR");
  if (v.has("DGC_LAUNCHED"))
    given.reset();
  if (flags.coordinator && given && *flags.coordinator != *given)
    return usageError(
        absl::StrCat("--coordinator is ", *flags.coordinator, ", DGC_COORDINATOR is ", *given, "; give one of them"));
  if (flags.coordinator)
    id.coordinator = *flags.coordinator;
  else if (given)
    id.coordinator = *given;
  for (size_t i = 1; id.coordinator.empty() && i < found.size(); ++i)
    id.coordinator = found[i].coordinator;
  if (id.coordinator.empty() && id.localJob.empty() && id.worldSize > 1)
    return usageError(absl::StrCat(describe(id), ", but not where the workers meet; give all of "
                                                 "them --coordinator HOST:PORT of rank 0"));
  return id;
}

Environment processEnvironment() {
  return [](const char *name) -> const char * { return getenv(name); };
}

} // namespace dgc::rt
