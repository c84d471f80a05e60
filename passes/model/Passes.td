#ifndef DGC_PASSES_MODEL_TD
#define DGC_PASSES_MODEL_TD

include "mlir/Pass/PassBase.td"

def UnifyMeshesPass : Pass<"dgc-unify-meshes", "::mlir::ModuleOp"> {
  let summary = "make the meshes of a module one";
  let description = [{
    Several meshes may name the same devices: a part of a model is thought of as a grid, another one as a row. This pass
    replaces them by the coarsest mesh in which each axis of each of them is a run of axes, so that a value can go from
    one sharding to any other. It is called `@mesh`; its axes have the names of those of the mesh of this name, else of
    the first one; the parts of an axis that is split have numbers appended to its name. Meshes whose axes overlap
    (`<a = 2, b = 3>` and `<c = 3, d = 2>`) have no such mesh, which is an error that names both.

    Input: a module before the partitioner. A module without a mesh, or with one that is called so already, is left
    alone, as are meshes of different devices.

    ```mlir
    dist.mesh @mesh <a = 2, b = 2>
    dist.mesh @row <all = 4>
    func.func @f(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@row, [{"all"} ]>})
    // becomes
    dist.mesh @mesh <a = 2, b = 2>
    func.func @f(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"a", "b"} ]>})
    ```
  }];
  let dependentDialects = ["::dgc::dist::DistDialect"];
}

def InferTypesPass : Pass<"dgc-infer-types", "::mlir::ModuleOp"> {
  let summary = "give every value of a model its type";
  let description = [{
    Input: a `dgc.model` as it is written. Output: the same model without `!dgc.untyped`, and the module attribute
    `dgc.global_batch`. The batch dimension of every input is the option `batch`, or what the inputs say. The ops are
    visited in order and each infers its result types from its operands; the first that cannot is reported, at its
    location. Operands of elementwise ops become alike: a number (`dgc.literal`) a constant of the other operands' element
    type, and shapes are broadcast by NumPy's rule. No `dgc.literal` is left. Typed ops and other functions are left
    alone; nothing is folded.

    ```mlir
    // before
    %x = dgc.input "x" : tensor<?x3xf32>
    %y = dgc.relu %x
    %z = dgc.multiply %y, 0.5
    // after, with batch=8
    %x = dgc.input "x" : tensor<?x3xf32> -> tensor<8x3xf32>
    %y = dgc.relu %x : tensor<8x3xf32>
    %c = dgc.constant dense<5.0e-01> : tensor<8x3xf32> -> tensor<8x3xf32>
    %z = dgc.multiply %y, %c : tensor<8x3xf32>
    ```
  }];
  let options = [Option<"batch", "batch", "int64_t", "0", "The global batch: examples a step, over all workers">];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numTyped", "typed-values", "Values that got a type">];
}

def BuildEntryPointsPass : Pass<"dgc-build-entry-points", "::mlir::ModuleOp"> {
  let summary = "make functions of a model: train, evaluate, predict";
  let description = [{
    Input: a typed `dgc.model`. Output: in its place a `dgc.state` for each variable and each tensor of the optimizer,
    and the functions

    - `@train`, where there is a loss: forward pass, loss, metrics, `dgc.gradient`, update of every weight, and what
      `dgc.assign` writes;
    - `@evaluate`, where there is a loss or a metric; a dgc.running_sum becomes a state of the role `total` that is only
      here, and so are the metrics that depend on it, with `dgc.function = "last"`;
    - `@predict`, where there is an output.

    They are pure: state comes in as arguments (`dgc.state = @w`) and leaves as results with the same attribute. Data
    comes in by name (`dgc.input`, `dgc.role = "data"`, `dgc.batch_dim`); `valid_count`, `step` and `seed` are scalars
    of these roles. Other results have `dgc.output` and the role `loss`, `metric` or `prediction`. What a function does
    not use it does not take, but for the valid count, which dgc-mask-padding uses; the function is marked for it by
    `dgc.padded`. Ops that differ in training (dropout, batch normalization) get the mode. Composite ops are kept.
    The module takes the name of the model.

    ```mlir
    // before
    dgc.model @line {
      %x = dgc.input "x" : tensor<?x3xf32> -> tensor<8x3xf32>
      ...
      dgc.optimizer sgd learning_rate 0.1
    }
    // after
    dgc.state @w weight zeros rng 0 : tensor<3x1xf32>
    func.func @train(%w: tensor<3x1xf32> {dgc.state = @w}, %x: tensor<8x3xf32> {dgc.batch_dim = 0 : i64,
        dgc.input = "x", dgc.role = "data"}, ...) -> (tensor<3x1xf32> {dgc.state = @w},
        tensor<f32> {dgc.output = "loss", dgc.role = "loss"})
    ```
  }];
  let dependentDialects = ["::dgc::DGCDialect", "::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"numEntryPoints", "entry-points", "Functions made">,
    Statistic<"numStates", "states", "States made">,
  ];
}

