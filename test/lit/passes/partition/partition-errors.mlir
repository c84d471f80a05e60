// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-partition

// A dimension that does not divide.
dist.mesh @mesh <data = 4>
// expected-error@+1 {{argument 0: dimension 0 has size 10, which its axes (data = 4) do not divide into 4 equal parts}}
func.func private @uneven(tensor<10xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>})

// -----

// A value does not become partial by redistribution.
dist.mesh @mesh <data = 2>
func.func @partial(%x: tensor<8xf32>) {
  // expected-error@+1 {{a value that is spread as [{}] cannot become [{}] unreduced sum [data]: a value becomes partial by computation alone}}
  %0 = dist.reshard %x to <@mesh, [{}], unreduced = sum ["data"]> : tensor<8xf32>
  return
}

