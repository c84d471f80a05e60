// RUN: dgc-opt %s --dgc-inline-calls --split-input-file --verify-diagnostics

dgc.model @unknown {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.call' op calls @layer, and there is no such dgc.block next to the model}}
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

// -----

// The text says how many results there are before anything is known of the block.
dgc.model @many_results {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{has 2147483648 results: a call may have 65536, and those that its block returns}}
  %y:2147483648 = dgc.call @layer "first" (%x)
}

// -----

// Blocks that call each other twice double with each: the call is named with which there are too many ops.
dgc.block @b0(%x) {
  %y = dgc.relu %x
  dgc.return %y
}
dgc.block @b20(%x) {
  // expected-error @+1 {{'dgc.call' op would be written out as 1 copy of 524288 ops: a model may have 262144; repeat or call fewer layers}}
  %y = dgc.call @b19 "a" (%x)
  %z = dgc.call @b19 "b" (%y)
  dgc.return %z
}
dgc.block @b19(%x) {
  %y = dgc.call @b18 "a" (%x)
  %z = dgc.call @b18 "b" (%y)
  dgc.return %z
}
dgc.block @b18(%x) {
  %y = dgc.call @b17 "a" (%x)
  %z = dgc.call @b17 "b" (%y)
  dgc.return %z
}
dgc.block @b17(%x) {
  %y = dgc.call @b16 "a" (%x)
  %z = dgc.call @b16 "b" (%y)
  dgc.return %z
}
dgc.block @b16(%x) {
  %y = dgc.call @b15 "a" (%x)
  %z = dgc.call @b15 "b" (%y)
  dgc.return %z
}
dgc.block @b15(%x) {
  %y = dgc.call @b14 "a" (%x)
  %z = dgc.call @b14 "b" (%y)
  dgc.return %z
}
dgc.block @b14(%x) {
  %y = dgc.call @b13 "a" (%x)
  %z = dgc.call @b13 "b" (%y)
  dgc.return %z
}
dgc.block @b13(%x) {
  %y = dgc.call @b12 "a" (%x)
  %z = dgc.call @b12 "b" (%y)
  dgc.return %z
}
dgc.block @b12(%x) {
  %y = dgc.call @b11 "a" (%x)
  %z = dgc.call @b11 "b" (%y)
  dgc.return %z
}
dgc.block @b11(%x) {
  %y = dgc.call @b10 "a" (%x)
  %z = dgc.call @b10 "b" (%y)
  dgc.return %z
}
dgc.block @b10(%x) {
  %y = dgc.call @b9 "a" (%x)
  %z = dgc.call @b9 "b" (%y)
  dgc.return %z
}
dgc.block @b9(%x) {
  %y = dgc.call @b8 "a" (%x)
  %z = dgc.call @b8 "b" (%y)
  dgc.return %z
}
dgc.block @b8(%x) {
  %y = dgc.call @b7 "a" (%x)
  %z = dgc.call @b7 "b" (%y)
  dgc.return %z
}
dgc.block @b7(%x) {
  %y = dgc.call @b6 "a" (%x)
  %z = dgc.call @b6 "b" (%y)
  dgc.return %z
}
dgc.block @b6(%x) {
  %y = dgc.call @b5 "a" (%x)
  %z = dgc.call @b5 "b" (%y)
  dgc.return %z
}
dgc.block @b5(%x) {
  %y = dgc.call @b4 "a" (%x)
  %z = dgc.call @b4 "b" (%y)
  dgc.return %z
}
dgc.block @b4(%x) {
  %y = dgc.call @b3 "a" (%x)
  %z = dgc.call @b3 "b" (%y)
  dgc.return %z
}
dgc.block @b3(%x) {
  %y = dgc.call @b2 "a" (%x)
  %z = dgc.call @b2 "b" (%y)
  dgc.return %z
}
dgc.block @b2(%x) {
  %y = dgc.call @b1 "a" (%x)
  %z = dgc.call @b1 "b" (%y)
  dgc.return %z
}
dgc.block @b1(%x) {
  %y = dgc.call @b0 "a" (%x)
  %z = dgc.call @b0 "b" (%y)
  dgc.return %z
}
dgc.model @doubled {
  %x = dgc.input "x" : tensor<?x4xf32>
  %y = dgc.call @b20 "first" (%x)
  dgc.output "y" %y
}
