dgc.model @mistake {
  %x = dgc.input "x" : tensor<?x4xf32>
  dgc.optimizer sgd learning_rate 0.1 momentun 0.9
}
