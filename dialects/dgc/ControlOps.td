// Loops and branches that are decided when the program runs.

#ifndef DGC_CONTROL_OPS_TD
#define DGC_CONTROL_OPS_TD

include "dialects/dgc/Base.td"

// An op whose regions are parts of the program: kernels are formed in them, and the artifact has them as steps.
def DGC_ControlFlow : NativeOpTrait<"ControlFlow"> { let cppNamespace = "::dgc"; }

// Regions take all that they need as arguments.
class DGC_ControlOp<string mnemonic, list<Trait> traits = []>
    : Op<DGC_Dialect, mnemonic, !listconcat(traits, [
        DGC_ControlFlow, IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects, RecursivelySpeculatable,
        DeclareOpInterfaceMethods<TypesFromContextOpInterface, ["inferTypesInside", "inferResultTypes"]>,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
        DeclareOpInterfaceMethods<LocalizableOpInterface>,
        DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>])> {
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def DGC_WhileOp : DGC_ControlOp<"while", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<RegionTiesOpInterface, ["addInvariant", "getNumRuns"]>]> {
  let summary = "a loop that goes on as long as a condition holds";
  let description = [{
    ```mlir
    %zero = dgc.constant dense<0> : tensor<i32>
    %n, %y = dgc.while (%i = %zero, %h = %x) with (%m = %matrix) {
      %more = dgc.compare lt %i, 10
      dgc.condition %more
    } do {
      %next = dgc.matmul %h, %m
      %j = dgc.add %i, 1
      dgc.yield %j, %next
    }
    ```

    `%i` and `%h` are carried from round to round, as `%zero` and `%x` first, then as what `dgc.yield` gives; the results are
    the last of them. `%m` is the same in all rounds. Both regions see all of these and nothing else from outside. The types of
    what is carried do not change.

    `dgc.while rounds 10 (..)` says how many rounds there are, for what counts them: reports of communication, costs. It has
    to be true.

    The loop is one in the artifact, too. The ops in it are cut over devices as those outside are: shardings propagate into
    both regions and from round to round, and what devices need of each other is communicated in every round, or once before
    the loop where it is the same in all rounds. A sum that is carried from zeros on is combined once, behind the loop. The
    condition is whole, and computed by every device; so all of them do the same number of rounds, which
    dgc-verify-communicate proves wherever a round communicates. A loop has no gradient; `dgc.scan`, whose number of rounds is
    known, has.
  }];
  let arguments = (ins Variadic<DGC_Tensor>:$carried, Variadic<DGC_Tensor>:$invariants,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$rounds);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let results = (outs Variadic<DGC_Tensor>:$results);
  let hasCanonicalizeMethod = 1;
}

def DGC_IfOp : DGC_ControlOp<"if", [
    DeclareOpInterfaceMethods<RegionTiesOpInterface>, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "one of two computations";
  let description = [{
    ```mlir
    %y = dgc.if %large (%a = %x) {
      %half = dgc.multiply %a, 0.5
      dgc.yield %half
    } else {
      dgc.yield %a
    }
    ```

    Computes the first region where the predicate, an i1 scalar, holds, else the second, and gives what `dgc.yield` has there.
    Both see the arguments, here `%a`, and nothing else from outside. `dgc.select` chooses element by element among what is
    computed already. As to devices it is as `dgc.while`. Its gradient computes the branch that was taken again.
  }];
  let arguments = (ins DGC_PredTensor:$predicate, Variadic<DGC_Tensor>:$inputs);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let results = (outs Variadic<DGC_Tensor>:$results);
}

