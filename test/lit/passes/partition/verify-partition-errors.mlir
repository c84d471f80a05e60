// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-verify-partition

dist.mesh @mesh <data = 2>
// expected-error@+1 {{argument 0 is partial}}
func.func private @argument(tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>)

// -----

dist.mesh @mesh <data = 2>
// expected-error@+1 {{result 0 is partial}}
func.func private @result() -> tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>

// -----

dist.mesh @mesh <data = 2>
func.func @left(%x: tensor<8xf32>) {
  // expected-error@+1 {{is left after the partitioner}}
  %0 = dist.reshard %x to <@mesh, [{}]> : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @not_linear() {
  %x = "dgc.constant"() {value = dense<1.0> : tensor<8xf32>} : () -> tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  // expected-error@+1 {{operand 0 is partial, and the op is not linear in it}}
  %0 = dgc.exponential %x : tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @lost() {
  %x = "dgc.constant"() {value = dense<1.0> : tensor<8xf32>} : () -> tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  // expected-error@+1 {{operand 0 is partial, and the op has a result that is not}}
  %0 = "dgc.negate"(%x) : (tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>) -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
func.func @returned() -> tensor<8xf32> {
  %x = "dgc.constant"() {value = dense<1.0> : tensor<8xf32>} : () -> tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  %0 = dist.all_reduce sum %x over @mesh ["data"] : tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh <data = 2>
func.func @twice() -> tensor<8xf32> {
  %x = "dgc.constant"() {value = dense<1.0> : tensor<8xf32>} : () -> tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  // expected-note@+1 {{here}}
  %0 = dist.all_reduce sum %x over @mesh ["data"] : tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  // expected-error@+1 {{combines along "data" what has been combined along it: every device has the whole value}}
  %1 = dist.all_reduce sum %0 over @mesh ["data"] : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

dist.mesh @mesh <data = 2>
func.func @gathered(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note@+1 {{here}}
  %0 = dist.all_gather %x dim 0 over @mesh ["data"] : tensor<4xf32> to tensor<8xf32>
  // expected-error@+1 {{combines along "data" what has been combined along it}}
  %1 = dist.reduce_scatter sum %0 dim 0 over @mesh ["data"] : tensor<8xf32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Along another axis, and what is the same however often it is combined.
dist.mesh @mesh <host = 2, data = 2>
func.func @two_axes() -> tensor<8xf32> {
  %x = "dgc.constant"() {value = dense<1.0> : tensor<8xf32>}
      : () -> tensor<8xf32, #dist.partial<sum, @mesh ["host", "data"]>>
  %0 = dist.all_reduce sum %x over @mesh ["data"] : tensor<8xf32, #dist.partial<sum, @mesh ["host", "data"]>>
  %1 = dist.all_reduce sum %0 over @mesh ["host"] : tensor<8xf32, #dist.partial<sum, @mesh ["host"]>>
  %2 = dist.all_reduce max %1 over @mesh ["host"] : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

dist.mesh @mesh <data = 2>
func.func @global(%x: tensor<8xf32>) {
  // expected-error@+1 {{still has the shardings of a global value after the partitioner}}
  %0 = dgc.exponential %x {dist.shardings = [#dist.sharding<@mesh, [{"data"}]>]} : tensor<8xf32>
  return
}

// -----

dist.mesh @mesh <data = 2>
// expected-error@+1 {{argument 0 is 'tensor<8xf32>', which is not what a device has of 'tensor<8xf32>' as #dist.sharding<@mesh, [{"data"}]>}}
func.func @shape(%x: tensor<8xf32> {dist.global_type = tensor<8xf32>, dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  return
}

// -----

// The part of a dimension that the mesh does not divide is rounded up.
dist.mesh @mesh <data = 2>
func.func @padded(%x: tensor<4xf32> {dist.global_type = tensor<7xf32>, dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  return
}

// -----

// The sum of a loop that begins with something else than zeros.
dist.mesh @mesh <data = 2>
func.func @not_zeros(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{has 'tensor<8xf32>' in a region for 'tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>'}}
  %0 = dgc.scan (%h = %x) count 2 : tensor<8xf32> -> tensor<8xf32, #dist.partial<sum, @mesh ["data"]>> {
    dgc.yield %h : tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  }
  %1 = dist.all_reduce sum %0 over @mesh ["data"] : tensor<8xf32, #dist.partial<sum, @mesh ["data"]>>
  return %1 : tensor<8xf32>
}
