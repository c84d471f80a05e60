// RUN: dgc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<3x4xf32>, %p: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.cross_entropy' has an ignore_index and distributions as labels: it is for labels that are numbers of classes; give places of distributions a weight of 0, as sample_weights}}
  %0 = dgc.cross_entropy %x, %p ignore_index 3 : tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %l: tensor<3xui8>) {
  // expected-error @+1 {{'dgc.cross_entropy' has the ignore_index -100, which no label is: the labels are 'ui8'}}
  %0 = dgc.cross_entropy %x, %l ignore_index -100 : tensor<3x4xf32>, tensor<3xui8>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %l: tensor<3xi8>) {
  // expected-error @+1 {{'dgc.cross_entropy' has the ignore_index 128, which no label is: the labels are 'i8'}}
  %0 = dgc.cross_entropy %x, %l ignore_index 128 : tensor<3x4xf32>, tensor<3xi8>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %l: tensor<3xi32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{'dgc.cross_entropy' has weights of type 'tensor<3xf32>', which must be a vector of 4 elements, one for each class}}
  %0 = dgc.cross_entropy %x, %l weights %w : tensor<3x4xf32>, tensor<3xi32>, tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<3x5x4xf32>, %l: tensor<3x5xi32>, %s: tensor<5xf32>) {
  // expected-error @+1 {{'dgc.cross_entropy' has sample_weights of type 'tensor<5xf32>', which must be of the shape of the losses, 'tensor<3x5xf32>', or have the first of these dimensions: one weight for each example is 'tensor<3xf32>'}}
  %0 = dgc.cross_entropy %x, %l sample_weights %s : tensor<3x5x4xf32>, tensor<3x5xi32>, tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'dgc.mean_squared_error' has sample_weights of type 'tensor<f32>', which must be of the shape of the losses, 'tensor<3x4xf32>', or have the first}}
  %0 = dgc.mean_squared_error %x, %x sample_weights %s : tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>
  return
}

// -----

// The losses of distributions lack the dimension of the classes.
func.func @f(%x: tensor<3x4xf32>, %s: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.kl_divergence' has sample_weights of type 'tensor<3x4xf32>', which must be of the shape of the losses, 'tensor<3xf32>'}}
  %0 = dgc.kl_divergence %x, %x sample_weights %s : tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{'dgc.contrastive_loss' pairs the rows of 'tensor<3x4xf32>' and of 'tensor<2x4xf32>': both must be [batch, features], of one type}}
  %0 = dgc.contrastive_loss %x, %y : tensor<3x4xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.contrastive_loss' has a temperature of 0.000000e+00, which must be above 0}}
  %0 = dgc.contrastive_loss %x, %x temperature 0 : tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %l: tensor<3x2xi32>) {
  // expected-error @+1 {{'dgc.ctc_loss' has logits of type 'tensor<3x4xf32>', which must be [batch, time, classes]}}
  %0 = dgc.ctc_loss %x, %l : tensor<3x4xf32>, tensor<3x2xi32>
  return
}

// -----

func.func @f(%x: tensor<3x4x5xf32>, %l: tensor<2x2xi32>) {
  // expected-error @+1 {{'dgc.ctc_loss' has labels of type 'tensor<2x2xi32>' for logits of type 'tensor<3x4x5xf32>': labels are [batch, length], with a batch of 3}}
  %0 = dgc.ctc_loss %x, %l : tensor<3x4x5xf32>, tensor<2x2xi32>
  return
}

// -----

