// RUN: dgc-opt %s | dgc-opt | FileCheck %s

// CHECK-LABEL: func.func @gather
// CHECK: dgc.gather %{{.*}}, %{{.*}} dim 0 : tensor<65x128xf32>, tensor<12x64xi32>
// CHECK: dgc.gather %{{.*}}, %{{.*}} dim 1 from %{{.*}} : tensor<4x5x6xbf16>, tensor<7xui8>
func.func @gather(%t: tensor<65x128xf32>, %i: tensor<12x64xi32>, %u: tensor<4x5x6xbf16>, %j: tensor<7xui8>,
                  %k: tensor<i64>) -> (tensor<12x64x128xf32>, tensor<4x7x6xbf16>) {
  %0 = dgc.gather %t, %i dim 0 : tensor<65x128xf32>, tensor<12x64xi32>
  %1 = dgc.gather %u, %j dim 1 from %k : tensor<4x5x6xbf16>, tensor<7xui8>
  return %0, %1 : tensor<12x64x128xf32>, tensor<4x7x6xbf16>
}

// An index that is one number takes the dimension away.

// CHECK-LABEL: func.func @scalar
// CHECK: dgc.gather %{{.*}}, %{{.*}} dim 0 : tensor<5x6xf32>, tensor<i32>
// CHECK: dgc.scatter_add %{{.*}}, %{{.*}} dim 0 size 5 : tensor<i32>, tensor<6xf32>
func.func @scalar(%t: tensor<5x6xf32>, %i: tensor<i32>) -> (tensor<6xf32>, tensor<5x6xf32>) {
  %0 = dgc.gather %t, %i dim 0 : tensor<5x6xf32>, tensor<i32>
  %1 = dgc.scatter_add %i, %0 dim 0 size 5 : tensor<i32>, tensor<6xf32>
  return %0, %1 : tensor<6xf32>, tensor<5x6xf32>
}

// CHECK-LABEL: func.func @scatter_add
// CHECK: dgc.scatter_add %{{.*}}, %{{.*}} dim 0 size 65 : tensor<12x64xi32>, tensor<12x64x128xf32>
// CHECK: dgc.scatter_add %{{.*}}, %{{.*}} dim 1 size 5 from %{{.*}} : tensor<7xi64>, tensor<4x7x6xf32>
func.func @scatter_add(%i: tensor<12x64xi32>, %u: tensor<12x64x128xf32>, %j: tensor<7xi64>, %v: tensor<4x7x6xf32>,
                       %k: tensor<i64>) -> (tensor<65x128xf32>, tensor<4x5x6xf32>) {
  %0 = dgc.scatter_add %i, %u dim 0 size 65 : tensor<12x64xi32>, tensor<12x64x128xf32>
  %1 = dgc.scatter_add %j, %v dim 1 size 5 from %k : tensor<7xi64>, tensor<4x7x6xf32>
  return %0, %1 : tensor<65x128xf32>, tensor<4x5x6xf32>
}

// CHECK-LABEL: func.func @dynamic_update_slice
// CHECK: dgc.dynamic_update_slice %{{.*}}, %{{.*}} at %{{.*}} dim 1 : tensor<4x5xf32>, tensor<4x2xf32>, tensor<ui8>
func.func @dynamic_update_slice(%x: tensor<4x5xf32>, %u: tensor<4x2xf32>, %i: tensor<ui8>) -> tensor<4x5xf32> {
  %0 = dgc.dynamic_update_slice %x, %u at %i dim 1 : tensor<4x5xf32>, tensor<4x2xf32>, tensor<ui8>
  return %0 : tensor<4x5xf32>
}
