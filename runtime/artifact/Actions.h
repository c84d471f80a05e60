// The table of actions, and the one dispatch over them.
#pragma once

#include "runtime/artifact/dgcx_generated.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <type_traits>

namespace dgc::rt {

enum class ActionKind : uint8_t {
  Kernel,      // generated code
  LibraryCall, // code of the device
  Memory,      // copies and fills
  Collective,
  Transfer, // point to point
  Control,  // loops and branches: which steps come next
};

struct ActionInfo {
  std::string_view name;
  ActionKind kind;
};

/// By Action; the first stands for NONE.
inline constexpr ActionInfo actionTable[] = {
    {"none", ActionKind::Memory},
#define DGC_ACTION(Type, name, kind) {name, ActionKind::kind},
#include "runtime/artifact/Actions.def"
};
inline constexpr int numActions = std::size(actionTable) - 1;

namespace detail {
/// The position of each action in the table, from 1: that of the union in the schema.
enum class ActionRow : int {
  None,
#define DGC_ACTION(Type, name, kind) Type,
#include "runtime/artifact/Actions.def"
};
} // namespace detail

static_assert(numActions == static_cast<int>(artifact::Action::MAX),
              "Actions.def has a row for each action of dgcx.fbs");
#define DGC_ACTION(Type, name, kind)                                                                                   \
  static_assert(static_cast<int>(artifact::ActionTraits<artifact::Type>::enum_value) ==                                \
                    static_cast<int>(detail::ActionRow::Type),                                                         \
                "Actions.def has the order of the union Action of dgcx.fbs: " #Type);
#include "runtime/artifact/Actions.def"

/// Whether the tag of a step is one of the actions. The verifier of FlatBuffers accepts others.
constexpr bool isKnown(artifact::Action action) {
  return action >= artifact::Action::KernelCall && action <= artifact::Action::MAX;
}

/// The row of a known action.
constexpr const ActionInfo &infoOf(artifact::Action action) { return actionTable[static_cast<int>(action)]; }
constexpr std::string_view nameOf(artifact::Action action) { return infoOf(action).name; }
template <typename T> constexpr std::string_view nameOf() { return nameOf(artifact::ActionTraits<T>::enum_value); }

/// Whether several workers take part.
constexpr bool communicates(ActionKind kind) { return kind == ActionKind::Collective || kind == ActionKind::Transfer; }
template <typename T>
inline constexpr bool isCommunication = communicates(infoOf(artifact::ActionTraits<T>::enum_value).kind);

/// Whether it decides which steps come next.
template <typename T>
inline constexpr bool isControl = infoOf(artifact::ActionTraits<T>::enum_value).kind == ActionKind::Control;

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
/// f(action) with the action of a step in its own type. The tag is known: the reader refuses others.
template <typename F> decltype(auto) visit(const artifact::Step &step, F &&f) {
  switch (step.action_type()) {
#define DGC_ACTION(Type, name, kind)                                                                                   \
  case artifact::Action::Type:                                                                                         \
    return f(*step.action_as_##Type());
#include "runtime/artifact/Actions.def"
  case artifact::Action::NONE:
    break;
  }
  std::abort();
}
#pragma GCC diagnostic pop

/// The same for actions in which several workers take part; nothing for the others.
template <typename F> void visitCommunication(const artifact::Step &step, F &&f) {
  visit(step, [&](const auto &action) {
    if constexpr (isCommunication<std::decay_t<decltype(action)>>)
      f(action);
  });
}

/// Functions as one, for visits: the overload that fits is called, and an action without one does not compile.
template <typename... F> struct Overloaded : F... {
  using F::operator()...;
};

} // namespace dgc::rt