func.func @f(%x: tensor<3x4x5xf32>, %l: tensor<3x2xi32>, %n: tensor<4xi64>) {
  // expected-error @+1 {{'dgc.ctc_loss' has lengths of type 'tensor<4xi64>', which must be 'tensor<3xi64>', one for each example}}
  %0 = dgc.ctc_loss %x, %l lengths %n : tensor<3x4x5xf32>, tensor<3x2xi32>, tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<3x4x5xf32>, %l: tensor<3x2xi32>) {
  // expected-error @+1 {{'dgc.ctc_loss' has the blank 5, which must be a class: one of 0 to 4}}
  %0 = dgc.ctc_loss %x, %l blank 5 : tensor<3x4x5xf32>, tensor<3x2xi32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{'dgc.top_k_accuracy' looks at the 5 largest of 4 logits: k must be from 1 to 4}}
  %0 = dgc.top_k_accuracy %x, %l k 5 : tensor<3x4xf32>, tensor<3xi32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{'dgc.precision' has labels of type 'tensor<3xi32>' for logits of type 'tensor<3x4xf32>': there is a label for each logit, [batch, ..]; for logits of classes say which one: class 1}}
  %0, %1 = dgc.precision %x, %l : tensor<3x4xf32>, tensor<3xi32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{'dgc.recall' is of class 4; the logits have 4, from 0 on}}
  %0, %1 = dgc.recall %x, %l class 4 : tensor<3x4xf32>, tensor<3xi32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{'dgc.f1_score' has a threshold and a class: with a class, what has its largest logit there is predicted}}
  %0, %1 = dgc.f1_score %x, %l threshold 0.5 class 1 : tensor<3x4xf32>, tensor<3xi32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %l: tensor<3xf32>) {
  // expected-error @+1 {{'dgc.precision' has labels of type 'tensor<3xf32>' for logits of type 'tensor<3x4xf32>': integer labels have the shape of the logits without their last dimension, 'tensor<3xi32>'}}
  %0, %1 = dgc.precision %x, %l class 1 : tensor<3x4xf32>, tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.cumulative_sum' runs along dimension 2, which 'tensor<3x4xf32>' does not have}}
  %0 = dgc.cumulative_sum %x dim 2 : tensor<3x4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'dgc.random_normal' op has the standard deviation -1.000000e+00, which must be at least 0}}
  %0 = dgc.random_normal 0 -1 : tensor<3x4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'dgc.random_uniform' op draws from 1.000000e+00 up to 1.000000e+00: the first number must be below the second}}
  %0 = dgc.random_uniform 1 1 : tensor<3x4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'dgc.random_normal' op result #0 must be a tensor of static shape of f16, bf16, f32 or f64, but got 'tensor<3x4xi32>'}}
  %0 = dgc.random_normal : tensor<3x4xi32>
  return
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.random_normal' op needs the type of its numbers, a tensor of f16, bf16, f32 or f64 such as tensor<?x20xf32>}}
  %n = dgc.random_normal : tensor<?x4xi32>
  %y = dgc.add %x, %n
  dgc.output "y" %y
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<?x4xf32>
  %s = dgc.reduce sum %x dims [0, 1]
  // expected-error @+1 {{'dgc.metric' op is reported as exp or sqrt of its mean, not both}}
  dgc.metric "m" exp sqrt %s
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<?x4xf32>
  %s = dgc.reduce sum %x dims [0, 1]
  // expected-note @+1 {{first used here}}
  dgc.metric "m" %s over %s
  // expected-error @+1 {{'dgc.metric' op uses the name "m.over" again: every metric and output of a model needs a name of its own}}
  dgc.metric "m.over" %s
}

// -----

func.func @f(%x: tensor<3x4xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{'dgc.confusion_matrix' has labels of type 'tensor<4xi32>' for logits of type 'tensor<3x4xf32>': integer labels have the shape of the logits without their last dimension, 'tensor<3xi32>'}}
  %0 = dgc.confusion_matrix %x, %l : tensor<3x4xf32>, tensor<4xi32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.macro_f1' has counts of type 'tensor<3x4xf32>', which must be [classes, classes]: those of dgc.confusion_matrix}}
  %0 = dgc.macro_f1 %x : tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{'dgc.class_f1' has counts of type 'tensor<3xf32>', which must be [classes, classes]: those of dgc.confusion_matrix}}
  %0 = dgc.class_f1 %x : tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{'dgc.threshold_counts' has 1 thresholds: there are from 2 to 65536 of them, from 0 to 1; 200 is usual}}
  %0, %1 = dgc.threshold_counts %x, %x thresholds 1 : tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{'dgc.threshold_counts' has labels of type 'tensor<3xi32>' for logits of type 'tensor<3x4xf32>': there is a label for each logit, [batch, ..]}}
  %0, %1 = dgc.threshold_counts %x, %l thresholds 9 : tensor<3x4xf32>, tensor<3xi32>
  return
}

// -----

