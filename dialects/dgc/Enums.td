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
  let cppNamespace = "::mlir::dgc";
}
def DGC_ReductionKindAttr : EnumAttr<DGC_Dialect, DGC_ReductionKind, "reduction"> {
  let assemblyFormat = "$value";
}

#endif // DGC_ENUMS_TD
