// Where a process learns who it is: a table of environments.
#include "runtime/cluster/Identity.h"
#include "runtime/base/ExitCode.h"
#include "runtime/net/Address.h"

#include <gtest/gtest.h>

#include <map>

namespace dgc::rt {
namespace {

using Variables = std::map<std::string, std::string>;

struct Case {
  const char *name;
  Variables environment;
  IdentityFlags flags;
  std::string want; ///< "rank/size coordinator source", "none" or "error: part"
};

class IdentityTest : public ::testing::TestWithParam<Case> {};

TEST_P(IdentityTest, Resolves) {
  const Case &c = GetParam();
  auto id = resolveIdentity(c.flags, [&](const char *name) -> const char * {
    auto it = c.environment.find(name);
    return it == c.environment.end() ? nullptr : it->second.c_str();
  });
  if (c.want.starts_with("error: ")) {
    ASSERT_FALSE(id.ok());
    EXPECT_NE(std::string(id.status().message()).find(c.want.substr(7)), std::string::npos) << id.status();
    EXPECT_EQ(exitCodeOf(id.status()), ExitCode::Usage);
    return;
  }
  ASSERT_TRUE(id.ok()) << id.status();
  std::string got = "none";
  if (*id)
    got = std::to_string((*id)->rank) + "/" + std::to_string((*id)->worldSize) + " " + (*id)->coordinator + " " +
          (*id)->source + ((*id)->isEvaluator ? " evaluator" : "") +
          ((*id)->localJob.empty() ? "" : " job " + (*id)->localJob) +
          ((*id)->localWorkers ? " of " + std::to_string((*id)->localWorkers) + " here" : "") +
          ((*id)->cpus ? " with " + std::to_string((*id)->cpus) + " CPUs" : "");
  EXPECT_EQ(got, c.want);
}

const char *kTwelveWorkers = R"({"cluster": {"worker": ["w0:1", "w1:1", "w2:1", "w3:1", "w4:1", "w5:1", "w6:1", "w7:1",
  "w8:1", "w9:1", "w10:1", "w11:1"]}, "task": {"type": "worker", "index": 11}})";

