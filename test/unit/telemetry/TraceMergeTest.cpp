// Traces of workers whose clocks differ.
#include "runtime/telemetry/TraceMerge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

using namespace dgc::rt;
using nlohmann::json;

namespace {
/// Workers that pass values on in a line, there and back, and add something up in between. Times are in microseconds; what is
/// added to the clock of each gives the true time.
struct Line {
  explicit Line(std::vector<TimeNs> truth) : truth(std::move(truth)) {
    const auto count = static_cast<uint32_t>(this->truth.size());
    std::vector<uint32_t> all(count);
    for (uint32_t rank = 0; rank < count; ++rank)
      all[rank] = rank;
    for (uint32_t rank = 0; rank < count; ++rank) {
      WorkerTrace worker;
      worker.names = {{"compute", "train", ""},   {"send on", "train", ""},      {"receive", "train", ""},
                      {"send back", "train", ""}, {"receive back", "train", ""}, {"all_reduce", "train", ""}};
      worker.links.resize(6);
      if (rank + 1 < count) {
        worker.links[1] = {TraceLink::Send, 7, {rank + 1}};
        worker.links[4] = {TraceLink::Receive, 8, {rank + 1}};
      }
      if (rank > 0) {
        worker.links[2] = {TraceLink::Receive, 7, {rank - 1}};
        worker.links[3] = {TraceLink::Send, 8, {rank - 1}};
      }
      worker.links[5] = {TraceLink::Exchange, 1, all};
      workers.push_back(worker);
    }
  }

  void add(uint32_t rank, uint32_t name, double begin, double end) {
    const auto ns = [&](double us) { return static_cast<TimeNs>(us * 1000) - truth[rank]; };
    workers[rank].events.push_back({ns(begin), ns(end), 0, name, 0});
  }

  /// A round trip over the line for each step, which takes about 100 us for each worker.
  void run(int steps, bool isReduced) {
    std::mt19937 random(7);
    auto some = [&] { return 20 + random() % 60 * 1.0; };
    double now = 1'000'000;
    for (int step = 0; step < steps; ++step) {
      for (uint32_t rank = 0; rank + 1 < workers.size(); ++rank) {
        add(rank, 1, now, now + 10);
        add(rank + 1, 2, now - some(), now + some()); // which waited
        now += 100;
      }
      for (auto rank = static_cast<uint32_t>(workers.size()); rank-- > 1;) {
        add(rank, 3, now, now + 10);
        add(rank - 1, 4, now - some(), now + some());
        now += 100;
      }
      for (uint32_t rank = 0; rank < workers.size() && isReduced; ++rank)
        add(rank, 5, now - some() / 4, now + some() / 4);
      now += 100;
    }
  }

  /// A round trip of so many microseconds to somebody whose clock is right.
  void measure(double there, double back) {
    for (size_t rank = 0; rank < workers.size(); ++rank) {
      const TimeNs sent = 500'000'000 - truth[rank];
      const auto ns = [](double us) { return static_cast<TimeNs>(us * 1000); };
      workers[rank].clock.add(sent, 500'000'000 + ns(there), sent + ns(there + back));
    }
  }

  /// How many receives end before their send has begun.
  size_t wrong(const std::vector<TraceFlow> &flows) const {
    return static_cast<size_t>(std::count_if(flows.begin(), flows.end(), [&](const TraceFlow &flow) {
      return workers[flow.receiver].events[flow.receive].end < workers[flow.sender].events[flow.send].begin;
    }));
  }

  std::vector<TimeNs> truth;
  std::vector<WorkerTrace> workers;
};
} // namespace

