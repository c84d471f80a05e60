// NCCL between fake GPUs, that checks how it is used: all members call the same in the same order, communicators are
// asked until they are done, and not used after an error or their end, and end after graphs with parts of them. Its collectives add in member order.
#pragma once

#include "runtime/device/cuda/Nccl.h"
#include "test/unit/device/cuda/FakeDriver.h"

#include <atomic>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

namespace dgc::testing {

/// What all ranks see: the threads of one process.
class FakeNetwork {
public:
  ~FakeNetwork();
  /// The functions as the rank with this driver has them. `log` is that of the driver.
  rt::cuda::NcclFunctions functions(FakeDriver &driver, std::shared_ptr<FakeLog> log);
  /// The call number `call` (0: the first) that can fail does, of the rank with this GPU (the first byte of its id).
  void failAt(char gpu, int call) { failures[gpu] = call; }
  /// The rank with this GPU finds an error when it asks while something waits for others; -1: none does.
  char failsInWaits = -1;
  /// Whatever has gone wrong.
  std::vector<std::string> violations;
  std::atomic<int> communicators = 0, operations = 0, aborts = 0;
  /// Aborting takes until it does not.
  std::atomic<bool> hangsInAbort = false;

private:
  friend struct FakeRank;
  struct Operation {
    std::string what; // what must be the same on all members
    enum Kind : uint8_t { AllReduce, ReduceScatter, AllGather, Broadcast, Send, Receive } kind;
    std::byte *src = nullptr, *dst = nullptr; // of the host
    uint64_t count = 0;                       // elements of `type`
    rt::DType type = rt::DType::U8;
    rt::Reduction reduction = rt::Reduction::Sum;
    int peer = 0; // root, or partner
  };
  /// One call of all members.
  struct Rendezvous {
    std::string what;
    std::map<int, std::vector<std::string>> sent; // by member: what it gives to each operation
  };
  struct Group {
    int members = 0, joined = 0;
    std::vector<rt::cuda::GpuId> gpus;
    bool duplicate = false;
    std::map<uint64_t, Rendezvous> rendezvous;
    std::map<std::pair<int, int>, std::deque<std::string>> messages; // by sender and receiver
    std::map<std::pair<int, int>, uint64_t> sent, wanted;            // how many, so far
  };
  struct Communicator {
    Group *group = nullptr;
    int rank = 0, polls = 0;
    int askings = 0; // how often it is asked until a call is done
    bool ended = false, aborted = false, finalized = false;
    rt::cuda::NcclResult error = 0;
    uint64_t rendezvous = 0;
    bool arrived = false; // at the operation that runs
    std::vector<uint64_t> sendNumbers;
  };

  void wrong(const std::string &what) { violations.push_back(what); }
  void arrive(Communicator &comm, const std::vector<Operation> &operations);
  bool isReady(Communicator &comm, const std::vector<Operation> &operations);
  void run(Communicator &comm, const std::vector<Operation> &operations);

  std::mutex mutex;
  std::map<std::string, Group> groups;
  std::list<Communicator> all;
  std::map<char, int> failures;
  int ids = 0;
};

} // namespace dgc::testing
