// The syntax that attributes of several kinds share.

#ifndef DGC_DIALECTS_DIST_ATTRIBUTESYNTAX_H
#define DGC_DIALECTS_DIST_ATTRIBUTESYNTAX_H

#include "dialects/MLIR.h"
#include "dialects/dist/Dist.h"

namespace dgc::dist {

inline ParseResult parseString(AsmParser &parser, StringAttr &value) {
  std::string text;
  if (parser.parseString(&text))
    return failure();
  value = StringAttr::get(parser.getContext(), text);
  return success();
}

inline ParseResult parseReduction(AsmParser &parser, Reduction &kind) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Reduction> parsed = symbolizeReduction(keyword);
  if (!parsed)
    return parser.emitError(loc) << "unknown reduction '" << keyword << "'; expected sum, product, max or min";
  kind = *parsed;
  return success();
}

} // namespace dgc::dist

#endif // DGC_DIALECTS_DIST_ATTRIBUTESYNTAX_H