TEST(TraceMerge, TransfersAreMatchedInTheirOrder) {
  Line line({0, 0, 0});
  line.run(10, false);
  line.workers[2].events.resize(line.workers[2].events.size() - 3); // later ones did not fit
  const auto flows = matchTransfers(line.workers);
  EXPECT_EQ(flows.size(), 20u + 9 + 8) << "0 to 1 and back, 1 to 2, 2 to 1";
  for (const TraceFlow &flow : flows) {
    const TraceEvent &send = line.workers[flow.sender].events[flow.send];
    const TraceEvent &receive = line.workers[flow.receiver].events[flow.receive];
    EXPECT_TRUE((send.name == 1 && receive.name == 2 && flow.receiver == flow.sender + 1) ||
                (send.name == 3 && receive.name == 4 && flow.receiver + 1 == flow.sender));
    EXPECT_LT(receive.end - send.begin, 100'000) << "and not those of another step";
  }
}

// There are no round trips here: transfers in both directions say where the clocks can be.
TEST(TraceMerge, TransfersAloneAlignClocks) {
  Line line({0, 5'000'000, -3'000'000, 900'000'000'000});
  line.run(20, false);
  const auto flows = matchTransfers(line.workers);
  EXPECT_GT(line.wrong(flows), 0u) << "before the correction";
  const auto offsets = alignClocks(line.workers, flows);
  shift(line.workers, offsets);
  EXPECT_EQ(line.wrong(flows), 0u);
  for (size_t rank = 1; rank < offsets.size(); ++rank)
    EXPECT_NEAR(static_cast<double>(offsets[rank] - offsets[0]), static_cast<double>(line.truth[rank]),
                200'000.0 * static_cast<double>(rank));
}

TEST(TraceMerge, RoundTripsAreCorrectedByTransfers) {
  Line line({0, 5'000'000, -3'000'000});
  line.run(20, true);
  line.measure(3000, 10); // the middle is 1.5 ms from the truth
  const auto flows = matchTransfers(line.workers);
  std::vector<TimeNs> estimates;
  for (const WorkerTrace &worker : line.workers)
    estimates.push_back(worker.clock.estimate());
  const auto offsets = alignClocks(line.workers, flows);
  EXPECT_NE(offsets, estimates);
  shift(line.workers, offsets);
  EXPECT_EQ(line.wrong(flows), 0u);
  for (size_t rank = 1; rank < offsets.size(); ++rank)
    EXPECT_NEAR(static_cast<double>(offsets[rank] - offsets[0]), static_cast<double>(line.truth[rank]), 40'000)
        << "the all-reduce is shorter than that";
}

TEST(TraceMerge, OneClockIsLeftAlone) {
  Line line({0, 0, 0});
  line.run(20, true);
  line.measure(300, 10);
  EXPECT_THAT(alignClocks(line.workers, matchTransfers(line.workers)), testing::ElementsAre(0, 0, 0));
}

TEST(TraceMerge, ContradictionsFallBack) {
  Line line({0, 0});
  line.run(2, false);
  line.measure(10, 10);
  line.workers[1].clock = {};
  line.workers[1].clock.add(0, 7'000'010, 20); // not what the transfers allow for
  auto flows = matchTransfers(line.workers);
  auto offsets = alignClocks(line.workers, flows);
  EXPECT_LT(offsets[1], 200'000) << "transfers know better";
  line.workers[0].events.back().end -= 1'000'000; // one that ends before its send began, whatever the clocks are
  for (TraceEvent &event : line.workers[0].events)
    event.end = std::max(event.end, event.begin - 2'000'000);
  flows = matchTransfers(line.workers);
  offsets = alignClocks(line.workers, flows);
  EXPECT_EQ(offsets[1], line.workers[1].clock.estimate());
}

TEST(TraceMerge, ArrowsHaveBothEndsInsideOfTheirEvents) {
  Line line({0, 5'000'000});
  line.run(5, false);
  const auto flows = matchTransfers(line.workers);
  shift(line.workers, alignClocks(line.workers, flows));
  std::map<int, std::vector<json>> arrows;
  for (const json &event : json::parse(formatFlows(line.workers, flows, 0)))
    arrows[event["id"].get<int>()].push_back(event);
  EXPECT_EQ(arrows.size(), 10u);
  auto isInside = [&](const json &end) {
    const auto &events = line.workers[end["pid"].get<size_t>()].events;
    const double at = end["ts"].get<double>() * 1000;
    return std::any_of(events.begin(), events.end(), [&](const TraceEvent &event) {
      return static_cast<double>(event.begin) - 1 <= at && at < static_cast<double>(event.end) + 1;
    });
  };
  for (const auto &[id, ends] : arrows) {
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_EQ(ends[0]["ph"], "s");
    EXPECT_EQ(ends[1]["ph"], "f");
    EXPECT_EQ(ends[1]["bp"], "e");
    EXPECT_NE(ends[0]["pid"], ends[1]["pid"]);
    EXPECT_LE(ends[0]["ts"], ends[1]["ts"]);
    EXPECT_TRUE(isInside(ends[0]) && isInside(ends[1])) << id;
  }
  EXPECT_EQ(formatFlows(line.workers, {}, 0), "");
}
