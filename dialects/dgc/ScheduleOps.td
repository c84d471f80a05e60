// Schedules of learning rates: how they are written, and the rate of a step.

#ifndef DGC_SCHEDULE_OPS_TD
#define DGC_SCHEDULE_OPS_TD

include "dialects/dgc/Composite.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def DGC_ScheduleDefOp : Op<DGC_Dialect, "schedule_def", [
    IsolatedFromAbove, Symbol, HasParent<"::mlir::ModuleOp">, SingleBlockImplicitTerminator<"ReturnOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a learning rate, as a function of the step";
  let description = [{
    ```mlir
    dgc.schedule_def @inverse_root(%rate, %step)
        parameters ("offset" %offset integer in [1, inf), "power" %power = 0.5 in (0.0, inf)) {
      %t = dgc.convert %step to f32
      %after = dgc.add %t, %offset
      %part = dgc.divide %offset, %after
      %slower = dgc.power %part, %power
      %y = dgc.multiply %rate, %slower
      dgc.return %y
    }
    ```

    It is declared next to the model, whose `dgc.optimizer sgd learning_rate 0.1 @inverse_root(offset 100) warm_up 10` gives
    the values of its parameters. `%rate` is the number that the model gives, `%step` the number of the step from 0 on, an i64
    scalar; with `warm_up N` it is counted from the end of the warm-up. `dgc.return` gives the learning rate, a number or a
    scalar float, which becomes an f32.

    - Parameters are those of a `dgc.optimizer_def`. One without `= VALUE` must be given. An `integer` is an i64 among integers,
      and is given without a decimal point.
    - What is computed of numbers alone, as `%rate` is one, is a number, in f64. A `dgc.select` by such a truth is one of its
      operands, and the other is not computed.

    Its ops are those of a model without variables; it may call blocks. The schedules of the language are written so, in
    `dialects/dgc/Schedules.mlir`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypedArrayAttrBase<DGC_ParameterAttr, "parameters">:$parameters);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of arguments before parameters.
    static constexpr unsigned firstParameter = 2;
  }];
}

def DGC_LearningRateOp : DGC_CompositeOp<"learning_rate", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the learning rate of a training step";
  let description = [{
    `%lr = dgc.learning_rate %step 0.1 cosine steps 1000 final 0.0`: an f32 scalar. Is the body of the `dgc.schedule_def`, with
    the fields as its parameters; see there.
  }];
  let arguments = (ins DGC_StepScalar:$step, DGC_ScheduleAttr:$schedule);
  let results = (outs DGC_FloatTensor:$result);
  let assemblyFormat = "$step custom<Schedule>($schedule) attr-dict";
}

#endif // DGC_SCHEDULE_OPS_TD
