// What each action works on and how: its operands with their roles, and its other fields. Printers and checks derive from
// this what they need of all actions alike.
#pragma once

#include "runtime/artifact/Actions.h"

#include <cstdint>
#include <string_view>

namespace dgc::rt {

/// What an action does with an operand.
enum class Role : uint8_t {
  Read,
  Written,
  Updated, // read and written
  Unknown, // read, written or both, as its kernel does
};
constexpr bool mayRead(Role role) { return role != Role::Written; }
constexpr bool mayWrite(Role role) { return role != Role::Read; }

/// Base of what describe() is given. `Derived` has
///   void operand(std::string_view name, Role role, int64_t buffer)
/// for each buffer of the program, -1 for an optional one that is absent, and hides what else it wants to know.
template <typename Derived> class ActionSink {
public:
  /// A field that is no operand: a number, an enum, a text or a list.
  template <typename T> void value(std::string_view name, const T &field) {}
  /// Axes of the mesh; a kernel of the plan; the other end of a transfer, a group or, with -1 for it, a rank.
  void axes(std::string_view name, const flatbuffers::Vector<uint32_t> *axes) {}
  void kernel(std::string_view name, uint32_t index) {}
  void peer(std::string_view name, int32_t group, uint32_t rank) {}
  /// Ranges of the shared arena, in elements, that a collective reads and writes.
  void range(uint64_t src, uint64_t srcCount, uint64_t dst, uint64_t dstCount, artifact::DType dtype) {}

  void operands(std::string_view name, Role role, const flatbuffers::Vector<uint32_t> *buffers) {
    for (uint32_t i = 0; buffers && i < buffers->size(); ++i)
      derived().operand(name, role, buffers->Get(i));
  }
  void postOps(std::string_view name, const flatbuffers::Vector<flatbuffers::Offset<artifact::PostOp>> *ops) {
    for (uint32_t i = 0; ops && i < ops->size(); ++i)
      derived().operand("the argument of a post-op", Role::Read, ops->Get(i)->arg());
  }

private:
  Derived &derived() { return static_cast<Derived &>(*this); }
};

/// f(range) for each pair of ranges that a collective works on: src(), src_count(), dst(), dst_count().
template <typename F> void forEachRange(const artifact::Collective &op, F &&f) {
  f(op);
  for (uint32_t i = 0; op.more() && i < op.more()->size(); ++i)
    f(*op.more()->Get(i));
}

/// The role of what a library call with these post-ops writes.
inline Role roleOfResult(const flatbuffers::Vector<flatbuffers::Offset<artifact::PostOp>> *ops) {
  for (uint32_t i = 0; ops && i < ops->size(); ++i)
    if (ops->Get(i)->kind() == artifact::PostOpKind::Accumulate)
      return Role::Updated;
  return Role::Written;
}

//===-- One for each action ---------------------------------------------===//

template <typename S> void describe(const artifact::KernelCall &a, S &s) {
  s.kernel("kernel", a.kernel());
  s.operands("args", Role::Unknown, a.args());
}

template <typename S> void describe(const artifact::Matmul &a, S &s) {
  s.operand("a", Role::Read, a.a());
  s.operand("b", Role::Read, a.b());
  s.operand("dst", roleOfResult(a.post_ops()), a.dst());
  s.operand("bias", Role::Read, a.bias());
  s.value("batch", a.batch());
  s.value("m", a.m());
  s.value("n", a.n());
  s.value("k", a.k());
  s.value("transpose_a", a.transpose_a());
  s.value("transpose_b", a.transpose_b());
  s.value("batch_sizes", a.batch_sizes());
  s.value("a_strides", a.a_strides());
  s.value("b_strides", a.b_strides());
  s.value("dst_strides", a.dst_strides());
  s.postOps("post_ops", a.post_ops());
  s.operand("aux", Role::Written, a.aux());
  s.operand("bias_gradient", Role::Written, a.bias_gradient());
  s.value("bias_gradient_of", a.bias_gradient_of());
}

template <typename S> void describe(const artifact::Convolution &a, S &s) {
  auto role = [&](artifact::ConvKind writer) { return a.kind() == writer ? roleOfResult(a.post_ops()) : Role::Read; };
  s.value("kind", a.kind());
  s.operand("src", role(artifact::ConvKind::BackwardData), a.src());
  s.operand("weights", role(artifact::ConvKind::BackwardWeights), a.weights());
  s.operand("dst", role(artifact::ConvKind::Forward), a.dst());
  s.operand("bias", Role::Read, a.bias());
  s.value("strides", a.strides());
  s.value("pad_low", a.pad_low());
  s.value("pad_high", a.pad_high());
  s.value("dilation", a.dilation());
  s.value("groups", a.groups());
  s.postOps("post_ops", a.post_ops());
  s.value("weights_out_first", a.weights_out_first());
}

template <typename S> void describe(const artifact::Pool &a, S &s) {
  const bool isMaxForward = a.kind() == artifact::PoolKind::MaxForward;
  s.value("kind", a.kind());
  s.operand("src", Role::Read, a.src());
  s.operand("dst", Role::Written, a.dst());
  s.operand("diff_src", Role::Written, a.diff_src());
  s.operand("diff_dst", Role::Read, a.diff_dst());
  s.operand("indices", isMaxForward ? Role::Written : Role::Read, a.indices());
  s.value("window", a.window());
  s.value("strides", a.strides());
  s.value("pad_low", a.pad_low());
  s.value("pad_high", a.pad_high());
  s.value("count_include_pad", a.count_include_pad());
}

template <typename S> void describe(const artifact::Collective &a, S &s) {
  s.value("id", a.id());
  s.value("kind", a.kind());
  s.value("reduction", a.reduction());
  s.axes("axes", a.axes());
  s.value("dtype", a.dtype());
  forEachRange(a, [&](const auto &range) {
    s.range(range.src(), range.src_count(), range.dst(), range.dst_count(), a.dtype());
  });
  s.value("padding", a.padding());
  s.value("permutation", a.permutation());
  s.value("origin", a.origin());
}

template <typename S> void describe(const artifact::Send &a, S &s) {
  s.value("channel", a.channel());
  s.peer("peer", a.group(), a.peer());
  s.operand("buffer", Role::Read, a.buffer());
  s.value("gathered", a.gathered());
  s.value("origin", a.origin());
}

template <typename S> void describe(const artifact::Receive &a, S &s) {
  s.value("channel", a.channel());
  s.peer("peer", a.group(), a.peer());
  s.operand("buffer", Role::Written, a.buffer());
  s.value("gathered", a.gathered());
  s.value("origin", a.origin());
}

template <typename S> void describe(const artifact::Copy &a, S &s) {
  s.operand("src", Role::Read, a.src());
  s.operand("dst", Role::Written, a.dst());
}

template <typename S> void describe(const artifact::Fill &a, S &s) {
  s.operand("dst", Role::Written, a.dst());
  s.value("value", a.value());
}

template <typename S> void describe(const artifact::ScatterAdd &a, S &s) {
  s.operand("indices", Role::Read, a.indices());
  s.operand("updates", Role::Read, a.updates());
  s.operand("offset", Role::Read, a.offset());
  s.operand("dst", Role::Written, a.dst());
  s.value("outer", a.outer());
  s.value("count", a.count());
  s.value("inner", a.inner());
  s.value("size", a.size());
}

template <typename S> void describe(const artifact::UpdateSlice &a, S &s) {
  s.operand("src", Role::Read, a.src());
  s.operand("update", Role::Read, a.update());
  s.operand("start", Role::Read, a.start());
  s.operand("dst", Role::Written, a.dst());
  s.value("outer", a.outer());
  s.value("extent", a.extent());
  s.value("inner", a.inner());
  s.value("size", a.size());
}

template <typename S> void describe(const artifact::Attention &a, S &s) {
  const Role result = a.backward() ? Role::Read : Role::Written;
  s.value("backward", a.backward());
  s.operand("query", Role::Read, a.query());
  s.operand("key", Role::Read, a.key());
  s.operand("value", Role::Read, a.value());
  s.operand("result", result, a.result());
  s.operand("log_sum", result, a.log_sum());
  s.operand("result_gradient", Role::Read, a.result_gradient());
  s.operand("query_gradient", Role::Written, a.query_gradient());
  s.operand("key_gradient", Role::Written, a.key_gradient());
  s.operand("value_gradient", Role::Written, a.value_gradient());
  s.value("heads", a.heads());
  s.value("causal", a.causal());
  s.value("scale", a.scale());
}

template <typename S> void describe(const artifact::While &a, S &s) {
  s.operand("predicate", Role::Read, a.predicate());
  s.value("test_steps", a.test_steps());
  s.value("body_steps", a.body_steps());
  s.value("rounds", a.rounds());
  s.value("counted", a.counted());
}

template <typename S> void describe(const artifact::If &a, S &s) {
  s.operand("predicate", Role::Read, a.predicate());
  s.value("then_steps", a.then_steps());
  s.value("else_steps", a.else_steps());
}

/// describe() of the action of a step. An action that lacks one does not compile.
template <typename S> void describe(const artifact::Step &step, S &s) {
  visit(step, [&](const auto &action) { describe(action, s); });
}

} // namespace dgc::rt
