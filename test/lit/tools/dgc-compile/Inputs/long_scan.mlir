// A recurrent network whose rounds have values worth keeping: two products each.
dgc.model @long_scan {
  %x = dgc.input "x" : tensor<8x64x64xf32>
  %label = dgc.input "label" : tensor<8xi32>
  %u = dgc.variable "u" normal 0 0.1 : tensor<64x64xf32>
  %v = dgc.variable "v" normal 0 0.1 : tensor<64x3xf32>
  %start = dgc.constant dense<0.0> : tensor<8x64xf32>
  %last = dgc.scan (%h = %start) over (%slice = %x) with (%m = %u) dim 1 {
    %q = dgc.matmul %h, %m
    %s = dgc.add %q, %slice
    %t = dgc.tanh %s
    %r = dgc.matmul %t, %m
    %next = dgc.tanh %r
    dgc.yield %next
  }
  %logits = dgc.matmul %last, %v
  %loss = dgc.cross_entropy %logits, %label
  dgc.loss %loss
  dgc.output "logits" %logits
  dgc.optimizer sgd learning_rate 0.25
}
