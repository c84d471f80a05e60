// A verdict as text.

#include "runtime/artifact/Spelling.h"
#include "runtime/artifact/Writer.h"
#include "runtime/base/Status.h"
#include "runtime/base/Version.h"
#include "runtime/verify/Check.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <functional>
#include <set>

namespace dgc::verify {

std::string describe(const CheckResult &verdict) {
  if (!verdict.isEqual()) {
    return rt::str("not equal: ", verdict.difference, "\n");
  }
  std::string text =
      rt::str("equal: a difference is missed with a probability below ", rt::spelledProbability(verdict.bits), "\n");
  for (const CheckResult::Program &program : verdict.programs) {
    const std::set<int64_t, std::greater<>> counts(program.validCounts.begin(), program.validCounts.end());
    text += rt::str("  ", program.name, ": ", rt::counted(program.runs, "run"));
    if (counts != std::set<int64_t, std::greater<>>{0}) // of a model with a batch
      text += rt::str(" with ", absl::StrJoin(counts, " or "), " examples");
    text += "\n";
  }
  text += rt::str("  ", rt::counted(verdict.workers, "worker"), ", ", verdict.values, " values compared, of degree ");
  text += absl::StrFormat("%.0f at most\n", verdict.degree);
  if (verdict.integersBelow > 0)
    text += rt::str("  numbers are positive here, and integers that nothing is known of below ", verdict.integersBelow,
                    ": for others the model gives no finite number\n");
  text += rt::str("  ", verdict.functions, " values of functions that are random here\n");
  return text;
}

artifact::VerifiedT recordOf(const CheckResult &verdict, const CheckOptions &options, std::string_view modelText) {
  artifact::VerifiedT record;
  record.model = std::make_unique<artifact::Digest>(
      rt::digestOf(reinterpret_cast<const uint8_t *>(modelText.data()), modelText.size()));
  record.bits = verdict.bits;
  record.runs = static_cast<uint32_t>(options.runs);
  record.values = verdict.values;
  record.seed = options.seed;
  record.producer = "dgc " DGC_VERSION;
  return record;
}

} // namespace dgc::verify
