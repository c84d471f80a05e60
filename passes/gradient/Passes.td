#ifndef DGC_PASSES_GRADIENT_TD
#define DGC_PASSES_GRADIENT_TD

include "mlir/Pass/PassBase.td"

def CountLoopsPass : Pass<"dgc-count-loops"> {
  let summary = "make scans of loops whose number of rounds is known";
  let description = [{
    A `dgc.while` that counts, from a constant in steps of a constant as long as the number is below a constant, is a
    `dgc.scan` over nothing with as many rounds, which has a gradient.

    ```mlir
    %n, %y = dgc.while (%i = %zero, %h = %x) : tensor<i32>, tensor<4xf32> {
      %more = dgc.compare lt %i, %ten : tensor<i32>
      dgc.condition %more : tensor<i1>
    } do { .. }
    // becomes
    %n, %y = dgc.scan (%i = %zero, %h = %x) count 10 : tensor<i32>, tensor<4xf32> -> tensor<i32>, tensor<4xf32> { .. }
    ```
  }];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numCounted", "counted", "Loops with a known number of rounds">];
}

def BlockScansPass : Pass<"dgc-block-scans", "::mlir::ModuleOp"> {
  let summary = "let gradients of scans compute the rounds again, block by block";
  let description = [{
    Runs before `dgc-gradient`. `values` are patterns as those of `dgc-strategy-recompute`. A `dgc.scan` whose name one of
    them matches, and through which a `dgc.gradient` goes, becomes a scan over blocks of its rounds, each round of which is a
    scan over the rounds of a block. The gradient of the outer one, which `recomputes`, keeps what is carried into each block,
    and computes a block again before it goes back through it: of n rounds with blocks of b it keeps n / b carried values and
    what b rounds need, not what n need. b is the largest divisor of n between half the square root and the root itself; where
    there is none it is the root, rounded down, and the rounds that are left over are a scan behind the blocks. A composite
    that a pattern matches, and that is a scan, such as `dgc.lstm`, is decomposed.

    The values of the forward pass have the same bits, as have the gradients of what is carried and of the slices. Gradients
    of what all rounds share are added up in each block and then over blocks, so their rounding differs.

    Where a round computes much more than it carries on, as a layer of a network does, there are no blocks: the scan itself
    `recomputes`, and keeps what is carried into each round. Else scans of less than four rounds stay, as do those in regions
    of other ops: these have no names. The function gets
    `dgc.blocked_scans`, which tells `dgc-strategy-recompute` that the patterns select something.

    ```mlir
    %y = dgc.scan (%h = %x) over (%s = %xs) with (%v = %w) {    // loc("scan"), %xs: tensor<12x4xf32>
      %n = ..
      dgc.yield %n
    }
    %g = dgc.gradient %loss wrt %w
    // becomes
    %blocks = dgc.reshape %xs to [4, 3, 4] : tensor<12x4xf32>
    %y = dgc.scan (%c = %x) over (%b = %blocks) with (%u = %w) recomputes {
      %z = dgc.scan (%h = %c) over (%s = %b) with (%v = %u) {
        %n = ..
        dgc.yield %n
      }
      dgc.yield %z
    }
    %g = dgc.gradient %loss wrt %w
    ```
  }];
  let options = [
    Option<"values", "values", "::dgc::NamePatterns", "::dgc::NamePatterns{{\"*\"}}", "patterns of the names of scans">,
    Option<"unrollDisabledOnly", "unroll-disabled-only", "bool", "false", "Only those that have dgc.unroll_disable">,
  ];
  let statistics = [Statistic<"numBlocked", "blocked", "Scans written in blocks">];
  let dependentDialects = ["::dgc::DGCDialect"];
}

