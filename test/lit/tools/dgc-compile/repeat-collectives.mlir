// A collective in the rounds of a repeat that does not depend on them is done once: rounds are written out before
// communication is planned, and equal collectives are one. Those of variables that each round has of its own stay three.
// All of them gather 144 bytes, and go at once.

// RUN: dgc-compile %s --explain --compile-to communicate -o /dev/null 2>&1 | FileCheck %s
// CHECK: @predict: 1 operation
// CHECK: all_gather  model=2    576
// CHECK-NOT: all_gather

dist.mesh @mesh <model = 2>
dgc.model @rounds {
  %x = dgc.input "x" {dist.sharding = #dist.sharding<@mesh, [{}, {}]>} : tensor<4x6xf32>
  %w = dgc.variable "w" glorot_uniform {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>} : tensor<6x6xf32>
  %y = dgc.repeat 3 "round" (%h = %x) {
    %z = dist.manual (%a = %h, %part = %w) over @mesh ["model"]
        in [#dist.sharding<@mesh, [{}, {}]>, #dist.sharding<@mesh, [{"model"}, {}]>]
        out [#dist.sharding<@mesh, [{}, {}]>] {
      %whole = dist.all_gather %part dim 0 over @mesh ["model"]
      %r = dgc.matmul %a, %whole
      dist.return %r
    }
    %own = dgc.variable "own" glorot_uniform {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>} : tensor<6x6xf32>
    %n = dist.manual (%b = %z, %mine = %own) over @mesh ["model"]
        in [#dist.sharding<@mesh, [{}, {}]>, #dist.sharding<@mesh, [{"model"}, {}]>]
        out [#dist.sharding<@mesh, [{}, {}]>] {
      %all = dist.all_gather %mine dim 0 over @mesh ["model"]
      %s = dgc.matmul %b, %all
      dist.return %s
    }
    dgc.next %n
  }
  dgc.output "y" %y
}
