// RUN: dgc-opt %s -split-input-file -verify-diagnostics --dgc-infer-types

func.func @nothing(%x: tensor<4xf32>) {
  // expected-error @+1 {{carries nothing: write (%inside = %before), and %inside is what a round works on}}
  dgc.while () with (%a = %x) : tensor<4xf32> {
    %p = dgc.constant dense<true> : tensor<i1>
    dgc.condition %p : tensor<i1>
  } do {
    dgc.yield
  }
  return
}

// -----

func.func @condition(%x: tensor<4xi1>) -> tensor<4xi1> {
  %0 = dgc.while (%a = %x) : tensor<4xi1> {
    // expected-error @+1 {{is given 'tensor<4xi1>': whether a loop goes on is one i1, tensor<i1>}}
    dgc.condition %a : tensor<4xi1>
  } do {
    dgc.yield %a : tensor<4xi1>
  }
  return %0 : tensor<4xi1>
}

// -----

func.func @rounds(%x: tensor<i1>) -> tensor<i1> {
  // expected-error @+1 {{attribute 'rounds' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0 = dgc.while rounds 0 (%a = %x) : tensor<i1> {
    dgc.condition %a : tensor<i1>
  } do {
    dgc.yield %a : tensor<i1>
  }
  return %0 : tensor<i1>
}

// -----

func.func @count(%x: tensor<i1>) -> tensor<i1> {
  %0 = dgc.while (%a = %x) : tensor<i1> {
    dgc.condition %a : tensor<i1>
  } do {
    // expected-error @+1 {{gives 2 values, and the loop carries 1: give the next value of each}}
    dgc.yield %a, %a : tensor<i1>
  }
  return %0 : tensor<i1>
}

// -----

func.func @types(%x: tensor<i1>, %y: tensor<4xf32>) -> tensor<i1> {
  // expected-error @+1 {{carries value 1 as 'tensor<4xf32>' into a round, 'tensor<1x4xf32>' out of it and gives 'tensor<4xf32>': these must be the same}}
  %0:2 = dgc.while (%a = %x, %b = %y) : tensor<i1>, tensor<4xf32> {
    dgc.condition %a : tensor<i1>
  } do {
    %1 = dgc.reshape %b to [1, 4] : tensor<4xf32>
    dgc.yield %a, %1 : tensor<i1>, tensor<1x4xf32>
  }
  return %0#0 : tensor<i1>
}

// -----

func.func @ends(%x: tensor<i1>) -> tensor<i1> {
  // expected-error @+1 {{needs a dgc.condition at the end of its first region and a dgc.yield at that of the second}}
  %0 = dgc.while (%a = %x) : tensor<i1> {
    dgc.yield %a : tensor<i1>
  } do {
    dgc.yield %a : tensor<i1>
  }
  return %0 : tensor<i1>
}

// -----

func.func @outside(%x: tensor<i1>, %y: tensor<f32>) -> tensor<f32> {
  // expected-note @+1 {{required by region isolation constraints}}
  %0:2 = dgc.while (%a = %x, %b = %y) : tensor<i1>, tensor<f32> {
    dgc.condition %a : tensor<i1>
  } do {
    // expected-error @+1 {{using value defined outside the region}}
    %1 = dgc.add %b, %y : tensor<f32>
    dgc.yield %a, %1 : tensor<i1>, tensor<f32>
  }
  return %0#1 : tensor<f32>
}

// -----

