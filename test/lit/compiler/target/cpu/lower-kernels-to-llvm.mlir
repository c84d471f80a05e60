// RUN: dgc-opt %s -dgc-lower-kernels-to-llvm | mlir-translate --mlir-to-llvmir | FileCheck %s

// The entry takes the pointers, here two, out of its first argument; the body is private to the object. Nothing is left for a library to
// compute, and no memory is allocated.

// CHECK:       define internal void @k_body(ptr noalias readonly captures(none) %{{.+}}, ptr noalias captures(none) %{{.+}}, i64 %{{.+}}, i64 %{{.+}})
// CHECK-NOT:   call {{.*}}@exp
// CHECK:       call {{.*}} @llvm.fma.f32
// CHECK:       define void @k(ptr %{{.+}}, i64 %{{.+}}, i64 %{{.+}}, ptr %{{.+}})
// CHECK-COUNT-2: load ptr
// CHECK:       call void @k_body
// CHECK-NOT:   declare {{.*}} @malloc
func.func @k(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = dgc.exponential %a : tensor<64xf32>
  return %0 : tensor<64xf32>
}
