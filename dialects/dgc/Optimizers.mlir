// The optimizers of the language, and what they share.

// 1 - beta^t after t steps, as -expm1(t ln beta), which keeps its digits for beta near 1.
dgc.block @bias_correction(%beta, %step) {
  %counted = dgc.convert %step to f32
  %t = dgc.add %counted, 1.0
  %is_plain = dgc.compare eq %beta, 0.0
  %base = dgc.maximum %beta, 1e-300
  %ln = dgc.log %base
  %exponent = dgc.multiply %t, %ln
  %less = dgc.exponential_minus_one %exponent
  %rest = dgc.negate %less
  %correction = dgc.select %is_plain, 1.0, %rest
  dgc.return %correction
}

// beta * mean + (1 - beta) * x
dgc.block @moving_mean(%mean, %x, %beta) {
  %part = dgc.subtract 1.0, %beta
  %kept = dgc.multiply %mean, %beta
  %new = dgc.multiply %x, %part
  %next = dgc.add %kept, %new
  dgc.return %next
}

// x + decay * w
dgc.block @add_decay(%x, %w, %decay) {
  %decays = dgc.compare ne %decay, 0.0
  %decayed = dgc.multiply %w, %decay
  %sum = dgc.add %x, %decayed
  %y = dgc.select %decays, %sum, %x
  dgc.return %y
}

// w - rate * decay * w
dgc.block @shrink(%w, %rate, %decay) {
  %decays = dgc.compare ne %decay, 0.0
  %decay_rate = dgc.multiply %rate, %decay
  %decayed = dgc.multiply %w, %decay_rate
  %less = dgc.subtract %w, %decayed
  %kept = dgc.select %decays, %less, %w
  dgc.return %kept
}

// Stochastic gradient descent with momentum, as torch.optim.SGD.
dgc.optimizer_def @sgd(%w, %g, %rate, %step)
    parameters ("momentum" %momentum = 0.0 in [0, 1), "nesterov" %nesterov = false needs "momentum",
                "weight_decay" %decay = 0.0 in [0, inf))
    state ("momentum" %v needs "momentum") {
  %gradient = dgc.call @add_decay "decay" (%g, %w, %decay)
  %kept = dgc.multiply %v, %momentum
  %velocity = dgc.add %kept, %gradient
  %ahead = dgc.multiply %velocity, %momentum
  %corrected = dgc.add %gradient, %ahead
  %by_momentum = dgc.select %nesterov, %corrected, %velocity
  %has_momentum = dgc.compare ne %momentum, 0.0
  %direction = dgc.select %has_momentum, %by_momentum, %gradient
  %move = dgc.multiply %direction, %rate
  %w1 = dgc.subtract %w, %move
  dgc.return %w1, %velocity
}

// Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015. The step and the root are
// corrected as scalars.
dgc.optimizer_def @adam(%w, %g, %rate, %step)
    parameters ("beta1" %beta1 = 0.9 in [0, 1), "beta2" %beta2 = 0.999 in [0, 1), "epsilon" %epsilon = 1e-8 in (0, inf),
                "weight_decay" %decay = 0.0 in [0, inf))
    state ("adam_mean" %m, "adam_square" %v) {
  %correction1 = dgc.call @bias_correction "mean" (%beta1, %step)
  %correction2 = dgc.call @bias_correction "square" (%beta2, %step)
  %step_size = dgc.divide %rate, %correction1
  %square_scale = dgc.rsqrt %correction2

  %gradient = dgc.call @add_decay "decay" (%g, %w, %decay)
  %mean = dgc.call @moving_mean "mean" (%m, %gradient, %beta1)
  %squared = dgc.multiply %gradient, %gradient
  %square = dgc.call @moving_mean "square" (%v, %squared, %beta2)
  %root = dgc.sqrt %square
  %scaled_root = dgc.multiply %root, %square_scale
  %denominator = dgc.add %scaled_root, %epsilon
  %numerator = dgc.multiply %mean, %step_size
  %move = dgc.divide %numerator, %denominator
  %w1 = dgc.subtract %w, %move
  dgc.return %w1, %mean, %square
}

// Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019, as torch.optim.AdamW.
dgc.optimizer_def @adamw(%w, %g, %rate, %step)
    parameters ("beta1" %beta1 = 0.9 in [0, 1), "beta2" %beta2 = 0.999 in [0, 1), "epsilon" %epsilon = 1e-8 in (0, inf),
                "weight_decay" %decay = 0.0 in [0, inf))
    state ("adam_mean" %m, "adam_square" %v) {
  %correction1 = dgc.call @bias_correction "mean" (%beta1, %step)
  %correction2 = dgc.call @bias_correction "square" (%beta2, %step)
  %step_size = dgc.divide %rate, %correction1
  %square_scale = dgc.rsqrt %correction2

  %mean = dgc.call @moving_mean "mean" (%m, %g, %beta1)
  %squared = dgc.multiply %g, %g
  %square = dgc.call @moving_mean "square" (%v, %squared, %beta2)
  %root = dgc.sqrt %square
  %scaled_root = dgc.multiply %root, %square_scale
  %denominator = dgc.add %scaled_root, %epsilon
  %kept = dgc.call @shrink "decay" (%w, %rate, %decay)
  %numerator = dgc.multiply %mean, %step_size
  %move = dgc.divide %numerator, %denominator
  %w1 = dgc.subtract %kept, %move
  dgc.return %w1, %mean, %square
}

// Tieleman and Hinton, "Lecture 6.5 - rmsprop", 2012, as torch.optim.RMSprop.
dgc.optimizer_def @rmsprop(%w, %g, %rate, %step)
    parameters ("alpha" %alpha = 0.99 in [0, 1), "epsilon" %epsilon = 1e-8 in (0, inf),
                "weight_decay" %decay = 0.0 in [0, inf), "momentum" %momentum = 0.0 in [0, 1), "centered" %centered = false)
    state ("square" %s, "mean" %m needs "centered", "momentum" %v needs "momentum") {
  %gradient = dgc.call @add_decay "decay" (%g, %w, %decay)
  %squared = dgc.multiply %gradient, %gradient
  %square = dgc.call @moving_mean "square" (%s, %squared, %alpha)
  %mean = dgc.call @moving_mean "mean" (%m, %gradient, %alpha)
  %mean_squared = dgc.multiply %mean, %mean
  %variance = dgc.subtract %square, %mean_squared
  %spread = dgc.select %centered, %variance, %square
  %root = dgc.sqrt %spread
  %denominator = dgc.add %root, %epsilon
  %quotient = dgc.divide %gradient, %denominator
  %kept = dgc.multiply %v, %momentum
  %velocity = dgc.add %kept, %quotient
  %has_momentum = dgc.compare ne %momentum, 0.0
  %direction = dgc.select %has_momentum, %velocity, %quotient
  %move = dgc.multiply %direction, %rate
  %w1 = dgc.subtract %w, %move
  dgc.return %w1, %square, %mean, %velocity
}

// Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", 2011, as
// torch.optim.Adagrad.
dgc.optimizer_def @adagrad(%w, %g, %rate, %step)
    parameters ("learning_rate_decay" %rate_decay = 0.0 in [0, inf), "epsilon" %epsilon = 1e-10 in (0, inf),
                "weight_decay" %decay = 0.0 in [0, inf), "initial_accumulator" %initial = 0.0 in [0, inf))
    state ("sum" %s = "initial_accumulator") {
  %gradient = dgc.call @add_decay "decay" (%g, %w, %decay)
  %squared = dgc.multiply %gradient, %gradient
  %sum = dgc.add %s, %squared
  %root = dgc.sqrt %sum
  %denominator = dgc.add %root, %epsilon
  %quotient = dgc.divide %gradient, %denominator
  %t = dgc.convert %step to f32
  %slower = dgc.multiply %t, %rate_decay
  %divisor = dgc.add %slower, 1.0
  %divided = dgc.divide %rate, %divisor
  %slows = dgc.compare ne %rate_decay, 0.0
  %step_size = dgc.select %slows, %divided, %rate
  %move = dgc.multiply %quotient, %step_size
  %w1 = dgc.subtract %w, %move
  dgc.return %w1, %sum
}

