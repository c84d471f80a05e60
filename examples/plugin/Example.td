// The dialect, op and pass of the example plug-in.

#ifndef EXAMPLE_TD
#define EXAMPLE_TD

include "dialects/dgc/Elementwise.td"
include "mlir/Pass/PassBase.td"

def Example_Dialect : Dialect {
  let name = "example";
  let cppNamespace = "::example";
  let summary = "ops of the example plug-in";
}

// The class declares the types, the sharding rule and the cost; what is computed, and the gradient, are in Softsign.cpp.
def Example_SoftsignOp : DGC_UnaryOp<"softsign", DGC_FloatTensor, /*ulps=*/2, [DGC_Differentiable], /*flops=*/3> {
  let opDialect = Example_Dialect;
  let cppNamespace = Example_Dialect.cppNamespace;
  let summary = "x / (1 + |x|)";
  let description = "`%y = example.softsign %x`";
}

def ReportReplicatedPass : Pass<"example-report-replicated", "::mlir::ModuleOp"> {
  let summary = "name the variables that every worker holds as a whole";
  let description = [{
    A remark for each argument of an entry point that is a variable and has no dimension that is cut. It is for what the
    phase shard leaves, and changes nothing.
  }];
  let options = [Option<"atLeast", "at-least-bytes", "uint64_t", "0", "Only variables of so many bytes">];
}

#endif // EXAMPLE_TD
