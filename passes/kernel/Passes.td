#ifndef DGC_PASSES_KERNEL_TD
#define DGC_PASSES_KERNEL_TD

include "mlir/Pass/PassBase.td"

def ExpandAttention : Pass<"dgc-expand-attention", "::mlir::ModuleOp"> {
  let summary = "make products and a softmax of attention that the device has no call for";
  let description = [{
    Input: functions in dgc ops on local tensors. Output: no `dgc.fused_attention` and no gradient of one is left; with
    `library=nvidia`, but those that cuDNN has: of f16 and bf16, with heads of at most 128 features, a multiple of 8.

    ```mlir
    %y, %lse = dgc.fused_attention %q, %k, %v heads 4 scale 0.5 : tensor<2x8x16xf32>
    // becomes
    %scores = dgc.dot_general %q4, %k4 batch [0, 2] x [0, 2] contract [3] x [3] : tensor<2x8x4x4xf32>
    ..
    ```
  }];
  let options = [Option<"library", "library", "::dgc::LibraryKind", "::dgc::LibraryKind::OneDnn",
                        "Whose calls: onednn (no such calls) or nvidia">];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numExpanded", "expanded", "Attention ops and gradients expanded">];
}

def SelectLibraryCalls : Pass<"dgc-select-library-calls", "::mlir::ModuleOp"> {
  let summary = "compute products, convolutions and pools by the device's library";
  let description = [{
    Input: functions in dgc ops on local tensors. Output: `exec.matmul`, `exec.convolution` and `exec.pool` for the
    floating-point ops that the library has (f32, bf16, and products and
    pools of f16): products whose operands are matrices, or transposed ones, once neighbouring dimensions are
    taken together; convolutions without input dilation; max and average pools over the spatial dimensions, and the
    gradients of these; and `exec.scatter_add` for sums of f32 or f64 slices. Other element types and layouts are left
    to generated kernels.

    A bias, and then tanh, sigmoid or the addition of a tensor, become part of the call when nothing else needs
    the value before them; relu does not, as that of the library makes zeros of NaNs. `x > 0` is computed from relu(x) where there is one, so that the gradient of relu needs only that.

    ```mlir
    %0 = dgc.dot_general %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32>
    // becomes
    %0 = exec.matmul %x, %w : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>
    ```

    With `library=nvidia` these are the calls of cuBLASLt, products of matrices with a bias, then relu; and of cuDNN:
    convolutions of f32, bf16 and f16 and their gradients, forward with a bias, or a bias and relu. cuDNN's weights are
    [O, spatial.., C], so they are transposed before the call, and their gradients after it. `dgc.fused_attention` and its gradient are
    calls of cuDNN, too, where that has them. All else is left to generated kernels.

    Products of 16 bits whose rows are aligned to 16 bytes compute more (`epilogues=auto`): gelu, its approximation by tanh,
    which keep their operand where the gradient needs it; and the gradients of biases, sums of rows of operands that come
    from the library. With `epilogues=all` they compute the gradients of gelu and of relu, too, for which the relu keeps
    a bit for each element, and sums of rows of these and of large operands: a kernel that multiplies by the derivative
    and adds up takes half of that time on an H200. With `epilogues=bias` they compute no more than others.

    ```mlir
    %0:2 = exec.matmul %x, %w bias(%b : ..) post_ops [#exec.post_op<gelu_tanh>] keep_aux : ..
    %1:2 = exec.matmul %dy, %v args(%0#1 : ..) post_ops [#exec.post_op<gelu_tanh_grad, 0>] bias_gradient result {transpose_b} : ..
    %2:2 = exec.matmul %x, %1#0 bias_gradient b {transpose_a} : ..
    ```

    Functions of workers on CPUs (`dist.mesh` names a mesh of CPUs) have those of the CPU also then.
  }];
  let options = [Option<"library", "library", "::dgc::LibraryKind", "::dgc::LibraryKind::OneDnn",
                        "The library: onednn, or nvidia (cuBLASLt, cuDNN)">,
                 Option<"epilogues", "epilogues", "::dgc::Epilogues", "::dgc::Epilogues::Auto",
                        "Epilogues of products on GPUs: auto, all, or bias, optionally followed by relu">];
  let dependentDialects = ["::dgc::exec::ExecDialect", "::dgc::DGCDialect"];
  let statistics = [
    Statistic<"calls", "calls", "Library calls">,
    Statistic<"postOps", "post-ops", "Biases and post ops that became part of a call">,
  ];
}

