#include "runtime/verify/PlanRun.h"

#include "runtime/artifact/Check.h"
#include "runtime/artifact/Enums.h"
#include "runtime/artifact/Groups.h"
#include "runtime/base/Status.h"
#include "runtime/verify/Threads.h"
#include "runtime/verify/WorkerRun.h"

#include <algorithm>
#include <limits>

using namespace dgc;
using namespace dgc::verify;
using rt::str;

PlanRun::PlanRun(const PlanParts &parts, PlanRunOptions options)
    : parts(parts), plan(parts.plan), options(std::move(options)) {
  for (uint32_t rank = 0; rank < plan.world_size(); ++rank)
    workers.push_back(std::make_unique<WorkerRun>(*this, rank));
}

PlanRun::~PlanRun() = default;

absl::StatusOr<std::unique_ptr<PlanRun>> PlanRun::create(const PlanParts &parts, PlanRunOptions options) {
  std::unique_ptr<PlanRun> run(new PlanRun(parts, std::move(options)));
  DGC_RETURN_IF_ERROR(run->findKernels());
  return run;
}

absl::Status PlanRun::findKernels() {
  if (!plan.kernels() || plan.kernels()->size() == 0)
    return absl::OkStatus();
  if (parts.semantics.empty())
    return absl::FailedPreconditionError(
        "the artifact does not say what its kernels compute: compile it with --with-semantics");
  DGC_ASSIGN_OR_RETURN(const reference::Kernels *bytecode, reference::readKernels(parts.semantics));
  std::map<std::string, const reference::Kernel *> bySymbol;
  for (uint32_t i = 0; bytecode->kernels() && i < bytecode->kernels()->size(); ++i)
    bySymbol[bytecode->kernels()->Get(i)->symbol()->str()] = bytecode->kernels()->Get(i);
  for (const artifact::Kernel *kernel : *plan.kernels()) {
    const auto found = bySymbol.find(kernel->symbol()->str());
    if (found == bySymbol.end())
      return absl::FailedPreconditionError(
          str("the artifact does not say what the kernel '", kernel->symbol()->str(), "' computes"));
    kernels.push_back(found->second);
  }
  return absl::OkStatus();
}

/// Whether the arguments of a call are buffers as the kernel takes them, and its results are where the code may put them.
static absl::Status checkCall(const artifact::Program &program, const artifact::KernelCall &call,
                              const artifact::Kernel &code, const reference::Kernel &kernel) {
  const uint32_t number = kernel.inputs() + kernel.results();
  const uint32_t given = call.args() ? call.args()->size() : 0;
  if (given != number)
    return absl::FailedPreconditionError(str("calls a kernel with ", given, " arguments whose meaning has ", number));
  if (code.inplace() && code.inplace()->size() != kernel.results())
    return absl::FailedPreconditionError(
        str("calls a kernel with ", code.inplace()->size(), " results whose meaning has ", kernel.results()));
  for (uint32_t i = 0; i < number; ++i) {
    const artifact::Buffer &buffer = *program.buffers()->Get(call.args()->Get(i));
    if (!takes(kernel, i, typeOf(buffer), countOf(buffer)))
      return absl::FailedPreconditionError(str("argument ", i, " is no buffer as the kernel takes"));
  }
  return rt::checkResults(program, code, call, kernel.results());
}

