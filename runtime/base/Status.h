// Helpers on absl::Status. Every call of the runtime that can fail returns one;
// context is added while unwinding.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace dgc::rt {

namespace detail {
inline absl::string_view forCat(std::string_view text) { return {text.data(), text.size()}; }
inline absl::string_view forCat(const std::string &text) { return text; }
inline const char *forCat(const char *text) { return text; }
template <typename T>
  requires std::is_arithmetic_v<T>
T forCat(T value) {
  return value;
}
inline absl::string_view forCat(absl::string_view text) { return text; }
} // namespace detail

/// absl::StrCat that takes std::string_view too (Debian's absl has a type of
/// its own for that).
template <typename... Args> std::string str(const Args &...args) { return absl::StrCat(detail::forCat(args)...); }

/// "1 step", "3 steps".
inline std::string counted(int64_t n, std::string_view what) { return str(n, " ", what, n == 1 ? "" : "s"); }

/// `status` with "context: " in front of its message. Code and payloads stay.
/// An OK status stays OK.
absl::Status annotate(const absl::Status &status, std::string_view context);

/// The message of a failed system call: "context: No such file or directory".
/// `error` is an errno value.
absl::Status errnoStatus(int error, std::string_view context);

} // namespace dgc::rt

#define DGC_STATUS_CONCAT_(a, b) a##b
#define DGC_STATUS_CONCAT(a, b) DGC_STATUS_CONCAT_(a, b)

/// Returns from the enclosing function when `expr` (an absl::Status) is not OK.
#define DGC_RETURN_IF_ERROR(expr)                                                                                      \
  do {                                                                                                                 \
    if (absl::Status dgcStatus = (expr); !dgcStatus.ok())                                                              \
      return dgcStatus;                                                                                                \
  } while (false)

/// `DGC_ASSIGN_OR_RETURN(auto x, f())`: declares or assigns x from a StatusOr,
/// or returns its status.
#define DGC_ASSIGN_OR_RETURN(lhs, expr) DGC_ASSIGN_OR_RETURN_(DGC_STATUS_CONCAT(dgcStatusOr, __LINE__), lhs, expr)
#define DGC_ASSIGN_OR_RETURN_(tmp, lhs, expr)                                                                          \
  auto tmp = (expr);                                                                                                   \
  if (!tmp.ok())                                                                                                       \
    return std::move(tmp).status();                                                                                    \
  lhs = *std::move(tmp)
