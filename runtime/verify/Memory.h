// An arena of a worker in the exact check: which values its bytes hold, and who wrote them.
#pragma once

#include "runtime/verify/Field.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace dgc::verify {

/// Who wrote a value.
struct Writer {
  uint64_t run = 0;  // of a program, counted from 1
  int32_t step = -1; // of the program; -1: it was there when the run began
  bool operator==(const Writer &) const = default;
};

class Memory {
public:
  /// From now on the bytes from `offset` hold `count` elements of `tensor`, the first of them `first`.
  void write(uint64_t offset, TensorRef tensor, size_t first, size_t count, Writer writer);

  /// What `count` elements of `type` from `offset` are in run `run`. Fails where a byte was not written, or was in an
  /// earlier run and not kept; where another value overwrote a part of an element; where elements are of another type.
  absl::StatusOr<TensorRef> read(uint64_t offset, reference::Type type, size_t count, uint64_t run) const;

  /// The same of memory that has gaps between its values, which are undefined.
  TensorRef readWithGaps(uint64_t offset, reference::Type type, size_t count, uint64_t run) const;

  /// What is in these bytes remains there for run `run`: a variable.
  void keep(uint64_t offset, uint64_t bytes, uint64_t run);

  /// Who wrote a byte; none where nobody did.
  std::optional<Writer> writerOf(uint64_t offset) const;

private:
  struct Cell {
    uint64_t end = 0; // byte behind it
    TensorRef tensor;
    size_t first = 0; // element of the tensor
    Writer writer;
  };
  using Cells = std::map<uint64_t, Cell>; // by their first byte; disjoint

  /// The cell that has the byte, or the next one.
  Cells::const_iterator from(uint64_t offset) const;
  void split(uint64_t offset);

  Cells cells;
};

/// Elements [first, first + count) of a tensor, put at element `to` of another of the same type.
void copyElements(const Tensor &from, size_t first, size_t count, Tensor &into, size_t to);

} // namespace dgc::verify
