// The order of workers and of collectives that go on meanwhile: waits that are missing are found in every order, and where
// none is missing every order gives the same values.
#include "runtime/verify/Draw.h"
#include "runtime/verify/PlanRun.h"
#include "test/unit/verify/Damage.h"
#include "test/unit/verify/Subject.h"
#include "gmock/gmock.h"

#include <algorithm>
#include <functional>

using namespace dgc;
using namespace dgc::testing;
using ::testing::HasSubstr;
using verify::Event;

namespace {

const SubjectText &textOf(const std::string &name) {
  const std::vector<SubjectText> &all = subjects();
  return *std::find_if(all.begin(), all.end(), [&](const SubjectText &each) { return each.name == name; });
}

/// So small that all orders can be run: the gradient of w2 is added up while that of w1 is computed.
SubjectText smallest() {
  SubjectText text = textOf("perceptron, overlap");
  text.model = R"(
dgc.model @smallest {
  %x = dgc.input "x" : tensor<?x3xf32>
  %label = dgc.input "label" : tensor<?xi32>
  %w1 = dgc.variable "w1" normal 0 0.5 : tensor<3x4xf32>
  %w2 = dgc.variable "w2" normal 0 0.5 : tensor<4x3xf32>
  %h = dgc.matmul %x, %w1
  %a = dgc.relu %h
  %logits = dgc.matmul %a, %w2
  %loss = dgc.cross_entropy %logits, %label
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.5
}
)";
  return text;
}

std::span<const std::byte> sectionOf(const artifact::Plan &plan, int32_t number) {
  if (number < 0)
    return {};
  const auto *data = plan.sections()->Get(static_cast<uint32_t>(number))->data();
  return std::as_bytes(std::span(data->data(), data->size()));
}

/// A plan, with no check of it, and what its program train is run with.
class Runner {
public:
  Runner(const verify::Model &model, const std::vector<uint8_t> &bytes) : model(model), bytes(bytes) {
    const verify::Functions drawn(77);
    call.program = "train";
    call.validCount = static_cast<int64_t>(plan().global_batch());
    call.step = call.seed = 1;
    for (const verify::ModelVariable &variable : model.variables)
      call.variables[variable.name] = drawVariable(variable, drawn, 77);
    for (const verify::ModelProgram &program : model.programs)
      for (const verify::ModelInput &input : program.inputs)
        if (program.name == "train" && !input.isVariable && input.role == artifact::InputRole::Data)
          call.inputs[input.name] = drawInput(input, drawn, 77);
  }

  /// The elements of all variables after one run, or why there are none.
  absl::StatusOr<std::vector<uint64_t>> run(verify::PlanRunOptions options) const {
    const verify::PlanParts parts(plan(), sectionOf(plan(), plan().object_section()),
                                  sectionOf(plan(), plan().constant_section()));
    DGC_ASSIGN_OR_RETURN(std::unique_ptr<verify::PlanRun> run, verify::PlanRun::create(parts, std::move(options)));
    DGC_RETURN_IF_ERROR(run->run(call));
    std::vector<uint64_t> values;
    for (const verify::ModelVariable &variable : model.variables)
      for (const verify::Part &part : run->variable(variable.name)) {
        DGC_RETURN_IF_ERROR(part.unreadable);
        values.insert(values.end(), part.value->p.begin(), part.value->p.end());
        values.insert(values.end(), part.value->q.begin(), part.value->q.end());
      }
    return values;
  }
  verify::PlanRunOptions options() { return {functions, counts}; }

private:
  const artifact::Plan &plan() const { return *artifact::GetPlan(bytes.data()); }

  const verify::Model &model;
  const std::vector<uint8_t> &bytes;
  verify::Call call;
  const verify::Functions functions{5};
  verify::Counts counts;
};

//===-- All orders ------------------------------------------------------===//

