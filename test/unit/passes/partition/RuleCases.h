// Small programs for the test of every sharding rule.
#pragma once

#include <cstdint>
#include <vector>

namespace dgc::testing {

/// A function body over %a, %b, .. (f32), which returns `result`.
struct Case {
  const char *name;
  std::vector<std::vector<int64_t>> arguments;
  const char *body; // defines %r
  const char *result;
  double tolerance = 2e-6;
};

// Sizes differ where they can, and all of them divide by 4.
inline const Case evenCases[] = {
    {"add", {{4, 8}, {4, 8}}, "%r = dgc.add %a, %b : tensor<4x8xf32>", "tensor<4x8xf32>"},
    {"select",
     {{4, 8}, {4, 8}},
     "%p = dgc.compare lt %a, %b : tensor<4x8xf32>\n"
     "%r = dgc.select %p, %a, %b : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>",
     "tensor<4x8xf32>"},
    {"transpose",
     {{4, 8, 12}},
     "%r = dgc.transpose %a permutation [2, 0, 1] : tensor<4x8x12xf32>",
     "tensor<12x4x8xf32>"},
    {"reshape_merge", {{4, 8, 12}}, "%r = dgc.reshape %a to [4, 96] : tensor<4x8x12xf32>", "tensor<4x96xf32>"},
    {"reshape_split", {{32, 12}}, "%r = dgc.reshape %a to [4, 8, 12] : tensor<32x12xf32>", "tensor<4x8x12xf32>"},
    {"broadcast", {{8}}, "%r = dgc.broadcast_in_dim %a dims [1] to [4, 8, 12] : tensor<8xf32>", "tensor<4x8x12xf32>"},
    {"concatenate",
     {{4, 8}, {4, 12}},
     "%r = dgc.concatenate %a, %b dim 1 : tensor<4x8xf32>, tensor<4x12xf32>",
     "tensor<4x20xf32>"},
    {"pad",
     {{4, 8}},
     "%z = dgc.constant dense<7.0> : tensor<f32>\n"
     "%r = dgc.pad %a, %z low [0, 3] high [0, 1] : tensor<4x8xf32>, tensor<f32>",
     "tensor<4x12xf32>"},
    {"slice", {{4, 8}}, "%r = dgc.slice %a from [0, 2] to [4, 6] : tensor<4x8xf32>", "tensor<4x4xf32>"},
    {"reverse", {{4, 8}}, "%r = dgc.reverse %a dims [1] : tensor<4x8xf32>", "tensor<4x8xf32>"},
    {"reduce_sum", {{4, 8, 12}}, "%r = dgc.reduce sum %a dims [0, 2] : tensor<4x8x12xf32>", "tensor<8xf32>"},
    {"reduce_max", {{4, 8, 12}}, "%r = dgc.reduce max %a dims [1] : tensor<4x8x12xf32>", "tensor<4x12xf32>"},
    {"reduce_min_all", {{4, 8}}, "%r = dgc.reduce min %a dims [0, 1] : tensor<4x8xf32>", "tensor<f32>"},
    {"reduce_product", {{4, 8}}, "%r = dgc.reduce product %a dims [0] : tensor<4x8xf32>", "tensor<8xf32>"},
    {"dot",
     {{4, 8}, {8, 12}},
     "%r = dgc.dot_general %a, %b contract [1] x [0] : tensor<4x8xf32>, tensor<8x12xf32>",
     "tensor<4x12xf32>"},
    {"dot_transposed",
     {{8, 4}, {8, 12}},
     "%r = dgc.dot_general %a, %b contract [0] x [0] : tensor<8x4xf32>, tensor<8x12xf32>",
     "tensor<4x12xf32>"},
    {"dot_batch",
     {{4, 8, 12}, {4, 12, 16}},
     "%r = dgc.dot_general %a, %b batch [0] x [0] contract [2] x [1] : tensor<4x8x12xf32>, tensor<4x12x16xf32>",
     "tensor<4x8x16xf32>"},
    // Indices from -1 to 9, some of them outside.
    {"gather",
     {{8, 12}, {4, 16}},
     "%s = dgc.scale %b by 5.0 plus 4.0 : tensor<4x16xf32>\n"
     "%i = dgc.convert %s to i32 : tensor<4x16xf32>\n"
     "%r = dgc.gather %a, %i dim 0 : tensor<8x12xf32>, tensor<4x16xi32>",
     "tensor<4x16x12xf32>"},
    {"gather_inner",
     {{4, 8, 12}, {16}},
     "%s = dgc.scale %b by 5.0 plus 4.0 : tensor<16xf32>\n"
     "%i = dgc.convert %s to i32 : tensor<16xf32>\n"
     "%r = dgc.gather %a, %i dim 1 : tensor<4x8x12xf32>, tensor<16xi32>",
     "tensor<4x16x12xf32>"},
    {"scatter_add",
     {{4, 16}, {4, 16, 12}},
     "%s = dgc.scale %a by 5.0 plus 4.0 : tensor<4x16xf32>\n"
     "%i = dgc.convert %s to i32 : tensor<4x16xf32>\n"
     "%r = dgc.scatter_add %i, %b dim 0 size 8 : tensor<4x16xi32>, tensor<4x16x12xf32>",
     "tensor<8x12xf32>",
     1e-5},
    {"scatter_add_inner",
     {{16}, {4, 16, 12}},
     "%s = dgc.scale %a by 5.0 plus 4.0 : tensor<16xf32>\n"
     "%i = dgc.convert %s to i32 : tensor<16xf32>\n"
     "%r = dgc.scatter_add %i, %b dim 1 size 8 : tensor<16xi32>, tensor<4x16x12xf32>",
     "tensor<4x8x12xf32>",
     1e-5},
    {"dynamic_update_slice",
     {{4, 8, 12}, {4, 2, 12}},
     "%i = dgc.constant dense<3> : tensor<i32>\n"
     "%r = dgc.dynamic_update_slice %a, %b at %i dim 1 : tensor<4x8x12xf32>, tensor<4x2x12xf32>, tensor<i32>",
     "tensor<4x8x12xf32>"},
    {"attention",
     {{4, 8, 16}, {4, 8, 16}, {4, 8, 16}},
     "%r = dgc.attention %a, %b, %c heads 4 causal : tensor<4x8x16xf32>",
     "tensor<4x8x16xf32>",
     1e-5},
    {"fused_attention",
     {{4, 8, 16}, {4, 12, 16}, {4, 12, 32}},
     "%r, %l = dgc.fused_attention %a, %b, %c heads 4 scale 0.4 : "
     "tensor<4x8x16xf32>, tensor<4x12x16xf32>, tensor<4x12x32xf32>",
     "tensor<4x8x32xf32>",
     1e-5},
    {"fused_attention_grad",
     {{4, 8, 16}, {4, 8, 16}, {4, 8, 32}, {4, 8, 32}, {4, 4, 8}, {4, 8, 32}},
     "%q, %r, %v = dgc.fused_attention_grad %a, %b, %c, %d, %e, %f heads 4 causal scale 0.1 : tensor<4x8x16xf32>, "
     "tensor<4x8x16xf32>, tensor<4x8x32xf32>, tensor<4x8x32xf32>, tensor<4x4x8xf32>, tensor<4x8x32xf32>",
     "tensor<4x8x16xf32>",
     1e-5},
    {"convolution",
     {{4, 8, 8, 4}, {3, 3, 4, 8}},
     "%r = dgc.convolution %a, %b padding [[1, 1], [1, 1]] : tensor<4x8x8x4xf32>, tensor<3x3x4x8xf32>",
     "tensor<4x8x8x8xf32>"},
    {"convolution_input_grad",
     {{4, 8, 8, 8}, {3, 3, 4, 8}},
     "%r = dgc.convolution_input_grad %a, %b input_size [8, 8] padding [[1, 1], [1, 1]]"
     " : tensor<4x8x8x8xf32>, tensor<3x3x4x8xf32>",
     "tensor<4x8x8x4xf32>"},
    {"convolution_weight_grad",
     {{4, 8, 8, 4}, {4, 8, 8, 8}},
     "%r = dgc.convolution_weight_grad %a, %b kernel_size [3, 3] padding [[1, 1], [1, 1]]"
     " : tensor<4x8x8x4xf32>, tensor<4x8x8x8xf32>",
     "tensor<3x3x4x8xf32>"},
    {"reduce_window",
     {{4, 8, 8, 4}},
     "%r = dgc.reduce_window max %a window [1, 2, 2, 1] strides [1, 2, 2, 1] : tensor<4x8x8x4xf32>",
     "tensor<4x4x4x4xf32>"},
    {"max_pool_grad",
     {{4, 8, 8, 4}, {4, 4, 4, 4}},
     "%r = dgc.max_pool_grad %a, %b window [1, 2, 2, 1] strides [1, 2, 2, 1]"
     " : tensor<4x8x8x4xf32>, tensor<4x4x4x4xf32>",
     "tensor<4x8x8x4xf32>"},
    {"iota",
     {{8, 4}},
     "%i = dgc.iota dim 0 : tensor<8x4xf32>\n%r = dgc.multiply %a, %i : tensor<8x4xf32>",
     "tensor<8x4xf32>"},
    // A partial sum passes through linear ops, is added to another one, and then one that is not linear.
    {"partial_sums",
     {{8, 4}, {8, 4}},
     "%0 = dgc.reduce sum %a dims [0] : tensor<8x4xf32>\n"
     "%1 = dgc.reduce sum %b dims [0] : tensor<8x4xf32>\n"
     "%2 = dgc.negate %0 : tensor<4xf32>\n"
     "%3 = dgc.add %2, %1 : tensor<4xf32>\n"
     "%r = dgc.exponential %3 : tensor<4xf32>",
     "tensor<4xf32>"},
    // A row softmax, whose rows may be cut.
    {"softmax",
     {{4, 8}},
     "%m = dgc.reduce max %a dims [1] : tensor<4x8xf32>\n"
     "%mb = dgc.broadcast_in_dim %m dims [0] to [4, 8] : tensor<4xf32>\n"
     "%d = dgc.subtract %a, %mb : tensor<4x8xf32>\n"
     "%e = dgc.exponential %d : tensor<4x8xf32>\n"
     "%s = dgc.reduce sum %e dims [1] : tensor<4x8xf32>\n"
     "%sb = dgc.broadcast_in_dim %s dims [0] to [4, 8] : tensor<4xf32>\n"
     "%r = dgc.divide %e, %sb : tensor<4x8xf32>",
     "tensor<4x8xf32>"},
};

// Sizes that neither 2 nor 4 divide, so that the last blocks are shorter, some of them empty; and dimensions along
// which elements move between the parts.
inline const Case unevenCases[] = {
    {"add", {{5, 7}, {5, 7}}, "%r = dgc.add %a, %b : tensor<5x7xf32>", "tensor<5x7xf32>"},
    {"transpose", {{3, 5, 7}}, "%r = dgc.transpose %a permutation [2, 0, 1] : tensor<3x5x7xf32>", "tensor<7x3x5xf32>"},
    {"reshape_merge", {{5, 6, 7}}, "%r = dgc.reshape %a to [5, 42] : tensor<5x6x7xf32>", "tensor<5x42xf32>"},
    {"reshape_split", {{10, 7}}, "%r = dgc.reshape %a to [2, 5, 7] : tensor<10x7xf32>", "tensor<2x5x7xf32>"},
    {"broadcast", {{7}}, "%r = dgc.broadcast_in_dim %a dims [1] to [3, 7, 5] : tensor<7xf32>", "tensor<3x7x5xf32>"},
    {"concatenate",
     {{5, 7}, {5, 3}},
     "%r = dgc.concatenate %a, %b dim 1 : tensor<5x7xf32>, tensor<5x3xf32>",
     "tensor<5x10xf32>"},
    {"pad",
     {{5, 7}},
     "%z = dgc.constant dense<7.0> : tensor<f32>\n"
     "%r = dgc.pad %a, %z low [2, 3] high [0, 1] : tensor<5x7xf32>, tensor<f32>",
     "tensor<7x11xf32>"},
    {"pad_zero",
     {{8, 7}},
     "%z = dgc.constant dense<0.0> : tensor<f32>\n"
     "%r = dgc.pad %a, %z low [1, 9] high [1, 9] : tensor<8x7xf32>, tensor<f32>",
     "tensor<10x25xf32>"},
    {"pad_between",
     {{5, 7}},
     "%z = dgc.constant dense<7.0> : tensor<f32>\n"
     "%r = dgc.pad %a, %z low [1, -3] high [-2, 4] interior [2, 1] : tensor<5x7xf32>, tensor<f32>",
     "tensor<12x14xf32>"},
    {"slice", {{5, 9}}, "%r = dgc.slice %a from [1, 2] to [4, 9] : tensor<5x9xf32>", "tensor<3x7xf32>"},
    {"slice_strided",
     {{8, 11}},
     "%r = dgc.slice %a from [1, 0] to [8, 11] strides [2, 3] : tensor<8x11xf32>",
     "tensor<4x4xf32>"},
    {"slice_end", {{13, 3}}, "%r = dgc.slice %a from [11, 0] to [13, 3] : tensor<13x3xf32>", "tensor<2x3xf32>"},
    {"reverse", {{5, 8}}, "%r = dgc.reverse %a dims [0, 1] : tensor<5x8xf32>", "tensor<5x8xf32>"},
    {"reduce_sum", {{3, 5, 7}}, "%r = dgc.reduce sum %a dims [0, 2] : tensor<3x5x7xf32>", "tensor<5xf32>"},
    {"reduce_max", {{5, 7}}, "%r = dgc.reduce max %a dims [1] : tensor<5x7xf32>", "tensor<5xf32>"},
    {"reduce_max_negative",
     {{5, 7}},
     "%n = dgc.abs %a : tensor<5x7xf32>\n%m = dgc.negate %n : tensor<5x7xf32>\n"
     "%r = dgc.reduce max %m dims [0, 1] : tensor<5x7xf32>",
     "tensor<f32>"},
    {"reduce_min_all", {{5, 7}}, "%r = dgc.reduce min %a dims [0, 1] : tensor<5x7xf32>", "tensor<f32>"},
    {"reduce_product", {{5, 7}}, "%r = dgc.reduce product %a dims [0] : tensor<5x7xf32>", "tensor<7xf32>"},
    {"reduce_integers",
     {{5, 7}},
     "%h = dgc.constant dense<100.0> : tensor<5x7xf32>\n%s = dgc.multiply %a, %h : tensor<5x7xf32>\n"
     "%i = dgc.convert %s to i32 : tensor<5x7xf32>\n"
     "%x = dgc.reduce max %i dims [1] : tensor<5x7xi32>\n%n = dgc.reduce min %i dims [1] : tensor<5x7xi32>\n"
     "%r = dgc.subtract %x, %n : tensor<5xi32>",
     "tensor<5xi32>"},
    {"reduce_booleans",
     {{5, 7}, {5, 7}},
     "%p = dgc.compare lt %a, %b : tensor<5x7xf32>\n"
     "%x = dgc.reduce and %p dims [0] : tensor<5x7xi1>\n%y = dgc.reduce or %p dims [0] : tensor<5x7xi1>\n"
     "%u = dgc.convert %x to f32 : tensor<7xi1>\n%v = dgc.convert %y to f32 : tensor<7xi1>\n"
     "%r = dgc.add %u, %v : tensor<7xf32>",
     "tensor<7xf32>"},
    {"dot",
     {{5, 7}, {7, 3}},
     "%r = dgc.dot_general %a, %b contract [1] x [0] : tensor<5x7xf32>, tensor<7x3xf32>",
     "tensor<5x3xf32>"},
    // Its padding may become NaN on one side alone.
    {"dot_of_quotients",
     {{5, 7}, {7, 3}},
     "%q = dgc.divide %a, %a : tensor<5x7xf32>\n"
     "%r = dgc.dot_general %q, %b contract [1] x [0] : tensor<5x7xf32>, tensor<7x3xf32>",
     "tensor<5x3xf32>"},
    {"dot_batch",
     {{3, 5, 7}, {3, 7, 2}},
     "%r = dgc.dot_general %a, %b batch [0] x [0] contract [2] x [1] : tensor<3x5x7xf32>, tensor<3x7x2xf32>",
     "tensor<3x5x2xf32>"},
    {"dot_with_itself",
     {{5, 5}},
     "%r = dgc.dot_general %a, %a contract [0] x [1] : tensor<5x5xf32>, tensor<5x5xf32>",
     "tensor<5x5xf32>"},
    {"convolution_same",
     {{3, 7, 8, 2}, {3, 3, 2, 3}},
     "%r = dgc.convolution %a, %b padding [[1, 1], [1, 1]] : tensor<3x7x8x2xf32>, tensor<3x3x2x3xf32>",
     "tensor<3x7x8x3xf32>"},
    {"convolution_valid",
     {{2, 9, 8, 3}, {3, 4, 3, 2}},
     "%r = dgc.convolution %a, %b : tensor<2x9x8x3xf32>, tensor<3x4x3x2xf32>",
     "tensor<2x7x5x2xf32>"},
    // A dimension with a dilated input is not cut; the one behind it is.
    {"convolution_one_dimension_dilated",
     {{3, 3, 8, 4}, {1, 2, 4, 2}},
     "%r = dgc.convolution %a, %b strides [1, 2] lhs_dilation [2, 1] : tensor<3x3x8x4xf32>, tensor<1x2x4x2xf32>",
     "tensor<3x5x4x2xf32>"},
    {"convolution_strided",
     {{2, 11, 8, 3}, {3, 2, 3, 2}},
     "%r = dgc.convolution %a, %b strides [2, 3] padding [[1, 0], [2, 1]] dilation [2, 1]"
     " : tensor<2x11x8x3xf32>, tensor<3x2x3x2xf32>",
     "tensor<2x4x4x2xf32>"},
    {"convolution_wide",
     {{2, 6, 3}, {11, 3, 2}},
     "%r = dgc.convolution %a, %b padding [[5, 5]] : tensor<2x6x3xf32>, tensor<11x3x2xf32>",
     "tensor<2x6x2xf32>"},
    {"convolution_groups",
     {{3, 7, 4}, {3, 2, 6}},
     "%r = dgc.convolution %a, %b padding [[1, 1]] groups 2 : tensor<3x7x4xf32>, tensor<3x2x6xf32>",
     "tensor<3x7x6xf32>"},
    {"convolution_point",
     {{3, 7, 2}, {1, 2, 3}},
     "%r = dgc.convolution %a, %b : tensor<3x7x2xf32>, tensor<1x2x3xf32>",
     "tensor<3x7x3xf32>"},
    {"convolution_dilated_input",
     {{3, 5, 2}, {3, 2, 3}},
     "%r = dgc.convolution %a, %b lhs_dilation [2] : tensor<3x5x2xf32>, tensor<3x2x3xf32>",
     "tensor<3x7x3xf32>"},
    {"convolution_input_grad",
     {{3, 7, 8, 3}, {3, 3, 2, 3}},
     "%r = dgc.convolution_input_grad %a, %b input_size [7, 8] padding [[1, 1], [1, 1]]"
     " : tensor<3x7x8x3xf32>, tensor<3x3x2x3xf32>",
     "tensor<3x7x8x2xf32>"},
    {"convolution_input_grad_strided",
     {{2, 4, 4, 2}, {3, 2, 3, 2}},
     "%r = dgc.convolution_input_grad %a, %b input_size [11, 8] strides [2, 3] padding [[1, 0], [2, 1]] dilation [2, 1]"
     " : tensor<2x4x4x2xf32>, tensor<3x2x3x2xf32>",
     "tensor<2x11x8x3xf32>"},
    // Inputs between the windows have no gradient.
    {"convolution_input_grad_gaps",
     {{2, 5, 2}, {1, 3, 2}},
     "%r = dgc.convolution_input_grad %a, %b input_size [14] strides [3]"
     " : tensor<2x5x2xf32>, tensor<1x3x2xf32>",
     "tensor<2x14x3xf32>"},
    {"convolution_weight_grad",
     {{3, 7, 8, 2}, {3, 7, 8, 3}},
     "%r = dgc.convolution_weight_grad %a, %b kernel_size [3, 3] padding [[1, 1], [1, 1]]"
     " : tensor<3x7x8x2xf32>, tensor<3x7x8x3xf32>",
     "tensor<3x3x2x3xf32>"},
    {"convolution_weight_grad_strided",
     {{2, 11, 8, 3}, {2, 4, 4, 2}},
     "%r = dgc.convolution_weight_grad %a, %b kernel_size [3, 2] strides [2, 3] padding [[1, 0], [2, 1]] dilation [2, "
     "1]"
     " : tensor<2x11x8x3xf32>, tensor<2x4x4x2xf32>",
     "tensor<3x2x3x2xf32>"},
    {"pool_tiled",
     {{3, 10, 6, 2}},
     "%r = dgc.reduce_window max %a window [1, 2, 2, 1] strides [1, 2, 2, 1] : tensor<3x10x6x2xf32>",
     "tensor<3x5x3x2xf32>"},
    {"pool_overlapping",
     {{3, 9, 7, 2}},
     "%r = dgc.reduce_window max %a window [1, 3, 3, 1] strides [1, 2, 1, 1] padding [[0, 0], [1, 1], [1, 1], [0, 0]]"
     " : tensor<3x9x7x2xf32>",
     "tensor<3x5x7x2xf32>"},
    {"pool_sum",
     {{3, 9, 2}},
     "%r = dgc.reduce_window sum %a window [1, 3, 1] padding [[0, 0], [1, 2], [0, 0]] : tensor<3x9x2xf32>",
     "tensor<3x10x2xf32>"},
    {"max_pool_grad_tiled",
     {{3, 10, 6, 2}, {3, 5, 3, 2}},
     "%r = dgc.max_pool_grad %a, %b window [1, 2, 2, 1] strides [1, 2, 2, 1]"
     " : tensor<3x10x6x2xf32>, tensor<3x5x3x2xf32>",
     "tensor<3x10x6x2xf32>"},
    {"max_pool_grad_overlapping",
     {{3, 9, 7, 2}, {3, 5, 7, 2}},
     "%r = dgc.max_pool_grad %a, %b window [1, 3, 3, 1] strides [1, 2, 1, 1] padding [[0, 0], [1, 1], [1, 1], [0, 0]]"
     " : tensor<3x9x7x2xf32>, tensor<3x5x7x2xf32>",
     "tensor<3x9x7x2xf32>"},
    {"iota",
     {{7, 5}},
     "%i = dgc.iota dim 0 : tensor<7x5xf32>\n%r = dgc.multiply %a, %i : tensor<7x5xf32>",
     "tensor<7x5xf32>"},
    {"random_bits",
     {{7, 5}},
     "%s = dgc.constant dense<11> : tensor<i64>\n%t = dgc.constant dense<3> : tensor<i64>\n"
     "%u = dgc.rng_bit_generator %s, %t id 5 : tensor<7x5xui32>\n"
     "%h = dgc.constant dense<255> : tensor<7x5xui32>\n%v = dgc.and %u, %h : tensor<7x5xui32>\n"
     "%w = dgc.convert %v to f32 : tensor<7x5xui32>\n%r = dgc.multiply %a, %w : tensor<7x5xf32>",
     "tensor<7x5xf32>"},
    {"partial_sums",
     {{7, 5}, {7, 5}},
     "%0 = dgc.reduce sum %a dims [0] : tensor<7x5xf32>\n"
     "%1 = dgc.reduce sum %b dims [0] : tensor<7x5xf32>\n"
     "%2 = dgc.negate %0 : tensor<5xf32>\n"
     "%3 = dgc.add %2, %1 : tensor<5xf32>\n"
     "%r = dgc.exponential %3 : tensor<5xf32>",
     "tensor<5xf32>"},
    {"softmax",
     {{5, 7}},
     "%m = dgc.reduce max %a dims [1] : tensor<5x7xf32>\n"
     "%mb = dgc.broadcast_in_dim %m dims [0] to [5, 7] : tensor<5xf32>\n"
     "%d = dgc.subtract %a, %mb : tensor<5x7xf32>\n"
     "%e = dgc.exponential %d : tensor<5x7xf32>\n"
     "%s = dgc.reduce sum %e dims [1] : tensor<5x7xf32>\n"
     "%sb = dgc.broadcast_in_dim %s dims [0] to [5, 7] : tensor<5xf32>\n"
     "%r = dgc.divide %e, %sb : tensor<5x7xf32>",
     "tensor<5x7xf32>"},
};

} // namespace dgc::testing