def GradientPass : Pass<"dgc-gradient"> {
  let summary = "replace dgc.gradient by the ops that compute it";
  let description = [{
    Input: ops of type `dgc.gradient` among ops with inferred types. Output: none of them is left.

    The block is walked backwards from the loss. Every op between a value of `wrt` and the loss says what it makes
    of the gradient of its result (DifferentiableOpInterface); the gradients of a value with several uses are added
    in the order of the walk, so the result does not depend on anything but the program. A composite on the way is
    replaced by its decomposition, unless it says that it has a better gradient. Only what `wrt` needs is computed,
    and a value that the loss does not depend on has the gradient zero. An op without a gradient on the way is an
    error that shows the way.

    It does not simplify, and does not touch ops that the loss does not depend on.

    ```mlir
    // before
    %y = dgc.multiply %x, %w : tensor<4xf32>
    %loss = dgc.reduce sum %y dims [0] : tensor<4xf32>
    %g = dgc.gradient %loss wrt %w : tensor<f32>, tensor<4xf32>
    // after
    %y = dgc.multiply %x, %w : tensor<4xf32>
    %loss = dgc.reduce sum %y dims [0] : tensor<4xf32>
    %one = dgc.constant dense<1.0> : tensor<f32>
    %dy = dgc.broadcast_in_dim %one ... : tensor<f32>
    %g = dgc.multiply %dy, %x : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [
    Statistic<"numGradients", "gradients", "Values whose gradient was computed">,
    Statistic<"numZeros", "zero-gradients", "Values that the loss does not depend on">,
    Statistic<"numDecomposed", "decomposed", "Composites decomposed on the way">,
  ];
}

def HoistInvariantsPass : Pass<"dgc-hoist-invariants"> {
  let summary = "compute once, in front of a loop, what is the same in all of its rounds";
  let description = [{
    Products, and what is smaller than what it is made of (a sum, a slice), move in front of a loop where they are made of what
    is the same in all rounds alone, with what they are made of. So what devices have to communicate for them is communicated
    once. What is not smaller stays: it is a part of the kernels of a round.

    ```mlir
    %n, %a = dgc.while (%i = %zero, %p = %x) with (%v = %y) { .. } do {
      %m = dgc.reduce sum %v dims [0] : tensor<6x5xf32>
      %q = dgc.add %p, %m : tensor<5xf32>
      ..
    // becomes
    %m = dgc.reduce sum %y dims [0] : tensor<6x5xf32>
    %n, %a = dgc.while (%i = %zero, %p = %x) with (%v = %y, %s = %m) { .. } do {
      %q = dgc.add %p, %s : tensor<5xf32>
      ..
    ```
  }];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numHoisted", "hoisted", "Ops that are no longer in a loop">];
}

def HoistSumsPass : Pass<"dgc-hoist-sums"> {
  let summary = "add up what the rounds of a scan, or a branch, give behind it";
  let description = [{
    Runs after `dgc-gradient`. Where a `dgc.scan` carries a sum to which each round adds, what is added becomes a result with
    a slice for each round, or what it is computed from does, and all is added up at once: a product summed over the rounds
    is one product with one more contracted dimension. Such are the gradients of weights that all rounds share. Then the
    examples of a batch stay apart in the loop, which can be cut along them; and one large product is faster than many small
    ones. The order of additions changes, and with it the rounding. A sum of large values that are no such products stays in
    the loop, and so do all sums of a scan that `recomputes`: what they are made of is not kept.

    The same is done for sums that a branch of a `dgc.if` gives: what they are made of is a result, and zero where the other
    branch was taken.

    ```mlir
    %sum = dgc.scan (%s = %zero) over (%x = %xs, %y = %ys) {   // %xs: tensor<7x4x2xf32>, %ys: tensor<7x4x3xf32>
      %z = dgc.dot_general %x, %y contract [0] x [0] : tensor<4x2xf32>, tensor<4x3xf32>
      %next = dgc.add %s, %z : tensor<2x3xf32>
      dgc.yield %next
    }
    // becomes
    %sum = dgc.dot_general %xs, %ys contract [0, 1] x [0, 1] : tensor<7x4x2xf32>, tensor<7x4x3xf32>
    ```
  }];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numSums", "sums", "Sums that are no longer in a loop">];
}

def UnrollScansPass : Pass<"dgc-unroll-scans"> {
  let summary = "write scans out, round after round";
  let description = [{
    For targets on whose devices a round of a loop is costly, or that have no loops. Each `dgc.scan` is replaced by as many
    copies of what it does as it has rounds, with slices of what it goes over and the concatenation of what it gives. One
    that would become more than `max-ops` ops, or that has `dgc.unroll_disable`, stays.

    ```mlir
    %last = dgc.scan (%s = %zero) over (%x = %xs) {       // %xs: tensor<2x4xf32>
      %next = dgc.add %s, %x : tensor<4xf32>
      dgc.yield %next
    }
    // becomes
    %x0 = dgc.slice %xs from [0, 0] to [1, 4] : tensor<2x4xf32>
    %r0 = dgc.reshape %x0 to [4] : tensor<1x4xf32>
    %s0 = dgc.add %zero, %r0 : tensor<4xf32>
    %x1 = dgc.slice %xs from [1, 0] to [2, 4] : tensor<2x4xf32>
    %r1 = dgc.reshape %x1 to [4] : tensor<1x4xf32>
    %last = dgc.add %s0, %r1 : tensor<4xf32>
    ```
  }];
  let options = [Option<"maxOps", "max-ops", "int64_t", "100000", "ops that a scan may become">];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numUnrolled", "unrolled", "Scans written out">];
}

def DecomposePass : Pass<"dgc-decompose"> {
  let summary = "replace composite ops by their decompositions";
  let description = [{
    Input: ops with inferred types. Output: no composite op (DecomposableOpInterface) is left, but those named in
    `keep`, which a backend has a better kernel for. Decompositions are decomposed in turn. A discardable attribute
    of the composite goes to the op that makes its result.

    ```mlir
    %y = dgc.relu %x : tensor<4xf32>          // before
    %zero = dgc.constant dense<0.0> : tensor<4xf32>
    %y = dgc.maximum %x, %zero : tensor<4xf32> // after
    ```
  }];
  let options = [ListOption<"keep", "keep", "std::string", "Names of composite ops to leave as they are">];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numDecomposed", "decomposed", "Composites decomposed">];
}

def SplitMicrobatchesPass : Pass<"dgc-split-microbatches", "::mlir::ModuleOp"> {
  let summary = "compute the global batch in parts, one after the other";
  let description = [{
    Input: functions after `dgc-gradient` and `dgc-decompose`. What is computed of the examples of a batch (arguments
    with `dgc.batch_dim`) is computed `count` times, each time for the examples whose number modulo `count` is that of
    the micro-batch: a batch that is cut over workers stays where it is. Everything else is computed once, as late as it
    can be. What is reduced over the batch is added up, right where an addend is there; so gradients are summed before
    anything else happens to them, and there is one update. Results with the batch are put together. The result is that
    of the whole batch, up to the order of additions: also with padding at its end, random numbers and batch statistics.

    Ops of micro-batch m have `dgc.microbatch = m`, those that wait n times for all micro-batches
    `dgc.microbatch_level = n`, and the function has `dgc.microbatches = count`. The ops of one
    micro-batch, forwards and backwards, come before those of the next one. An op that needs the examples of the whole
    batch at once (a sort along it, a product that pairs examples) runs once, when all micro-batches have what it needs; in
    a pipeline it is an error. Where the count does not divide the batch, the last micro-batches have one example less. A
    function without a batch is left alone.

    From `loop-from` micro-batches on they are rounds of a `dgc.while`, so that the program does not grow with their number:
    what is summed is carried from zero on, and what micro-batches wait for ends one loop and begins the next. On several stages
    there is one loop, in which ops keep their stages; `dgc-order-microbatches` puts it in the order of a schedule. All are
    written out where their numbers of examples differ or are no multiple of `workers`, and on several stages where they wait for
    each other, or the forward pass goes back to an earlier stage.

    Where micro-batches wait for each other (a sum over the batch that is needed as a whole, such as a number of tokens
    or the statistics of batch normalization), what inputs alone give is computed when it is needed, not before.

    ```mlir
    func.func @f(%x: tensor<8x4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<4xf32> {dgc.state = @w}) -> (tensor<4xf32> {dgc.state = @w}) {
      %g = dgc.reduce sum %x dims [0] : tensor<8x4xf32>
      %n = dgc.subtract %w, %g : tensor<4xf32>
    // becomes with count = 2, but for the slices that take every second example
      %0 = dgc.reduce sum %x0 dims [0] {dgc.microbatch = 0 : i64} : tensor<4x4xf32>
      %1 = dgc.reduce sum %x1 dims [0] {dgc.microbatch = 1 : i64} : tensor<4x4xf32>
      %g = dgc.add %0, %1 {dgc.microbatch = 1 : i64} : tensor<4xf32>
      %n = dgc.subtract %w, %g : tensor<4xf32>
    ```
  }];
  let options = [
    Option<"count", "count", "int64_t", "1", "number of micro-batches">,
    Option<"loopFrom", "loop-from", "int64_t", "0",
           "from how many micro-batches on they are rounds of a loop, where that can be; 0: never">,
    Option<"workers", "workers", "int64_t", "1", "how many workers the examples of a round are cut over">,
    Option<"pairwise", "pairwise", "bool", "false",
           "give each micro-batch examples of a worker that follow one another, and add up in pairs">,
  ];
  let dependentDialects = ["::dgc::DGCDialect"];
}

def RecomputePass : Pass<"dgc-strategy-recompute", "::mlir::ModuleOp"> {
  let summary = "compute values of the forward pass again in the backward pass";
  let description = [{
    Input: functions after `dgc-gradient` and `dgc-decompose`. `values` is a pattern, or several with `+` between them,
    for the names that `dgc-build-entry-points` gives to what an op of the model computes: `relu`, and `features.relu`
    in a block of that name. What matches and what the backward pass needs is not kept until then, but computed again
    from what does not match, and from what other blocks and stages give. All of one block (an op without a block is one
    of its own), micro-batch and stage is computed together, right before the first op of the backward pass, after all of
    it, that needs some of it; the copies have `dgc.recompute` with a number for each block, which keeps them apart from
    the originals. The same random numbers are drawn. A pattern that nothing
    needed matches is an error, unless it matches a scan that `dgc-block-scans` has written in blocks.

    ```mlir
    %h = dgc.tanh %x : tensor<8x4xf32>             // loc("tanh")
    %loss = dgc.reduce sum %h dims [0, 1] : ...
    %d = dgc.multiply %h, %h : tensor<8x4xf32>     // in the backward pass
    // becomes
    %h = dgc.tanh %x : tensor<8x4xf32>
    %loss = dgc.reduce sum %h dims [0, 1] : ...
    %h2 = dgc.tanh %x {dgc.recompute = 0 : i64} : tensor<8x4xf32>
    %d = dgc.multiply %h2, %h2 : tensor<8x4xf32>
    ```
  }];
  let options = [Option<"values", "values", "::dgc::NamePatterns", "::dgc::NamePatterns{{\"*\"}}", "patterns of the names of values">];
  let statistics = [Statistic<"numOps", "ops", "Ops that are computed again">];
  let dependentDialects = ["::dgc::DGCDialect"];
}

def CompleteStagesPass : Pass<"dgc-complete-stages", "::mlir::ModuleOp"> {
  let summary = "give every op and variable its stage";
  let description = [{
    Runs on partitioned functions in which at least one op has `dist.stage`; without one it does nothing. Afterwards
    every op has a stage that is not uniform (computed on each stage that needs it), as have arguments that are state, and
    results.

    - A variable is on the lowest stage of the ops that read it, in the first function that has it; the state of the
      optimizer is with the ops that update it.
    - What computes the new value of a variable, and says nothing else, is with the variable, as is a gather of it;
      collectives before it are with their operands. What several variables depend on (a norm of all gradients) is not;
      but a gradient that is added up of addends on several stages is with its variable.
    - An op that computes nothing and gives more than it takes (a broadcast) is on each stage that needs it; any other
      gather where its result is needed first.
    - Any other op is on the highest stage of its operands, or else on the lowest of its users.
    - Loss and metrics are results on stage 0, which reports them; predictions stay where they are.
    - Constants, positions, scalars that the runtime gives to all (step, seed, valid count) and what follows from
      these alone have no stage: every device computes them.
  }];
  let dependentDialects = ["::dgc::dist::DistDialect"];
}

def ReassociateStageSumsPass : Pass<"dgc-reassociate-stage-sums", "::mlir::ModuleOp"> {
  let summary = "add what one stage has before it is sent to another";
  let description = [{
    Runs after `dgc-complete-stages`. In a sum of several terms, those of each stage are added on that stage, and then the
    sums of the stages, where the whole sum was: of each stage one value is sent. Stages at one position along the axis
    `stage` count as one. A sum for which fewer values are sent as it is stays so. The order of the terms changes, and
    with it the rounding.

    ```mlir
    %s = dgc.add %a0, %b1 {dist.stage = 1} : tensor<f32>   // %a0 and %c0 are on stage 0, %b1 on stage 1
    %t = dgc.add %s, %c0 {dist.stage = 1} : tensor<f32>
    // becomes
    %s = dgc.add %a0, %c0 {dist.stage = 0} : tensor<f32>
    %t = dgc.add %s, %b1 {dist.stage = 1} : tensor<f32>
    ```
  }];
  let options = [
    Option<"positions", "positions", "int64_t", "0", "groups of devices: stage s is that of group s modulo this; 0: each "
           "stage has one">,
  ];
  let statistics = [Statistic<"numFewer", "fewer", "Values that are no longer sent">];
  let dependentDialects = ["::dgc::DGCDialect"];
}

def VerifyGradientPass : Pass<"dgc-verify-gradient", "::mlir::ModuleOp"> {
  let summary = "check what the phase `gradient` promises";
  let description = [{
    Refuses a module with a `dgc.gradient`, or with a composite op that is not one of `keep`. Where an op has a stage, it
    refuses ops and states without one, but for constants and what follows from constants and scalars of the step alone:
    each stage computes these.
  }];
  let options = [ListOption<"keep", "keep", "std::string", "Names of composite ops that may be left">];
}

#endif // DGC_PASSES_GRADIENT_TD