// The step of Adafactor after t steps, with the mean of squares of each element.
dgc.block @adafactor_step(%w, %g, %square, %rate, %t, %epsilon1, %epsilon2, %threshold, %decay) {
  %least = dgc.multiply %epsilon1, %epsilon1
  %square_or_least = dgc.maximum %square, %least
  %scale = dgc.rsqrt %square_or_least
  %update = dgc.multiply %g, %scale
  %update_squared = dgc.multiply %update, %update
  %update_mean = dgc.mean %update_squared
  %update_size = dgc.sqrt %update_mean
  %excess = dgc.divide %update_size, %threshold
  %divisor = dgc.maximum %excess, 1.0
  %slowest = dgc.rsqrt %t
  %relative = dgc.minimum %rate, %slowest
  %w_squared = dgc.multiply %w, %w
  %w_mean = dgc.mean %w_squared
  %w_size = dgc.sqrt %w_mean
  %size = dgc.maximum %w_size, %epsilon2
  %absolute = dgc.multiply %size, %relative
  %step_size = dgc.divide %absolute, %divisor
  %kept = dgc.call @shrink "decay" (%w, %rate, %decay)
  %move = dgc.multiply %update, %step_size
  %w1 = dgc.subtract %kept, %move
  dgc.return %w1
}

// Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018, as torch.optim.Adafactor: the
// step is relative to the size of the weight.
dgc.optimizer_def @adafactor(%w, %g, %rate, %step) rank in [2, inf) else @adafactor_whole
    parameters ("beta2_decay" %beta2_decay = -0.8 in [-1, 0], "epsilon1" %epsilon1 = 1.1920928955078125e-7 in (0, inf),
                "epsilon2" %epsilon2 = 1e-3 in (0, inf), "threshold" %threshold = 1.0 in (0, inf),
                "weight_decay" %decay = 0.0 in [0, inf))
    state ("row" %r reduced [-1], "column" %c reduced [-2]) {
  %counted = dgc.convert %step to f32
  %t = dgc.add %counted, 1.0
  %new = dgc.power %t, %beta2_decay
  %old = dgc.subtract 1.0, %new
  %squared = dgc.multiply %g, %g
  %row_mean = dgc.mean %squared dims [-1] keep
  %row = dgc.call @moving_mean "row" (%r, %row_mean, %old)
  %column_mean = dgc.mean %squared dims [-2] keep
  %column = dgc.call @moving_mean "column" (%c, %column_mean, %old)
  %all = dgc.mean %row dims [-2] keep
  %all_or_least = dgc.maximum %all, %epsilon1
  %row_part = dgc.divide %row, %all_or_least
  %square = dgc.multiply %row_part, %column
  %w1 = dgc.call @adafactor_step "step" (%w, %g, %square, %rate, %t, %epsilon1, %epsilon2, %threshold, %decay)
  dgc.return %w1, %row, %column
}

// Adafactor for what has no rows and columns: the mean of squares of each element.
dgc.optimizer_def private @adafactor_whole(%w, %g, %rate, %step)
    parameters ("beta2_decay" %beta2_decay = -0.8 in [-1, 0], "epsilon1" %epsilon1 = 1.1920928955078125e-7 in (0, inf),
                "epsilon2" %epsilon2 = 1e-3 in (0, inf), "threshold" %threshold = 1.0 in (0, inf),
                "weight_decay" %decay = 0.0 in [0, inf))
    state ("square" %v) {
  %counted = dgc.convert %step to f32
  %t = dgc.add %counted, 1.0
  %new = dgc.power %t, %beta2_decay
  %old = dgc.subtract 1.0, %new
  %squared = dgc.multiply %g, %g
  %square = dgc.call @moving_mean "square" (%v, %squared, %old)
  %w1 = dgc.call @adafactor_step "step" (%w, %g, %square, %rate, %t, %epsilon1, %epsilon2, %threshold, %decay)
  dgc.return %w1, %square
}

