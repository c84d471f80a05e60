// RUN: dgc-opt %s -split-input-file -dgc-mixed-precision | FileCheck %s
// RUN: dgc-opt %s -split-input-file -dgc-mixed-precision=to=f16 | FileCheck %s --check-prefix=F16
// RUN: not dgc-opt %s -split-input-file -dgc-mixed-precision=to=f8 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: for the --to option: 'f8': f32, tf32, bf16 or f16 is expected
// RUN: dgc-opt %s -split-input-file -dgc-mixed-precision=to=tf32 | FileCheck %s --check-prefix=TF32
// TF32: module attributes {dgc.tf32}
// TF32-NOT: dgc.convert %{{.+}} to {{bf16|f16}}

// A value that two products take is converted once. relu loses nothing and stays in 16 bits, as does a sum of values of
// 16 bits; one with a value of f32 is in f32.
// CHECK-LABEL: func.func @layers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x4xf32>, %[[W:[a-z0-9]+]]: tensor<4x6xf32>, %[[B:[a-z0-9]+]]: tensor<6xf32>
// CHECK-DAG: %[[X16:.+]] = dgc.convert %[[X]] to bf16
// CHECK-DAG: %[[W16:.+]] = dgc.convert %[[W]] to bf16
// CHECK-DAG: %[[B16:.+]] = dgc.convert %[[B]] to bf16
// CHECK-NOT: dgc.convert %[[X]] to bf16
// CHECK: %[[H:.+]] = dgc.dense %[[X16]], %[[W16]], %[[B16]] : tensor<8x4xbf16>, tensor<4x6xbf16>, tensor<6xbf16>
// CHECK: %[[R:.+]] = dgc.relu %[[H]] : tensor<8x6xbf16>
// CHECK: %[[M:.+]] = dgc.matmul %[[X16]], %[[W16]]
// CHECK: %[[S:.+]] = dgc.add %[[R]], %[[M]] : tensor<8x6xbf16>
// CHECK: %[[S32:.+]] = dgc.convert %[[S]] to f32
// CHECK: dgc.add %[[S32]], %{{.+}} : tensor<8x6xf32>
// F16-LABEL: func.func @layers(
// F16: dgc.dense {{.*}} : tensor<8x4xf16>, tensor<4x6xf16>, tensor<6xf16>
func.func @layers(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>, %b: tensor<6xf32>, %y: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %0 = dgc.dense %x, %w, %b : tensor<8x4xf32>, tensor<4x6xf32>, tensor<6xf32>
  %1 = dgc.relu %0 : tensor<8x6xf32>
  %2 = dgc.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32>
  %3 = dgc.add %1, %2 : tensor<8x6xf32>
  %4 = dgc.add %3, %y : tensor<8x6xf32>
  return %4 : tensor<8x6xf32>
}

// -----

// A batch normalization computes in f32, and gives 16 bits where it takes 16; what belongs to channels stays in f32.
// CHECK-LABEL: func.func @normalized(
// CHECK: %[[C:.+]] = dgc.conv2d {{.*}} : tensor<2x4x4x3xbf16>, tensor<1x1x3x3xbf16>
// CHECK: %[[Y:.+]], %{{.+}}, %{{.+}} = dgc.batch_norm %[[C]], %{{.*}} : tensor<2x4x4x3xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK: dgc.relu %[[Y]] : tensor<2x4x4x3xbf16>
// CHECK: dgc.batch_norm %{{.*}} : tensor<2x4x4x3xf32>
func.func @normalized(%x: tensor<2x4x4x3xf32>, %k: tensor<1x1x3x3xf32>, %v: tensor<3xf32>)
    -> (tensor<2x4x4x3xf32>, tensor<3xf32>, tensor<2x4x4x3xf32>) {
  %0 = dgc.conv2d %x, %k : tensor<2x4x4x3xf32>, tensor<1x1x3x3xf32>
  %1, %m, %s = dgc.batch_norm %0, %v, %v, %v, %v momentum 0.9 training
      : tensor<2x4x4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  %2 = dgc.relu %1 : tensor<2x4x4x3xf32>
  %3, %n, %t = dgc.batch_norm %x, %v, %v, %v, %v momentum 0.9 training
      : tensor<2x4x4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  return %2, %m, %3 : tensor<2x4x4x3xf32>, tensor<3xf32>, tensor<2x4x4x3xf32>
}

// -----

// What two products give each other does not go through f32; what a function returns has its type.
// CHECK-LABEL: func.func @chain(
// CHECK: %[[A:.+]] = dgc.attention %{{.+}}, %{{.+}}, %{{.+}} heads 2 : tensor<2x4x6xbf16>
// CHECK: %[[D:.+]] = dgc.dense %[[A]], %{{.+}} : tensor<2x4x6xbf16>, tensor<6x3xbf16>
// CHECK: %[[R:.+]] = dgc.convert %[[D]] to f32
// CHECK: return %[[R]] : tensor<2x4x3xf32>
func.func @chain(%x: tensor<2x4x6xf32>, %w: tensor<6x3xf32>) -> tensor<2x4x3xf32> {
  %0 = dgc.attention %x, %x, %x heads 2 : tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>
  %1 = dgc.dense %0, %w : tensor<2x4x6xf32>, tensor<6x3xf32>
  return %1 : tensor<2x4x3xf32>
}

// -----

// Inside of a manual region as well.
// CHECK-LABEL: func.func @by_hand(
// CHECK: dist.manual
// CHECK: ^bb0(%[[A:.+]]: tensor<4x4xf32>, %[[B:.+]]: tensor<4x6xf32>):
// CHECK-DAG: %[[A16:.+]] = dgc.convert %[[A]] to bf16
// CHECK-DAG: %[[B16:.+]] = dgc.convert %[[B]] to bf16
// CHECK: %[[D:.+]] = dgc.dense %[[A16]], %[[B16]]
// CHECK: %[[R:.+]] = dgc.convert %[[D]] to f32
// CHECK: dist.return %[[R]] : tensor<4x6xf32>
dist.mesh @mesh <data = 2>
func.func @by_hand(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %0 = dist.manual %x, %w over @mesh ["data"] in [#dist.sharding<@mesh, [{"data"}, {}]>, #dist.sharding<@mesh, [{}, {}]>]
      out [#dist.sharding<@mesh, [{"data"}, {}]>] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32> {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x6xf32>):
    %1 = dgc.dense %a, %b : tensor<4x4xf32>, tensor<4x6xf32>
    dist.return %1 : tensor<4x6xf32>
  }
  return %0 : tensor<8x6xf32>
}

// -----

// Nothing to do: no products, products of integers, of f64 and those that are of 16 bits already.
// CHECK-LABEL: func.func @none(
// CHECK-NOT: dgc.convert
// CHECK: return
func.func @none(%x: tensor<4x4xf32>, %i: tensor<4x4xi32>, %d: tensor<4x4xf64>, %h: tensor<4x4xbf16>)
    -> (tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xf64>, tensor<4x4xbf16>) {
  %0 = dgc.relu %x : tensor<4x4xf32>
  %1 = dgc.matmul %i, %i : tensor<4x4xi32>, tensor<4x4xi32>
  %2 = dgc.matmul %d, %d : tensor<4x4xf64>, tensor<4x4xf64>
  %3 = dgc.matmul %h, %h : tensor<4x4xbf16>, tensor<4x4xbf16>
  return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xf64>, tensor<4x4xbf16>
}
