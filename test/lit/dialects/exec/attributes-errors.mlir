// RUN: dgc-opt %s -split-input-file -verify-diagnostics

// A name that the dialect does not have.
// expected-error@+1 {{'builtin.module' op 'exec.bytes': is not an attribute; the dialect exec has 'exec.private_bytes', 'exec.shared_bytes', 'exec.mesh_bytes', 'exec.peak_bytes', 'exec.threads' here}}
module attributes {exec.bytes = 8} {}

// -----

// Arguments have no attribute of this dialect.
// expected-error@+1 {{argument 0: 'exec.slot': is not an attribute; the dialect exec has none here}}
func.func private @f(tensor<8xf32> {exec.slot = 1})

// -----

// A known name in another place.
// expected-error@+1 {{result 0: 'exec.threads': is for modules}}
func.func private @f() -> (tensor<8xf32> {exec.threads = 1})

// -----

// expected-error@+1 {{'func.func' op 'exec.scratch_bytes': is for exec.program}}
func.func private @f() attributes {exec.scratch_bytes = 1}

// -----

// Values of another kind.
// expected-error@+1 {{'exec.private_bytes': expected an integer of 64 bits of at least 0, got -1}}
module attributes {exec.private_bytes = -1} {}

// -----

// expected-error@+1 {{'exec.mesh_bytes': expected a dictionary of array<i64: private, shared>}}
module attributes {exec.mesh_bytes = {mesh = array<i64: 1>}} {}