func.func @f(%p: tensor<9xf32>, %n: tensor<8xf32>) {
  // expected-error @+1 {{'dgc.area_under_curve' has counts of types 'tensor<9xf32>' and 'tensor<8xf32>', which must be of one type, [thresholds]: those of dgc.threshold_counts}}
  %0 = dgc.area_under_curve %p, %n : tensor<9xf32>, tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{'dgc.r2_sums' has a prediction of type 'tensor<3x4xf32>' for a target of type 'tensor<3xf32>': both have one shape, [batch, ..]}}
  %0 = dgc.r2_sums %x, %y : tensor<3x4xf32>, tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @+1 {{'dgc.r2_score' has sums of type 'tensor<3xf64>', which must be the four of dgc.r2_sums}}
  %0 = dgc.r2_score %x : tensor<3xf64>
  return
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<4x3xbf16> -> tensor<4x3xbf16>
  // expected-error @+1 {{'dgc.running_sum' adds up elements of type 'bf16', and takes f32 or f64: convert them first, as in 'dgc.convert %x to f32'}}
  %s = dgc.running_sum "s" %x : tensor<4x3xbf16>
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<?x4xf32>
  %s = dgc.reduce sum %x dims [0, 1]
  // expected-error @+1 {{'dgc.running_sum' op needs a name, which no variable has}}
  %sum = dgc.running_sum "" %s
  dgc.metric "sum" %sum
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-note @+1 {{first used here}}
  %w = dgc.variable "w" zeros frozen : tensor<4xf32>
  %y = dgc.bias_add %x, %w
  %s = dgc.reduce sum %y dims [0, 1]
  // expected-error @+1 {{'dgc.running_sum' op uses the name "w" again: every variable and running sum of a model needs a name of its own}}
  %sum = dgc.running_sum "w" %s
  dgc.metric "sum" %sum
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  // expected-error @+1 {{'dgc.metric' op is an area under a curve, and has no labels: write 'area_under_curve %logits labels %labels'}}
  dgc.metric "m" area_under_curve %x : tensor<4x3xf32>
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  // expected-error @+1 {{'dgc.metric' op has labels, which only an area under a curve has: write 'area_under_curve' before the logits}}
  dgc.metric "m" %x labels %x : tensor<4x3xf32>
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  // expected-error @+1 {{'dgc.metric' op is an area under a curve, which is reported without 'exp', 'sqrt' and 'over'}}
  dgc.metric "m" sqrt area_under_curve %x labels %x : tensor<4x3xf32>
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  %y = dgc.input "y" : tensor<4xi32> -> tensor<4xi32>
  // expected-error @+1 {{'dgc.metric' op has labels of type 'tensor<4xi32>' for logits of type 'tensor<4x3xf32>': there is a label for each logit, [batch, ..]}}
  dgc.metric "m" area_under_curve %x labels %y : tensor<4x3xf32>, tensor<4xi32>
}

// -----

dgc.model @m {
  %x = dgc.input "x" : tensor<4x3xf32> -> tensor<4x3xf32>
  dgc.metric "m" area_under_curve %x labels %x : tensor<4x3xf32>
  // expected-note @-1 {{first used here}}
  // expected-error @+1 {{'dgc.output' op uses the name "m.labels" again: every metric and output of a model needs a name of its own}}
  dgc.output "m.labels" %x : tensor<4x3xf32>
}

// -----

// A metric is read by people.

dgc.model @m {
  %w = dgc.variable "w" zeros frozen : tensor<64x65xf32> -> tensor<64x65xf32>
  // expected-error @+1 {{'dgc.metric' op reports "large", a 'tensor<64x65xf32>' of 4160 elements, and takes from 1 to 4096: report a part of it (dgc.slice) or a sum or mean over it (dgc.reduce), or make it a dgc.output, which dgc-run writes with --predictions}}
  dgc.metric "large" %w : tensor<64x65xf32>
}

// -----

dgc.model @m {
  %w = dgc.variable "w" zeros frozen : tensor<0x2xf32> -> tensor<0x2xf32>
  // expected-error @+1 {{'dgc.metric' op reports "none", a 'tensor<0x2xf32>' of 0 elements, and takes from 1 to 4096}}
  dgc.metric "none" %w : tensor<0x2xf32>
}
