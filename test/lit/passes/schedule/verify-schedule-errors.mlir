// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-verify-schedule

// expected-error @+1 {{remains after the phase schedule, where there are programs alone}}
func.func @f() {
  return
}

// -----

module attributes {exec.private_bytes = 64 : i64, exec.shared_bytes = 0 : i64} {
  exec.program @p {
    // expected-error @+1 {{has no offset after the phase schedule}}
    %0 = exec.buffer private "h" : memref<16xf32>
  }
}

// -----

module attributes {exec.private_bytes = 64 : i64, exec.shared_bytes = 0 : i64} {
  exec.program @p {
    // expected-error @+1 {{ends at 128, past the 64 bytes of its arena}}
    %0 = exec.buffer private at 64 "h" : memref<16xf32>
  }
}

// -----

module attributes {exec.private_bytes = 128 : i64, exec.shared_bytes = 0 : i64} {
  exec.variable @a at 0 : memref<16xf32> of tensor<16xf32> state {}
  // expected-error @+1 {{shares bytes with the variable 'a'}}
  exec.variable @b at 32 : memref<16xf32> of tensor<16xf32> state {}
}