INSTANTIATE_TEST_SUITE_P(
    Sources, IdentityTest,
    ::testing::Values(
        Case{"Nothing", {}, {}, "none"}, Case{"Flags", {}, {2, 4, "h:1"}, "2/4 h:1 --rank"},
        Case{"FlagsOfOneWorker", {}, {0, 1, {}}, "0/1  --rank"},
        Case{"RankAlone", {}, {2, {}, {}}, "error: --rank needs --world-size"},
        Case{"SizeAlone", {}, {{}, 2, {}}, "error: --world-size needs --rank"},
        Case{"CoordinatorAlone", {}, {{}, {}, "h:1"}, "error: --coordinator needs --rank"},
        Case{"NoCoordinator", {}, {1, 2, {}}, "error: but not where the workers meet"},
        Case{"RankTooLarge", {}, {2, 2, "h:1"}, "error: ranks are below the number of workers"},
        Case{"Dgc",
             {{"DGC_RANK", "10"}, {"DGC_WORLD_SIZE", " 16\n"}, {"DGC_COORDINATOR", "h:1"}},
             {},
             "10/16 h:1 DGC_RANK"},
        Case{"DgcNotANumber", {{"DGC_RANK", "one"}, {"DGC_WORLD_SIZE", "2"}}, {}, "error: DGC_RANK is 'one'"},
        Case{"DgcNegative", {{"DGC_RANK", "-1"}, {"DGC_WORLD_SIZE", "2"}}, {}, "error: DGC_RANK is '-1'"},
        Case{"DgcIncomplete", {{"DGC_RANK", "1"}}, {}, "error: gives no DGC_WORLD_SIZE"},
        Case{"DgcEmptyIsUnset", {{"DGC_RANK", " "}}, {}, "none"},
        Case{"Torchrun",
             {{"RANK", "12"}, {"WORLD_SIZE", "16"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}},
             {},
             "12/16 node0:29500 torchrun"},
        Case{"TorchrunWithItsStore",
             {{"RANK", "0"},
              {"WORLD_SIZE", "2"},
              {"MASTER_ADDR", "node0"},
              {"MASTER_PORT", "29500"},
              {"TORCHELASTIC_USE_AGENT_STORE", "True"}},
             {},
             "0/2 node0:29501 torchrun"},
        Case{"TorchrunNoPort",
             {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node0"}},
             {},
             "error: torchrun gives no MASTER_PORT"},
        Case{"TfWorker",
             {{"TF_CONFIG", R"({"cluster":{"worker":["a:1","b:2"]},"task":{"type":"worker","index":1}})"}},
             {},
             "1/2 a:1 TF_CONFIG"},
        Case{"TfIndexOfTwoDigits", {{"TF_CONFIG", kTwelveWorkers}}, {}, "11/12 w0:1 TF_CONFIG"},
        Case{"TfIndexAsText",
             {{"TF_CONFIG", R"({"cluster":{"worker":["a:1","b:2"]},"task":{"type":"worker","index":"1"}})"}},
             {},
             "1/2 a:1 TF_CONFIG"},
        Case{"TfWhitespace",
             {{"TF_CONFIG", "\n  { \"cluster\" : { \"worker\" : [ \" a:1 \" ] } ,\t\"task\" : { \"type\" : "
                            "\"worker\" , \"index\" : 0 } }  \n"}},
             {},
             "0/1 a:1 TF_CONFIG"},
        Case{"TfChief",
             {{"TF_CONFIG",
               R"({"cluster":{"worker":["b:1","c:1"],"chief":["a:1"]},"task":{"type":"chief","index":0}})"}},
             {},
             "0/3 a:1 TF_CONFIG"},
        Case{"TfWorkerBesideChief",
             {{"TF_CONFIG",
               R"({"cluster":{"worker":["b:1","c:1"],"chief":["a:1"]},"task":{"type":"worker","index":1}})"}},
             {},
             "2/3 a:1 TF_CONFIG"},
        Case{"TfEvaluator",
             {{"TF_CONFIG", R"({"cluster":{"worker":["b:1"]},"task":{"type":"evaluator","index":0}})"}},
             {},
             "0/1  TF_CONFIG evaluator"},
        Case{"TfParameterServer",
             {{"TF_CONFIG", R"({"cluster":{"worker":["b:1"],"ps":["p:1","q:1"]},"task":{"type":"ps","index":1}})"}},
             {},
             "2/3 b:1 TF_CONFIG"},
        Case{"TfWorkerWithParameterServers",
             {{"TF_CONFIG", R"({"cluster":{"worker":["b:1"],"ps":["p:1"]},"task":{"type":"worker","index":0}})"}},
             {},
             "0/2 b:1 TF_CONFIG"},
        Case{"TfIndexNotListed",
             {{"TF_CONFIG", R"({"cluster":{"worker":["b:1"]},"task":{"type":"worker","index":1}})"}},
             {},
             "error: worker 1, which its \"cluster\" does not list"},
        Case{"TfBadJson", {{"TF_CONFIG", "{cluster"}}, {}, "error: is not a JSON object"},
        Case{"TfNoTask", {{"TF_CONFIG", R"({"cluster":{"worker":["b:1"]}})"}}, {}, "error: has no \"task\""},
        Case{"TfNegativeIndex",
             {{"TF_CONFIG", R"({"cluster":{"worker":["b:1"]},"task":{"type":"worker","index":-1}})"}},
             {},
             "error: has task index -1"},
        Case{"OpenMpiOnOneMachine",
             {{"OMPI_COMM_WORLD_RANK", "1"},
              {"OMPI_COMM_WORLD_SIZE", "2"},
              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
              {"PMIX_NAMESPACE", "77"},
              {"PMIX_SERVER_URI2", "u"}},
             {},
             "1/2  Open MPI job 77 u of 2 here"},
        Case{"OpenMpiOnSeveral",
             {{"OMPI_COMM_WORLD_RANK", "1"},
              {"OMPI_COMM_WORLD_SIZE", "4"},
              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
              {"PMIX_NAMESPACE", "77"}},
             {},
             "error: but not where the workers meet"},
        Case{"OpenMpi",
             {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"DGC_COORDINATOR", "h:1"}},
             {},
             "3/4 h:1 Open MPI"},
        Case{"OpenMpiNoCoordinator",
             {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}},
             {},
             "error: Open MPI says rank 3 of 4, but not where the workers meet"},
        Case{"Slurm",
             {{"SLURM_PROCID", "10"}, {"SLURM_STEP_NUM_TASKS", "12"}, {"SLURM_STEP_NODELIST", "node[003-007,9],other"}},
             {},
             "10/12 node003:20000 Slurm"},
        Case{"SlurmPlainList",
             {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_JOB_NODELIST", "alpha,beta"}},
             {},
             "0/2 alpha:20000 Slurm"},
        Case{"SlurmPortOfTheJob",
             {{"SLURM_PROCID", "0"},
              {"SLURM_STEP_NUM_TASKS", "2"},
              {"SLURM_STEP_NUM_NODES", "2"},
              {"SLURM_STEP_NODELIST", "n[1-2]"},
              {"SLURM_JOB_ID", "70001501"},
              {"SLURM_STEP_ID", "3"}},
             {},
             "0/2 n1:28011 Slurm"},
        Case{"SlurmCpusOfATask",
             {{"SLURM_PROCID", "8"},
              {"SLURM_STEP_NUM_TASKS", "11"},
              {"SLURM_STEP_NODELIST", "n[1-3]"},
              {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"},
              {"SLURM_NODEID", "2"},
              {"SLURM_CPUS_ON_NODE", "24"}},
             {},
             "8/11 n1:20000 Slurm of 3 here with 8 CPUs"},
        Case{"SlurmTasksOfUnknownForm",
             {{"SLURM_PROCID", "8"},
              {"SLURM_STEP_NUM_TASKS", "11"},
              {"SLURM_STEP_NODELIST", "n[1-3]"},
              {"SLURM_STEP_TASKS_PER_NODE", "many"},
              {"SLURM_CPUS_ON_NODE", "24"}},
             {},
             "8/11 n1:20000 Slurm"},
        Case{"SlurmReservedPorts",
             {{"SLURM_PROCID", "0"},
              {"SLURM_STEP_NUM_TASKS", "2"},
              {"SLURM_STEP_NODELIST", "n[1-2]"},
              {"SLURM_JOB_ID", "7"},
              {"SLURM_STEP_RESV_PORTS", "12004-12007"}},
             {},
             "0/2 n1:12004 Slurm"},
        Case{"SlurmReservedPortsNotANumber",
             {{"SLURM_PROCID", "0"},
              {"SLURM_STEP_NUM_TASKS", "2"},
              {"SLURM_STEP_NODELIST", "n[1-2]"},
              {"SLURM_STEP_RESV_PORTS", "any"}},
             {},
             "error: SLURM_STEP_RESV_PORTS is 'any'"},
        Case{"SlurmOnOneNode",
             {{"SLURM_PROCID", "1"},
              {"SLURM_STEP_NUM_TASKS", "2"},
              {"SLURM_STEP_NUM_NODES", "1"},
              {"SLURM_STEP_NODELIST", "n1"},
              {"SLURM_CLUSTER_NAME", "c"},
              {"SLURM_JOB_ID", "17"},
              {"SLURM_STEP_ID", "0"}},
             {},
             "1/2  Slurm job c 17.0"},
        Case{"TorchrunStartedBySlurm",
             {{"RANK", "5"},
              {"WORLD_SIZE", "8"},
              {"LOCAL_WORLD_SIZE", "4"},
              {"MASTER_ADDR", "a"},
              {"MASTER_PORT", "1"},
              {"TORCHELASTIC_RUN_ID", "none"},
              {"SLURM_PROCID", "1"},
              {"SLURM_STEP_NUM_TASKS", "2"}},
             {},
             "5/8 a:1 torchrun of 4 here"},
        Case{"OpenMpiStartedBySlurm",
             {{"OMPI_COMM_WORLD_RANK", "3"},
              {"OMPI_COMM_WORLD_SIZE", "4"},
              {"DGC_COORDINATOR", "h:1"},
              {"SLURM_PROCID", "0"},
              {"SLURM_STEP_NUM_TASKS", "1"}},
             {},
             "3/4 h:1 Open MPI"},
        Case{"TorchrunInAPod",
             {{"RANK", "5"},
              {"WORLD_SIZE", "8"},
              {"MASTER_ADDR", "a"},
              {"MASTER_PORT", "1"},
              {"PET_NODE_RANK", "2"},
              {"PET_NNODES", "4"},
              {"PET_NPROC_PER_NODE", "2"},
              {"JOB_COMPLETION_INDEX", "2"}},
             {},
             "5/8 a:1 torchrun"},
        Case{"FlagsInAPod", {{"JOB_COMPLETION_INDEX", "2"}}, {5, 8, "a:1"}, "5/8 a:1 --rank"},
        Case{"Kubeflow",
             {{"PET_NODE_RANK", "1"},
              {"PET_NNODES", "2"},
              {"PET_NPROC_PER_NODE", "1"},
              {"PET_MASTER_ADDR", "dgc-node-0-0.dgc"},
              {"PET_MASTER_PORT", "29500"},
              {"JOB_COMPLETION_INDEX", "1"}},
             {},
             "1/2 dgc-node-0-0.dgc:29500 Kubeflow"},
        Case{"KubeflowSeveralInAPod",
             {{"PET_NODE_RANK", "1"}, {"PET_NNODES", "2"}, {"PET_NPROC_PER_NODE", "auto"}},
             {},
             "error: PET_NPROC_PER_NODE is 'auto'"},
        Case{"SlurmBatchScript", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}, {}, "none"},
        Case{"KubernetesJob",
             {{"JOB_COMPLETION_INDEX", "11"}, {"DGC_WORLD_SIZE", "12"}, {"DGC_COORDINATOR", "job-0.svc:29400"}},
             {},
             "11/12 job-0.svc:29400 Kubernetes"},
        Case{"KubernetesStatefulSet",
             {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
              {"HOSTNAME", "train-10"},
              {"DGC_WORLD_SIZE", "12"},
              {"DGC_COORDINATOR", "train-0.train:29400"}},
             {},
             "10/12 train-0.train:29400 Kubernetes"},
        Case{"KubernetesOtherPod", {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"HOSTNAME", "web-7"}}, {}, "none"},
        Case{"KubernetesNoSize", {{"JOB_COMPLETION_INDEX", "1"}}, {}, "error: gives no DGC_WORLD_SIZE"},
        Case{"TwoThatAgree",
             {{"RANK", "1"},
              {"WORLD_SIZE", "2"},
              {"MASTER_ADDR", "a"},
              {"MASTER_PORT", "1"},
              {"SLURM_PROCID", "1"},
              {"SLURM_STEP_NUM_TASKS", "2"},
              {"SLURM_STEP_NODELIST", "b"}},
             {},
             "1/2 a:1 torchrun"},
        Case{"TwoThatDisagree",
             {{"RANK", "1"},
              {"WORLD_SIZE", "2"},
              {"MASTER_ADDR", "a"},
              {"MASTER_PORT", "1"},
              {"OMPI_COMM_WORLD_RANK", "0"},
              {"OMPI_COMM_WORLD_SIZE", "2"}},
             {},
             "error: torchrun says rank 1 of 2, Open MPI says rank 0 of 2"},
        Case{"FlagsAgainstEnvironment",
             {{"DGC_RANK", "1"}, {"DGC_WORLD_SIZE", "2"}},
             {0, 2, "h:1"},
             "error: --rank says rank 0 of 2, DGC_RANK says rank 1 of 2"},
        Case{"CoordinatorsDisagree",
             {{"DGC_COORDINATOR", "a:1"}},
             {0, 2, "b:1"},
             "error: --coordinator is b:1, DGC_COORDINATOR is a:1"},
        Case{"FlagGivesTheCoordinator",
             {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}},
             {{}, {}, "h:1"},
             "1/2 h:1 Open MPI"},
        Case{"LaunchedLooksAtFlagsAlone",
             {{"DGC_LAUNCHED", "1"}, {"DGC_RANK", "7"}, {"DGC_WORLD_SIZE", "8"}, {"DGC_COORDINATOR", "x:1"}},
             {0, 2, "127.0.0.1:5"},
             "0/2 127.0.0.1:5 --rank"}),
    [](const auto &info) { return info.param.name; });