def DGC_ScanOp : DGC_ControlOp<"scan", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<RegionTiesOpInterface, ["addInvariant", "getNumRuns"]>,
    DeclareOpInterfaceMethods<DecomposableOpInterface, ["keepForGradient"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "a loop over the slices of tensors";
  let description = [{
    ```mlir
    %last, %states = dgc.scan (%h = %start) over (%x = %inputs) with (%w = %weights) dim 1 {
      %z = dgc.matmul %h, %w
      %s = dgc.add %z, %x
      %next = dgc.tanh %s
      dgc.yield %next, %next
    }
    ```

    There is a round for each slice along dimension 1 of `%inputs`, [32, 100, 64] say, in which `%x` is that slice, [32, 64];
    without `dim` it is dimension 0. `%h` is `%start` in the first round, and then what the round before gave. `dgc.yield`
    gives the next value of all that is carried, and then slices of further results: `%states` is [32, 100, 64] with all of
    them. `%w` is the same in all rounds. With `reverse` the rounds go from the last slice to the first one, and each result
    is at the place of the slice that it was made with. Without anything after `over`, `count 10` says how many rounds there
    are.

    It is a `dgc.while`, and differs from that in having a gradient: a scan in the other direction. What that needs of each
    round is kept: what is carried, and what products and other costly ops gave (the last `saved` results, for a scan that
    `saves`); the rest is computed again. The gradient of a scan that `recomputes` keeps what is carried and nothing else, and
    computes each round again: the rounds of such a scan are scans themselves, for which dgc-block-scans makes it.
  }];
  let arguments = (ins Variadic<DGC_Tensor>:$carried, Variadic<DGC_Tensor>:$scanned, Variadic<DGC_Tensor>:$invariants,
                       DefaultValuedAttr<I64Attr, "0">:$dimension, UnitAttr:$reverse, OptionalAttr<I64Attr>:$count,
                       UnitAttr:$saves, DefaultValuedAttr<I64Attr, "0">:$saved, UnitAttr:$recomputes);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<DGC_Tensor>:$results);
  let extraClassDeclaration = [{
    int64_t getNumRounds();
    /// The arguments of the region.
    ::mlir::Block::BlockArgListType carriedInside() { return getBody().getArguments().take_front(getCarried().size()); }
    ::mlir::Block::BlockArgListType scannedInside() {
      return getBody().getArguments().slice(getCarried().size(), getScanned().size());
    }
    ::mlir::Block::BlockArgListType invariantsInside() {
      return getBody().getArguments().drop_front(getCarried().size() + getScanned().size());
    }
    /// The values that the region yields: those carried on, and slices of the other results.
    ::mlir::OperandRange carriedOn();
    ::mlir::OperandRange slicesGiven();
  }];
}

def DGC_SavedOp : Op<DGC_Dialect, "saved", [
    Pure, SameOperandsAndResultType, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "a value that was computed before and kept";
  let description = [{
    `%y = dgc.saved %kept, %computed : tensor<4xf32>`: both are the same numbers. It is `%kept`, and its gradient is that of
    `%computed`, which need not be computed then. The gradient of `dgc.scan` has it while it is built.
  }];
  let arguments = (ins DGC_Tensor:$kept, DGC_Tensor:$computed);
  let results = (outs DGC_Tensor:$result);
  let assemblyFormat = "$kept `,` $computed attr-dict `:` type($result)";
}

class DGC_ControlTerminator<string mnemonic, list<Trait> traits>
    : Op<DGC_Dialect, mnemonic, !listconcat(traits, [Pure, Terminator])>;

def DGC_ConditionOp : DGC_ControlTerminator<"condition", [HasParent<"WhileOp">]> {
  let summary = "whether a loop goes on";
  let description = "`dgc.condition %more`, an i1 scalar.";
  let arguments = (ins DGC_PredTensor:$predicate);
  let assemblyFormat = "$predicate attr-dict custom<OperandTypes>(type($predicate))";
}

def DGC_YieldOp : DGC_ControlTerminator<"yield", [ParentOneOf<["WhileOp", "IfOp", "ScanOp"]>]> {
  let summary = "what a round of a loop, or a branch, gives";
  let description = "`dgc.yield %i, %h`";
  let arguments = (ins Variadic<DGC_Tensor>:$values);
  let assemblyFormat = "($values^)? attr-dict custom<OperandTypes>(type($values), ref($values))";
}

#endif // DGC_CONTROL_OPS_TD
