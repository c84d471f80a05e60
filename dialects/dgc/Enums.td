// Enumerations that ops share. Generated into dialects/dgc/Enums.{h,cpp}.inc.

#ifndef DGC_ENUMS_TD
#define DGC_ENUMS_TD

include "mlir/IR/EnumAttr.td"
include "dialects/dgc/Base.td"

def DGC_ReductionKind : I32Enum<"ReductionKind", "how values are combined into one", [
    I32EnumCase<"Sum", 0, "sum">,
    I32EnumCase<"Product", 1, "product">,
    I32EnumCase<"Max", 2, "max">,
    I32EnumCase<"Min", 3, "min">,
    I32EnumCase<"And", 4, "and">,
    I32EnumCase<"Or", 5, "or">]> {
  let cppNamespace = "::dgc";
}
def DGC_ReductionKindAttr : EnumAttr<DGC_Dialect, DGC_ReductionKind, "reduction"> {
  let assemblyFormat = "$value";
}

def DGC_ComparisonDirection : I32Enum<"ComparisonDirection", "which relation to test", [
    I32EnumCase<"EQ", 0, "eq">,
    I32EnumCase<"NE", 1, "ne">,
    I32EnumCase<"LT", 2, "lt">,
    I32EnumCase<"LE", 3, "le">,
    I32EnumCase<"GT", 4, "gt">,
    I32EnumCase<"GE", 5, "ge">]> {
  let cppNamespace = "::dgc";
}
def DGC_ComparisonDirectionAttr : EnumAttr<DGC_Dialect, DGC_ComparisonDirection, "comparison"> {
  let assemblyFormat = "$value";
}

#endif // DGC_ENUMS_TD
