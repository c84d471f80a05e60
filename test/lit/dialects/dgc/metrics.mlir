// RUN: dgc-opt %s | dgc-opt | FileCheck %s
// RUN: dgc-opt %s --dgc-infer-types=batch=4 --dgc-build-entry-points | FileCheck %s --check-prefix=ENTRY

// Every form of what is printed parses to the same.

// CHECK-LABEL: func.func @forms
// CHECK: dgc.cross_entropy %{{.*}}, %{{.*}} label_smoothing 0.1 ignore_index -100 weights %{{.*}} sample_weights %{{.*}} valid %{{.*}} : tensor<3x4xf32>, tensor<3xi32>, tensor<4xf32>, tensor<3xf32>
// CHECK: dgc.huber_loss %{{.*}}, %{{.*}} delta 0.5 sample_weights %{{.*}} : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3xf32>
// CHECK: dgc.contrastive_loss %{{.*}}, %{{.*}} temperature 0.07 one_way : tensor<3x4xf32>
// CHECK: dgc.ctc_loss %{{.*}}, %{{.*}} blank 3 lengths %{{.*}} : tensor<3x5x4xf32>, tensor<3x2xi32>, tensor<3xi32>
// CHECK: dgc.top_k_accuracy %{{.*}}, %{{.*}} k 2 valid %{{.*}} : tensor<3x4xf32>, tensor<3xi32>
// CHECK: dgc.precision %{{.*}}, %{{.*}} threshold 0.5 : tensor<3x4xf32>
// CHECK: dgc.recall %{{.*}}, %{{.*}} class 2 : tensor<3x4xf32>, tensor<3xi32>
// CHECK: dgc.cumulative_sum %{{.*}} dim 0 reverse exclusive : tensor<3x4xf32>
// CHECK: dgc.cumulative_sum %{{[^ ]*}} : tensor<3x4xf32>
// CHECK: dgc.random_normal -1.0 0.5 keyed %{{.*}}, %{{.*}} rng 4 : tensor<3x4xf32>
// CHECK: dgc.random_uniform always keyed %{{.*}}, %{{.*}} rng 5 : tensor<3x4xbf16>
// CHECK: dgc.confusion_matrix %{{.*}}, %{{.*}} : tensor<3x4xf32>, tensor<3xi32>
// CHECK: dgc.macro_f1 %{{.*}} : tensor<4x4xf32>
// CHECK: dgc.class_f1 %{{.*}} : tensor<4x4xf32>
// CHECK: dgc.threshold_counts %{{.*}}, %{{.*}} thresholds 9 : tensor<3x4xf32>
// CHECK: dgc.area_under_curve %{{.*}}, %{{.*}} : tensor<9xf32>
// CHECK: dgc.r2_sums %{{.*}}, %{{.*}} : tensor<3x4xf32>
// CHECK: dgc.r2_score %{{.*}} : tensor<4xf64>
func.func @forms(%x: tensor<3x4xf32>, %l: tensor<3xi32>, %w: tensor<4xf32>, %s: tensor<3xf32>, %n: tensor<i32>,
                 %speech: tensor<3x5x4xf32>, %words: tensor<3x2xi32>, %seed: tensor<i64>) {
  %0 = dgc.cross_entropy %x, %l label_smoothing 0.1 ignore_index -100 weights %w sample_weights %s valid %n
      : tensor<3x4xf32>, tensor<3xi32>, tensor<4xf32>, tensor<3xf32>
  %1 = dgc.huber_loss %x, %x delta 0.5 sample_weights %s : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3xf32>
  %2 = dgc.contrastive_loss %x, %x temperature 0.07 one_way : tensor<3x4xf32>
  %3 = dgc.ctc_loss %speech, %words blank 3 lengths %l : tensor<3x5x4xf32>, tensor<3x2xi32>, tensor<3xi32>
  %4 = dgc.top_k_accuracy %x, %l k 2 valid %n : tensor<3x4xf32>, tensor<3xi32>
  %5, %6 = dgc.precision %x, %x threshold 0.5 : tensor<3x4xf32>
  %7, %8 = dgc.recall %x, %l class 2 : tensor<3x4xf32>, tensor<3xi32>
  %9 = dgc.cumulative_sum %x dim 0 reverse exclusive : tensor<3x4xf32>
  %10 = dgc.cumulative_sum %x : tensor<3x4xf32>
  %11 = dgc.random_normal -1 0.5 keyed %seed, %seed rng 4 : tensor<3x4xf32>
  %12 = dgc.random_uniform always keyed %seed, %seed rng 5 : tensor<3x4xbf16>
  %13 = dgc.confusion_matrix %x, %l : tensor<3x4xf32>, tensor<3xi32>
  %14 = dgc.macro_f1 %13 : tensor<4x4xf32>
  %20 = dgc.class_f1 %13 : tensor<4x4xf32>
  %15, %16 = dgc.threshold_counts %x, %x thresholds 9 : tensor<3x4xf32>
  %17 = dgc.area_under_curve %15, %16 : tensor<9xf32>
  %18 = dgc.r2_sums %x, %x : tensor<3x4xf32>
  %19 = dgc.r2_score %18 : tensor<4xf64>
  return
}