def MaskPaddingPass : Pass<"dgc-mask-padding", "::mlir::ModuleOp"> {
  let summary = "keep the padding of a batch that is not full from counting";
  let description = [{
    Input: entry functions marked `dgc.padded`, with the argument of the role `valid_count`: of the examples of a batch
    the first ones are real. Output: the same functions without the mark, which give for a batch that is not full what
    they give for its real examples alone.

    The dimensions along which examples are get followed from the data through all ops, by their sharding rules; composites
    by their decompositions. An op that treats each example by itself stays as it is. A mean over the first dimension of
    its operands (BatchMeanOpInterface) gets the number of its elements that are real, and one that does not get
    examples counts all. What else reduces over examples has the identity of the reduction in place of the padding; a
    composite that does so is decomposed, with the number of what is real where it counts examples
    (SizeDependentOpInterface). As this comes before the gradient, gradients follow.

    Ops that rearrange a dimension (RearrangingOpInterface: concatenations, slices, pads) are followed where the examples
    of their result are whole batches in order, with elements that belong to no example only before and after them. A
    `dist.manual` region is followed with the examples of one device, and stays as it is.

    Loops and branches are followed through their regions, and from round to round: what a loop carries has examples in all
    rounds where it has them in one. What is in them is masked there; the count is then an operand that is the same in all
    rounds. Composites in a region with examples are decomposed.

    A function with an op that moves elements between examples in another way, splits the batch, depends on its size and
    cannot be told another, or combines examples in a manual region, with a loop that goes over the examples or has them in
    another place in each round, or one that gives examples to a variable or in several dimensions of an output, is left
    unmasked: it takes whole batches only, and the module attribute `dgc.whole_batches` says of it why.

    An op that makes a tensor of no operands (dgc.iota) has examples along the dimension that its type is written with
    `?` for. Outputs get `dgc.batch_dim` where they have one dimension of examples, and lose it where they have none. It is an
    error for a metric to have one, but for the logits and labels of an area under a curve.

    ```mlir
    // before
    func.func @evaluate(%x: tensor<4x2xf32> {dgc.batch_dim = 0 : i64, ...}, %n: tensor<i32> {dgc.role = "valid_count", ..})
        attributes {dgc.padded} {
      %s = dgc.reduce max %x dims [0] : tensor<4x2xf32>
    // after
      %number = dgc.iota dim 0 : tensor<4xi32>
      %real = dgc.compare LT %number, %count : tensor<4xi32>            // %count: %n for each example
      %masked = dgc.select %wide, %x, %lowest : tensor<4x2xi1>, ...     // %wide: %real for each element; %lowest: -inf
      %s = dgc.reduce max %masked dims [0] : tensor<4x2xf32>
    ```
  }];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [
    Statistic<"numMasked", "masked", "Values whose padding is masked">,
    Statistic<"numTold", "told", "Means that get the number of real examples">,
    Statistic<"numRefused", "whole-batches-only", "Functions that take whole batches only">,
  ];
}

def BoundIndicesPass : Pass<"dgc-bound-indices", "::mlir::ModuleOp"> {
  let summary = "say of inputs that choose by number what they choose from";
  let description = [{
    An input whose elements number the rows of a table (`dgc.embedding`, `dgc.gather`) or classes (the labels of
    `dgc.cross_entropy`), also reshaped, transposed or converted to another integer type, gets `dgc.index_limit`: how many
    there are, the least if there are several. `dgc-run` refuses data that is not below it. Nothing else changes.
  }];
  let statistics = [Statistic<"numBounded", "bounded", "Inputs that got a limit">];
}

