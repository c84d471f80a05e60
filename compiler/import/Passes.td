// Passes that make a dgc program of an imported one.

#ifndef DGC_IMPORT_PASSES_TD
#define DGC_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def InlineImportedPass : Pass<"dgc-inline-imported", "::mlir::ModuleOp"> {
  let summary = "write out the calls of an imported program";
  let description = [{
    Input: a module of StableHLO. Output: its public function alone, `@main` where there are several, in which each
    `func.call` and each `stablehlo.composite` is replaced by a copy of what the function does that it names. A composite
    of a name that the dialect chlo has (`chlo.erf`, `chlo.top_k`) becomes that op. A function that calls itself is an
    error.

    ```mlir
    func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = call @relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    func.func private @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.maximum %x, %zero : tensor<4xf32>
      return %y : tensor<4xf32>
    }
    // becomes
    func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.maximum %x, %zero : tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::dgc::stablehlo::StableHLODialect", "::dgc::chlo::ChloDialect"];
  let statistics = [Statistic<"numInlined", "inlined", "Calls and composites written out">];
}

def MhloShardingsToSdyPass : Pass<"dgc-mhlo-shardings-to-sdy", "::mlir::ModuleOp"> {
  let summary = "write shardings of XLA as those of one mesh";
  let description = [{
    `mhlo.sharding` of arguments, results and ops, and `stablehlo.custom_call @Sharding`, as those of the dialect `sdy`, over a mesh
    that is made of all of them: an axis for each part of the numbers of devices that one of them cuts by, the major one first.
    What no mesh has is an error: a single device (`maximal`), cuts that do not fit together, and devices in another order than a
    transposed iota. Where there is `sdy.sharding` as well, that holds.

    What is between calls of `@SPMDFullToShardShape` and `@SPMDShardToFullShape` becomes a `sdy.manual_computation`, one for all ends
    that no begin is between. What it needs that depends on none of the begins, as constants, is copied into it, and the groups of
    devices of its collectives become axes, too. A value that is `manual` elsewhere is an error, and so are a computation in
    another one, and a constraint inside of one that cuts a value.

    ```mlir
    func.func @main(%w: tensor<6x4xf32> {mhlo.sharding = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"},
                    %x: tensor<8x6xf32> {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"})
    // becomes
    sdy.mesh @mesh = <["axis0"=2, "axis1"=2]>
    func.func @main(%w: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"axis1"} ]>},
                    %x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis0"}, {} ]>})
    ```

    ```mlir
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<8xf32>) -> tensor<8xf32>
    %2 = stablehlo.custom_call @SPMDFullToShardShape(%1) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
    %3 = stablehlo.tanh %2 : tensor<2xf32>
    %4 = stablehlo.custom_call @Sharding(%3) {mhlo.sharding = "{manual}"} : (tensor<2xf32>) -> tensor<2xf32>
    %5 = stablehlo.custom_call @SPMDShardToFullShape(%4) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<2xf32>) -> tensor<8xf32>
    // becomes
    %5 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"axis0"} ]>] out_shardings=[<@mesh, [{"axis0"} ]>] manual_axes={"axis0"} (%2: tensor<2xf32>) {
      %3 = stablehlo.tanh %2 : tensor<2xf32>
      sdy.return %3 : tensor<2xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::dgc::stablehlo::StableHLODialect"];
  let statistics = [Statistic<"numConverted", "converted", "Shardings written for the mesh">];
}

def TakeShardingsPass : Pass<"dgc-take-shardings", "::mlir::ModuleOp"> {
  let summary = "take meshes and shardings of an imported program as the user's";
  let description = [{
    Each `sdy.mesh` becomes a `dist.mesh` of its name, `sdy.sharding` of arguments and results `dist.sharding`,
    `sdy.sharding_constraint` a `dist.constraint`, and `sdy.manual_computation` a `dist.manual`; a priority is the round of propagation. What is said of a mesh without axes is left out. An
    axis that shardings use parts of becomes several, `x_0`, `x_1` .. Unreduced axes are an error.

    ```mlir
    sdy.mesh @mesh = <["data"=2]>
    func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {?} ]>}) -> tensor<8x4xf32>
    // becomes
    dist.mesh @mesh <data = 2>
    func.func @main(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {?} ]>}) -> tensor<8x4xf32>
    ```
  }];
  let dependentDialects = ["::dgc::dist::DistDialect"];
  let statistics = [Statistic<"numTaken", "taken", "Shardings taken">];
}

def StableHLOToDGCPass : Pass<"stablehlo-to-dgc", "::mlir::ModuleOp"> {
  let summary = "replace the ops of StableHLO by those of dgc";
  let description = [{
    Input: functions of `stablehlo` and `chlo` ops without calls. Output: the same of `dgc` ops; collectives in a `dist.manual`
    become those of `dist` along the axes that number their groups of devices. What has no equivalent is
    refused by one error, with a note for each op and reason that says how often and where first.

    ```mlir
    %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
    // becomes
    %z = dgc.dot_general %x, %y contract [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32>
    ```
  }];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numConverted", "converted", "Ops replaced">];
}

def RaiseImportedPass : Pass<"dgc-raise-imported", "::mlir::ModuleOp"> {
  let summary = "recognize layers in an imported program, and give it the form of a model of dgc";
  let description = [{
    Input: functions of `dgc` ops. Output: the same values, written as a model of dgc has them, for which kernels and library
    calls are chosen. Where nothing else uses what is between, `softmax`, `log_softmax`, `silu`, `gelu`, `layer_norm`,
    `rms_norm`, `group_norm`, `instance_norm`, `batch_norm` of training with its running statistics, `embedding`, `attention`
    and `cross_entropy` take the place of the ops that compute them; of the last two the gradient is recognized as well, and
    becomes a `dgc.gradient`. It does not matter in which order dimensions are, where values are broadcast and whether a sum
    keeps its dimension. What is in a `dist.manual` stays as it is.

    A product that is only transposed becomes the product of its operands in the other order, and dimensions of one element
    are not reduced. (The gradients of convolutions are recognized before, by `stablehlo-to-dgc`.)

    ```mlir
    %0 = dgc.negate %x : tensor<4x8xf32>
    %1 = dgc.exponential %0 : tensor<4x8xf32>
    %one = dgc.constant dense<1.0> : tensor<4x8xf32>
    %2 = dgc.add %one, %1 : tensor<4x8xf32>
    %3 = dgc.divide %one, %2 : tensor<4x8xf32>
    %y = dgc.multiply %x, %3 : tensor<4x8xf32>
    // becomes
    %y = dgc.silu %x : tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numRaised", "raised", "Layers recognized">];
}

def BuildImportedEntryPass : Pass<"dgc-build-imported-entry", "::mlir::ModuleOp"> {
  let summary = "make the function of an imported program an entry point";
  let description = [{
    Input: a module with one function on tensors. Output: a `dgc.state` for each argument that the program hands back,
    which has `tf.aliasing_output = N` or, with a result that feeds it, `jax.buffer_donor`; all other arguments are
    inputs and all other results outputs. Arguments have the names of their locations (`state[0]['w1']`) as far as they
    are unique, else `in0`, `in1` and so on by position; results `out0`, `out1`. The position of each is kept in
    `dgc.argument` and `dgc.result`, their shardings are kept; those of state are those of the argument. Where all inputs of at least one dimension have the same size in dimension 0, that is the batch.
    `dgc.input`, `dgc.output`, `dgc.state` and `dgc.batch_dim` that arguments and results have already say so in place of that.
  }];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numStates", "states", "Arguments that are state">];
}

#endif // DGC_IMPORT_PASSES_TD
