// The schedules of the language: the learning rate of a step, from the rate that a model gives.

// RATE in all steps. A model has no word for it.
dgc.schedule_def private @constant(%rate, %step) {
  dgc.return %rate
}

// The rate while it rises to RATE in so many steps. Another schedule follows.
dgc.schedule_def private @warm_up(%rate, %step) parameters ("steps" %steps integer in [1, inf)) {
  %counted = dgc.convert %step to f32
  %t = dgc.add %counted, 1.0
  %scaled = dgc.multiply %rate, %t
  %y = dgc.divide %scaled, %steps
  dgc.return %y
}

// What is left of so many steps: 1 before the first one, 0 from the last one on.
dgc.block @part_left(%step, %steps) {
  %t = dgc.convert %step to f32
  %part = dgc.divide %t, %steps
  %done = dgc.minimum %part, 1.0
  %left = dgc.subtract 1.0, %done
  dgc.return %left
}

// final + (rate - final) * part
dgc.block @between(%rate, %final, %part) {
  %range = dgc.subtract %rate, %final
  %above = dgc.multiply %part, %range
  %y = dgc.add %final, %above
  dgc.return %y
}

dgc.schedule_def @linear(%rate, %step) parameters ("steps" %steps integer in [1, inf), "final" %final) {
  %left = dgc.call @part_left "left" (%step, %steps)
  %y = dgc.call @between "between" (%rate, %final, %left)
  dgc.return %y
}

// Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017, without restarts.
dgc.schedule_def @cosine(%rate, %step) parameters ("steps" %steps integer in [1, inf), "final" %final) {
  %t = dgc.convert %step to f32
  %part = dgc.divide %t, %steps
  %done = dgc.minimum %part, 1.0
  %angle = dgc.multiply %done, 3.141592653589793
  %cosine = dgc.cosine %angle
  %wave = dgc.add %cosine, 1.0
  %range = dgc.subtract %rate, %final
  %half = dgc.divide %range, 2.0
  %above = dgc.multiply %wave, %half
  %y = dgc.add %final, %above
  dgc.return %y
}

dgc.schedule_def @polynomial(%rate, %step)
    parameters ("steps" %steps integer in [1, inf), "final" %final, "power" %power in (0, inf)) {
  %left = dgc.call @part_left "left" (%step, %steps)
  %part = dgc.power %left, %power
  %y = dgc.call @between "between" (%rate, %final, %part)
  dgc.return %y
}

dgc.schedule_def @step(%rate, %step) parameters ("every" %every integer in [1, inf), "times" %times) {
  %t = dgc.convert %step to f32
  %periods = dgc.divide %t, %every
  %whole = dgc.floor %periods
  %part = dgc.power %times, %whole
  %y = dgc.multiply %rate, %part
  dgc.return %y
}

dgc.schedule_def @exponential(%rate, %step) parameters ("every" %every integer in [1, inf), "times" %times) {
  %t = dgc.convert %step to f32
  %periods = dgc.divide %t, %every
  %part = dgc.power %times, %periods
  %y = dgc.multiply %rate, %part
  dgc.return %y
}
