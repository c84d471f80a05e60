// The check of one action, as its parts share it.
#pragma once

#include "runtime/artifact/Check.h"
#include "runtime/artifact/DeviceTraits.h"
#include "runtime/artifact/Enums.h"
#include "runtime/artifact/Groups.h"
#include "runtime/base/Status.h"

#include <initializer_list>
#include <string>

namespace dgc::rt {

inline absl::Status bad(const std::string &message) { return absl::InvalidArgumentError(message); }

template <typename T> uint32_t sizeOf(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

/// Multiplies counts of a description; false on overflow.
inline bool product(std::initializer_list<uint64_t> factors, uint64_t &result) {
  result = 1;
  for (uint64_t factor : factors)
    if (__builtin_mul_overflow(result, factor, &result))
      return false;
  return true;
}

/// The rules between the fields of each action. That its operands exist, as far as they are given, and that none of them is
/// written in constant memory was checked before.
class ActionCheck {
public:
  explicit ActionCheck(const ProgramContext &context) : context(context) {}

  absl::Status check(const artifact::KernelCall &call) const;
  absl::Status check(const artifact::Matmul &op) const;
  absl::Status check(const artifact::Convolution &op) const;
  absl::Status check(const artifact::Pool &op) const;
  absl::Status check(const artifact::Send &op) const;
  absl::Status check(const artifact::Receive &op) const;
  absl::Status check(const artifact::Copy &op) const;
  absl::Status check(const artifact::Fill &op) const;
  absl::Status check(const artifact::ScatterAdd &op) const;
  absl::Status check(const artifact::UpdateSlice &op) const;
  absl::Status check(const artifact::Collective &c) const;
  absl::Status check(const artifact::Attention &op) const;
  absl::Status check(const artifact::While &op) const;
  absl::Status check(const artifact::If &op) const;

  static uint64_t bytes(const artifact::Buffer &b) { return *checkedBytes(b.shape(), b.dtype()); }
  static bool overlap(const artifact::Buffer &x, const artifact::Buffer &y) {
    return x.space() == y.space() && x.offset() < y.offset() + bytes(y) && y.offset() < x.offset() + bytes(x);
  }

private:
  /// A buffer that a step names; null when the index is out of range.
  const artifact::Buffer *buffer(int64_t index) const {
    const auto &buffers = *context.program.buffers();
    return index >= 0 && index < buffers.size() ? buffers.Get(static_cast<uint32_t>(index)) : nullptr;
  }
  static uint64_t count(const artifact::Buffer &b) { return *checkedBytes(b.shape(), artifact::DType::I8); }

  /// `index` names an existing buffer (of `elements` elements of `dtype`).
  absl::Status operand(std::string_view what, int64_t index) const;
  absl::Status operand(std::string_view what, int64_t index, uint64_t elements, artifact::DType dtype) const;
  /// The workers of the program have products that compute more than their result.
  absl::Status hasEpilogues(std::string_view what) const {
    if (traitsOf(context.plan, context.program.group()).hasProductEpilogues)
      return absl::OkStatus();
    return bad(str(what, " is a part of products on GPUs only"));
  }
  /// `written` shares no byte with the buffer `read`.
  absl::Status apart(std::string_view what, int64_t written, int64_t read) const;
  /// The elements of a strided operand are inside of it, each once.
  absl::Status strides(std::string_view what, const flatbuffers::Vector<int64_t> *strides,
                       const flatbuffers::Vector<int64_t> *batch, uint64_t rows, uint64_t columns) const;
  absl::Status layout(const artifact::Matmul &op) const;
  absl::Status gradientParts(const artifact::Matmul &op) const;
  absl::Status postOps(const flatbuffers::Vector<flatbuffers::Offset<artifact::PostOp>> *ops, int64_t dst,
                       uint64_t channels) const;

  const ProgramContext &context;
};

} // namespace dgc::rt
