#include "runtime/verify/Memory.h"

#include "runtime/base/Status.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::verify;
using rt::str;

void dgc::verify::copyElements(const Tensor &from, size_t first, size_t count, Tensor &into, size_t to) {
  auto copy = [&](const auto &source, auto &target) {
    std::copy_n(source.begin() + static_cast<ptrdiff_t>(first), count, target.begin() + static_cast<ptrdiff_t>(to));
  };
  if (from.isFloat()) {
    copy(from.p, into.p);
    copy(from.q, into.q);
    copy(from.f, into.f);
  } else {
    copy(from.i, into.i);
  }
  into.degree = std::max(into.degree, from.degree);
}

Memory::Cells::const_iterator Memory::from(uint64_t offset) const {
  auto at = cells.upper_bound(offset);
  if (at != cells.begin() && std::prev(at)->second.end > offset)
    --at;
  return at;
}

/// No cell goes across `offset` afterwards. A cut within an element leaves none of its bytes.
void Memory::split(uint64_t offset) {
  auto found = from(offset);
  if (found == cells.end() || found->first >= offset)
    return;
  auto at = cells.find(found->first);
  const uint64_t size = sizeOf(at->second.tensor->type), before = (offset - at->first) / size;
  const uint64_t behind = (offset - at->first + size - 1) / size;
  Cell rest = at->second;
  rest.first += behind;
  if (const uint64_t begin = at->first + behind * size; begin < rest.end)
    cells.emplace(begin, rest);
  at->second.end = at->first + before * size;
  if (at->second.end == at->first)
    cells.erase(at);
}

void Memory::write(uint64_t offset, TensorRef tensor, size_t first, size_t count, Writer writer) {
  if (count == 0)
    return;
  const uint64_t end = offset + count * sizeOf(tensor->type);
  split(offset);
  split(end);
  cells.erase(cells.lower_bound(offset), cells.lower_bound(end));
  cells[offset] = {end, std::move(tensor), first, writer};
}

absl::StatusOr<TensorRef> Memory::read(uint64_t offset, reference::Type type, size_t count, uint64_t run) const {
  const uint64_t size = sizeOf(type), end = offset + count * size;
  auto at = from(offset);
  std::shared_ptr<Tensor> joined;
  for (uint64_t next = offset; next < end;) {
    if (at == cells.end() || at->first > next)
      return absl::FailedPreconditionError(
          str("bytes from ", next, " are read, and nothing was written there",
              next > offset || (at != cells.end() && at->first < end) ? " (to other bytes of the value it was)" : ""));
    const Cell &cell = at->second;
    if (cell.tensor->type != type)
      return absl::FailedPreconditionError(str("bytes from ", next, " are read as ", EnumNameType(type),
                                               " and were written as ", EnumNameType(cell.tensor->type)));
    if ((next - at->first) % size != 0)
      return absl::FailedPreconditionError(str("bytes from ", next, " are in the middle of an element"));
    if (cell.writer.run != run)
      return absl::FailedPreconditionError(str("bytes from ", next,
                                               " are read before this run writes them: they are of run ",
                                               cell.writer.run, ", this is run ", run));
    const uint64_t stop = std::min(cell.end, end);
    const size_t first = cell.first + (next - at->first) / size, number = (stop - next) / size;
    if (next == offset && stop == end && first == 0 && number == cell.tensor->count)
      return cell.tensor;
    if (!joined)
      joined = Tensor::uninitialized(type, count);
    copyElements(*cell.tensor, first, number, *joined, (next - offset) / size);
    next = stop;
    ++at;
  }
  return joined ? TensorRef(joined) : std::make_shared<Tensor>(type, 0);
}

TensorRef Memory::readWithGaps(uint64_t offset, reference::Type type, size_t count, uint64_t run) const {
  const uint64_t size = sizeOf(type);
  if (absl::StatusOr<TensorRef> whole = read(offset, type, count, run); whole.ok())
    return *whole;
  std::shared_ptr<Tensor> result = Tensor::uninitialized(type, count);
  makeUndefined(*result, undefinedIn(run));
  auto at = from(offset);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t place = offset + i * size;
    while (at != cells.end() && at->second.end <= place)
      ++at;
    const bool isThere = at != cells.end() && at->first <= place && at->second.writer.run == run &&
                         at->second.tensor->type == type && (place - at->first) % size == 0;
    if (isThere)
      copyElements(*at->second.tensor, at->second.first + (place - at->first) / size, 1, *result, i);
  }
  return result;
}

void Memory::keep(uint64_t offset, uint64_t bytes, uint64_t run) {
  split(offset);
  split(offset + bytes);
  for (auto at = cells.lower_bound(offset); at != cells.end() && at->first < offset + bytes; ++at)
    at->second.writer.run = run;
}

std::optional<Writer> Memory::writerOf(uint64_t offset) const {
  auto at = from(offset);
  if (at == cells.end() || at->first > offset)
    return std::nullopt;
  return at->second.writer;
}
