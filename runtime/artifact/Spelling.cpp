#include "runtime/artifact/Spelling.h"

#include "runtime/base/Printable.h"
#include "runtime/base/Status.h"

#include "absl/strings/str_format.h"

#include <cmath>

using namespace dgc;

std::string rt::spelledProbability(double bits) { return absl::StrFormat("2^-%.1f", std::floor(bits * 10) / 10); }

std::string rt::spelled(const artifact::Verified &record) {
  return str("equal to SHA-256 ", spelled(*record.model()),
             " of the model, a difference is missed with a probability below ", spelledProbability(record.bits()), "; ",
             counted(record.runs(), "run"), ", ", counted(static_cast<int64_t>(record.values()), "value"), ", seed ",
             record.seed(), record.producer() ? str(", by ", printable(record.producer()->string_view())) : "");
}