/// Whether two events that are possible commute whatever they access: those of different workers. Where a collective has its
/// effect matters to all its members.
bool areIndependent(const Event &a, const Event &b) {
  return std::none_of(a.workers.begin(), a.workers.end(), [&](uint32_t worker) {
    return std::find(b.workers.begin(), b.workers.end(), worker) != b.workers.end();
  });
}

/// Runs every order of events, of those that differ only in the order of independent ones one: by sleep sets (Godefroid).
class Explorer {
public:
  using Run = std::function<void(std::function<size_t(std::span<const Event>)>)>;

  explicit Explorer(Run run) : run(std::move(run)) {}

  /// How many were run. Stops at `most`.
  int all(int most) {
    int count = 0;
    do {
      isAsleep = false;
      depth = 0;
      run([this](std::span<const Event> events) { return choose(events); });
      count += !isAsleep;
    } while (count < most && next());
    return count;
  }

private:
  struct Node {
    std::vector<Event> events, sleeping; // possible; explored already, or by another order
    size_t chosen = 0;
  };

  bool sleeps(const Node &node, const Event &event) const {
    return std::find(node.sleeping.begin(), node.sleeping.end(), event) != node.sleeping.end();
  }
  size_t choose(std::span<const Event> events) {
    if (isAsleep)
      return 0; // to its end, for nothing
    if (depth == path.size()) {
      Node node{{events.begin(), events.end()}, {}};
      if (depth > 0)
        for (const Event &each : path.back().sleeping)
          if (areIndependent(each, path.back().events[path.back().chosen]))
            node.sleeping.push_back(each);
      while (node.chosen < events.size() && sleeps(node, events[node.chosen]))
        ++node.chosen;
      isAsleep = node.chosen == events.size(); // other orders had all of these
      if (isAsleep)
        return 0;
      path.push_back(std::move(node));
    }
    return path[depth++].chosen;
  }
  /// Goes to the next order; false: there is none.
  bool next() {
    for (; !path.empty(); path.pop_back()) {
      Node &node = path.back();
      node.sleeping.push_back(node.events[node.chosen]);
      for (node.chosen = 0; node.chosen < node.events.size(); ++node.chosen)
        if (!sleeps(node, node.events[node.chosen]))
          return true;
    }
    return false;
  }

  Run run;
  std::vector<Node> path;
  size_t depth = 0;
  bool isAsleep = false;
};

/// One worker: a collective has its effect before one of three steps, or after them.
TEST(Explorer, CountsOrders) {
  auto simulate = [](std::vector<std::vector<uint32_t>> waits, std::vector<uint32_t> steps,
                     const std::function<size_t(std::span<const Event>)> &choose) {
    std::vector<bool> done(waits.size());
    while (true) {
      std::vector<Event> events;
      for (uint32_t worker = 0; worker < steps.size(); ++worker)
        if (steps[worker])
          events.push_back({worker, Event::kStep, {worker}});
      for (size_t i = 0; i < waits.size(); ++i)
        if (!done[i])
          events.push_back({waits[i][0], static_cast<int64_t>(i), waits[i]});
      if (events.empty())
        return;
      const Event &event = events[choose(events)];
      if (event.collective == Event::kStep)
        --steps[event.worker];
      else
        done[static_cast<size_t>(event.collective)] = true;
    }
  };
  auto count = [&](std::vector<std::vector<uint32_t>> collectives, std::vector<uint32_t> steps) {
    return Explorer([&](const auto &choose) { simulate(collectives, steps, choose); }).all(1000);
  };
  EXPECT_EQ(count({{0}}, {3}), 4);
  EXPECT_EQ(count({{0, 1}}, {3, 2}), 4 * 3); // of each worker, between which steps
  EXPECT_EQ(count({}, {3, 2}), 1);
  EXPECT_EQ(count({{0}, {1}}, {2, 2}), 3 * 3);
}

struct Explored {
  int orders = 0;
  std::vector<std::vector<uint64_t>> values; // that are different
  std::vector<std::string> errors;           // that are different
};

