// Layers that are written once: repeated, or called by name.

#ifndef DGC_BLOCK_OPS_TD
#define DGC_BLOCK_OPS_TD

include "dialects/dgc/Composite.td"
include "mlir/IR/SymbolInterfaces.td"

def DGC_RepeatOp : Op<DGC_Dialect, "repeat", [
    ParentOneOf<["ModelOp", "RepeatOp", "BlockOp", "OptimizerDefOp", "ScheduleDefOp"]>,
    SingleBlockImplicitTerminator<"NextOp">]> {
  let summary = "the same layers several times, with variables of their own";
  let description = [{
    ```mlir
    %y = dgc.repeat 4 "layer" (%h = %x) {
      %w = dgc.variable "w" glorot_uniform : tensor<128x128xf32>
      %z = dgc.dense %h, %w
      %next = dgc.relu %z
      dgc.next %next
    }
    ```

    The body runs four times: with `%h` as `%x` first, then as what `dgc.next` gave it; the result is the last of these.
    Each round has variables of its own: `layer.0.w` to `layer.3.w`. A variable from outside is shared by all rounds.
    Several values go around as `(%a = %x, %b = %y)` and `dgc.next %c, %d`. A repeat may be inside another.
    `dgc-unroll-repeats` writes the rounds out.
  }];
  let arguments = (ins I64Attr:$count, StrAttr:$name, Variadic<DGC_Untyped>:$inputs);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<DGC_Untyped>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def DGC_NextOp : Op<DGC_Dialect, "next", [HasParent<"RepeatOp">, Terminator]> {
  let summary = "what the next round of a repeat begins with";
  let description = "`dgc.next %h`";
  let arguments = (ins Variadic<DGC_Untyped>:$values);
  let assemblyFormat = "($values^)? attr-dict";
  let builders = [OpBuilder<(ins), [{ (void)$_builder; }]>];
}

def DGC_BlockOp : Op<DGC_Dialect, "block", [
    IsolatedFromAbove, Symbol, HasParent<"::mlir::ModuleOp">, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "layers that a model calls by name";
  let description = [{
    ```mlir
    dgc.block @layer(%x) {
      %w = dgc.variable "w" glorot_uniform : tensor<128x128xf32>
      %z = dgc.dense %x, %w
      %y = dgc.relu %z
      dgc.return %y
    }
    ```

    Is declared next to the model. Each `dgc.call` is a copy of it, with variables of its own. It may call other blocks, but
    not itself.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def DGC_ReturnOp : Op<DGC_Dialect, "return", [ParentOneOf<["BlockOp", "OptimizerDefOp", "ScheduleDefOp"]>, Terminator]> {
  let summary = "what a call of a block, an optimizer or a schedule gives";
  let description = "`dgc.return %y`";
  let arguments = (ins Variadic<DGC_Untyped>:$values);
  let assemblyFormat = "($values^)? attr-dict";
  let builders = [OpBuilder<(ins), [{ (void)$_builder; }]>];
}

def DGC_CallOp : Op<DGC_Dialect, "call", [
    ParentOneOf<["ModelOp", "RepeatOp", "BlockOp", "OptimizerDefOp", "ScheduleDefOp"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the layers of a block";
  let description = [{
    ```mlir
    %a = dgc.call @layer "first" (%x)
    %b = dgc.call @layer "second" (%a)
    ```

    Each call has variables of its own: `first.w` and `second.w`. What is to be shared is a variable of the model, and
    given to both. Of a block that returns several values they are `%p:2 = dgc.call ..`. `dgc-inline-calls` writes calls
    out.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, StrAttr:$name, Variadic<DGC_Untyped>:$inputs);
  let results = (outs Variadic<DGC_Untyped>:$results);
  let hasCustomAssemblyFormat = 1;
}

#endif // DGC_BLOCK_OPS_TD
