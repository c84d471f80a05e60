// A target that there is not is an error of the options, with what there is.
// RUN: dgc-opt %s --dgc-kernel-pipeline='target=foo' > %t 2>&1; echo code $? >> %t; FileCheck %s < %t
// RUN: dgc-opt %s --pass-pipeline='builtin.module(dgc-kernel-pipeline{target=foo})' > %t 2>&1; echo code $? >> %t; FileCheck %s < %t
// CHECK: unknown target 'foo'; known are {{.*}}x86-64-v3
// CHECK-NOT: LLVM ERROR
// CHECK: code 1
// RUN: not dgc-opt %s --dgc-kernel-pipeline='target=cuda:sm_1' 2>&1 | FileCheck %s --check-prefix=ARCH
// ARCH: 'sm_1' is no architecture of GPUs that is known
// RUN: not dgc-opt %s --dgc-kernel-pipeline='target=cpu epilogues=some' 2>&1 | FileCheck %s --check-prefix=EPILOGUES
// EPILOGUES: 'some': auto, all or bias is expected

// One that there is runs.
// RUN: dgc-opt %s --dgc-kernel-pipeline='target=x86-64-v3' | FileCheck %s --check-prefix=RUNS
// RUNS: module