// A quotient is two results, and what is reported of a metric an attribute. What draws in training alone has no keys in
// `evaluate`; what always draws has them, and ids are those of the op in both.

// CHECK-LABEL: dgc.model @quotients
// CHECK:         dgc.random_normal : tensor<?x3xf32>
// CHECK:         dgc.random_uniform -1.0 1.0 always : tensor<?x3xf32>
// CHECK:         dgc.metric "precision" %{{.*}} over %{{.*}}
// CHECK:         dgc.metric "perplexity" exp %{{.*}}
// CHECK:         dgc.metric "rmse" sqrt %{{.*}} over %{{.*}}
// CHECK:         dgc.metric "auc" area_under_curve %{{.*}} labels %{{.*}}

// ENTRY-LABEL: func.func @train
// ENTRY-SAME:    tensor<f32> {dgc.output = "precision", dgc.over = "precision.over", dgc.role = "metric"}, tensor<f32> {dgc.output = "precision.over", dgc.role = "metric"}, tensor<f32> {dgc.function = "exponential", dgc.output = "perplexity", dgc.role = "metric"}, tensor<f32> {dgc.function = "square_root", dgc.output = "rmse", dgc.over = "rmse.over", dgc.role = "metric"}, tensor<f32> {dgc.output = "rmse.over", dgc.role = "metric"})
// ENTRY:         dgc.random_normal keyed %{{.*}}, %{{.*}} rng 1 {{.*}} : tensor<4x3xf32>
// ENTRY:         dgc.random_uniform -1.0 1.0 always keyed %{{.*}}, %{{.*}} rng 2 {{.*}} : tensor<4x3xf32>
// ENTRY-LABEL: func.func @evaluate
// ENTRY-SAME:    tensor<4x3xf32> {dgc.batch_dim = 0 : i64, dgc.function = "area_under_curve", dgc.output = "auc", dgc.over = "auc.labels", dgc.role = "metric"}, tensor<4x3xf32> {dgc.batch_dim = 0 : i64, dgc.output = "auc.labels", dgc.role = "metric"})
// ENTRY:         dgc.random_normal {{.*}} : tensor<4x3xf32>
// ENTRY:         dgc.random_uniform -1.0 1.0 always keyed %{{.*}}, %{{.*}} rng 2 {{.*}} : tensor<4x3xf32>
dgc.model @quotients {
  %x = dgc.input "x" : tensor<?x3xf32>
  %y = dgc.input "y" : tensor<?x3xf32>
  %w = dgc.variable "w" normal 0.0 1.0 : tensor<3x3xf32>
  %noise = dgc.random_normal : tensor<?x3xf32>
  %jitter = dgc.random_uniform -1 1 always : tensor<?x3xf32>
  %noisy = dgc.add %x, %noise
  %in = dgc.add %noisy, %jitter
  %h = dgc.matmul %in, %w
  %loss = dgc.binary_cross_entropy %h, %y
  %right, %found = dgc.precision %h, %y
  %d = dgc.subtract %h, %y
  %squares = dgc.multiply %d, %d
  %square = dgc.reduce sum %squares dims [0, 1]
  dgc.loss %loss
  dgc.metric "precision" %right over %found
  dgc.metric "perplexity" exp %loss
  dgc.metric "rmse" sqrt %square over %found
  dgc.metric "auc" area_under_curve %h labels %y
  dgc.optimizer sgd learning_rate 0.1
}
