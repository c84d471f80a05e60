// A job with asynchronous parameter servers in one thread: its servers, workers and chief exchange messages that a test loses,
// repeats and reorders, and processes that it kills.
#pragma once

#include "runtime/servers/StepBoard.h"
#include "runtime/servers/UpdateShard.h"
#include "test/unit/support/FakeDisk.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dgc::rt::test {

/// What a server with two rounds holds: how often it has applied which step, and the order of that.
class CountingTarget : public UpdateTarget {
public:
  size_t rounds() const override { return 2; }
  uint64_t bytesOfRound(size_t round) const override { return round == 0 ? 1 : 9; }
  absl::StatusOr<std::string> answer(size_t, int64_t, int32_t, std::string_view) override {
    return std::to_string(order.size());
  }
  absl::Status apply(int64_t step, int32_t, std::string_view received) override {
    ++times[step];
    order.push_back(str(step, " ", received));
    return absl::OkStatus();
  }
  std::map<int64_t, int> times;
  std::vector<std::string> order;
};

/// Which of `n` things happens next; of 0 to n - 1.
using Choose = std::function<uint32_t(uint32_t n)>;

class FakeServers {
public:
  struct Options {
    int workers = 2, servers = 2;
    int64_t steps = 3, staleness = 1;
    int faults = 3;         // at most: messages that are lost or repeated, and processes that die
    uint32_t faultOdds = 8; // one of so many events is one of them
  };

  FakeServers(const Options &options, Choose choose) : options(options), choose(std::move(choose)), board(1000) {
    for (int s = 0; s < options.servers; ++s) {
      servers.push_back(std::make_unique<Server>());
      start(s);
    }
    workers.resize(static_cast<size_t>(options.workers));
  }

  bool forgetsLogs = false; // as no server may: for a negative control

  /// Until all steps are applied. Returns what is wrong; empty: nothing.
  std::string run() {
    for (int i = 0; i < 100000; ++i) {
      if (finished == options.steps)
        return checkEnd();
      act();
      if (!wrong.empty())
        return wrong;
    }
    return "the job does not come to an end";
  }

private:
  struct Server {
    FakeDisk disk;
    std::unique_ptr<CountingTarget> target;
    std::unique_ptr<UpdateShard> shard;
    std::map<std::pair<int, int>, UpdateSession> sessions; // by worker and attempt
    std::set<int64_t> acknowledged;
  };
  struct Worker {
    std::optional<int64_t> step;
    int attempt = 0;            // counts its connections
    std::vector<size_t> rounds; // by server: that are answered
    StepBoard::Worker id = 0;   // as the chief knows this life of it
  };
  struct Message {
    bool isAnswer;
    int worker, server, attempt;
    int64_t step;
    size_t round;
    bool isError = false;
  };

  UpdateLogPlace placeOf(int server) const { return {"logs", static_cast<uint32_t>(server + 1), "a run"}; }

  void fail(const std::string &what) {
    if (wrong.empty())
      wrong = what;
  }

  void start(int s) {
    Server &server = *servers[static_cast<size_t>(s)];
    server.target = std::make_unique<CountingTarget>();
    server.shard = std::make_unique<UpdateShard>(*server.target, 0);
    server.sessions.clear();
    auto replayed =
        replayUpdates(server.disk, placeOf(s), 0, [&](const Update &update) { return server.shard->restore(update); });
    if (!replayed.ok())
      fail(std::string(replayed.status().message()));
    auto log = UpdateLog::begin(server.disk, placeOf(s), 0);
    if (!log.ok())
      return fail(std::string(log.status().message()));
    server.shard->setLog(*std::move(log));
    for (int64_t step : server.acknowledged)
      if (!server.shard->applied().has(step))
        fail(str("server ", s, " has acknowledged step ", step, " and came back without it"));
  }

  void act() {
    // What may happen: each message arrives; a worker that is free gets a step, and one that waits gives up; faults.
    // The chief offers a step once those are finished that are more than `staleness` before it.
    while (offered < options.steps && offered - board.oldest().value_or(offered) <= options.staleness)
      board.offer(offered++);
    std::vector<std::function<void()>> events;
    for (size_t i = 0; i < messages.size(); ++i)
      events.push_back([this, i] {
        const Message message = messages[i];
        messages.erase(messages.begin() + static_cast<int64_t>(i));
        deliver(message);
      });
    for (size_t w = 0; w < workers.size(); ++w)
      if (!workers[w].step && board.isAnyOpen())
        events.push_back([this, w] { begin(static_cast<int>(w)); });
      else if (workers[w].step && !isHeard(static_cast<int>(w)))
        events.push_back([this, w] { giveUp(static_cast<int>(w)); });
    if (faults < options.faults && choose(options.faultOdds) == 0) {
      events.clear();
      for (size_t i = 0; i < messages.size(); ++i) {
        events.push_back([this, i] { messages.erase(messages.begin() + static_cast<int64_t>(i)), ++faults; });
        events.push_back([this, i] { messages.push_back(messages[i]), ++faults; });
      }
      for (size_t s = 0; s < servers.size(); ++s)
        for (bool isTorn : {false, true})
          events.push_back([this, s, isTorn] { killServer(static_cast<int>(s), isTorn), ++faults; });
      for (size_t w = 0; w < workers.size(); ++w)
        if (workers[w].step)
          events.push_back([this, w] { giveUp(static_cast<int>(w)), ++faults; });
    }
    if (events.empty())
      return fail("nothing can happen any more");
    events[choose(static_cast<uint32_t>(events.size()))]();
  }

