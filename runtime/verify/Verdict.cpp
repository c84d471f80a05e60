// A verdict as text.

#include "runtime/base/Status.h"
#include "runtime/verify/Check.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace dgc::verify {

std::string describe(const Verdict &verdict) {
  if (!verdict.isEqual()) {
    return rt::str("not equal: ", verdict.difference, "\n");
  }
  std::string text = absl::StrFormat("equal: a difference is missed with a probability below 2^-%.1f\n", verdict.bits);
  for (const Verdict::Program &program : verdict.programs) {
    text += rt::str("  ", program.name, ": ", rt::counted(program.runs, "run"), " with ",
                    absl::StrJoin(program.validCounts, ", "), " examples\n");
  }
  text += rt::str("  ", rt::counted(verdict.workers, "worker"), ", ", verdict.values, " values compared, of degree ");
  text += absl::StrFormat("%.0f at most\n", verdict.degree);
  text += rt::str("  ", verdict.functions, " values of functions that are random here, ", verdict.exponentials,
                  " of them exponentials, for which no such bound is known\n");
  return text;
}

} // namespace dgc::verify
