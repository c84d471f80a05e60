// RUN: dgc-opt %s --split-input-file --dgc-infer-types --verify-diagnostics

// What a model says of a region that is written for one device.
dist.mesh @mesh <model = 2>
dgc.model @uneven {
  %x = dgc.input "x" : tensor<8x7xf32>
  // expected-error @+1 {{'dist.manual' op operand 0: dimension 1 has size 7, which its axes (model = 2) do not divide into 2 equal parts; a region that is written for one device has equal parts only}}
  %y = dist.manual (%l = %x) over @mesh ["model"] in [#dist.sharding<@mesh, [{}, {"model"}]>] out [#dist.sharding<@mesh, [{}, {"model"}]>] {
    dist.return %l
  }
  dgc.output "y" %y
}

// -----

dist.mesh @mesh <model = 2>
dgc.model @rank {
  %x = dgc.input "x" : tensor<8x6xf32>
  // expected-error @+1 {{'dist.manual' op result 0: its sharding has 1 dimensions, and the region gives 'tensor<8x6xf32>'}}
  %y = dist.manual (%l = %x) over @mesh ["model"] in [#dist.sharding<@mesh, [{}, {}]>] out [#dist.sharding<@mesh, [{}]>] {
    dist.return %l
  }
  dgc.output "y" %y
}

// -----

dist.mesh @mesh <data = 2, model = 2>
dgc.model @axis {
  %x = dgc.input "x" : tensor<8x6xf32>
  // expected-error @+1 {{'dist.manual' op operand 0: is cut by "data", which is not a manual axis}}
  %y = dist.manual (%l = %x) over @mesh ["model"] in [#dist.sharding<@mesh, [{"data"}, {}]>] out [#dist.sharding<@mesh, [{}, {}]>] {
    dist.return %l
  }
  dgc.output "y" %y
}

// -----

dist.mesh @mesh <model = 2>
dgc.model @values {
  %x = dgc.input "x" : tensor<8x6xf32>
  // expected-error @+1 {{'dist.manual' op has 1 operands outside, 1 inside and 2 shardings of them}}
  %y = dist.manual (%l = %x) over @mesh ["model"] in [#dist.sharding<@mesh, [{}, {}]>, #dist.sharding<@mesh, [{}]>] out [#dist.sharding<@mesh, [{}, {}]>] {
    dist.return %l
  }
  dgc.output "y" %y
}

// -----

dist.mesh @mesh <model = 3>
dgc.model @members {
  %x = dgc.input "x" : tensor<8x6xf32>
  %y = dist.manual (%l = %x) over @mesh ["model"] in [#dist.sharding<@mesh, [{}, {}]>] out [#dist.sharding<@mesh, [{"model"}, {}]>] {
    // expected-error @+1 {{'dist.reduce_scatter' op dimension 0 has size 8, which 3 members do not divide}}
    %s = dist.reduce_scatter sum %l dim 0 over @mesh ["model"]
    dist.return %s
  }
  dgc.output "y" %y
}

// -----

dist.mesh @mesh <model = 2>
dgc.model @inside {
  %x = dgc.input "x" : tensor<8x6xf32>
  %w = dgc.variable "w" zeros frozen : tensor<5x6xf32>
  %y = dist.manual (%l = %x, %k = %w) over @mesh ["model"] in [#dist.sharding<@mesh, [{}, {"model"}]>, #dist.sharding<@mesh, [{}, {}]>] out [#dist.sharding<@mesh, [{}, {}]>] {
    // expected-error @+1 {{'dgc.matmul' multiplies 'tensor<8x3xf32>' by 'tensor<5x6xf32>'}}
    %s = dgc.matmul %l, %k
    dist.return %s
  }
  dgc.output "y" %y
}

// -----

dist.mesh @mesh <model = 2>
dgc.model @mean {
  %x = dgc.input "x" : tensor<8x6xf32>
  %t = dgc.input "t" : tensor<8x6xf32>
  %y = dist.manual (%l = %x, %k = %t) over @mesh ["model"] in [#dist.sharding<@mesh, [{}, {}]>, #dist.sharding<@mesh, [{}, {}]>] out [#dist.sharding<@mesh, []>] {
    // expected-error @+1 {{'dgc.mean_squared_error' op cannot be in a dist.manual of a model, which sees the part of one device: a mean over the global batch goes before or after the region}}
    %s = dgc.mean_squared_error %l, %k
    dist.return %s
  }
  dgc.metric "y" %y
}

// -----

dist.mesh @mesh <model = 2>
dgc.model @mode {
  %x = dgc.input "x" : tensor<8x6xf32>
  %y = dist.manual (%l = %x) over @mesh ["model"] in [#dist.sharding<@mesh, [{}, {"model"}]>] out [#dist.sharding<@mesh, [{}, {"model"}]>] {
    // expected-error @+1 {{'dgc.dropout' op cannot be in a dist.manual of a model, which sees the part of one device: what differs between training and evaluating goes before or after the region}}
    %s = dgc.dropout %l rate 0.5
    dist.return %s
  }
  dgc.output "y" %y
}

// -----

dist.mesh @mesh <model = 2>
dgc.model @no_mesh {
  %x = dgc.input "x" : tensor<8x6xf32>
  // expected-error @+1 {{'dist.manual' op mesh @mesh has no axis "data"}}
  %y = dist.manual (%l = %x) over @mesh ["data"] in [#dist.sharding<@mesh, [{}, {}]>] out [#dist.sharding<@mesh, [{}, {}]>] {
    dist.return %l
  }
  dgc.output "y" %y
}