  /// Whether anything is under way that the worker waits for.
  bool isHeard(int w) const {
    for (const Message &message : messages)
      if (message.worker == w && message.attempt == workers[static_cast<size_t>(w)].attempt)
        return true;
    return false;
  }

  bool isAppliedByAll(int64_t step) const {
    for (const auto &server : servers)
      if (!server->shard->applied().has(step))
        return false;
    return true;
  }

  void begin(int w) {
    Worker &worker = workers[static_cast<size_t>(w)];
    worker.id = ++lastId;
    worker.step = board.take(worker.id, 0);
    for (int64_t before = 0; before < *worker.step - options.staleness; ++before)
      if (!isAppliedByAll(before))
        fail(str("step ", *worker.step, " begins, and step ", before, " is not applied"));
    worker.rounds.assign(servers.size(), 0);
    for (size_t s = 0; s < servers.size(); ++s)
      messages.push_back({false, w, static_cast<int>(s), worker.attempt, *worker.step, 0});
  }

  /// The worker dies, or its connections are lost: the chief gives its step to another one.
  void giveUp(int w) {
    Worker &worker = workers[static_cast<size_t>(w)];
    board.lose(worker.id);
    worker.step.reset();
    ++worker.attempt;
  }

  /// `isTorn`: in the middle of writing a record.
  void killServer(int s, bool isTorn) {
    Server &server = *servers[static_cast<size_t>(s)];
    if (isTorn) {
      server.disk.failAt = server.disk.operations;
      server.shard->updateLog()->add({99, 1, "half of it", ""}).IgnoreError();
      server.disk.failAt = -1;
    }
    server.disk.kill();
    if (forgetsLogs)
      removeUpdateLogs(server.disk, placeOf(s), INT64_MAX).IgnoreError();
    start(s);
  }

  void deliver(const Message &message) {
    if (!message.isAnswer)
      return serve(message);
    Worker &worker = workers[static_cast<size_t>(message.worker)];
    if (worker.attempt != message.attempt || worker.step != message.step)
      return; // of a connection that is closed
    if (message.isError)
      return giveUp(message.worker);
    size_t &rounds = worker.rounds[static_cast<size_t>(message.server)];
    if (message.round != rounds)
      return;
    ++rounds;
    if (rounds < 2) {
      messages.push_back({false, message.worker, message.server, worker.attempt, *worker.step, rounds});
      return;
    }
    for (size_t each : worker.rounds)
      if (each < 2)
        return;
    if (!isAppliedByAll(*worker.step))
      fail(str("step ", *worker.step, " is reported, and not applied by all servers"));
    if (board.finish(*worker.step, 0))
      ++finished;
    worker.step.reset();
    ++worker.attempt;
  }

  void serve(const Message &message) {
    Server &server = *servers[static_cast<size_t>(message.server)];
    const std::string sent = message.round == 0 ? "?" : str("worker", message.worker, "  ");
    auto answer = server.shard->handle(server.sessions[{message.worker, message.attempt}],
                                       {message.step, message.round, 1, sent, ""});
    if (!answer.ok() && !absl::IsInvalidArgument(answer.status()))
      fail(std::string(answer.status().message()));
    if (answer.ok() && message.round == 1)
      server.acknowledged.insert(message.step);
    messages.push_back(
        {true, message.worker, message.server, message.attempt, message.step, message.round, !answer.ok()});
  }

  std::string checkEnd() {
    for (size_t s = 0; s < servers.size(); ++s) {
      for (int64_t step = 0; step < options.steps; ++step)
        if (servers[s]->target->times[step] != 1)
          return str("server ", s, " has applied step ", step, " ", servers[s]->target->times[step], " times");
      // What it holds is what its log gives.
      const std::vector<std::string> order = servers[s]->target->order;
      start(static_cast<int>(s));
      if (servers[s]->target->order != order)
        return str("the log of server ", s, " gives something else than it holds");
    }
    return wrong;
  }

  const Options options;
  const Choose choose;
  StepBoard board;
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<Worker> workers;
  std::deque<Message> messages;
  int64_t offered = 0, finished = 0;
  StepBoard::Worker lastId = 0;
  int faults = 0;
  std::string wrong;
};

} // namespace dgc::rt::test