// You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes", 2020, as optax.lamb: the step of
// AdamW, as large as the weight is. The quotient of norms is that of root mean squares; where one is 0 it is 1.
dgc.optimizer_def @lamb(%w, %g, %rate, %step)
    parameters ("beta1" %beta1 = 0.9 in [0, 1), "beta2" %beta2 = 0.999 in [0, 1), "epsilon" %epsilon = 1e-6 in (0, inf),
                "weight_decay" %decay = 0.0 in [0, inf))
    state ("mean" %m, "square" %v) {
  %correction1 = dgc.call @bias_correction "mean" (%beta1, %step)
  %correction2 = dgc.call @bias_correction "square" (%beta2, %step)
  %mean_scale = dgc.divide 1.0, %correction1
  %square_scale = dgc.rsqrt %correction2

  %mean = dgc.call @moving_mean "mean" (%m, %g, %beta1)
  %squared = dgc.multiply %g, %g
  %square = dgc.call @moving_mean "square" (%v, %squared, %beta2)
  %root = dgc.sqrt %square
  %scaled_root = dgc.multiply %root, %square_scale
  %denominator = dgc.add %scaled_root, %epsilon
  %numerator = dgc.multiply %mean, %mean_scale
  %quotient = dgc.divide %numerator, %denominator
  %update = dgc.call @add_decay "decay" (%quotient, %w, %decay)

  %w_squared = dgc.multiply %w, %w
  %w_mean = dgc.mean %w_squared
  %w_size = dgc.sqrt %w_mean
  %update_squared = dgc.multiply %update, %update
  %update_mean = dgc.mean %update_squared
  %update_size = dgc.sqrt %update_mean
  %has_w = dgc.compare gt %w_size, 0.0
  %has_update = dgc.compare gt %update_size, 0.0
  %has_both = dgc.and %has_w, %has_update
  %trust = dgc.divide %w_size, %update_size
  %ratio = dgc.select %has_both, %trust, 1.0
  %step_size = dgc.multiply %rate, %ratio
  %move = dgc.multiply %update, %step_size
  %w1 = dgc.subtract %w, %move
  dgc.return %w1, %mean, %square
}

// Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023.
dgc.optimizer_def @lion(%w, %g, %rate, %step)
    parameters ("beta1" %beta1 = 0.9 in [0, 1), "beta2" %beta2 = 0.99 in [0, 1), "weight_decay" %decay = 0.0 in [0, inf))
    state ("momentum" %m) {
  %mixed = dgc.call @moving_mean "mixed" (%m, %g, %beta1)
  %sign = dgc.sign %mixed
  %direction = dgc.call @add_decay "decay" (%sign, %w, %decay)
  %move = dgc.multiply %direction, %rate
  %w1 = dgc.subtract %w, %move
  %mean = dgc.call @moving_mean "mean" (%m, %g, %beta2)
  dgc.return %w1, %mean
}

// Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024, as torch.optim.Muon: the momentum is
// made orthogonal by five steps of a Newton-Schulz iteration, on the side of the matrix that is shorter. The step has the
// root mean square of one of AdamW (Liu et al., "Muon is Scalable for LLM Training", 2025), so that both have one learning
// rate: other weights are trained by AdamW, as its authors do.
dgc.optimizer_def @muon(%w, %g, %rate, %step) rank in [2, 2] else @adamw
    parameters ("momentum" %momentum = 0.95 in [0, 1), "nesterov" %nesterov = true, "epsilon" %epsilon = 1e-7 in (0, inf),
                "weight_decay" %decay = 0.0 in [0, inf))
    state ("momentum" %v) {
  %mean = dgc.call @moving_mean "mean" (%v, %g, %momentum)
  %ahead = dgc.call @moving_mean "ahead" (%mean, %g, %momentum)
  %direction = dgc.select %nesterov, %ahead, %mean

  %rows = dgc.size %w dim -2
  %columns = dgc.size %w dim -1
  %is_tall = dgc.compare gt %rows, %columns
  %turned = dgc.transpose %direction permutation [1, 0]
  %wide = dgc.select %is_tall, %turned, %direction
  %squared = dgc.multiply %wide, %wide
  %square = dgc.reduce sum %squared dims [0, 1]
  %norm = dgc.sqrt %square
  %divisor = dgc.maximum %norm, %epsilon
  %start = dgc.divide %wide, %divisor
  %orthogonal = dgc.repeat 5 "newton_schulz" (%x = %start) {
    %xt = dgc.transpose %x permutation [1, 0]
    %a = dgc.matmul %x, %xt
    %aa = dgc.matmul %a, %a
    %a_part = dgc.multiply %a, -4.7750
    %aa_part = dgc.multiply %aa, 2.0315
    %b = dgc.add %a_part, %aa_part
    %bx = dgc.matmul %b, %x
    %x_part = dgc.multiply %x, 3.4445
    %next = dgc.add %x_part, %bx
    dgc.next %next
  }
  %returned = dgc.transpose %orthogonal permutation [1, 0]
  %update = dgc.select %is_tall, %returned, %orthogonal

  %longer = dgc.maximum %rows, %columns
  %length = dgc.sqrt %longer
  %adjusted = dgc.multiply %length, 0.2
  %step_size = dgc.multiply %rate, %adjusted
  %kept = dgc.call @shrink "decay" (%w, %rate, %decay)
  %move = dgc.multiply %update, %step_size
  %w1 = dgc.subtract %kept, %move
  dgc.return %w1, %mean
}
