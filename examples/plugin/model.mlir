// The MLP of examples/mnist_mlp.mlir, with the op of the plug-in in place of relu.
dgc.model @softsign_mlp {
  %image = dgc.input "image" : tensor<128x28x28xui8>
  %label = dgc.input "label" : tensor<128xui8>

  %w1 = dgc.variable "w1" glorot_uniform : tensor<784x128xf32>
  %b1 = dgc.variable "b1" zeros : tensor<128xf32>
  %w2 = dgc.variable "w2" glorot_uniform : tensor<128x10xf32>
  %b2 = dgc.variable "b2" zeros : tensor<10xf32>

  %pixels = dgc.convert %image to f32
  %scaled = dgc.scale %pixels by 0.00392156862745098
  %x = dgc.flatten %scaled
  %h = dgc.dense %x, %w1, %b1
  %hidden = example.softsign %h
  %logits = dgc.dense %hidden, %w2, %b2

  %loss = dgc.cross_entropy %logits, %label
  %accuracy = dgc.accuracy %logits, %label
  dgc.loss %loss
  dgc.metric "accuracy" %accuracy
  dgc.optimizer sgd learning_rate 0.1 momentum 0.9
}