def MixedPrecisionPass : Pass<"dgc-mixed-precision", "::mlir::ModuleOp"> {
  let summary = "products in 16 bits";
  let description = [{
    Ops whose work is products (the trait `LowPrecision`: dense, matmul, attention, convolutions, dot_general) take
    their f32 operands in `to` and give their results in it; a convert is inserted before and after them. A value is converted
    once. Ops that compute nothing, or a sum (the trait `AnyPrecision`: relu, max_pool, reshapes, add), stay in 16 bits
    after these, where all of their operands do; so do batch normalizations, which compute in f32 (the trait
    `AnyPrecisionOfFirst`). So the values between the layers of a convolutional network have 16 bits. All else stays in f32:
    variables and what optimizers keep, other sums and normalizations, losses. Sums of products are added up in f32. Runs before gradients are built, so these are products of 16 bits, too, and are converted to f32
    before the update.

    ```mlir
    // before
    %y = dgc.dense %x, %w : tensor<8x4xf32>, tensor<4x6xf32>
    // after, with to=bf16
    %x16 = dgc.convert %x to bf16 : tensor<8x4xf32>
    %w16 = dgc.convert %w to bf16 : tensor<4x6xf32>
    %y16 = dgc.dense %x16, %w16 : tensor<8x4xbf16>, tensor<4x6xbf16>
    %y = dgc.convert %y16 to f32 : tensor<8x6xbf16>
    ```

    With `to=tf32` nothing changes but the module, which gets `dgc.tf32`: a device may round f32 to TF32 in products.
  }];
  let options = [Option<"to", "to", "::dgc::Precision", "::dgc::Precision::BF16", "bf16, f16, tf32, or f32 for none">];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numNarrowed", "narrowed", "Ops that compute in 16 bits">];
}

def ScaleLossPass : Pass<"dgc-scale-loss", "::mlir::ModuleOp"> {
  let summary = "keep gradients within what f16 can hold";
  let description = [{
    Multiplies the loss by a factor before it is differentiated, and divides the gradients by it in f32, so that small
    ones do not become zero in f16. The factor is the state `loss_scale`, from `initial` on. When a gradient is not
    finite, what depends on gradients keeps its value and the factor is halved (to 1 at least); after `interval` steps
    without that it is doubled. What was good is counted in the state `loss_scale.good_steps`. A module without
    `dgc.gradient` is left alone.
  }];
  let options = [
    Option<"initial", "initial", "double", "65536", "The first factor">,
    Option<"interval", "interval", "int64_t", "2000", "Good steps before the factor is doubled">,
  ];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numScaled", "scaled", "Gradients that are scaled">];
}

def InlineCallsPass : Pass<"dgc-inline-calls", "::mlir::ModuleOp"> {
  let summary = "write out calls of blocks";
  let description = [{
    Input: a `dgc.model` as it is written, with the blocks that it calls. Output: the same without `dgc.call` and
    `dgc.block`, also in repeats. Each call is a copy of the block whose variables have the name of the call before their
    own, as the rounds of a repeat have; the locations of its ops say which block they are in. A block that calls itself
    is an error.

    ```mlir
    // before
    dgc.block @layer(%x) {
      %w = dgc.variable "w" zeros : tensor<4x4xf32>
      %z = dgc.dense %x, %w
      dgc.return %z
    }
    ...
    %y = dgc.call @layer "first" (%x)
    // after
    %w = dgc.variable "first.w" zeros : tensor<4x4xf32>
    %y = dgc.dense %x, %w
    ```
  }];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numCalls", "calls", "Calls written out">];
}