Explored explore(Runner &runner, bool checksOrder, int most) {
  Explored result;
  auto add = [](auto &list, auto each) {
    if (std::find(list.begin(), list.end(), each) == list.end())
      list.push_back(std::move(each));
  };
  result.orders = Explorer([&](const auto &choose) {
                    verify::PlanRunOptions options = runner.options();
                    options.choose = choose;
                    options.checksOrder = checksOrder;
                    absl::StatusOr<std::vector<uint64_t>> values = runner.run(options);
                    if (values.ok())
                      add(result.values, *std::move(values));
                    else
                      add(result.errors, std::string(values.status().message()));
                  }).all(most);
  return result;
}

TEST(Interleavings, GiveTheSameValues) {
  auto subject = Subject::create(smallest());
  ASSERT_TRUE(subject.ok()) << subject.status();
  Runner runner((*subject)->modelOf(), (*subject)->plan());
  const Explored found = explore(runner, true, 4000);
  RecordProperty("orders", found.orders);
  EXPECT_GT(found.orders, 20);
  EXPECT_LT(found.orders, 4000) << "not all";
  EXPECT_EQ(found.values.size(), 1u);
  EXPECT_TRUE(found.errors.empty()) << found.errors[0];
}

//===-- Waits that are missing ------------------------------------------===//

/// The plan without the waits of a step; empty where it has none.
std::vector<uint8_t> withoutWaits(const std::vector<uint8_t> &bytes, size_t step) {
  artifact::PlanT plan;
  artifact::GetPlan(bytes.data())->UnPackTo(&plan);
  for (const auto &program : plan.programs)
    if (program->name == "train" && step < program->steps.size() && !program->steps[step]->waits.empty()) {
      program->steps[step]->waits.clear();
      flatbuffers::FlatBufferBuilder builder;
      artifact::FinishPlanBuffer(builder, artifact::Plan::Pack(builder, &plan));
      return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
    }
  return {};
}

TEST(MissingWaits, AreFoundInEveryOrder) {
  auto subject = Subject::create(textOf("perceptron, overlap"));
  ASSERT_TRUE(subject.ok()) << subject.status();
  int removed = 0, differing = 0;
  for (size_t step = 0; step < 40; ++step) {
    const std::vector<uint8_t> damaged = withoutWaits((*subject)->plan(), step);
    if (damaged.empty())
      continue;
    ++removed;
    Runner runner((*subject)->modelOf(), damaged);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      verify::PlanRunOptions options = runner.options();
      options.order = seed;
      const std::string error(runner.run(options).status().message());
      EXPECT_THAT(error, HasSubstr("nothing orders the two: step "));
      EXPECT_THAT(error, HasSubstr(" does not wait for step "));
    }
    const Explored found = explore(runner, true, 200), unchecked = explore(runner, false, 200);
    EXPECT_TRUE(found.values.empty()) << step;
    differing += unchecked.values.size() + unchecked.errors.size() > 1; // the order is chance indeed
  }
  EXPECT_GE(removed, 1);
  EXPECT_GE(differing, 1);
}

TEST(MissingWaits, NameBothSteps) {
  auto subject = Subject::create(textOf("perceptron, overlap"));
  ASSERT_TRUE(subject.ok()) << subject.status();
  for (size_t step = 0; step < 40; ++step) {
    const std::vector<uint8_t> damaged = withoutWaits((*subject)->plan(), step);
    if (damaged.empty())
      continue;
    Runner runner((*subject)->modelOf(), damaged);
    const std::string error(runner.run(runner.options()).status().message());
    EXPECT_THAT(error,
                ::testing::MatchesRegex(
                    "worker [01], step [0-9]+ .*: (reads|writes) bytes from [0-9]+ of the shared arena, which "
                    "worker [01], step [0-9]+ .* (reads|writes), and nothing orders the two: step [0-9]+ does not "
                    "wait for step [0-9]+"));
  }
}

} // namespace
