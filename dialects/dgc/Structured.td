// What the reductions, products, convolutions and windows have in common.

#ifndef DGC_STRUCTURED_TD
#define DGC_STRUCTURED_TD

include "dialects/dgc/Base.td"

// An op that is a kernel by itself, or a call of the device's library: it has loops of its own that nothing else should
// be computed in.
def DGC_StandaloneKernel : NativeOpTrait<"StandaloneKernel"> { let cppNamespace = "::dgc"; }

class DGC_StructuredOp<string mnemonic, list<Trait> traits = []>
    : DGC_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["isLinearIn"]>,
        DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>,
        DeclareOpInterfaceMethods<LinalgLowerableOpInterface>])>;

// A list of integers, one per dimension; an empty list stands for a default in each of them.
def DGC_DimList : DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">;

#endif // DGC_STRUCTURED_TD