absl::StatusOr<const PlanRun::Work *> PlanRun::workOf(const artifact::Program &program, const artifact::Step &step) {
  const std::scoped_lock lock(mutex);
  if (const auto known = work.find(&step); known != work.end())
    return &known->second;
  Work result;
  if (const artifact::KernelCall *call = step.action_as_KernelCall()) {
    result.kernel = kernels.at(call->kernel());
    const std::vector<uint32_t> args = rt::toVector(call->args());
    DGC_RETURN_IF_ERROR(checkCall(program, *call, *plan.kernels()->Get(call->kernel()), *result.kernel));
    result.inputs.assign(args.begin(), args.begin() + result.kernel->inputs());
    result.results.assign(args.begin() + result.kernel->inputs(), args.end());
    return &(work[&step] = std::move(result));
  }
  DGC_ASSIGN_OR_RETURN(Meaning meaning, meaningOf(program, step));
  reference::KernelsT all;
  all.kernels.push_back(std::make_unique<reference::KernelT>(std::move(meaning.kernel)));
  flatbuffers::FlatBufferBuilder builder;
  reference::FinishKernelsBuffer(builder, reference::Kernels::Pack(builder, &all));
  result.bytes.assign(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  DGC_ASSIGN_OR_RETURN(const reference::Kernels *checked,
                       reference::readKernels(std::as_bytes(std::span(result.bytes))));
  result.kernel = checked->kernels()->Get(0);
  result.inputs = std::move(meaning.inputs);
  result.results = std::move(meaning.results);
  return &(work[&step] = std::move(result));
}

absl::StatusOr<TensorRef> PlanRun::constant(const artifact::Buffer &buffer) {
  const std::scoped_lock lock(mutex);
  const uint64_t count = countOf(buffer);
  TensorRef &known = constants[{buffer.offset(), buffer.dtype()}];
  if (known && known->count == count)
    return known;
  known = tensorOf(typeOf(buffer), count, parts.constants.data() + buffer.offset());
  return known;
}

std::vector<Event> PlanRun::possibleEvents(const Rendezvous &rendezvous) const {
  std::vector<Event> events;
  for (const std::unique_ptr<WorkerRun> &worker : workers)
    if (worker->canStep())
      events.push_back({worker->rank(), Event::kStep, {worker->rank()}});
  for (const PendingCollective *pending : rendezvous.complete())
    events.push_back({pending->group[0], pending->collective, pending->group});
  return events;
}

/// Does what the event says.
absl::Status PlanRun::perform(const Event &event, Rendezvous &rendezvous) {
  if (event.collective == Event::kStep)
    return workers[event.worker]->doStep();
  PendingCollective &pending = rendezvous.complete(static_cast<uint32_t>(event.collective), event.workers);
  Clock all;
  for (const Member &member : pending.arrived)
    all.join(member.clock);
  for (Member &member : pending.arrived) {
    member.clock = all;
    DGC_RETURN_IF_ERROR(workers[member.rank]->noteCollective(member));
  }
  absl::Status status =
      exchange(pending.arrived, plan.world_size(), plan.shared_bytes(), options.functions, options.counts);
  rendezvous.finish(pending);
  return status.ok() ? status : workers[event.worker]->named(status, pending.stepOf(event.worker));
}

absl::Status PlanRun::computeSteps(std::mt19937_64 &random) {
  constexpr uint32_t some = 16, all = std::numeric_limits<uint32_t>::max();
  std::vector<std::pair<WorkerRun *, uint32_t>> ready;
  for (const std::unique_ptr<WorkerRun> &worker : workers)
    if (worker->canStep())
      ready.emplace_back(worker.get(), random() % 2 == 0 ? all : static_cast<uint32_t>(random() % some));
  const auto number = static_cast<int64_t>(ready.size());
  threadsOfWorker = std::max(1, options.threads / std::max(1, static_cast<int>(number)));
  std::vector<absl::Status> statuses(ready.size());
  inThreads(number, options.threads, [&](int64_t i) {
    const auto [worker, most] = ready[static_cast<size_t>(i)];
    statuses[static_cast<size_t>(i)] = worker->computeSteps(most);
  });
  for (absl::Status &each : statuses)
    DGC_RETURN_IF_ERROR(each);
  return absl::OkStatus();
}

absl::Status PlanRun::run(const Call &call) {
  program = call.program;
  Rendezvous rendezvous(plan.world_size());
  ++runs;
  for (const std::unique_ptr<WorkerRun> &worker : workers)
    DGC_RETURN_IF_ERROR(worker->begin(call, runs, rendezvous));
  std::mt19937_64 random(options.order + runs);
  while (true) {
    if (!options.choose)
      DGC_RETURN_IF_ERROR(computeSteps(random));
    std::vector<Event> events = possibleEvents(rendezvous);
    if (events.empty())
      break;
    if (options.choose) {
      DGC_RETURN_IF_ERROR(perform(events[options.choose(events)], rendezvous));
      continue;
    }
    // What can happen still can after another event.
    std::shuffle(events.begin(), events.end(), random);
    events.resize(random() % events.size() + 1);
    for (const Event &event : events)
      DGC_RETURN_IF_ERROR(perform(event, rendezvous));
  }
  for (const std::unique_ptr<WorkerRun> &worker : workers)
    if (!worker->isDone())
      return absl::FailedPreconditionError(str("workers wait for each other: ", worker->position()));
  return absl::OkStatus();
}

std::vector<Part> PlanRun::variable(const std::string &name) const {
  std::vector<Part> parts;
  for (uint32_t i = 0; plan.variables() && i < plan.variables()->size(); ++i) {
    const artifact::Variable &variable = *plan.variables()->Get(i);
    if (variable.name()->string_view() != name)
      continue;
    for (const std::unique_ptr<WorkerRun> &worker : workers)
      if (rt::belongs(variable.group(), worker->groupNumber()))
        parts.push_back(worker->part(name, rt::localSlice(plan, variable, worker->rank()),
                                     *plan.variable_buffers()->Get(variable.buffer())));
  }
  return parts;
}

std::vector<Part> PlanRun::output(const std::string &name) const {
  std::vector<Part> parts;
  for (const std::unique_ptr<WorkerRun> &worker : workers) {
    const artifact::Program *mine = worker->current();
    for (uint32_t i = 0; mine && mine->outputs() && i < mine->outputs()->size(); ++i) {
      const artifact::Output &output = *mine->outputs()->Get(i);
      if (output.name()->string_view() == name)
        parts.push_back(worker->part(name,
                                     rt::localSlice(plan, output.global_shape(), output.sharding(), worker->rank()),
                                     *mine->buffers()->Get(output.buffer())));
    }
  }
  return parts;
}
