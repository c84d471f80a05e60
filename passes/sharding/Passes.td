#ifndef DGC_PASSES_SHARDING_TD
#define DGC_PASSES_SHARDING_TD

include "mlir/Pass/PassBase.td"

def PrintShardingRulesPass : Pass<"dgc-print-sharding-rules"> {
  let summary = "say for each op how its dimensions belong together";
  let description = [{
    A remark on each op that has a sharding rule, written like an einsum: the factors of the dimensions of its operands
    and results, their sizes, and the operands in which the op is linear, so that they may be partial sums. A factor
    along which a reduction goes has its kind behind the size, one that must not be cut `whole`, and one along which
    elements move `moves`. It changes nothing.

    `dgc.dot_general %x, %w contract [1] x [0] : tensor<4x8xf32>, tensor<8x3xf32>` gives
    `(a c), (c b) -> (a b) with a=4, b=3, c=8 sum; linear in 0, 1`.
  }];
}

def UnifyMeshesPass : Pass<"dgc-unify-meshes", "::mlir::ModuleOp"> {
  let summary = "make the meshes of a module one";
  let description = [{
    Several meshes may name the same devices: a part of a model is thought of as a grid, another one as a row. This pass
    replaces them by the coarsest mesh in which each axis of each of them is a run of axes, so that a value can go from
    one sharding to any other. It is called `@mesh`; its axes have the names of those of the mesh of this name, else of
    the first one; the parts of an axis that is split have numbers behind its name. Meshes whose axes overlap
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
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def PropagateShardingsPass : Pass<"dgc-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "decide how every value is cut, from what is annotated";
  let description = [{
    From `dist.sharding` on arguments and results of functions, `dist.shardings` on ops and `dist.constraint`,
    through the sharding rules of the ops, forwards and backwards, to a fixed point. A variable is one value in all
    functions, so it has one sharding; state of the optimizer that has no annotation of its own has that of its
    variable. Which axis wins a conflict is in the table of Propagation.h; the outcome does not depend on the order of
    the ops. Where several annotations compete for an axis (the rows of weights and of activations are cut by it, or
    the sequence of activations and the columns of weights), one may have to wait for the fixed point of the others:
    variables, arguments or values in between, then single ones of the same type and sharding. That choice wins with
    which `dgc-insert-reshards` makes a device receive the fewest bytes in the entry point that communicates most, then
    in all together, of those that compute at most 5 % more than when nothing waits. It writes `dist.shardings` on every op with a result that is cut, and `dist.sharding` on every
    argument and result; values without are whole on every device. It changes no data flow, but for ops that
    merely make a value for each use (constants, broadcast scalars): each use gets its own, so that they do not
    tie values that have nothing else in common. A module without a mesh is left alone.

    ```mlir
    func.func @f(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>}, %w: tensor<4x3xf32>) {
      %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x3xf32>
    // becomes
      %0 = dgc.dot_general %x, %w contract [1] x [0] {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {} ]>]} : ...
    ```
  }];
  let statistics = [
    Statistic<"numCut", "cut", "Values that are cut">,
    Statistic<"numSplit", "split", "Ops copied so that each use has its own">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def InsertReshardsPass : Pass<"dgc-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "make explicit where a value has to be spread in another way";
  let description = [{
    Decides for each op how its factors are cut while it runs: as its operands and results agree or, where they do
    not, such that the fewest bytes have to move, a whole value being cut for free. An operand that is spread in
    another way goes through a `dist.reshard`, one for all uses that need the same. Factors that need replication or
    move elements between parts are not cut.

    A reduction over a cut factor gives a partial value: unreduced along these axes. It travels on as it is through
    ops that are linear in it, as long as it has no other user and does not grow; then it is made whole, once.
    So a gradient that is partial along `data` is combined just before the update of its variable.

    It sets `dist.shardings` to what the ops give. It does not lower any reshard.

    ```mlir
    %g = dgc.dot_general %x, %dy contract [0] x [0] : ...        // both cut by data in the contracted dimension
    %n = dgc.subtract %w, %g : ...
    // becomes
    %g = dgc.dot_general %x, %dy contract [0] x [0] {dist.shardings = [#dist.sharding<@mesh, [{}, {} ], unreduced = sum ["data"]>]}
    %r = dist.reshard %g to <@mesh, [{}, {} ]> because "..."
    %n = dgc.subtract %w, %r : ...
    ```
  }];
  let statistics = [
    Statistic<"numReshards", "reshards", "Reshards inserted">,
    Statistic<"numPartial", "partial", "Reductions over a cut dimension">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def VerifyShardedPass : Pass<"dgc-verify-sharded", "::mlir::ModuleOp"> {
  let summary = "check that every op can run on local shapes";
  let description = [{
    Ends the phase `shard`. Checks, from the rules alone:
    - with `no-padding`: every cut dimension divides into equal parts;
    - the operands and results of an op cut each of its factors alike, and not at all where its rule says so;
    - a partial value meets only ops that are linear in it, and what a reduction over a cut factor gives is partial;
    - what a function returns is spread as its result says, and is not partial;
    - a variable is spread alike in all functions;
    - an op without a sharding rule has whole operands.

    A dimension that its axes do not divide is padded by the partitioner.
  }];
  let options = [
    Option<"noPadding", "no-padding", "bool", "false", "Refuse a dimension that its axes do not divide">,
  ];
}

#endif // DGC_PASSES_SHARDING_TD