func.func @predicate(%p: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is decided by 'tensor<4xi1>': it must be one i1, tensor<i1>; dgc.select chooses element by element}}
  %0 = dgc.if %p (%a = %x) : tensor<4xi1>, tensor<4xf32> -> tensor<4xf32> {
    dgc.yield %a : tensor<4xf32>
  } else {
    dgc.yield %a : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @branches(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dgc.if %p (%a = %x) : tensor<i1>, tensor<4xf32> -> tensor<4xf32> {
    dgc.yield %a : tensor<4xf32>
  } else {
    %1 = dgc.reduce sum %a dims [0] : tensor<4xf32>
    // expected-error @+1 {{gives ('tensor<f32>'), and the dgc.if gives ('tensor<4xf32>'): both branches give the same types}}
    dgc.yield %1 : tensor<f32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @no_results(%p: tensor<i1>) {
  // expected-error @+1 {{gives nothing: a branch without results computes nothing that is used}}
  dgc.if %p () : tensor<i1> {
    dgc.yield
  } else {
    dgc.yield
  }
  return
}

// -----

// expected-error @+2 {{3 types for 2 values: write one for each}}
func.func @list(%x: tensor<i1>) -> tensor<i1> {
  %0 = dgc.while (%a = %x) with (%b = %x) : tensor<i1>, tensor<i1>, tensor<i1> {
    dgc.condition %a : tensor<i1>
  } do {
    dgc.yield %a : tensor<i1>
  }
  return %0 : tensor<i1>
}

// -----

dgc.model @training {
  %x = dgc.input "x" : tensor<8x3xf32>
  %p = dgc.constant dense<true> : tensor<i1>
  %0, %y = dgc.while (%go = %p, %h = %x) {
    dgc.condition %go
  } do {
    // expected-error @+1 {{cannot be in a dgc.while: what differs between training and evaluating goes before or after it}}
    %d = dgc.dropout %h rate 0.5
    dgc.yield %go, %d
  }
  dgc.output "y" %y
}

// -----

dgc.model @wrong_results {
  %x = dgc.input "x" : tensor<8x3xf32>
  %p = dgc.constant dense<true> : tensor<i1>
  %y, %z = dgc.if %p (%h = %x) {
    // expected-error @+1 {{gives ('!dgc.untyped'), and the dgc.if gives ('!dgc.untyped', '!dgc.untyped'): both branches give the same types}}
    dgc.yield %h
  } else {
    dgc.yield %h
  }
  dgc.output "y" %y
}

// -----

func.func @no_rounds(%h: tensor<4xf32>) {
  // expected-error @+1 {{has no number of rounds: write `count 10`, or what it goes over}}
  %0 = dgc.scan (%a = %h) : tensor<4xf32> -> tensor<4xf32> {
    dgc.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @two_counts(%h: tensor<4xf32>) {
  // expected-error @+1 {{`count` is for scans over nothing}}
  %0 = dgc.scan (%a = %h) over (%b = %h) count 4 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32> {
    dgc.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @slices(%h: tensor<4xf32>, %x: tensor<5x4xf32>) {
  // expected-error @+1 {{goes over 4 slices of the first tensor, and 'tensor<5x4xf32>' has 5: all must have as many}}
  %0 = dgc.scan () over (%a = %h, %b = %x) : tensor<4xf32>, tensor<5x4xf32> -> tensor<4xf32> {
    dgc.yield %a : tensor<f32>
  }
  return
}

// -----

func.func @no_dimension(%h: tensor<4xf32>) {
  // expected-error @+1 {{'tensor<4xf32>' has no slices along dimension 1}}
  %0 = dgc.scan () over (%a = %h) dim 1 : tensor<4xf32> -> tensor<4xf32> {
    dgc.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @result(%h: tensor<4xf32>) {
  // expected-error @+1 {{gives 'tensor<5xf32>' as result 0, of which 4 slices along dimension 0 are 'tensor<f32>'}}
  %0 = dgc.scan () over (%a = %h) : tensor<4xf32> -> tensor<5xf32> {
    dgc.yield %a : tensor<f32>
  }
  return
}

// -----

func.func @too_few(%h: tensor<4xf32>) {
  %0:2 = dgc.scan (%a = %h) count 3 : tensor<4xf32> -> tensor<4xf32>, tensor<3x4xf32> {
    // expected-error @+1 {{gives 1 values, and the dgc.scan has 2 results and carries 1}}
    dgc.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @saved(%h: tensor<4xf32>) {
  // expected-error @+1 {{keeps 2 of its results for its gradient: these are at most all that are not carried, of a scan that `saves`}}
  %0 = dgc.scan () over (%a = %h) saves saved 2 : tensor<4xf32> -> tensor<4xf32> {
    dgc.yield %a : tensor<f32>
  }
  return
}
