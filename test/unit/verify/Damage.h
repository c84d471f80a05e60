// A plan that is being damaged.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/reference/Bytecode.h"
#include "test/unit/verify/Mutations.h"

#include <functional>
#include <memory>

namespace dgc::testing {

template <typename T> using Owned = std::vector<std::unique_ptr<T>>;

/// A plan that is being damaged. Each function does so once and says where, or finds no place.
class Damage {
public:
  Damage(const std::vector<uint8_t> &bytes, std::mt19937 &random) : random(random) {
    artifact::GetPlan(bytes.data())->UnPackTo(&plan);
    bytecode = plan.semantics_section >= 0 ? plan.semantics_section : plan.object_section;
    if (bytecode >= 0)
      reference::GetKernels(plan.sections[static_cast<size_t>(bytecode)]->data.data())->UnPackTo(&kernels);
  }

  std::string apply(Mutation mutation);
  artifact::PlanT take();

private:
  using Where = std::string; // empty: nowhere

  struct Place {
    artifact::ProgramT *program = nullptr;
    size_t step = 0;
    artifact::StepT &get() const { return *program->steps[step]; }
    std::string text() const { return rt::str(program->name, ", step ", step, " '", get().name, "'"); }
  };
  using Wanted = std::function<bool(const artifact::StepT &)>;

  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); }
  std::optional<Place> find(const Wanted &wanted);
  std::vector<Place> all(const Wanted &wanted);
  artifact::CollectiveT *collective(const Place &place) const { return place.get().action.AsCollective(); }

  void erase(const Place &place);
  void repeat(const Place &place);
  Where dropCollective();
  Where repeatCollective();
  Where swapCollectives();
  Where wrongReduction();
  Where wrongGroup();
  Where shift(bool source);
  Where shortenRange();
  Where skipFirst();
  Where moveWait();
  Where changeInteger();
  Where wrongPermutation();
  Where exchangeTransfers();
  Where dropWait();
  Where dropStep();
  Where repeatStep();
  Where swapSteps();
  Where wrongArgument(bool result);
  Where exchangeOperands();
  Where overlapBuffers();
  Where shiftBuffer();
  Where constant(const std::function<double(double)> &change);
  Where dropMask();
  Where wrongOperation();
  Where shiftLoad();
  Where wrongStride();
  Where shortenLoop();
  Where dropAccumulation();
  Where exchangeParts();
  Where exchangeInputs();
  Where exchangeOutputs();
  Where wrongRole();
  Where wrongPosition();
  Where otherDraws();

  struct Nest {
    reference::KernelT *kernel = nullptr;
    size_t number = 0;
    reference::NestT &get() const { return *kernel->nests[number]; }
    std::string text() const { return rt::str(kernel->symbol, ", nest ", number); }
  };
  std::optional<Nest> findNest(const std::function<bool(const reference::NestT &)> &wanted);
  /// An instruction of these opcodes.
  std::optional<std::pair<Nest, size_t>> findInstruction(const std::function<bool(const reference::Instruction &)> &);

  std::mt19937 &random;
  artifact::PlanT plan;
  int32_t bytecode = -1; // section of the kernels
  reference::KernelsT kernels;
};

inline bool isKernelCall(const artifact::StepT &step) { return step.action.type == artifact::Action::KernelCall; }

} // namespace dgc::testing
