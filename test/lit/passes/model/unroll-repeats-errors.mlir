// RUN: dgc-opt %s --dgc-unroll-repeats --split-input-file --verify-diagnostics

dgc.model @zero {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.repeat' op repeats its body 0 times: once is the least}}
  %y = dgc.repeat 0 "layer" (%h = %x) {
    dgc.next %h
  }
  dgc.output "y" %y
}

// -----

dgc.model @nothing_around {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.repeat' op begins a round with 1 values, but its dgc.next gives 0: end the body with 'dgc.next' and a value for each of them}}
  %y = dgc.repeat 2 "layer" (%h = %x) {
    %z = dgc.relu %h
  }
  dgc.output "y" %y
}

// -----

dgc.model @nameless {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.repeat' op needs a name: that of its variable "w" is NAME.0.w in the first round}}
  %y = dgc.repeat 2 "" (%h = %x) {
    dgc.next %h
  }
  dgc.output "y" %y
}

// -----

dgc.model @twice {
  %x = dgc.input "x" : tensor<?x4xf32>
  %y = dgc.repeat 2 "layer" (%h = %x) {
    // expected-note @+1 {{first used here}}
    %a = dgc.variable "w" zeros : tensor<4xf32>
    // expected-error @+1 {{uses the name "w" again: every variable of a model needs a name of its own}}
    %b = dgc.variable "w" zeros : tensor<4xf32>
    %z = dgc.bias_add %h, %a
    dgc.next %z
  }
  dgc.output "y" %y
}

// -----

// What repeats is found to clash when it is written out.

dgc.model @clash {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-note @+1 {{first used here}}
  %b = dgc.variable "layer.1.w" zeros : tensor<4xf32>
  %y = dgc.repeat 2 "layer" (%h = %x) {
    // expected-error @+1 {{uses the name "layer.1.w" again: every variable of a model needs a name of its own}}
    %a = dgc.variable "w" zeros : tensor<4xf32>
    %z = dgc.bias_add %h, %a
    dgc.next %z
  }
  %s = dgc.bias_add %y, %b
  dgc.output "y" %s
}

// -----

dgc.model @unused {
  %x = dgc.input "x" : tensor<?x4xf32>
  %t = dgc.input "t" : tensor<?x4xf32>
  %y = dgc.repeat 2 "layer" (%h = %x) {
    // expected-error @+1 {{is not trained: the loss does not depend on "layer.0.w"}}
    %a = dgc.variable "w" zeros : tensor<4xf32>
    %z = dgc.relu %h
    dgc.next %z
  }
  %loss = dgc.mean_squared_error %y, %t
  dgc.loss %loss
  dgc.optimizer sgd learning_rate 0.1
}

// -----

dgc.model @inside {
  %x = dgc.input "x" : tensor<?x4xf32>
  %y = dgc.repeat 2 "layer" (%h = %x) {
    // expected-error @+1 {{'dgc.output' op expects parent op 'dgc.model'}}
    dgc.output "h" %h
    dgc.next %h
  }
  dgc.output "y" %y
}

// -----

// As many rounds as memory would not hold are refused before the first is written.

dgc.model @endless {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.repeat' op would be written out as 2147483647 copies of 1 op: a model may have 262144; repeat or call fewer layers}}
  %y = dgc.repeat 2147483647 "layer" (%h = %x) {
    %z = dgc.relu %h
    dgc.next %z
  }
  dgc.output "y" %y
}

// -----

dgc.model @empty_rounds {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.repeat' op would be written out as 9223372036854775807 copies of 0 ops}}
  %y = dgc.repeat 9223372036854775807 "layer" (%h = %x) {
    dgc.next %h
  }
  dgc.output "y" %y
}

// -----

dgc.model @nested {
  %x = dgc.input "x" : tensor<?x4xf32>
  // expected-error @+1 {{'dgc.repeat' op would be written out as 1024 copies of 4096 ops}}
  %y = dgc.repeat 1024 "outer" (%a = %x) {
    %b = dgc.repeat 2048 "inner" (%h = %a) {
      %z = dgc.relu %h
      dgc.next %z
    }
    dgc.next %b
  }
  dgc.output "y" %y
}

// -----

// expected-error @+1 {{'dgc.model' op has 300002 ops with its repeats and calls written out: a model may have 262144}}
dgc.model @together {
  %x = dgc.input "x" : tensor<?x4xf32>
  %y = dgc.repeat 75000 "a" (%h = %x) {
    %z = dgc.relu %h
    dgc.next %z
  }
  %u = dgc.repeat 75000 "b" (%h = %y) {
    %z = dgc.relu %h
    dgc.next %z
  }
  dgc.output "u" %u
}

// -----

// What a running statistic needs, with the name that the body has for it.

dgc.model @statistics {
  %x = dgc.input "x" : tensor<8x3xf32>
  %z = dgc.repeat 1 "l" (%h = %x) {
    %s = dgc.variable "s" constant 1 : tensor<3xf32>
    %o = dgc.variable "o" zeros : tensor<3xf32>
    // expected-note @+1 {{the variable is here}}
    %mu = dgc.variable "mu" zeros : tensor<3xf32>
    %v = dgc.variable "v" constant 1 : tensor<3xf32>
    // expected-error @+1 {{leaves the running statistic "l.0.mu" as it was initialized, which evaluate and predict would normalize with: give it the new value, result 1 of this op (counted from 0), as in 'dgc.assign %mu, %next'}}
    %y, %a, %b = dgc.batch_norm %h, %s, %o, %mu, %v
    dgc.next %y
  }
  %l = dgc.mean_squared_error %z, %x
  dgc.loss %l
  dgc.optimizer sgd learning_rate 0.1
}