TEST(Address, Parses) {
  auto text = [](const char *s) {
    auto a = parseAddress(s, "--coordinator");
    return a.ok() ? a->text() : std::string(a.status().message());
  };
  EXPECT_EQ(text("node1:29400"), "node1:29400");
  EXPECT_EQ(text("[::1]:5"), "[::1]:5");
  for (const char *bad : {"", "node", ":1", "node:", "node:x", "node:0", "node:70000", "::1:5", "[::1", "a b:1"}) {
    EXPECT_NE(text(bad).find("expected HOST:PORT"), std::string::npos) << bad << ": " << text(bad);
    EXPECT_NE(text(bad).find("--coordinator is '" + std::string(bad) + "'"), std::string::npos) << text(bad);
  }
  auto any = parseAddress("0.0.0.0", "--listen", 29400);
  ASSERT_TRUE(any.ok());
  EXPECT_EQ(any->text(), "0.0.0.0:29400");
}

TEST(Address, OnlyLoopbackUnlessAsked) {
  for (const char *host : {"127.0.0.1", "127.8.9.10", "::1", "localhost"})
    EXPECT_TRUE(checkExposure({host, 1}, "--coordinator", false).ok()) << host;
  for (const char *host : {"10.0.0.5", "0.0.0.0", "::", "192.168.1.1"}) {
    absl::Status s = checkExposure({host, 29400}, "--coordinator", false);
    ASSERT_FALSE(s.ok()) << host;
    EXPECT_EQ(exitCodeOf(s), ExitCode::Usage);
    for (const char *part : {"is not a loopback address", "--tls-cert, --tls-key and --tls-ca", "--job-secret FILE",
                             "DGC_JOB_SECRET", "--insecure"})
      EXPECT_NE(std::string(s.message()).find(part), std::string::npos) << part;
    EXPECT_TRUE(checkExposure({host, 29400}, "--coordinator", true).ok());
  }
}

} // namespace
} // namespace dgc::rt
