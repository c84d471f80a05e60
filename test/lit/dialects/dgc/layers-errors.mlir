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

// -----

func.func @f(%x: tensor<3x7xf32>) {
  // expected-error @+1 {{'dgc.swiglu' takes halves of the last dimension of 'tensor<3x7xf32>', whose size must be even; 'dgc.swiglu %gate, %x' takes two tensors}}
  %0 = dgc.swiglu %x : tensor<3x7xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<3x2xf32>) {
  // expected-error @+1 {{needs operands of the same shape, but got 'tensor<3x4xf32>' and 'tensor<3x2xf32>'}}
  %0 = dgc.swiglu %x, %y : tensor<3x4xf32>, tensor<3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.top_k' takes the largest 5 of 4 elements along the last dimension of 'tensor<3x4xf32>': k must be 1 to 4}}
  %0, %1 = dgc.top_k %x k 5 : tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{'dgc.top_k' has a scalar as its operand: it needs a dimension to choose along}}
  %0, %1 = dgc.top_k %x k 1 : tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.global_avg_pool' has an input of type 'tensor<3x4xf32>', which must be [n, .., channels] with one dimension or more between}}
  %0 = dgc.global_avg_pool %x : tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4x0x2xf32>) {
  // expected-error @+1 {{there is no element between the first dimension and the last}}
  %0 = dgc.global_max_pool %x : tensor<3x4x0x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4x4x5xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'dgc.instance_norm' has an input of type 'tensor<3x4x4x5xf32>' and a parameter of type 'tensor<4xf32>', which must be 'tensor<5xf32>'}}
  %0 = dgc.instance_norm %x, %s, %s : tensor<3x4x4x5xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %w: tensor<3x1x2xf32>) {
  // expected-error @+1 {{'dgc.conv1d' has an input of type 'tensor<3x8xf32>', which must be [n, length, channels]; dgc.expand_dims %x at 2 adds a channel}}
  %0 = dgc.conv1d %x, %w : tensor<3x8xf32>, tensor<3x1x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8x4xf32>, %w: tensor<3x3x4x2xf32>) {
  // expected-error @+1 {{'dgc.conv1d' has weights of type 'tensor<3x3x4x2xf32>', which must be [length, channels / groups, filters]}}
  %0 = dgc.conv1d %x, %w : tensor<3x8x4xf32>, tensor<3x3x4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8x4xf32>, %w: tensor<3x4x2xf32>) {
  // expected-error @+1 {{'dgc.conv1d' needs one number from 1 to 1048576 in 'strides', one for each spatial dimension}}
  %0 = dgc.conv1d %x, %w strides [1, 2] : tensor<3x8x4xf32>, tensor<3x4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8x8x8x4xf32>, %w: tensor<3x3x3x4x2xf32>) {
  // expected-error @+1 {{'dgc.conv3d' needs three pairs of numbers from 0 to 1048576 in 'padding', one for each spatial dimension: [[LOW, HIGH], [LOW, HIGH], [LOW, HIGH]]}}
  %0 = dgc.conv3d %x, %w padding [[1, 1]] : tensor<3x8x8x8x4xf32>, tensor<3x3x3x4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8x8x8x4xf32>, %w: tensor<3x3x3x3x2xf32>) {
  // expected-error @+1 {{'dgc.conv3d' has an input of type 'tensor<3x8x8x8x4xf32>' and weights of type 'tensor<3x3x3x3x2xf32>': dimension 3 of the weights must be channels / groups, 4}}
  %0 = dgc.conv3d %x, %w : tensor<3x8x8x8x4xf32>, tensor<3x3x3x3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8x8x4xf32>, %w: tensor<3x3x2x5xf32>) {
  // expected-error @+1 {{'dgc.conv_transpose2d' has an input of type 'tensor<3x8x8x4xf32>' and weights of type 'tensor<3x3x2x5xf32>': the last dimension of the weights must be that of the input, 4}}
  %0 = dgc.conv_transpose2d %x, %w : tensor<3x8x8x4xf32>, tensor<3x3x2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8x8x4xf32>, %w: tensor<3x3x4xf32>) {
  // expected-error @+1 {{'dgc.conv_transpose2d' has weights of type 'tensor<3x3x4xf32>', which must be [height, width, filters / groups, channels]}}
  %0 = dgc.conv_transpose2d %x, %w : tensor<3x8x8x4xf32>, tensor<3x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8x8x4xf32>, %w: tensor<3x3x2x4xf32>) {
  // expected-error @+1 {{'dgc.conv_transpose2d' needs two numbers of 0 or more in 'output_padding', each less than the stride of its dimension, and none with padding 'same'}}
  %0 = dgc.conv_transpose2d %x, %w strides 2 output_padding 2 : tensor<3x8x8x4xf32>, tensor<3x3x2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x2x8x4xf32>, %w: tensor<1x3x2x4xf32>) {
  // expected-error @+1 {{'dgc.conv_transpose2d' pads dimension 1 by 4, which leaves nothing of the 2 elements that the windows cover}}
  %0 = dgc.conv_transpose2d %x, %w padding [[2, 2], [0, 0]] : tensor<3x2x8x4xf32>, tensor<1x3x2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8x8x4xf32>, %w: tensor<3x3x2x4xf32>) {
  // expected-error @+1 {{'dgc.conv_transpose2d' needs two numbers from 1 to 1048576 in 'strides', one for each spatial dimension}}
  %0 = dgc.conv_transpose2d %x, %w strides 4611686018427387904 : tensor<3x8x8x4xf32>, tensor<3x3x2x4xf32>
  return
}
