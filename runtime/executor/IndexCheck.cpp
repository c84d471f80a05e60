// Looks at the elements of an input, all of them together first.
#include "runtime/executor/IndexCheck.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Status.h"

using namespace dgc::rt;

/// The first element that is not below `limit`; -1 if there is none. As unsigned numbers the negative ones are large.
template <typename T> static int64_t firstOutside(const InputView &input) {
  const T *values = reinterpret_cast<const T *>(input.memory.data());
  const int64_t count = static_cast<int64_t>(input.memory.size() / sizeof(T));
  uint64_t outside = 0;
  for (int64_t i = 0; i < count; ++i)
    outside |= static_cast<uint64_t>(static_cast<uint64_t>(values[i]) >= input.indexLimit);
  if (!outside)
    return -1;
  const std::vector<int64_t> &extents = input.slice.extents();
  for (int64_t i = 0; i < count; ++i) {
    if (static_cast<uint64_t>(values[i]) < input.indexLimit)
      continue;
    bool padding = false;
    int64_t rest = i;
    for (size_t d = extents.size(); d-- > 0; rest /= extents[d])
      padding |= rest % extents[d] >= input.slice.sizes[d];
    if (!padding)
      return i;
  }
  return -1;
}

template <typename T> static absl::Status check(const InputView &input) {
  const int64_t at = firstOutside<T>(input);
  if (at < 0)
    return absl::OkStatus();
  const std::vector<int64_t> &extents = input.slice.extents();
  std::string place;
  int64_t rest = at;
  for (size_t d = extents.size(); d-- > 0; rest /= extents[d])
    place = str(rest % extents[d] + input.slice.offsets[d], place.empty() ? "" : ", ", place);
  const T value = reinterpret_cast<const T *>(input.memory.data())[at];
  return withExitCode(
      absl::OutOfRangeError(str("input '", input.name, "' is ",
                                std::is_signed_v<T> ? str(int64_t(value)) : str(uint64_t(value)), " at [", place,
                                "], and chooses one of ", input.indexLimit, ": 0 to ", input.indexLimit - 1,
                                " are accepted. Prepare the data again, or give the model a table of as "
                                "many rows (for labels: as many classes) as there are numbers")),
      ExitCode::BadData);
}

absl::Status dgc::rt::checkIndices(const InputView &input) {
  if (input.indexLimit == 0)
    return absl::OkStatus();
  return visit(input.dtype, [&](auto element) {
    if constexpr (decltype(element)::isInteger)
      return check<typename decltype(element)::Stored>(input);
    else
      return absl::OkStatus();
  });
}
