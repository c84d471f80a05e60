// Loops and branches whose rounds need what other devices have, where a dimension is cut.
#pragma once

#include "test/unit/passes/partition/RuleCases.h"

namespace dgc::testing {

inline const Case loopCases[] = {
    // Columns are contracted in each round.
    {"product_in_each_round",
     {{5, 6}, {6, 6}},
     R"(%zero = dgc.constant dense<0> : tensor<i32>
     %n, %r = dgc.while (%i = %zero, %h = %a) with (%m = %b) : tensor<i32>, tensor<5x6xf32>, tensor<6x6xf32> {
       %three = dgc.constant dense<3> : tensor<i32>
       %more = dgc.compare lt %i, %three : tensor<i32>
       dgc.condition %more : tensor<i1>
     } do {
       %one = dgc.constant dense<1> : tensor<i32>
       %j = dgc.add %i, %one : tensor<i32>
       %y = dgc.dot_general %h, %m contract [1] x [0] : tensor<5x6xf32>, tensor<6x6xf32>
       %t = dgc.tanh %y : tensor<5x6xf32>
       dgc.yield %j, %t : tensor<i32>, tensor<5x6xf32>
     })",
     "tensor<5x6xf32>",
     1e-5},
    // What decides is a sum over all elements: 5 to 7 rounds.
    {"condition_on_all_elements",
     {{7, 4}},
     R"(%r = dgc.while (%h = %a) : tensor<7x4xf32> {
       %s = dgc.multiply %h, %h : tensor<7x4xf32>
       %t = dgc.reduce sum %s dims [0, 1] : tensor<7x4xf32>
       %limit = dgc.constant dense<0.02> : tensor<f32>
       %more = dgc.compare gt %t, %limit : tensor<f32>
       dgc.condition %more : tensor<i1>
     } do {
       %half = dgc.constant dense<0.5> : tensor<7x4xf32>
       %y = dgc.multiply %h, %half : tensor<7x4xf32>
       dgc.yield %y : tensor<7x4xf32>
     })",
     "tensor<7x4xf32>",
     1e-5},
    // Rows are centered in each round, which adds up over them, and products are added up over the rounds from zeros on.
    {"sums_over_rounds",
     {{6, 4, 5}, {5, 3}},
     R"(%zeros = dgc.constant dense<0.0> : tensor<5x3xf32>
     %h, %r = dgc.scan (%w = %b, %g = %zeros) over (%x = %a) dim 1 : tensor<5x3xf32>, tensor<5x3xf32>, tensor<6x4x5xf32> -> tensor<5x3xf32>, tensor<5x3xf32> {
       %s = dgc.reduce sum %x dims [0] : tensor<6x5xf32>
       %m = dgc.scale %s by 0.1666666 plus 0.0 : tensor<5xf32>
       %mb = dgc.broadcast_in_dim %m dims [1] to [6, 5] : tensor<5xf32>
       %c = dgc.subtract %x, %mb : tensor<6x5xf32>
       %y = dgc.dot_general %c, %w contract [1] x [0] : tensor<6x5xf32>, tensor<5x3xf32>
       %z = dgc.tanh %y : tensor<6x3xf32>
       %d = dgc.dot_general %c, %z contract [0] x [0] : tensor<6x5xf32>, tensor<6x3xf32>
       %k = dgc.add %g, %d : tensor<5x3xf32>
       dgc.yield %w, %k : tensor<5x3xf32>, tensor<5x3xf32>
     })",
     "tensor<5x3xf32>",
     1e-5},
    // Rows become columns in each round; a slice of what is given is one round.
    {"transposed_in_each_round",
     {{5, 5}, {3, 5, 5}},
     R"(%l, %r = dgc.scan (%h = %a) over (%x = %b) reverse : tensor<5x5xf32>, tensor<3x5x5xf32> -> tensor<5x5xf32>, tensor<3x5x5xf32> {
       %t = dgc.transpose %h permutation [1, 0] : tensor<5x5xf32>
       %y = dgc.add %t, %x : tensor<5x5xf32>
       %m = dgc.reduce max %y dims [1] : tensor<5x5xf32>
       %mb = dgc.broadcast_in_dim %m dims [0] to [5, 5] : tensor<5xf32>
       %z = dgc.subtract %y, %mb : tensor<5x5xf32>
       dgc.yield %z, %y : tensor<5x5xf32>, tensor<5x5xf32>
     })",
     "tensor<3x5x5xf32>",
     1e-5},
    // A loop in a loop, in a branch that is decided by all elements. A place in a row counts.
    {"loops_in_branches",
     {{6, 5}, {5, 5}},
     R"(%s = dgc.reduce sum %a dims [0, 1] : tensor<6x5xf32>
     %limit = dgc.constant dense<0.1> : tensor<f32>
     %p = dgc.compare gt %s, %limit : tensor<f32>
     %r = dgc.if %p (%h = %a, %w = %b) : tensor<i1>, tensor<6x5xf32>, tensor<5x5xf32> -> tensor<6x5xf32> {
       %m = dgc.reduce max %h dims [1] : tensor<6x5xf32>
       %mb = dgc.broadcast_in_dim %m dims [0] to [6, 5] : tensor<6xf32>
       dgc.yield %mb : tensor<6x5xf32>
     } else {
       %o = dgc.scan (%g = %h) with (%v = %w) count 2 : tensor<6x5xf32>, tensor<5x5xf32> -> tensor<6x5xf32> {
         %q = dgc.scan (%f = %g) with (%u = %v) count 2 : tensor<6x5xf32>, tensor<5x5xf32> -> tensor<6x5xf32> {
           %y = dgc.dot_general %f, %u contract [1] x [0] : tensor<6x5xf32>, tensor<5x5xf32>
           %i = dgc.iota dim 0 : tensor<6x5xf32>
           %z = dgc.add %y, %i : tensor<6x5xf32>
           %t = dgc.tanh %z : tensor<6x5xf32>
           dgc.yield %t : tensor<6x5xf32>
         }
         dgc.yield %q : tensor<6x5xf32>
       }
       dgc.yield %o : tensor<6x5xf32>
     })",
     "tensor<6x5xf32>",
     1e-5},
    // The transposed matrix of the loop is the same in all rounds.
    {"same_in_all_rounds",
     {{4, 6}, {6, 6}},
     R"(%r = dgc.scan (%h = %a) with (%m = %b) count 3 : tensor<4x6xf32>, tensor<6x6xf32> -> tensor<4x6xf32> {
       %y = dgc.dot_general %h, %m contract [1] x [1] : tensor<4x6xf32>, tensor<6x6xf32>
       %s = dgc.reduce sum %y dims [0] : tensor<4x6xf32>
       %sb = dgc.broadcast_in_dim %s dims [1] to [4, 6] : tensor<6xf32>
       %z = dgc.subtract %y, %sb : tensor<4x6xf32>
       %t = dgc.tanh %z : tensor<4x6xf32>
       dgc.yield %t : tensor<4x6xf32>
     })",
     "tensor<4x6xf32>",
     1e-5},
};

} // namespace dgc::testing
