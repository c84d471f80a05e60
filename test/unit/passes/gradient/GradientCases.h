//===- GradientCases.h - a function for every op that has a gradient ---------===//
//
// A new op is one line of the table. Shapes are not symmetric, and sizes do not divide one another.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_TEST_UNIT_PASSES_GRADIENT_GRADIENTCASES_H
#define DGC_TEST_UNIT_PASSES_GRADIENT_GRADIENTCASES_H

#include "test/unit/passes/gradient/GradientCase.h"

namespace dgc::test {

inline const GradientCase gradientCases[] = {
    // Elementwise
    {"abs", "%x: tensor<3x5xf64>", "%y = dgc.abs %x : tensor<3x5xf64>"},
    {"cbrt", "%x: tensor<3x5xf64>", "%y = dgc.cbrt %x : tensor<3x5xf64>", 0.2, 2},
    {"ceil", "%x: tensor<3x5xf64>", "%y = dgc.ceil %x : tensor<3x5xf64>"},
    {"cosine", "%x: tensor<3x5xf64>", "%y = dgc.cosine %x : tensor<3x5xf64>"},
    {"erf", "%x: tensor<3x5xf64>", "%y = dgc.erf %x : tensor<3x5xf64>"},
    {"exponential", "%x: tensor<3x5xf64>", "%y = dgc.exponential %x : tensor<3x5xf64>"},
    {"exponential_minus_one", "%x: tensor<3x5xf64>", "%y = dgc.exponential_minus_one %x : tensor<3x5xf64>"},
    {"floor", "%x: tensor<3x5xf64>", "%y = dgc.floor %x : tensor<3x5xf64>"},
    {"log", "%x: tensor<3x5xf64>", "%y = dgc.log %x : tensor<3x5xf64>", 0.2, 3},
    {"log_plus_one", "%x: tensor<3x5xf64>", "%y = dgc.log_plus_one %x : tensor<3x5xf64>", -0.7, 3},
    {"logistic", "%x: tensor<3x5xf64>", "%y = dgc.logistic %x : tensor<3x5xf64>"},
    {"negate", "%x: tensor<3x5xf64>", "%y = dgc.negate %x : tensor<3x5xf64>"},
    {"round_nearest_afz", "%x: tensor<3x5xf64>", "%y = dgc.round_nearest_afz %x : tensor<3x5xf64>"},
    {"round_nearest_even", "%x: tensor<3x5xf64>", "%y = dgc.round_nearest_even %x : tensor<3x5xf64>"},
    {"rsqrt", "%x: tensor<3x5xf64>", "%y = dgc.rsqrt %x : tensor<3x5xf64>", 0.3, 3},
    {"sign", "%x: tensor<3x5xf64>", "%y = dgc.sign %x : tensor<3x5xf64>"},
    {"sine", "%x: tensor<3x5xf64>", "%y = dgc.sine %x : tensor<3x5xf64>"},
    {"softplus", "%x: tensor<3x5xf64>", "%y = dgc.softplus %x : tensor<3x5xf64>"},
    {"sqrt", "%x: tensor<3x5xf64>", "%y = dgc.sqrt %x : tensor<3x5xf64>", 0.3, 3},
    {"tan", "%x: tensor<3x5xf64>", "%y = dgc.tan %x : tensor<3x5xf64>", -1, 1},
    {"tanh", "%x: tensor<3x5xf64>", "%y = dgc.tanh %x : tensor<3x5xf64>"},
    {"add", "%x: tensor<2x7xf64>, %z: tensor<2x7xf64>", "%y = dgc.add %x, %z : tensor<2x7xf64>"},
    {"atan2", "%x: tensor<2x7xf64>, %z: tensor<2x7xf64>", "%y = dgc.atan2 %x, %z : tensor<2x7xf64>"},
    {"divide", "%x: tensor<2x7xf64>, %z: tensor<2x7xf64>", "%y = dgc.divide %x, %z : tensor<2x7xf64>", 0.5, 2},
    {"maximum", "%x: tensor<2x7xf64>, %z: tensor<2x7xf64>", "%y = dgc.maximum %x, %z : tensor<2x7xf64>"},
    {"minimum", "%x: tensor<2x7xf64>, %z: tensor<2x7xf64>", "%y = dgc.minimum %x, %z : tensor<2x7xf64>"},
    {"multiply", "%x: tensor<2x7xf64>, %z: tensor<2x7xf64>", "%y = dgc.multiply %x, %z : tensor<2x7xf64>"},
    {"power", "%x: tensor<2x7xf64>, %z: tensor<2x7xf64>", "%y = dgc.power %x, %z : tensor<2x7xf64>", 0.4, 2},
    {"remainder", "%x: tensor<2x7xf64>, %z: tensor<2x7xf64>", "%y = dgc.remainder %x, %z : tensor<2x7xf64>", 0.5, 3},
    {"subtract", "%x: tensor<2x7xf64>, %z: tensor<2x7xf64>", "%y = dgc.subtract %x, %z : tensor<2x7xf64>"},
    {"clamp", "%a: tensor<9xf64>, %x: tensor<9xf64>, %b: tensor<9xf64>", "%y = dgc.clamp %a, %x, %b : tensor<9xf64>"},
    {"select", "%p: tensor<9xi1>, %x: tensor<9xf64>, %z: tensor<9xf64>",
     "%y = dgc.select %p, %x, %z : tensor<9xi1>, tensor<9xf64>, tensor<9xf64>"},
    // Between f64 and f32: linear but for the rounding, which a large step makes small.
    {"convert", "%x: tensor<9xf64>",
     "%a = dgc.convert %x to f32 : tensor<9xf64>\n%y = dgc.convert %a to f64 : tensor<9xf32>", -2, 2, 0.25, 1e-6},
    {"reduce_precision", "%x: tensor<9xf64>", "%y = dgc.reduce_precision %x exponent 8 mantissa 48 : tensor<9xf64>"},
    {"fan_out", "%x: tensor<5xf64>",
     "%a = dgc.multiply %x, %x : tensor<5xf64>\n%b = dgc.sine %a : tensor<5xf64>\n"
     "%y = dgc.multiply %b, %a : tensor<5xf64>"},
    // Shapes
    {"broadcast_in_dim", "%x: tensor<3x1xf64>",
     "%y = dgc.broadcast_in_dim %x dims [1, 2] to [2, 3, 4] : tensor<3x1xf64>"},
    {"concatenate", "%x: tensor<2x3xf64>, %z: tensor<2x4xf64>",
     "%y = dgc.concatenate %x, %z dim 1 : tensor<2x3xf64>, tensor<2x4xf64>"},
    {"pad", "%x: tensor<2x3xf64>, %v: tensor<f64>",
     "%y = dgc.pad %x, %v low [1, 0] high [0, 2] interior [0, 1] : tensor<2x3xf64>, tensor<f64>"},
    {"reshape", "%x: tensor<4x3xf64>", "%y = dgc.reshape %x to [2, 6] : tensor<4x3xf64>"},
    {"reverse", "%x: tensor<2x3x4xf64>", "%y = dgc.reverse %x dims [0, 2] : tensor<2x3x4xf64>"},
    {"slice", "%x: tensor<5x7xf64>", "%y = dgc.slice %x from [1, 0] to [4, 6] strides [1, 2] : tensor<5x7xf64>"},
    {"transpose", "%x: tensor<2x3x4xf64>", "%y = dgc.transpose %x permutation [2, 0, 1] : tensor<2x3x4xf64>"},
    // Indices (those of arguments are 0, 1, 0, 1, ...)
    {"gather", "%x: tensor<3x2xf64>, %i: tensor<2x4xi32>",
     "%y = dgc.gather %x, %i dim 0 : tensor<3x2xf64>, tensor<2x4xi32>"},
    {"gather_inner", "%x: tensor<2x3x4xf64>, %i: tensor<5xui8>",
     "%y = dgc.gather %x, %i dim 1 : tensor<2x3x4xf64>, tensor<5xui8>"},
    {"gather_outside", "%x: tensor<3x2xf64>",
     "%i = dgc.constant dense<[2, -1, 0, 3, 2]> : tensor<5xi64>\n"
     "%y = dgc.gather %x, %i dim 0 : tensor<3x2xf64>, tensor<5xi64>"},
    {"scatter_add", "%i: tensor<2x3xi32>, %u: tensor<2x3x4xf64>",
     "%y = dgc.scatter_add %i, %u dim 0 size 3 : tensor<2x3xi32>, tensor<2x3x4xf64>"},
    {"scatter_add_inner", "%u: tensor<2x4x3xf64>",
     "%i = dgc.constant dense<[1, 5, 0, 1]> : tensor<4xi64>\n"
     "%y = dgc.scatter_add %i, %u dim 1 size 5 : tensor<4xi64>, tensor<2x4x3xf64>"},
    // Products
    {"dot_matmul", "%x: tensor<3x4xf64>, %w: tensor<4x5xf64>",
     "%y = dgc.dot_general %x, %w contract [1] x [0] : tensor<3x4xf64>, tensor<4x5xf64>"},
    {"dot_transposed_lhs", "%x: tensor<4x3xf64>, %w: tensor<4x5xf64>",
     "%y = dgc.dot_general %x, %w contract [0] x [0] : tensor<4x3xf64>, tensor<4x5xf64>"},
    {"dot_transposed_both", "%x: tensor<4x3xf64>, %w: tensor<5x4xf64>",
     "%y = dgc.dot_general %x, %w contract [0] x [1] : tensor<4x3xf64>, tensor<5x4xf64>"},
    {"dot_outer", "%x: tensor<3xf64>, %w: tensor<4xf64>", "%y = dgc.dot_general %x, %w : tensor<3xf64>, tensor<4xf64>"},
    {"dot_square", "%x: tensor<3x3xf64>", "%y = dgc.dot_general %x, %x contract [1] x [0] : tensor<3x3xf64>"},
    {"dot_batch", "%x: tensor<2x3x4xf64>, %w: tensor<2x4x5xf64>",
     "%y = dgc.dot_general %x, %w batch [0] x [0] contract [2] x [1] : tensor<2x3x4xf64>, tensor<2x4x5xf64>"},
    {"dot_heads", "%x: tensor<2x5x3x4xf64>, %w: tensor<2x6x3x4xf64>",
     "%y = dgc.dot_general %x, %w batch [0, 2] x [0, 2] contract [3] x [3] : "
     "tensor<2x5x3x4xf64>, tensor<2x6x3x4xf64>"},
    {"dot_two_contracted", "%x: tensor<2x3x4xf64>, %w: tensor<4x5x2xf64>",
     "%y = dgc.dot_general %x, %w contract [0, 2] x [2, 0] : tensor<2x3x4xf64>, tensor<4x5x2xf64>"},
    // Convolution
    {"conv_plain", "%x: tensor<2x5x4x3xf64>, %w: tensor<3x2x3x2xf64>",
     "%y = dgc.convolution %x, %w : tensor<2x5x4x3xf64>, tensor<3x2x3x2xf64>"},
    {"conv_strides_padding", "%x: tensor<2x6x5x2xf64>, %w: tensor<3x2x2x3xf64>",
     "%y = dgc.convolution %x, %w strides [2, 3] padding [[1, 1], [0, 2]] : tensor<2x6x5x2xf64>, tensor<3x2x2x3xf64>"},
    {"conv_dilation", "%x: tensor<2x7x5x2xf64>, %w: tensor<3x2x2x3xf64>",
     "%y = dgc.convolution %x, %w padding [[2, 1], [1, 0]] dilation [2, 3] : tensor<2x7x5x2xf64>, tensor<3x2x2x3xf64>"},
    {"conv_lhs_dilation", "%x: tensor<1x3x4x2xf64>, %w: tensor<3x2x2x2xf64>",
     "%y = dgc.convolution %x, %w strides [2, 1] padding [[1, 1], [1, 0]] lhs_dilation [2, 3] : tensor<1x3x4x2xf64>, "
     "tensor<3x2x2x2xf64>"},
    {"conv_groups", "%x: tensor<2x4x5x6xf64>, %w: tensor<2x3x2x9xf64>",
     "%y = dgc.convolution %x, %w strides [1, 2] padding [[1, 0], [1, 1]] groups 3 : tensor<2x4x5x6xf64>, "
     "tensor<2x3x2x9xf64>"},
    {"conv_depthwise", "%x: tensor<2x4x3x3xf64>, %w: tensor<2x2x1x6xf64>",
     "%y = dgc.convolution %x, %w groups 3 : tensor<2x4x3x3xf64>, tensor<2x2x1x6xf64>"},
    {"conv_pointwise", "%x: tensor<2x3x4x3xf64>, %w: tensor<1x1x3x5xf64>",
     "%y = dgc.convolution %x, %w : tensor<2x3x4x3xf64>, tensor<1x1x3x5xf64>"},
    {"conv_1d", "%x: tensor<2x7x3xf64>, %w: tensor<3x3x2xf64>",
     "%y = dgc.convolution %x, %w strides [2] padding [[1, 1]] : tensor<2x7x3xf64>, tensor<3x3x2xf64>"},
    {"conv_3d", "%x: tensor<1x3x4x3x2xf64>, %w: tensor<2x2x2x2x2xf64>",
     "%y = dgc.convolution %x, %w padding [[0, 1], [1, 0], [0, 0]] : tensor<1x3x4x3x2xf64>, tensor<2x2x2x2x2xf64>"},
    {"conv_wide_padding", "%x: tensor<1x3x3x1xf64>, %w: tensor<2x2x1x2xf64>",
     "%y = dgc.convolution %x, %w padding [[2, 2], [3, 1]] : tensor<1x3x3x1xf64>, tensor<2x2x1x2xf64>"},
    {"conv_input_grad", "%dy: tensor<2x3x4x2xf64>, %w: tensor<2x2x3x2xf64>",
     "%y = dgc.convolution_input_grad %dy, %w input_size [6, 4] strides [2, 1] padding [[1, 0], [0, 1]] : "
     "tensor<2x3x4x2xf64>, tensor<2x2x3x2xf64>"},
    {"conv_weight_grad", "%x: tensor<2x6x4x3xf64>, %dy: tensor<2x3x4x2xf64>",
     "%y = dgc.convolution_weight_grad %x, %dy kernel_size [2, 2] strides [2, 1] padding [[1, 0], [0, 1]] : "
     "tensor<2x6x4x3xf64>, tensor<2x3x4x2xf64>"},
    // Windows
    {"pool_max", "%x: tensor<2x4x6x3xf64>",
     "%y = dgc.reduce_window max %x window [1, 2, 3, 1] strides [1, 2, 3, 1] : tensor<2x4x6x3xf64>"},
    {"pool_max_cropped", "%x: tensor<2x5x7x2xf64>",
     "%y = dgc.reduce_window max %x window [1, 2, 2, 1] strides [1, 2, 2, 1] : tensor<2x5x7x2xf64>"},
    {"pool_max_overlapping", "%x: tensor<2x5x6x2xf64>",
     "%y = dgc.reduce_window max %x window [1, 3, 2, 1] strides [1, 2, 1, 1] padding [[0, 0], [1, 2], [1, 0], [0, 0]] "
     ": tensor<2x5x6x2xf64>"},
    {"pool_min", "%x: tensor<2x5x4x1xf64>",
     "%y = dgc.reduce_window min %x window [1, 2, 3, 1] padding [[0, 0], [0, 1], [2, 0], [0, 0]] : "
     "tensor<2x5x4x1xf64>"},
    {"pool_sum", "%x: tensor<2x4x6x3xf64>",
     "%y = dgc.reduce_window sum %x window [1, 2, 3, 1] strides [1, 2, 3, 1] : tensor<2x4x6x3xf64>"},
    {"pool_sum_overlapping", "%x: tensor<2x5x6x2xf64>",
     "%y = dgc.reduce_window sum %x window [1, 3, 2, 1] strides [1, 2, 3, 1] padding [[0, 0], [1, 2], [1, 0], [0, 0]] "
     ": tensor<2x5x6x2xf64>"},
    {"pool_sum_all_dims", "%x: tensor<3x4xf64>",
     "%y = dgc.reduce_window sum %x window [2, 2] padding [[1, 0], [0, 1]] : tensor<3x4xf64>"},
    // Reductions
    {"reduce_sum", "%x: tensor<2x3x4xf64>", "%y = dgc.reduce sum %x dims [1] : tensor<2x3x4xf64>"},
    {"reduce_sum_all", "%x: tensor<2x3x4xf64>", "%y = dgc.reduce sum %x dims [0, 1, 2] : tensor<2x3x4xf64>"},
    {"reduce_product", "%x: tensor<2x3x4xf64>", "%y = dgc.reduce product %x dims [0, 2] : tensor<2x3x4xf64>"},
    {"reduce_max", "%x: tensor<2x3x4xf64>", "%y = dgc.reduce max %x dims [0, 2] : tensor<2x3x4xf64>"},
    {"reduce_min", "%x: tensor<2x3x4xf64>", "%y = dgc.reduce min %x dims [1] : tensor<2x3x4xf64>"},
    // Composites
    {"relu", "%x: tensor<3x4xf64>", "%y = dgc.relu %x : tensor<3x4xf64>"},
    {"sigmoid", "%x: tensor<3x4xf64>", "%y = dgc.sigmoid %x : tensor<3x4xf64>"},
    {"gelu", "%x: tensor<3x4xf64>", "%y = dgc.gelu %x : tensor<3x4xf64>"},
    {"gelu_grad", "%x: tensor<3x4xf64>, %d: tensor<3x4xf64>", "%y = dgc.gelu_grad %x, %d : tensor<3x4xf64>"},
    {"gelu_grad_tanh", "%x: tensor<3x4xf64>, %d: tensor<3x4xf64>", "%y = dgc.gelu_grad %x, %d tanh : tensor<3x4xf64>"},
    {"gelu_tanh", "%x: tensor<3x4xf64>", "%y = dgc.gelu %x tanh : tensor<3x4xf64>"},
    {"softmax", "%x: tensor<3x4xf64>", "%y = dgc.softmax %x : tensor<3x4xf64>"},
    {"softmax_dim", "%x: tensor<3x4xf64>", "%y = dgc.softmax %x dim 0 : tensor<3x4xf64>"},
    {"log_softmax", "%x: tensor<3x4xf64>", "%y = dgc.log_softmax %x : tensor<3x4xf64>"},
    {"scale", "%x: tensor<3x4xf64>", "%y = dgc.scale %x by 0.5 plus -1.0 : tensor<3x4xf64>"},
    {"matmul", "%a: tensor<2x3x4xf64>, %b: tensor<2x4x5xf64>",
     "%y = dgc.matmul %a, %b : tensor<2x3x4xf64>, tensor<2x4x5xf64>"},
    {"matmul_transposed", "%a: tensor<2x3x4xf64>, %b: tensor<5x4xf64>",
     "%y = dgc.matmul %a, %b transposed : tensor<2x3x4xf64>, tensor<5x4xf64>"},
    {"embedding", "%x: tensor<3x4xf64>, %i: tensor<2x5xi32>",
     "%y = dgc.embedding %x, %i : tensor<3x4xf64>, tensor<2x5xi32>"},
    {"position_embedding", "%x: tensor<2x3x4xf64>, %t: tensor<5x4xf64>",
     "%y = dgc.position_embedding %x, %t : tensor<2x3x4xf64>, tensor<5x4xf64>"},
    {"attention", "%q: tensor<2x3x4xf64>, %k: tensor<2x5x4xf64>, %v: tensor<2x5x6xf64>",
     "%y = dgc.attention %q, %k, %v heads 2 : tensor<2x3x4xf64>, tensor<2x5x4xf64>, tensor<2x5x6xf64>"},
    {"attention_causal", "%q: tensor<2x3x6xf64>, %k: tensor<2x3x6xf64>, %v: tensor<2x3x6xf64>",
     "%y = dgc.attention %q, %k, %v heads 3 causal scale 0.4 : tensor<2x3x6xf64>"},
    {"fused_attention", "%q: tensor<2x3x4xf64>, %k: tensor<2x5x4xf64>, %v: tensor<2x5x6xf64>",
     "%y, %l = dgc.fused_attention %q, %k, %v heads 2 scale 0.6 : "
     "tensor<2x3x4xf64>, tensor<2x5x4xf64>, tensor<2x5x6xf64>"},
    {"fused_attention_causal", "%q: tensor<2x3x6xf64>, %k: tensor<2x3x6xf64>, %v: tensor<2x3x6xf64>",
     "%y, %l = dgc.fused_attention %q, %k, %v heads 3 causal scale 0.4 : tensor<2x3x6xf64>"},
    {"dense", "%x: tensor<3x4xf64>, %w: tensor<4x5xf64>, %b: tensor<5xf64>",
     "%y = dgc.dense %x, %w, %b : tensor<3x4xf64>, tensor<4x5xf64>, tensor<5xf64>"},
    {"bias_add", "%x: tensor<2x3x4xf64>, %b: tensor<4xf64>",
     "%y = dgc.bias_add %x, %b : tensor<2x3x4xf64>, tensor<4xf64>"},
    {"flatten", "%x: tensor<2x3x4xf64>", "%y = dgc.flatten %x : tensor<2x3x4xf64>"},
    {"conv2d", "%x: tensor<2x5x4x2xf64>, %w: tensor<3x2x2x3xf64>, %b: tensor<3xf64>",
     "%y = dgc.conv2d %x, %w, %b strides [2, 1] padding same : "
     "tensor<2x5x4x2xf64>, tensor<3x2x2x3xf64>, tensor<3xf64>"},
    {"max_pool", "%x: tensor<2x5x4x2xf64>", "%y = dgc.max_pool %x window [2, 2] : tensor<2x5x4x2xf64>"},
    {"avg_pool", "%x: tensor<2x5x4x2xf64>",
     "%y = dgc.avg_pool %x window [3, 2] strides [2, 1] padding same : tensor<2x5x4x2xf64>"},
    {"cross_entropy", "%x: tensor<5x2xf64>, %l: tensor<5xi32>",
     "%y = dgc.cross_entropy %x, %l : tensor<5x2xf64>, tensor<5xi32>"},
    {"cross_entropy_distribution", "%x: tensor<2x3xf64>",
     "%l = dgc.constant dense<[[0.2, 0.7, 0.1], [0.0, 0.4, 0.6]]> : tensor<2x3xf64>\n"
     "%y = dgc.cross_entropy %x, %l : tensor<2x3xf64>"},
    {"mean_squared_error", "%x: tensor<3x4xf64>, %t: tensor<3x4xf64>",
     "%y = dgc.mean_squared_error %x, %t : tensor<3x4xf64>"},
    {"layer_norm", "%x: tensor<3x4xf64>, %s: tensor<4xf64>, %o: tensor<4xf64>",
     "%y = dgc.layer_norm %x, %s, %o epsilon 0.01 : tensor<3x4xf64>, tensor<4xf64>, tensor<4xf64>"},
    {"layer_norm_of_three", "%x: tensor<4x3xf64>, %s: tensor<3xf64>, %o: tensor<3xf64>",
     "%y = dgc.layer_norm %x, %s, %o epsilon 0.01 : tensor<4x3xf64>, tensor<3xf64>, tensor<3xf64>"},
    {"batch_norm_training",
     "%x: tensor<3x2x4xf64>, %s: tensor<4xf64>, %o: tensor<4xf64>, %m: tensor<4xf64>, %v: tensor<4xf64>",
     "%y, %mean, %variance = dgc.batch_norm %x, %s, %o, %m, %v training : "
     "tensor<3x2x4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>",
     0.3, 2},
    {"batch_norm", "%x: tensor<3x2x4xf64>, %s: tensor<4xf64>, %o: tensor<4xf64>, %m: tensor<4xf64>, %v: tensor<4xf64>",
     "%y, %mean, %variance = dgc.batch_norm %x, %s, %o, %m, %v : "
     "tensor<3x2x4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>",
     0.3, 2},
    {"dropout", "%x: tensor<3x4xf64>, %s: tensor<i64>, %t: tensor<i64>",
     "%y = dgc.dropout %x rate 0.25 keyed %s, %t rng 7 : tensor<3x4xf64>"},
};

} // namespace dgc::test

#endif // DGC_TEST_UNIT_PASSES_GRADIENT_GRADIENTCASES_H
