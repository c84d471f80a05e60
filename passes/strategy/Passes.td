#ifndef DGC_PASSES_STRATEGY_TD
#define DGC_PASSES_STRATEGY_TD

include "mlir/Pass/PassBase.td"

def AddMeshPass : Pass<"dgc-add-mesh", "::mlir::ModuleOp"> {
  let summary = "add the mesh that was asked for";
  let description = [{
    Adds a `dist.mesh` of the given axes to the module, unless `mesh` is empty. A module that has a mesh of that
    name already must have it with the same axes.

    ```mlir
    // -dgc-add-mesh=mesh=data=4,model=2
    dist.mesh @mesh <data = 4, model = 2>
    ```
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"\"", "axes with their sizes, as in data=4,model=2">,
    Option<"name", "name", "std::string", "\"mesh\"", "name of the mesh">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

def DataParallelPass : Pass<"dgc-strategy-data-parallel", "::mlir::ModuleOp"> {
  let summary = "cut the batch over the axis `data`, keep variables whole";
  let description = [{
    Writes annotations, and nothing else: the dimension `dgc.batch_dim` of arguments and results of functions is
    cut by the mesh axis `data`; variables and all other arguments and results are replicated along it. What
    is annotated already stays as it is. A batch that the axis does not divide is an error. A module without
    a mesh is left alone.

    ```mlir
    func.func @f(%x: tensor<8x4xf32> {dgc.batch_dim = 0 : i64}, %w: tensor<4xf32> {dgc.state = @w})
    // becomes
    func.func @f(%x: tensor<8x4xf32> {dgc.batch_dim = 0 : i64,
                     dist.sharding = #dist.sharding<@mesh, [{"data" by strategy "data-parallel"}, {?} ]>},
                 %w: tensor<4xf32> {dgc.state = @w,
                     dist.sharding = #dist.sharding<@mesh, [{?} ], replicated = ["data" by strategy "data-parallel"]>})
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
}

#endif // DGC_PASSES_STRATEGY_TD
