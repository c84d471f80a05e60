// RUN: dgc-opt %s -split-input-file -verify-diagnostics -dgc-order-collectives -dgc-verify-communicate

// Transfers in loops that other devices may not come to, or not as often.

// The rounds of one are not those of the other.
dist.mesh @stage0 <stage = 1>
dist.mesh @stage1 <stage = 1, first = 1>
// expected-error @+1 {{does not come to an end}}
func.func @f0(%x: tensor<6xf32>) attributes {dist.step = "train", dist.mesh = @stage0} {
  %zero = dgc.constant dense<0> : tensor<i32>
  %r = dgc.while rounds 3 (%i = %zero) with (%v = %x) attributes {dgc.counted} : tensor<i32>, tensor<6xf32> {
    %n = dgc.constant dense<3> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    dist.send %v channel 0 from @stage0 to @stage1 : tensor<6xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j : tensor<i32>
  }
  return
}
func.func @f1(%x: tensor<6xf32>) attributes {dist.step = "train", dist.mesh = @stage1} {
  %zero = dgc.constant dense<0> : tensor<i32>
  %r = dgc.while rounds 4 (%i = %zero) with (%v = %x) attributes {dgc.counted} : tensor<i32>, tensor<6xf32> {
    %n = dgc.constant dense<4> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %y0 = dist.recv channel 0 from @stage0 to @stage1 : tensor<6xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j : tensor<i32>
  }
  return
}

// -----

// One of 3 rounds, and three transfers.
dist.mesh @stage0 <stage = 1>
dist.mesh @stage1 <stage = 1, first = 1>
// expected-error @+1 {{does not come to an end}}
func.func @f0(%x: tensor<6xf32>) attributes {dist.step = "train", dist.mesh = @stage0} {
  %zero = dgc.constant dense<0> : tensor<i32>
  %r = dgc.while rounds 3 (%i = %zero) with (%v = %x) attributes {dgc.counted} : tensor<i32>, tensor<6xf32> {
    %n = dgc.constant dense<3> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    dist.send %v channel 0 from @stage0 to @stage1 : tensor<6xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j : tensor<i32>
  }
  return
}
func.func @f1(%x: tensor<6xf32>) attributes {dist.step = "train", dist.mesh = @stage1} {
  %zero = dgc.constant dense<0> : tensor<i32>
    %y0 = dist.recv channel 0 from @stage0 to @stage1 : tensor<6xf32>
    %y1 = dist.recv channel 1 from @stage0 to @stage1 : tensor<6xf32>
    %y2 = dist.recv channel 2 from @stage0 to @stage1 : tensor<6xf32>
  return
}

// -----

// Whether the other one goes round as often is not known.
dist.mesh @stage0 <stage = 1>
dist.mesh @stage1 <stage = 1, first = 1>
func.func @f0(%x: tensor<6xf32>) attributes {dist.step = "train", dist.mesh = @stage0} {
  %zero = dgc.constant dense<0> : tensor<i32>
  %r = dgc.while rounds 3 (%i = %zero) with (%v = %x) attributes {dgc.microbatch_loop} : tensor<i32>, tensor<6xf32> {
    %n = dgc.constant dense<3> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    // expected-error @-6 {{sends or receives in it, and other devices may do another number of rounds: only the body of a loop that is counted (rounds, dgc.counted) may have transfers}}
    dist.send %v channel 0 from @stage0 to @stage1 : tensor<6xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j : tensor<i32>
  }
  return
}
func.func @f1(%x: tensor<6xf32>) attributes {dist.step = "train", dist.mesh = @stage1} {
  %zero = dgc.constant dense<0> : tensor<i32>
  %r = dgc.while rounds 3 (%i = %zero) with (%v = %x) attributes {dgc.counted} : tensor<i32>, tensor<6xf32> {
    %n = dgc.constant dense<3> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %y0 = dist.recv channel 0 from @stage0 to @stage1 : tensor<6xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j : tensor<i32>
  }
  return
}

// -----

// In one round stage 1 gets what stage 0 sends, stage 0 goes on, and sends to stage 2, which sends to stage 1. From the
// second round on stage 1 waits for stage 2, which waits for stage 0, which waits for stage 1.
dist.mesh @stage0 <stage = 1>
dist.mesh @stage1 <stage = 1, first = 1>
dist.mesh @stage2 <stage = 1, first = 2>
// expected-error @+1 {{does not come to an end}}
func.func @f0(%x: tensor<6xf32>) attributes {dist.step = "train", dist.mesh = @stage0} {
  %zero = dgc.constant dense<0> : tensor<i32>
  %r = dgc.while rounds 2 (%i = %zero) with (%v = %x) attributes {dgc.counted} : tensor<i32>, tensor<6xf32> {
    %n = dgc.constant dense<2> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    dist.send %v channel 0 from @stage0 to @stage1 : tensor<6xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j : tensor<i32>
  }
    dist.send %x channel 1 from @stage0 to @stage2 : tensor<6xf32>
  return
}
func.func @f1(%x: tensor<6xf32>) attributes {dist.step = "train", dist.mesh = @stage1} {
  %zero = dgc.constant dense<0> : tensor<i32>
  %r = dgc.while rounds 2 (%i = %zero) with (%v = %x) attributes {dgc.counted} : tensor<i32>, tensor<6xf32> {
    %n = dgc.constant dense<2> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    %y0 = dist.recv channel 0 from @stage0 to @stage1 : tensor<6xf32>
    %y2 = dist.recv channel 2 from @stage2 to @stage1 : tensor<6xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j : tensor<i32>
  }
  return
}
func.func @f2(%x: tensor<6xf32>) attributes {dist.step = "train", dist.mesh = @stage2} {
  %zero = dgc.constant dense<0> : tensor<i32>
    %y1 = dist.recv channel 1 from @stage0 to @stage2 : tensor<6xf32>
  %r = dgc.while rounds 2 (%i = %zero) with (%v = %x) attributes {dgc.counted} : tensor<i32>, tensor<6xf32> {
    %n = dgc.constant dense<2> : tensor<i32>
    %more = dgc.compare lt %i, %n : tensor<i32>
    dgc.condition %more : tensor<i1>
  } do {
    %one = dgc.constant dense<1> : tensor<i32>
    dist.send %v channel 2 from @stage2 to @stage1 : tensor<6xf32>
    %j = dgc.add %i, %one : tensor<i32>
    dgc.yield %j : tensor<i32>
  }
  return
}
