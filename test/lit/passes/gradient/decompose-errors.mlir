// RUN: dgc-opt %s --dgc-decompose --verify-diagnostics

func.func @untyped(%x: !dgc.untyped) -> !dgc.untyped {
  // expected-error @+1 {{'dgc.relu' op cannot be decomposed before the types are inferred; run dgc-infer-types first}}
  %y = dgc.relu %x
  return %y : !dgc.untyped
}
