// The negative control of every strategy: the same plan without one of the things that it communicates.
#pragma once

#include "test/unit/oracle/Oracle.h"

#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/Writer.h"
#include "runtime/base/Shape.h"

namespace dgc::testing {

enum class Lost { Collective, Transfer };

/// A plan in which the largest collective of the training step, or the largest value that is sent, is gone: no rank
/// sends it, none waits for it. Nothing where there is none.
inline std::optional<std::vector<uint8_t>> withoutLargest(const std::vector<uint8_t> &bytes, Lost lost) {
  std::unique_ptr<artifact::PlanT> plan(artifact::GetPlan(bytes.data())->UnPack());
  artifact::ProgramT *of = nullptr;
  size_t at = 0;
  uint64_t largest = 0;
  for (auto &program : plan->programs)
    for (size_t i = 0; program->name == "train" && i < program->steps.size(); ++i) {
      uint64_t size = 0;
      const artifact::CollectiveT *collective = program->steps[i]->action.AsCollective();
      const artifact::SendT *send = program->steps[i]->action.AsSend();
      if (collective && lost == Lost::Collective) {
        size = std::max(collective->src_count, collective->dst_count);
      } else if (send && lost == Lost::Transfer) {
        const artifact::BufferT &buffer = *program->buffers[send->buffer];
        size = byteSize(rt::toDType(buffer.dtype), buffer.shape).value_or(0);
      }
      if (size > largest) {
        largest = size;
        of = program.get();
        at = i;
      }
    }
  if (!of)
    return std::nullopt;
  auto erase = [](artifact::ProgramT &program, size_t i) {
    for (size_t at = 0; at < i; ++at) // a loop says how many steps are in it
      if (artifact::WhileT *loop = program.steps[at]->action.AsWhile()) {
        const size_t test = at + loop->test_steps, end = test + loop->body_steps;
        loop->test_steps -= i <= test;
        loop->body_steps -= i > test && i <= end;
      }
    program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(i));
  };
  if (const artifact::CollectiveT *gone = of->steps[at]->action.AsCollective()) {
    const uint32_t id = gone->id;
    erase(*of, at);
    for (auto &step : of->steps)
      if (artifact::CollectiveT *later = step->action.AsCollective(); later && later->id > id)
        --later->id;
  } else {
    // The n-th of these two groups and this channel is received as the n-th.
    const artifact::SendT send = *of->steps[at]->action.AsSend();
    auto before =
        std::count_if(of->steps.begin(), of->steps.begin() + static_cast<std::ptrdiff_t>(at), [&](const auto &step) {
          const artifact::SendT *other = step->action.AsSend();
          return other && other->channel == send.channel && other->group == send.group;
        });
    for (auto &program : plan->programs)
      for (size_t i = 0; program->name == "train" && program->group == send.group && i < program->steps.size(); ++i)
        if (const artifact::ReceiveT *receive = program->steps[i]->action.AsReceive();
            receive && receive->channel == send.channel && receive->group == of->group && before-- == 0) {
          erase(*program, i);
          break;
        }
    erase(*of, at);
  }
  absl::StatusOr<std::vector<uint8_t>> result = rt::finishPlan(std::move(*plan));
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? std::optional(*result) : std::nullopt;
}

/// Takes the gradients of broken plans, and expects that they are not those of one worker.
inline void expectBrokenIsNoticed(const std::string &model, const TrainOptions &how, const NamedArrays &one,
                                  const NamedArrays &initial) {
  const absl::StatusOr<std::vector<uint8_t>> &plan = planOf(model, how);
  ASSERT_TRUE(plan.ok()) << plan.status();
  bool found = false;
  for (Lost lost : {Lost::Collective, Lost::Transfer}) {
    SCOPED_TRACE(how.mesh + " " + how.strategy + (lost == Lost::Collective ? ", a collective lost" : ", a value lost"));
    std::optional<std::vector<uint8_t>> broken = withoutLargest(*plan, lost);
    if (!broken)
      continue;
    found = true;
    rt::RunOnceOptions options = optionsOf(how).run;
    options.checkReplicas = false; // the numbers alone have to tell
    absl::StatusOr<rt::RunOnceResult> result = rt::runOnce(*broken, how.inputs(0), options);
    ASSERT_TRUE(result.ok()) << result.status();
    double error = distance(result->variables, one, &initial);
    EXPECT_FALSE(error <= 1e-3) << error; // or it is no number
  }
  EXPECT_TRUE(found) << how.mesh << " " << how.strategy << ": nothing is communicated";
}

} // namespace dgc::testing
