// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-scale-loss=initial=1024 | FileCheck %s

// CHECK: dgc.state @loss_scale statistic constant 1024.0
// CHECK: dgc.state @loss_scale.good_steps statistic constant 0.0
// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<3xf32> {dgc.state = @w}, %[[S:[a-z0-9]+]]: tensor<f32> {dgc.state = @loss_scale}, %[[G:[a-z0-9]+]]: tensor<f32> {dgc.state = @loss_scale.good_steps}
// CHECK-SAME: -> (tensor<3xf32> {dgc.state = @w}, tensor<f32> {dgc.state = @loss_scale}, tensor<f32> {dgc.state = @loss_scale.good_steps}, tensor<f32> {dgc.output = "loss"})
// CHECK: %[[LOSS:.+]] = dgc.reduce sum
// CHECK: %[[SCALED:.+]] = dgc.multiply %[[LOSS]], %[[S]]
// CHECK: %[[GRAD:.+]] = dgc.gradient %[[SCALED]] wrt %[[W]]
// CHECK: dgc.is_finite %[[GRAD]]
// CHECK: %[[FINITE:.+]] = dgc.reduce min
// CHECK: %[[INVERSE:.+]] = dgc.divide %{{.+}}, %[[S]]
// CHECK: %[[WIDE:.+]] = dgc.broadcast_in_dim %[[INVERSE]]
// CHECK: %[[TRUE:.+]] = dgc.multiply %[[GRAD]], %[[WIDE]]
// CHECK: %[[NEW:.+]] = dgc.subtract %[[W]], %[[TRUE]]
// CHECK: %[[KEPT:.+]] = dgc.select %{{.+}}, %[[NEW]], %[[W]]
// CHECK: return %[[KEPT]], %{{.+}}, %{{.+}}, %[[LOSS]]
module {
  dgc.state @w weight zeros rng 0 : tensor<3xf32>
  func.func @train(%w: tensor<3xf32> {dgc.state = @w}, %x: tensor<3xf32>)
      -> (tensor<3xf32> {dgc.state = @w}, tensor<f32> {dgc.output = "loss"}) {
    %0 = dgc.multiply %w, %x : tensor<3xf32>
    %loss = dgc.reduce sum %0 dims [0] : tensor<3xf32>
    %g = dgc.gradient %loss wrt %w : tensor<f32>, tensor<3xf32>
    %new = dgc.subtract %w, %g : tensor<3xf32>
    return %new, %loss : tensor<3xf32>, tensor<f32>
  }
}

// -----

// State that does not depend on gradients goes on.
// CHECK-LABEL: func.func @statistic(
// CHECK: %[[NEXT:.+]] = dgc.add
// CHECK: return %{{.+}}, %[[NEXT]],
module {
  dgc.state @w weight zeros rng 0 : tensor<3xf32>
  dgc.state @mean statistic zeros rng 1 : tensor<3xf32>
  func.func @statistic(%w: tensor<3xf32> {dgc.state = @w}, %mean: tensor<3xf32> {dgc.state = @mean}, %x: tensor<3xf32>)
      -> (tensor<3xf32> {dgc.state = @w}, tensor<3xf32> {dgc.state = @mean}) {
    %next = dgc.add %mean, %x : tensor<3xf32>
    %0 = dgc.multiply %w, %x : tensor<3xf32>
    %loss = dgc.reduce sum %0 dims [0] : tensor<3xf32>
    %g = dgc.gradient %loss wrt %w : tensor<f32>, tensor<3xf32>
    return %g, %next : tensor<3xf32>, tensor<3xf32>
  }
}

// -----

// Nothing is differentiated: nothing to do.
// CHECK-LABEL: func.func @evaluate(
// CHECK-NOT: loss_scale
module {
  func.func @evaluate(%x: tensor<3xf32>) -> tensor<3xf32> {
    return %x : tensor<3xf32>
  }
}

// -----

module {
  // expected-error @below {{the name "loss_scale" is that of the scale of the loss: choose another}}
  dgc.state @loss_scale weight zeros rng 0 : tensor<f32>
  func.func @train(%w: tensor<f32> {dgc.state = @loss_scale}) -> (tensor<f32> {dgc.state = @loss_scale}) {
    %g = dgc.gradient %w wrt %w : tensor<f32>, tensor<f32>
    return %g : tensor<f32>
  }
}