def PadProducts : Pass<"dgc-pad-products", "::mlir::ModuleOp"> {
  let summary = "pad products of 16 bits so that rows begin where the library is fast";
  let description = [{
    Input: functions in dgc ops on local tensors, before library calls are selected. Large products of bf16 and f16 whose
    rows in memory do not have a multiple of `multiple` elements get operands with zeros appended, and a slice of what
    is wider in the result: cuBLASLt has its fast kernels for rows that are aligned to 16 bytes. Zeros change no sum, so
    the result has the same bits where sums are made in the same order. The pads and slices become part of the kernels
    that make and use these values.

    ```mlir
    %0 = dgc.dot_general %x, %w contract [1] x [1] : tensor<512x768xbf16>, tensor<50257x768xbf16>
    // becomes
    %1 = dgc.pad %w, %zero low [0, 0] high [7, 0] : tensor<50257x768xbf16>, tensor<bf16>
    %2 = dgc.dot_general %x, %1 contract [1] x [1] : tensor<512x768xbf16>, tensor<50264x768xbf16>
    %0 = dgc.slice %2 from [0, 0] to [512, 50257] : tensor<512x50264xbf16>
    ```
  }];
  let options = [
    Option<"multiple", "multiple", "int64_t", "8", "Elements: 16 bytes">,
    Option<"minOperations", "min-operations", "int64_t", "268435456", "Products with less multiplications and additions "
           "stay as they are">,
  ];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [Statistic<"numPadded", "padded", "Products that were padded">];
}

def SplitLongProducts : Pass<"dgc-split-long-products", "::mlir::ModuleOp"> {
  let summary = "cut the sums of long products of f32 into chunks that are added up with a bound";
  let description = [{
    Input: functions in dgc ops on local tensors, before library calls are selected. Output: the products of f32 that
    become calls of cuBLASLt and contract more than `max-length` terms are products of chunks, with the chunks as a
    batch dimension, and a `dgc.reduce` over these. cuBLASLt adds up a product in an order of its own, in the worst case
    term after term, and the error of that grows with their number; generated kernels add up the chunks with an error
    that grows with the logarithm (`compiler/codegen/SumBlocks.h`).

    ```mlir
    %0 = dgc.dot_general %x, %d contract [0] x [0] : tensor<8192x768xf32>, tensor<8192x3072xf32>
    // becomes
    %1 = dgc.reshape %x to [4, 2048, 768] : tensor<8192x768xf32>
    %2 = dgc.reshape %d to [4, 2048, 3072] : tensor<8192x3072xf32>
    %3 = dgc.dot_general %1, %2 batch [0] x [0] contract [1] x [1] : tensor<4x2048x768xf32>, tensor<4x2048x3072xf32>
    %0 = dgc.reduce sum %3 dims [0] : tensor<4x768x3072xf32>
    ```

    The terms of a chunk are next to each other along the contracted dimensions, so the reshapes are views, whichever
    dimension in memory that is: the strides of a call tell [rows, chunks, length] from [chunks, length, columns]. One
    product stays one call; with batch dimensions and an operand whose contracted dimension is the last one it is one
    for each of the batch or of the chunks, whichever are fewer. The epilogue of the call, a bias and relu, is
    left to the kernels.

    The number of chunks is the least one that divides the terms into chunks of `max-length` / 4 to `max-length`, of a
    multiple of 4 terms (16 bytes) if there is one. Where none does, zeros are appended to the operands, which is one
    copy of each at most, and none where a kernel computes it; to cut off a rest would copy as much, and need a second
    product. The results of all chunks together are no larger than the operands: where they would be, chunks are longer.
    So a chunk has no more terms than the larger one of `max-length` and 2 m n / (m + n), of m rows and n columns,
    however many terms there are, and products whose operands are smaller than two results are left as they are.

    Why 2048: in-order sums of 2048 random positive terms are within 4 log2 n units in the last place (up to 44 among
    60,000 sums), those of 4096 are not always (57, for 48). Chunks of 2048 write and read 8 bytes for 4096 operations.

    Products of bf16 and f16 are not split. They are added up in f32 and rounded once, and the bound is in units of the
    result: in f16 that is 2^13 units of f32, so in-order sums keep the bound of 4 log2 n up to a million terms even if
    all additions round the same way, in bf16 up to 12 million. Nor are products of a module with `dgc.tf32`, whose
    operands are rounded to 10 bits; those that no library call computes, as generated kernels cut sums themselves; and
    those of workers on CPUs, whose runtime does.
  }];
  let options = [Option<"maxLength", "max-length", "int64_t", "2048", "Terms that the library adds up in one call">];
  let dependentDialects = ["::dgc::DGCDialect"];
  let statistics = [
    Statistic<"numSplit", "split", "Products that were split">,
    Statistic<"numPadded", "padded", "Of these, products whose operands got zeros">,
  ];
}

