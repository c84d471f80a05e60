// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-partition

// A value does not become partial by redistribution.
dist.mesh @mesh <data = 2>
func.func @partial(%x: tensor<8xf32>) {
  // expected-error@+1 {{a value that is distributed as [{}] cannot become [{}] unreduced sum [data]: a value becomes partial by computation alone}}
  %0 = dist.reshard %x to <@mesh, [{}], unreduced = sum ["data"]> : tensor<8xf32>
  return
}