def LoopRepeatsPass : Pass<"dgc-loop-repeats", "::mlir::ModuleOp"> {
  let summary = "make loops of repeats";
  let description = [{
    Input: a `dgc.model` as it is written, without calls. Output: the same, in which each `dgc.repeat` of at least `rounds`
    rounds is a `dgc.scan` over its variables, which are stacked. `batch` is that of `dgc-infer-types`. Other repeats stay:

    - those whose rounds take and give values of different types, change statistics, or move examples so that dgc-mask-padding
      cannot mask them;
    - those with a variable that the loss may not depend on, or that the optimizer tells from those of other rounds by name;
    - those in which something but a variable has `dist` attributes;
    - those whose name another repeat or variable has, too.

    ```mlir
    // before
    %y = dgc.repeat 24 "layer" (%h = %x) {
      %w = dgc.variable "w" zeros : tensor<4x4xf32>
      %z = dgc.dense %h, %w
      dgc.next %z
    }
    // after
    %all = dgc.variable "layer.*.w" stacked 1 zeros : tensor<24x4x4xf32>
    %y = dgc.scan (%h = %x) over (%w = %all) {
      %z = dgc.dense %h, %w
      dgc.yield %z
    }
    ```
  }];
  let options = [
    Option<"batch", "batch", "int64_t", "0", "The global batch; 0: as the inputs say">,
    Option<"rounds", "rounds", "int64_t", "2", "The least rounds of a loop">,
    Option<"unrollDisable", "unroll-disable", "bool", "false", "Mark the loops with dgc.unroll_disable">,
  ];
  let dependentDialects = ["::dgc::DGCDialect", "::mlir::func::FuncDialect"];
  let statistics = [Statistic<"numLoops", "loops", "Repeats that became loops">];
}

def UnrollRepeatsPass : Pass<"dgc-unroll-repeats", "::mlir::ModuleOp"> {
  let summary = "write out the rounds of repeats";
  let description = [{
    Input: a `dgc.model` as it is written. Output: the same without `dgc.repeat`. Each round is a copy of the body whose
    variables have the name of the repeat and the number of the round before their own. Every op of a copy keeps the
    location of the original. Types are inferred afterwards.

    ```mlir
    // before
    %y = dgc.repeat 2 "layer" (%h = %x) {
      %w = dgc.variable "w" zeros : tensor<4x4xf32>
      %z = dgc.dense %h, %w
      dgc.next %z
    }
    // after
    %w0 = dgc.variable "layer.0.w" zeros : tensor<4x4xf32>
    %z0 = dgc.dense %x, %w0
    %w1 = dgc.variable "layer.1.w" zeros : tensor<4x4xf32>
    %y = dgc.dense %z0, %w1
    ```
  }];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numRounds", "rounds", "Rounds written out">];
}

def FuseAttentionPass : Pass<"dgc-fuse-attention"> {
  let summary = "keep attention whole, with a gradient of its own";
  let description = [{
    Input: ops with inferred types, before the gradient. Output: `dgc.fused_attention` in place of each `dgc.attention`
    that the options name: of the element types `elements`, and of heads with a multiple of `multiple` and at most
    `most` features; the defaults are what cuDNN has. All other attention is left alone, and becomes products and a
    softmax by `dgc-decompose`. So is that with `dist.shardings`.

    ```mlir
    %y = dgc.attention %q, %k, %v heads 4 causal : tensor<2x16x32xbf16>
    // becomes
    %y, %lse = dgc.fused_attention %q, %k, %v heads 4 causal scale 0.35355339059327373 : tensor<2x16x32xbf16>
    ```
  }];
  let options = [
    ListOption<"elements", "elements", "::dgc::FloatKind", "Element types to take; none named: bf16 and f16">,
    Option<"multiple", "multiple", "int64_t", "8", "What the features of a head are a multiple of">,
    Option<"most", "most", "int64_t", "128", "The most features of a head">,
  ];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numFused", "fused", "Attention ops kept whole">];
}

def VerifyModelPass : Pass<"dgc-verify-model", "::mlir::ModuleOp"> {
  let summary = "check what the phase `model` promises";
  let description = [{
    Refuses a module with a `dgc.model`, `dgc.block`, `dgc.repeat`, `dgc.call` or `dgc.literal`, with a value without a type,
    with an entry function whose padding nothing keeps from counting, or with an argument or result of an entry function
    that names a state which there is not, or of another type.
  }];
}

#endif // DGC_PASSES_MODEL_TD
