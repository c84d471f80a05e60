// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-assign-stages="stages=2"

func.func @apart(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @+1 {{on stage 0}}
  %0 = dgc.exponential %x {dist.stage = 0, dist.colocate = "a"} : tensor<4xf32>
  // expected-error @+1 {{is on stage 1, and dist.colocate = "a" puts it where something on stage 0 is; give both one stage, or take one out of the colocation}}
  %1 = dgc.tanh %0 {dist.device = #dist.device<"task:1">, dist.colocate = "a"} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// expected-error @+1 {{no placement on 2 stages was found; use fewer stages, or colocate less: each stage is a range of ops, so that all ops between two that are colocated are with them}}
func.func @around(%w0: tensor<4xf32> {dgc.state = @w0}, %w1: tensor<4xf32> {dgc.state = @w1}, %x: tensor<4xf32>)
    -> tensor<4xf32> {
  %0 = dgc.add %x, %w0 {dist.colocate = "a"} : tensor<4xf32>
  %1 = dgc.add %0, %w1 : tensor<4xf32>
  %2 = dgc.add %1, %w1 {dist.colocate = "a"} : tensor<4xf32>
  return %2 : tensor<4xf32>
}
dgc.state @w0 weight zeros rng 0 : tensor<4xf32>
dgc.state @w1 weight zeros rng 1 : tensor<4xf32>
