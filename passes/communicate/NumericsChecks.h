// Which values programs check for numbers that are not finite, as an option.

#ifndef DGC_PASSES_COMMUNICATE_NUMERICSCHECKS_H
#define DGC_PASSES_COMMUNICATE_NUMERICSCHECKS_H

#include "passes/analysis/OptionTypes.h"

namespace dgc {

/// None; what a step gives, and the gradients; or the values of every op.
enum class NumericsChecks { Off, Results, EveryOp };
template <> struct EnumNames<NumericsChecks> {
  static constexpr EnumValue<NumericsChecks> all[] = {
      {NumericsChecks::Off, "off"}, {NumericsChecks::Results, "results"}, {NumericsChecks::EveryOp, "every-op"}};
};

} // namespace dgc

namespace llvm::cl {

/// The option without a value asks for results.
template <> class parser<dgc::NumericsChecks> : public basic_parser<dgc::NumericsChecks> {
public:
  using basic_parser<dgc::NumericsChecks>::basic_parser;
  bool parse(Option &option, StringRef, StringRef text, dgc::NumericsChecks &value) {
    std::optional<dgc::NumericsChecks> parsed = dgc::fromName<dgc::NumericsChecks>(text.empty() ? "results" : text);
    if (!parsed)
      return option.error("'" + text + "': " + dgc::listNames<dgc::NumericsChecks>() + " is expected");
    value = *parsed;
    return false;
  }
  ValueExpected getValueExpectedFlagDefault() const { return ValueOptional; }
  void printOptionDiff(const Option &, dgc::NumericsChecks, const OptionValue<dgc::NumericsChecks> &, size_t) const {}
  StringRef getValueName() const override { return "name"; }
  void anchor() override {}
};

} // namespace llvm::cl

#endif // DGC_PASSES_COMMUNICATE_NUMERICSCHECKS_H
