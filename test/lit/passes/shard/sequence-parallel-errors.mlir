// RUN: not dgc-opt %s -dgc-strategy-sequence-parallel 2>&1 | FileCheck %s

// A model without sequences.
// CHECK: strategy sequence-parallel cuts the dimension after the batch of inputs such as tokens [batch, sequence], and no input of the model has one
dist.mesh @mesh <model = 2>
func.func private @f(tensor<8xi32> {dgc.batch_dim = 0 : i64})
