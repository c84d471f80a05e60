// RUN: dgc-opt %s --dgc-inline-calls --split-input-file --verify-diagnostics

dgc.model @unknown {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.call' op calls @layer, and there is no such dgc.block beside the model}}
  %y = dgc.call @layer "first" (%x)
  dgc.output "y" %y
}

// -----

// expected-note @+1 {{the block is here}}
dgc.block @layer(%x, %y) {
  dgc.return %x
}
dgc.model @arguments {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.call' op of @layer has 1 argument, and the block has 2}}
  %y = dgc.call @layer "first" (%x)
  dgc.output "y" %y
}

// -----

// expected-note @+1 {{the block is here}}
dgc.block @layer(%x) {
  dgc.return %x
}
dgc.model @results {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.call' op of @layer has 2 results, and the block has 1}}
  %y:2 = dgc.call @layer "first" (%x)
  dgc.output "y" %y#1
}

// -----

dgc.block @layer(%x) {
  dgc.return %x
}
dgc.model @nameless {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.call' op needs a name: that of the variable "w" of the block is NAME.w}}
  %y = dgc.call @layer "" (%x)
  dgc.output "y" %y
}

// -----

dgc.block @itself(%x) {
  // expected-error @+1 {{'dgc.call' op calls @itself, which this is a part of, so it would never end; use dgc.repeat for layers that repeat}}
  %y = dgc.call @itself "again" (%x)
  dgc.return %y
}
dgc.model @recursive {
  %x = dgc.input "x" : tensor<?x4xf32>
  %y = dgc.call @itself "first" (%x)
  dgc.output "y" %y
}

// -----

dgc.block @ping(%x) {
  // expected-note @+1 {{by way of @pong here}}
  %y = dgc.call @pong "to" (%x)
  dgc.return %y
}
dgc.block @pong(%x) {
  // expected-error @+1 {{'dgc.call' op calls @ping, which this is a part of, so it would never end}}
  %y = dgc.call @ping "fro" (%x)
  dgc.return %y
}
dgc.model @mutual {
  %x = dgc.input "x" : tensor<?x4xf32>
  %y = dgc.call @ping "first" (%x)
  dgc.output "y" %y
}

// -----

// Two calls of one name would have the same variables.
dgc.block @layer(%x) {
  // expected-error @+2 {{uses the name "a.w" again: every variable of a model needs a name of its own}}
  // expected-note @+1 {{first used here}}
  %w = dgc.variable "w" zeros frozen : tensor<4xf32>
  %y = dgc.bias_add %x, %w
  dgc.return %y
}
dgc.model @same_name {
  %x = dgc.input "x" : tensor<?x4xf32>
  %y = dgc.call @layer "a" (%x)
  %z = dgc.call @layer "a" (%y)
  dgc.output "z" %z
}

// -----

dgc.block @layer(%x) {
  // expected-error @+1 {{'dgc.output' op expects parent op 'dgc.model'}}
  dgc.output "x" %x
  dgc.return %x
}
