// RUN: split-file %s %t
// RUN: not dgc-opt %t/model.mlir -dgc-strategy-tensor-parallel="cut=w3:1" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: tensor-parallel='w3:1': no variable matches; there are w1 (embed, mlp), w2
// RUN: not dgc-opt %t/model.mlir -dgc-strategy-tensor-parallel="cut=vocab" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: tensor-parallel='vocab': no variable has a dimension of that name; write PATTERN:DIM, or name dimensions with {dims = ["..", ..]} on variables; there are w1 (embed, mlp), w2
// RUN: not dgc-opt %t/model.mlir -dgc-strategy-tensor-parallel="cut=w1:2" 2>&1 | FileCheck %s --check-prefix=DIM
// DIM: tensor-parallel='w1:2': variable 'w1' of 'tensor<3x4xf32>' has no dimension 2
// RUN: not dgc-opt %t/model.mlir -dgc-strategy-tensor-parallel="cut=w1:x" 2>&1 | FileCheck %s --check-prefix=SYNTAX
// SYNTAX: for the --cut option: 'w1:x': expected PATTERN:DIM, a pattern of variable names and the number of a dimension, as in *.w1:1
// RUN: not dgc-opt %t/model.mlir -dgc-strategy-tensor-parallel="cut=w1:0,mlp" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: tensor-parallel: variable 'w1' is to be cut by dimension 0 and by dimension 1; one can be cut over the axis "model"
// RUN: not dgc-opt %t/data.mlir -dgc-strategy-tensor-parallel="cut=w1:0" 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: the mesh has no axis "model", which the strategy tensor-parallel cuts weights by; name one, as in --mesh model=2
// RUN: not dgc-opt %t/names.mlir -dgc-strategy-tensor-parallel="cut=mlp" 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: variable 'w1' of 'tensor<3x4xf32>' has 1 names of dimensions; it needs one for each, "" for those without
// RUN: not dgc-opt %t/unnamed.mlir -dgc-strategy-tensor-parallel 2>&1 | FileCheck %s --check-prefix=DEFAULT
// DEFAULT: tensor-parallel without a list cuts the dimensions that variables name "heads" or "mlp", and none does: say what to cut, as in tensor-parallel=w1:1 (dimension 1 of the variable w1), or name dimensions with {dims = ["embed", "mlp"]} on variables; there are w1 (embed, ), w2

//--- model.mlir
dist.mesh @mesh <model = 2>
dgc.state @w1 weight zeros rng 0 {dims = ["embed", "mlp"]} : tensor<3x4xf32>
dgc.state @w2 weight zeros rng 0 : tensor<4xf32>
func.func private @f(tensor<3x4xf32> {dgc.state = @w1}, tensor<4xf32> {dgc.state = @w2})

//--- data.mlir
dist.mesh @mesh <data = 2>
dgc.state @w1 weight zeros rng 0 : tensor<3x4xf32>

//--- names.mlir
dist.mesh @mesh <model = 2>
dgc.state @w1 weight zeros rng 0 {dims = ["mlp"]} : tensor<3x4xf32>

//--- unnamed.mlir
dist.mesh @mesh <model = 2>
dgc.state @w1 weight zeros rng 0 {dims = ["embed", ""]} : tensor<3x4xf32>
dgc.state @w2 weight zeros rng 0 : tensor<4xf32>
