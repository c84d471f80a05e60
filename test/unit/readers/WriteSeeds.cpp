// write_seeds FOLDER: what the writers of dgc make of small things, for fuzzers to begin with, in FOLDER/READER/seed-NAME. To be
// run again where a format changes.
#include "runtime/artifact/PlanRange.h"
#include "runtime/base/FlightRecorder.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/ShardNames.h"
#include "runtime/checkpoint/ShardedCheckpoint.h"
#include "runtime/cluster/Wire.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Npz.h"
#include "runtime/servers/UpdateLog.h"
#include "runtime/servers/servers.pb.h"
#include "test/unit/artifact/SamplePlan.h"
#include "test/unit/artifact/StackedPlan.h"
#include "test/unit/readers/Reader.h"

#include <filesystem>
#include <fstream>

using namespace dgc::rt;
using namespace dgc::rt::test;
namespace fs = std::filesystem;

static fs::path folder;

static void write(const std::string &reader, const std::string &name, std::string_view bytes) {
  fs::create_directories(folder / reader);
  std::ofstream(folder / reader / ("seed-" + name), std::ios::binary) << bytes;
}

static void require(const absl::Status &status) { test::require(status.ok(), status.ToString().c_str()); }

/// As Input::string() takes it.
static std::string counted(const std::string &bytes) {
  return std::string{static_cast<char>(bytes.size()), static_cast<char>(bytes.size() >> 8)} + bytes;
}

static void writeArtifact(const std::string &name, fb::PlanT plan) {
  const auto bytes = finishPlan(std::move(plan));
  require(bytes.status());
  write("artifact", name, textOf(*bytes));
}

static void writeArtifacts() {
  writeArtifact("sample", samplePlan());
  fb::PlanT initial = samplePlan();
  addInitialSection(initial, 16, 1);
  writeArtifact("initial", std::move(initial));
  writeArtifact("stacked", stackedPlan());
}

static void writeRanges() {
  fb::PlanT three = samplePlan();
  three.world_size = three.mesh[0]->size = 3;
  three.global_batch = three.programs[0]->inputs[0]->global_shape[0] = 6;
  const auto first = finishPlan(samplePlan()), second = finishPlan(std::move(three));
  require(first.status());
  require(second.status());
  const auto one = packRange({*first}), two = packRange({*first, *second});
  require(one.status());
  require(two.status());
  write("plan_range", "one", textOf(*one));
  write("plan_range", "two", textOf(*two));
}

static void writeArrays() {
  FakeDisk disk;
  const std::vector<std::byte> zeros(64);
  for (DType dtype : {DType::F32, DType::I64, DType::I1, DType::F16}) {
    const int64_t shape[] = {2, 3};
    require(writeNpy(disk, "a.npy", dtype, shape, std::span(zeros).first(6 * sizeOf(dtype))));
    write("npy", str(static_cast<int>(dtype)), *disk.get("a.npy"));
  }
  const NamedArray arrays[] = {{"x", DType::F32, {4, 4}, zeros}, {"w", DType::F32, {4, 4}, zeros}};
  for (size_t count : {1, 2}) {
    auto file = OutputFile::reserve(disk, "a.npz");
    require(file.status());
    require(writeNpz(*file, std::span(arrays).first(count)));
    write("feed", str(count), *disk.get("a.npz"));
    write("npz", str(count), *disk.get("a.npz"));
  }
}

static void writeCheckpoints() {
  FakeDisk disk;
  const std::vector<std::byte> zeros(24);
  const RunState state{7, {0, 7}, 1, std::string(64, 'a'), "dgc 0.1.0"};
  const std::vector<Tensor> tensors{{"w", DType::F32, {2, 3}, zeros},
                                    {"b", DType::F32, {3}, std::span(zeros).first(12)},
                                    {"w.m", DType::F32, {2, 3}, zeros}};
  for (size_t count : {2, 3}) {
    auto file = OutputFile::reserve(disk, "m.safetensors");
    require(file.status());
    require(saveCheckpoint(*file, std::span(tensors).first(count), state));
    write("safetensors", str(count), *disk.get("m.safetensors"));
  }
  require(writeSafetensors(disk, "weights.safetensors", std::span(tensors).first(2), {}));
  write("safetensors", "weights", *disk.get("weights.safetensors"));

  const auto half = std::span(zeros).first(12);
  require(disk.makeDirectory("c"));
  for (uint32_t rank : {0, 1}) {
    std::vector<VariablePiece> pieces{{"w", DType::F32, {2, 3}, {rank, 0}, {1, 3}, half}};
    if (rank == 0)
      pieces.push_back({"b", DType::F32, {3}, {0}, {3}, half});
    require(writeShard(disk, "c", {7, "0123456789abcdef", rank, 2}, pieces));
  }
  const auto asText = [&](const std::string &from) {
    std::string text;
    const auto names = disk.list(from);
    require(names.status());
    for (const std::string &name : *names)
      text += (text.empty() ? "=== " : "\n=== ") + name + "\n" + *disk.get(inFolder(from, name));
    return text;
  };
  write("checkpoint_folder", "shards", asText("c/" + temporaryName(7, "0123456789abcdef")));
  require(commitShards(disk, "c", {7, "0123456789abcdef", 0, 2}, state, {{"extra", "yes"}}));
  write("checkpoint_folder", "committed", asText("c/" + stepName(7)));
}

