// What an op of an exec program says of itself to the writer of artifacts.

#ifndef DGC_PACKAGE_OP_INTERFACE_TD
#define DGC_PACKAGE_OP_INTERFACE_TD

include "mlir/IR/OpBase.td"

def PackageOpInterface : OpInterface<"PackageOpInterface"> {
  let cppNamespace = "::dgc";
  let description = [{
    An op that an artifact can hold. The ops of the exec dialect have it from outside (Declarations.cpp, Steps.cpp):
    the dialect does not know the schema.
  }];
  let methods = [
    InterfaceMethod<"Adds the op to the program being written; what cannot be written is reported on the op.",
                    "::llvm::LogicalResult", "package", (ins "::dgc::ProgramWriter &":$writer)>,
  ];
}

#endif // DGC_PACKAGE_OP_INTERFACE_TD