def FormKernels : Pass<"dgc-form-kernels", "::mlir::ModuleOp"> {
  let summary = "fuse dgc ops into kernels and outline these";
  let description = [{
    Input: functions on local tensors in dgc ops, library calls and collectives. Output: what is left of the dgc ops are
    `dgc.reshape` (free) and large constants; all others are in functions of the nested module `@kernels`, called by
    `exec.launch`. Equal kernels are there once.

    A kernel is a set of ops without a way out of it and back in. Fused are elementwise chains with what they
    broadcast, reductions along rows with everything before and after them, reductions over rows with the
    elementwise ops before them, small computations of any form, and the independent updates of all variables, in
    kernels of at most `max-update-ops` (code that is too long takes long to compile). A large value
    of one kernel that others use is computed by these again, element by element, from what is in memory anyway, where
    less memory is moved then and it takes at most `rematerialize-flops` operations for each element: normalized values
    from those that were normalized, for the gradient. With
    `share-launches` (GPUs), what is made of variables alone, as their values in 16 bits, is one kernel, and so are sums of
    whole tensors, as the parts of a norm of all gradients, and the sums over rows of a value and of what is made of it, the
    gradients of a normalization.

    A result may take over the memory of an operand (`inplace`) when the kernel reads that only element by element for it.

    ```mlir
    %0 = dgc.multiply %a, %b : tensor<8xf32>
    %1 = dgc.add %0, %c : tensor<8xf32>
    // becomes
    %1 = exec.launch @kernels::@k0(%a, %b, %c) {inplace = array<i64: 0>} : (..) -> tensor<8xf32>
    ```
  }];
  let options = [
    Option<"maxUpdateOps", "max-update-ops", "int64_t", "512", "ops of a kernel that updates variables; 512: some "
           "twenty variables by Adam">,
    Option<"rematerializeFlops", "rematerialize-flops", "int64_t", "0", "compute values again instead of storing them, "
           "where that moves less memory and takes at most so many operations for each element; 0: never">,
    Option<"shareLaunches", "share-launches", "bool", "false", "one kernel for what is made of variables alone, and for "
           "sums of whole tensors">,
    Option<"fixedArithmetic", "fixed-arithmetic", "bool", "false", "let no bits depend on what a kernel computes together">,
  ];
  let dependentDialects = ["::dgc::exec::ExecDialect", "::dgc::DGCDialect", "::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"launches", "launches", "Launches of kernels">,
    Statistic<"kernels", "kernels", "Different kernels">,
    Statistic<"computedAgain", "computed-again", "Values that are computed again instead of stored">,
  ];
}

def VerifyKernelPass : Pass<"dgc-verify-kernel", "::mlir::ModuleOp"> {
  let summary = "check what the phase `kernel` promises";
  let description = [{
    Refuses a module in which a function outside of `@kernels` has an op that computes: one of `dgc` but a constant, a reshape,
    which is a view, or a loop or branch, in which there are the same. Without `control-flow` there is none of the last two.
  }];
  let options = [
    Option<"controlFlow", "control-flow", "bool", /*default=*/"true",
           "Devices of the target run loops and branches that are decided there">,
  ];
}

#endif // DGC_PASSES_KERNEL_TD
