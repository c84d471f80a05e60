#include "runtime/cluster/Wire.h"

namespace dgc::rt {

namespace pb = cluster;

namespace {

void write(const JobError &e, pb::JobError &out) {
  out.set_code(static_cast<int>(e.code));
  out.set_exit_code(static_cast<int>(e.exitCode));
  out.set_rank(e.rank);
  out.set_has_position(e.position.has_value());
  if (e.position) {
    out.set_step(e.position->step);
    out.set_op(e.position->op);
  }
  out.set_message(e.message);
  for (const RankWait &w : e.waits) {
    pb::RankWait &to = *out.add_waits();
    to.set_rank(w.rank);
    to.set_awaited(w.awaited);
    to.set_kind(w.kind);
    to.set_step(w.position.step);
    to.set_op(w.position.op);
  }
}

JobError read(const pb::JobError &in) {
  JobError e;
  e.code = static_cast<absl::StatusCode>(in.code());
  if (e.code == absl::StatusCode::kOk)
    e.code = absl::StatusCode::kUnknown;
  if (in.exit_code() > 0 && in.exit_code() <= 255) // no error ends a process with 0
    e.exitCode = static_cast<ExitCode>(in.exit_code());
  e.rank = in.rank();
  if (in.has_position())
    e.position = Position{in.step(), in.op()};
  e.message = in.message();
  for (const pb::RankWait &w : in.waits())
    e.waits.push_back({w.rank(), w.awaited(), static_cast<RankWait::Kind>(w.kind()), {w.step(), w.op()}});
  return e;
}

void write(const HeartbeatMessage &m, pb::Heartbeat &out) {
  out.set_step(m.position.step);
  out.set_op(m.position.op);
  out.set_awaited(m.awaited);
  out.set_moved(m.moved);
  out.set_exposed(m.exposed);
  out.set_memory(m.memory);
  out.set_resident(m.resident);
  out.set_sent(m.sent);
  out.set_watches(m.watches);
}

HeartbeatMessage read(const pb::Heartbeat &in) {
  return {{in.step(), in.op()}, in.awaited(),  in.moved(), in.exposed(),
          in.memory(),          in.resident(), in.sent(),  in.watches()};
}

void write(const HeartbeatReply &m, pb::HeartbeatReply &out) {
  out.set_step(m.rank0.step);
  out.set_op(m.rank0.op);
  out.set_sent(m.sent);
  out.set_received(m.received);
  for (const WorkerReport &worker : m.workers) {
    pb::HeartbeatReply::Worker &to = *out.add_workers();
    to.set_is_present(worker.isPresent);
    write(worker.last, *to.mutable_last());
    to.set_heartbeats(worker.heartbeats);
    to.set_waits(worker.waits);
  }
}

HeartbeatReply read(const pb::HeartbeatReply &in) {
  HeartbeatReply m{{in.step(), in.op()}, in.sent(), in.received(), {}};
  for (const pb::HeartbeatReply::Worker &worker : in.workers())
    m.workers.push_back({worker.is_present(), read(worker.last()), worker.heartbeats(), worker.waits()});
  return m;
}

void write(const StepEvent &event, pb::StepEvent &out) {
  out.set_kind(event.kind);
  out.set_signal(event.signal);
}

StepEvent read(const pb::StepEvent &in) {
  const bool isKnown = in.kind() <= StepEvent::Stop;
  return {isKnown ? static_cast<StepEvent::Kind>(in.kind()) : StepEvent::None, in.signal()};
}

} // namespace

pb::FromWorker toWire(const FromWorker &message) {
  pb::FromWorker out;
  if (auto *m = std::get_if<JoinMessage>(&message)) {
    pb::Join &j = *out.mutable_join();
    j.set_protocol(m->protocol);
    j.set_rank(m->rank);
    j.set_world_size(m->worldSize);
    j.set_plan_digest(m->planDigest);
    j.set_producer(m->producer);
    j.set_host_id(m->hostId);
    j.set_host_name(m->hostName);
    j.set_pid(m->pid);
    j.set_segment(m->segment);
    j.set_epoch(m->epoch);
  } else if (auto *m = std::get_if<GatherMessage>(&message)) {
    out.mutable_gather()->set_round(m->round);
    out.mutable_gather()->set_data(m->data);
  } else if (auto *m = std::get_if<HeartbeatMessage>(&message)) {
    write(*m, *out.mutable_heartbeat());
  } else if (auto *m = std::get_if<FailureMessage>(&message)) {
    write(m->error, *out.mutable_failure());
  } else if (auto *m = std::get_if<RequestMessage>(&message)) {
    write(m->event, *out.mutable_request());
  } else if (auto *m = std::get_if<ProposalMessage>(&message)) {
    out.mutable_proposal()->set_number(m->number);
    out.mutable_proposal()->set_step(m->step);
  } else {
    out.mutable_leave();
  }
  return out;
}

std::optional<FromWorker> fromWire(const pb::FromWorker &in) {
  switch (in.kind_case()) {
  case pb::FromWorker::kJoin: {
    const pb::Join &j = in.join();
    JoinMessage m;
    m.protocol = j.protocol();
    m.rank = j.rank();
    m.worldSize = j.world_size();
    m.planDigest = j.plan_digest();
    m.producer = j.producer();
    m.hostId = j.host_id();
    m.hostName = j.host_name();
    m.pid = j.pid();
    m.segment = j.segment();
    m.epoch = j.epoch();
    return m;
  }
  case pb::FromWorker::kGather:
    return GatherMessage{in.gather().round(), in.gather().data()};
  case pb::FromWorker::kHeartbeat:
    return read(in.heartbeat());
  case pb::FromWorker::kFailure:
    return FailureMessage{read(in.failure())};
  case pb::FromWorker::kLeave:
    return LeaveMessage{};
  case pb::FromWorker::kRequest:
    return RequestMessage{read(in.request())};
  case pb::FromWorker::kProposal:
    return ProposalMessage{in.proposal().number(), in.proposal().step()};
  case pb::FromWorker::KIND_NOT_SET:
    break;
  }
  return std::nullopt;
}

pb::ToWorker toWire(const ToWorker &message) {
  pb::ToWorker out;
  if (auto *m = std::get_if<WaitingMessage>(&message)) {
    for (uint32_t r : m->missing)
      out.mutable_waiting()->add_missing(r);
    out.mutable_waiting()->set_seconds(m->seconds);
    out.mutable_waiting()->set_note(m->note);
  } else if (auto *m = std::get_if<RosterMessage>(&message)) {
    pb::Roster &roster = *out.mutable_roster();
    roster.set_epoch(m->epoch);
    roster.set_survives(m->survives);
    write(m->lost, *roster.mutable_lost());
    roster.set_since_loss(m->sinceLoss);
    for (const RosterMessage::Member &x : m->members) {
      pb::Roster::Member &y = *roster.add_members();
      y.set_host_id(x.hostId);
      y.set_host_name(x.hostName);
      y.set_pid(x.pid);
      y.set_segment(x.segment);
    }
  } else if (auto *m = std::get_if<GatheredMessage>(&message)) {
    out.mutable_gathered()->set_round(m->round);
    for (const std::string &s : m->data)
      out.mutable_gathered()->add_data(s);
  } else if (auto *m = std::get_if<HeartbeatReply>(&message)) {
    write(*m, *out.mutable_heartbeat());
  } else if (auto *m = std::get_if<AbortMessage>(&message)) {
    write(m->error, *out.mutable_abort());
  } else if (auto *m = std::get_if<ProposeMessage>(&message)) {
    out.mutable_propose()->set_number(m->number);
  } else if (auto *m = std::get_if<AgreedMessage>(&message)) {
    out.mutable_agreed()->set_step(m->step);
    write(m->event, *out.mutable_agreed()->mutable_event());
  } else if (auto *m = std::get_if<StragglerMessage>(&message)) {
    pb::Straggler &to = *out.mutable_straggler();
    to.set_rank(m->rank);
    to.set_host_name(m->hostName);
    to.set_busy(m->busy);
    to.set_median(m->median);
    to.set_seconds(m->seconds);
    to.set_step(m->position.step);
    to.set_op(m->position.op);
  } else if (auto *m = std::get_if<RegroupMessage>(&message)) {
    pb::Regroup &to = *out.mutable_regroup();
    write(m->lost, *to.mutable_lost());
    to.set_epoch(m->epoch);
    to.set_rank(m->rank);
    to.set_world_size(m->worldSize);
  } else {
    out.mutable_all_left();
  }
  return out;
}

std::optional<ToWorker> fromWire(const pb::ToWorker &in) {
  switch (in.kind_case()) {
  case pb::ToWorker::kWaiting:
    return WaitingMessage{
        {in.waiting().missing().begin(), in.waiting().missing().end()}, in.waiting().seconds(), in.waiting().note()};
  case pb::ToWorker::kRoster: {
    RosterMessage m;
    for (const pb::Roster::Member &x : in.roster().members())
      m.members.push_back({x.host_id(), x.host_name(), x.pid(), x.segment()});
    m.epoch = in.roster().epoch();
    m.survives = in.roster().survives();
    m.lost = read(in.roster().lost());
    m.sinceLoss = in.roster().since_loss();
    return m;
  }
  case pb::ToWorker::kGathered:
    return GatheredMessage{in.gathered().round(), {in.gathered().data().begin(), in.gathered().data().end()}};
  case pb::ToWorker::kHeartbeat:
    return read(in.heartbeat());
  case pb::ToWorker::kAbort:
    return AbortMessage{read(in.abort())};
  case pb::ToWorker::kAllLeft:
    return AllLeftMessage{};
  case pb::ToWorker::kPropose:
    return ProposeMessage{in.propose().number()};
  case pb::ToWorker::kAgreed:
    return AgreedMessage{in.agreed().step(), read(in.agreed().event())};
  case pb::ToWorker::kStraggler: {
    const pb::Straggler &s = in.straggler();
    return StragglerMessage{s.rank(), s.host_name(), s.busy(), s.median(), s.seconds(), {s.step(), s.op()}};
  }
  case pb::ToWorker::kRegroup:
    return RegroupMessage{read(in.regroup().lost()), in.regroup().epoch(), in.regroup().rank(),
                          in.regroup().world_size()};
  case pb::ToWorker::KIND_NOT_SET:
    break;
  }
  return std::nullopt;
}

} // namespace dgc::rt