static void writeFlightLog() {
  const fs::path path = folder / "flight-0";
  FakeClock clock(1_s);
  const std::vector<std::string> names{"'matmul' of train (m.mlir:3:8)", "'all_reduce' of train (m.mlir:5:8)"};
  {
    auto recorder = FlightRecorder::create(path, {0, 2, "alpha", "0123456789abcdef", 4}, names, clock);
    require(recorder.status());
    for (uint64_t step = 0; step < 3; ++step)
      for (uint32_t op : {0, 1})
        (*recorder)->begin(step, op, 1_s + static_cast<TimeNs>(step) * 1_ms);
    (*recorder)->sample(1, 2_s);
    (*recorder)->end(6);
  }
  std::ifstream file(path, std::ios::binary);
  write("flight_log", "plain", std::string(std::istreambuf_iterator<char>(file), {}));
  fs::remove(path);
}

/// An event of `connection` in Membership.cpp, with a message.
static std::string received(int connection, const FromWorker &message) {
  return static_cast<char>(connection * 16) + counted(toWire(message).SerializeAsString());
}
static std::string received(const ToWorker &message) { return '\0' + counted(toWire(message).SerializeAsString()); }

static void writeMembership() {
  const auto joinOf = [](int connection, uint32_t rank, uint32_t world, uint32_t epoch) {
    JoinMessage join;
    join.rank = rank;
    join.worldSize = world;
    join.planDigest = std::string(32, 'p');
    join.producer = "dgc 1";
    join.hostId = join.hostName = "host";
    join.epoch = epoch;
    return received(connection, join);
  };
  const auto allOf = [&](uint32_t epoch) {
    return joinOf(0, 0, 3, epoch) + joinOf(1, 1, 3, epoch) + joinOf(2, 2, 3, epoch);
  };
  const std::string all = allOf(0);
  const JobError error{absl::StatusCode::kInternal, ExitCode::PeerFailed, 1, Position{3, 4}, "it broke", {{0, 1}}};
  const auto toAll = [](const FromWorker &message) {
    return received(0, message) + received(1, message) + received(2, message);
  };
  const std::string beat = toAll(HeartbeatMessage{{3, 4}, 1, 5, 6, 7, 8, 9, true});
  write("coordinator", "runs", '\0' + all + beat + toAll(GatherMessage{0, "data"}) + beat + toAll(LeaveMessage{}));
  write("coordinator", "fails", '\1' + all + beat + received(1, FailureMessage{error}));
  write("coordinator", "negotiates",
        '\0' + all + received(1, RequestMessage{{StepEvent::Checkpoint, 2}}) + toAll(ProposalMessage{0, 12}));
  write("coordinator", "survives",
        '\2' + all + beat + "\x13" + joinOf(0, 0, 3, 1) + joinOf(1, 1, 3, 0) + joinOf(2, 2, 3, 1) + beat);
  write("coordinator", "shrinks_and_grows",
        '\x8' + all + beat + "\x13" + joinOf(0, 0, 2, 1) + joinOf(2, 1, 2, 1) + joinOf(3, JoinMessage::kAnyRank, 0, 0) +
            joinOf(0, 0, 3, 2) + joinOf(2, 1, 3, 2) + joinOf(3, 2, 3, 2));

  RosterMessage roster;
  roster.members.assign(3, {"host", "host", 1, "segment"});
  roster.survives = true;
  roster.lost = error;
  HeartbeatReply reply{{3, 4}, 1, 2, {}};
  reply.workers.resize(3);
  const std::string runs = received(WaitingMessage{{1, 2}, 3, ""}) + received(roster);
  write("member", "runs",
        '\4' + runs + received(reply) + received(ProposeMessage{0}) +
            received(AgreedMessage{12, {StepEvent::Stop, 2}}) + '\x9' + counted("data") +
            received(GatheredMessage{0, {"a", "b", "c"}}) + '\xa' + received(AllLeftMessage{}));
  write("member", "fails", '\0' + runs + received(AbortMessage{error}));
  write("member", "regroups", '\0' + runs + received(RegroupMessage{error, 1, 0, 3}) + '\x8' + received(roster));
  write("member", "straggles", '\0' + runs + received(StragglerMessage{1, "host", 0.9, 0.5, 60, {3, 4}}));
}

static void writeServers() {
  std::string updates;
  for (int step : {0, 1})
    for (uint32_t round : {0, 1}) {
      dgc::servers::ToServer message;
      message.set_step(step);
      message.set_round(round);
      message.set_valid(4);
      message.set_outputs(round ? "loss" : "");
      updates += static_cast<char>(step) + counted(message.SerializeAsString()) + counted(round ? "worker 0 " : "?");
    }
  write("updates", "two", updates);

  FakeDisk disk;
  const UpdateLogPlace place{"logs", 1, "a run"};
  require(disk.makeDirectory("logs"));
  auto log = UpdateLog::begin(disk, place, 0);
  require(log.status());
  for (int64_t step : {0, 2, 1})
    require((*log)->add({step, 4, "?worker 0 ", "loss"}));
  write("update_log", "three", *disk.get("logs/updates-00001-000000000-0000.log"));

  dgc::servers::ToChief hello, failure;
  hello.mutable_hello()->set_host("host");
  hello.mutable_hello()->set_plan_digest(std::string(32, 'p'));
  failure.mutable_failure()->set_message("it broke");
  std::string frames;
  for (const auto &[header, body] :
       {std::pair(hello.SerializeAsString(), std::string()), {failure.SerializeAsString(), "body"}}) {
    const uint64_t lengths[] = {header.size(), body.size()};
    frames.append(reinterpret_cast<const char *>(lengths), sizeof lengths).append(header).append(body);
  }
  write("frames", "two", frames);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_seeds FOLDER\n");
    return 2;
  }
  folder = argv[1];
  fs::create_directories(folder);
  writeArtifacts();
  writeRanges();
  writeArrays();
  writeCheckpoints();
  writeFlightLog();
  writeMembership();
  writeServers();
  return 0;
}
