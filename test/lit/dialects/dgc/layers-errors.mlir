// RUN: dgc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.elu' has an alpha of 0.000000e+00, which must be above 0}}
  %0 = dgc.elu %x alpha 0.0 : tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{'dgc.rms_norm' has an input of type 'tensor<3x4xf32>' and a parameter of type 'tensor<3xf32>', which must be 'tensor<4xf32>'}}
  %0 = dgc.rms_norm %x, %s : tensor<3x4xf32>, tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'dgc.group_norm' has 3 groups for 4 channels: their number must divide that of the channels}}
  %0 = dgc.group_norm %x, %s, %s groups 3 : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.mean' has dimension 2 in its list, for an operand of type 'tensor<3x4xf32>': each must be one of 0 to 1, once}}
  %0 = dgc.mean %x dims [2] : tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.mean' has dimension 1 in its list}}
  %0 = dgc.mean %x dims [1, 1] : tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.argmax' runs along dimension 2, which 'tensor<3x4xf32>' does not have}}
  %0 = dgc.argmax %x dim 2 : tensor<3x4xf32>
  return
}

// -----

func.func @f(%l: tensor<3xi32>) {
  // expected-error @+1 {{'dgc.one_hot' has 0 classes, which must be at least 1}}
  %0 = dgc.one_hot %l classes 0 : tensor<3xi32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.upsample' has an input of type 'tensor<3x4xf32>', which must be [n, height, width, channels]}}
  %0 = dgc.upsample %x by 2 : tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x4x2xf32>) {
  // expected-error @+1 {{'dgc.upsample' has the factor 0, which must be one of 1 to 1024}}
  %0 = dgc.upsample %x by 0 : tensor<1x3x4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{'dgc.cross_entropy' has a label_smoothing of 1.000000e+00, which must be at least 0 and below 1}}
  %0 = dgc.cross_entropy %x, %l label_smoothing 1.0 : tensor<3x4xf32>, tensor<3xi32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.huber_loss' has a delta of -1.000000e+00, which must be above 0}}
  %0 = dgc.huber_loss %x, %x delta -1.0 : tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %t: tensor<3x5xf32>) {
  // expected-error @+1 {{'dgc.binary_cross_entropy' compares a prediction of type 'tensor<3x4xf32>' with a target of type 'tensor<3x5xf32>': they must be the same}}
  %0 = dgc.binary_cross_entropy %x, %t : tensor<3x4xf32>, tensor<3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'dgc.kl_divergence' has operands of type 'tensor<4xf32>', which must be [batch, .., classes]}}
  %0 = dgc.kl_divergence %x, %x : tensor<4xf32>
  return
}
