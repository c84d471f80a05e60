// What all communication has in common.

#ifndef DIST_INTERFACES_TD
#define DIST_INTERFACES_TD

include "mlir/IR/OpBase.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::dgc::dist";
  let description = "A collective over the groups that axes of a mesh span.";
  let methods = [
    InterfaceMethod<"The mesh.", "::mlir::FlatSymbolRefAttr", "getMeshAttr">,
    InterfaceMethod<"The axes, the major one first.", "::mlir::ArrayAttr", "getAxes">,
    InterfaceMethod<"What caused it, for people, a list of strings; may be null.", "::mlir::ArrayAttr", "getOriginsAttr">,
    InterfaceMethod<"What it does to its operands.", "::dgc::dist::CollectiveDescription", "describe">,
  ];
}

def TransferOpInterface : OpInterface<"TransferOpInterface"> {
  let cppNamespace = "::dgc::dist";
  let description = "One end of a transfer between two devices.";
  let methods = [
    InterfaceMethod<"Matches the two ends.", "uint64_t", "getChannel">,
    InterfaceMethod<"The mesh that sends.", "::mlir::FlatSymbolRefAttr", "getSourceAttr">,
    InterfaceMethod<"The mesh that receives.", "::mlir::FlatSymbolRefAttr", "getTargetAttr">,
    InterfaceMethod<"Whether this is the end that sends.", "bool", "isSend", (ins), [{}], [{
      return $_op->getNumResults() == 0;
    }]>,
    InterfaceMethod<"Whether each device of the mesh that sends has a part of what is received.", "bool", "getGathered">,
    InterfaceMethod<"The type of what is transferred.", "::mlir::RankedTensorType", "getTransferType", (ins), [{}], [{
      return ::llvm::cast<::mlir::RankedTensorType>(
          $_op->getNumResults() ? $_op->getResult(0).getType() : $_op->getOperand(0).getType());
    }]>,
    InterfaceMethod<"What caused it, for people, a list of strings; may be null.", "::mlir::ArrayAttr", "getOriginsAttr">,
  ];
}

#endif // DIST_INTERFACES_TD
