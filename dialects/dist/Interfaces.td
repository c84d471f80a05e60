// What all communication has in common.

#ifndef DIST_INTERFACES_TD
#define DIST_INTERFACES_TD

include "mlir/IR/OpBase.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = "A collective over the groups that axes of a mesh span.";
  let methods = [
    InterfaceMethod<"The mesh.", "::mlir::FlatSymbolRefAttr", "getMeshAttr">,
    InterfaceMethod<"The axes, the major one first.", "::mlir::ArrayAttr", "getAxes">,
    InterfaceMethod<"What caused it, for people; may be null.", "::mlir::StringAttr", "getOriginAttr">,
  ];
}

def TransferOpInterface : OpInterface<"TransferOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = "One end of a transfer between two devices.";
  let methods = [
    InterfaceMethod<"Matches the two ends.", "uint64_t", "getChannel">,
    InterfaceMethod<"The mesh that sends.", "::mlir::FlatSymbolRefAttr", "getSourceAttr">,
    InterfaceMethod<"The mesh that receives.", "::mlir::FlatSymbolRefAttr", "getTargetAttr">,
    InterfaceMethod<"What caused it, for people; may be null.", "::mlir::StringAttr", "getOriginAttr">,
  ];
}

#endif // DIST_INTERFACES_TD
