// What the ops of the model language share.

#ifndef DGC_COMPOSITE_TD
#define DGC_COMPOSITE_TD

include "dialects/dgc/Attrs.td"

// An op of a model that declares something outside of the computation.
class DGC_ModelMemberOp<string mnemonic, list<Trait> traits = []>
    : Op<DGC_Dialect, mnemonic, !listconcat(traits, [HasParent<"ModelOp">])>;

// An op that is its decomposition, also for the gradient.
class DGC_CompositeOp<string mnemonic, list<Trait> traits = [], int numResults = 1>
    : DGC_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<DecomposableOpInterface>], traits), numResults>;

// A composite whose decomposition has a dgc.scan.
def DGC_DecomposesIntoScan : NativeOpTrait<"DecomposesIntoScan"> { let cppNamespace = "::dgc"; }

// A composite with a gradient of its own, better than that of the decomposition.
class DGC_KeptCompositeOp<string mnemonic, list<Trait> traits = [], int numResults = 1>
    : DGC_Op<mnemonic, !listconcat([
        DeclareOpInterfaceMethods<DecomposableOpInterface, ["keepForGradient"]>,
        DeclareOpInterfaceMethods<DifferentiableOpInterface>], traits), numResults> {
  let extraClassDefinition = inferredDefinition # [{
    bool $cppClass::keepForGradient() { return true; }
  }];
}

// A mean over the batch with an optional count of real examples, the operand `valid`.
class DGC_BatchMeanOp<string mnemonic, list<Trait> traits = []>
    : DGC_Op<mnemonic, !listconcat([
        DeclareOpInterfaceMethods<BatchMeanOpInterface>,
        DeclareOpInterfaceMethods<SizeDependentOpInterface, ["decomposeWithCount"]>], traits)> {
  code validDefinition = [{
    void $cppClass::setValidCount(::mlir::Value count) { getValidMutable().assign(count); }
  }];
  let extraClassDefinition = inferredDefinition # validDefinition;
}

#endif // DGC_COMPOSITE_TD
