// ResNet-50: images of 224 by 224 in 1,000 classes; 25,557,032 parameters. The stride of a block is in its 3x3 convolution.
// Trained by SGD with momentum; the schedule is that of 90 epochs of 1,281,167 images in batches of 256.
//
//   dgc-compile resnet50.mlir --batch 256 --precision bf16 -o resnet50.dgcx

dgc.model @resnet50 {
  %image = dgc.input "image" : tensor<?x224x224x3xui8>
  %label = dgc.input "label" : tensor<?xi32>
  %pixels = dgc.convert %image to f32
  %scaled = dgc.scale %pixels by 0.00392156862745098

  %stemk = dgc.variable "stem/kernel" he_normal : tensor<7x7x3x64xf32>
  %stems = dgc.variable "stem/scale" constant 1 : tensor<64xf32>
  %stemo = dgc.variable "stem/offset" zeros : tensor<64xf32>
  %stemm = dgc.variable "stem/mean" zeros : tensor<64xf32>
  %stemv = dgc.variable "stem/variance" constant 1 : tensor<64xf32>
  %stemc = dgc.conv2d %scaled, %stemk strides [2, 2] padding [[3, 3], [3, 3]]
  %stemn, %stemmn, %stemvn = dgc.batch_norm %stemc, %stems, %stemo, %stemm, %stemv momentum 0.9 epsilon 1.0e-5
  dgc.assign %stemm, %stemmn
  dgc.assign %stemv, %stemvn
  %stemr = dgc.relu %stemn
  %pooled = dgc.max_pool %stemr window [3, 3] strides [2, 2] padding [[1, 1], [1, 1]]

  // Stage 1: 3 blocks, 56 by 56, 256 channels.
  %b1ak = dgc.variable "stage1.first.reduce/kernel" he_normal : tensor<1x1x64x64xf32>
  %b1as = dgc.variable "stage1.first.reduce/scale" constant 1 : tensor<64xf32>
  %b1ao = dgc.variable "stage1.first.reduce/offset" zeros : tensor<64xf32>
  %b1am = dgc.variable "stage1.first.reduce/mean" zeros : tensor<64xf32>
  %b1av = dgc.variable "stage1.first.reduce/variance" constant 1 : tensor<64xf32>
  %b1ac = dgc.conv2d %pooled, %b1ak
  %b1an, %b1amn, %b1avn = dgc.batch_norm %b1ac, %b1as, %b1ao, %b1am, %b1av momentum 0.9 epsilon 1.0e-5
  dgc.assign %b1am, %b1amn
  dgc.assign %b1av, %b1avn
  %b1ar = dgc.relu %b1an
  %b1bk = dgc.variable "stage1.first.conv/kernel" he_normal : tensor<3x3x64x64xf32>
  %b1bs = dgc.variable "stage1.first.conv/scale" constant 1 : tensor<64xf32>
  %b1bo = dgc.variable "stage1.first.conv/offset" zeros : tensor<64xf32>
  %b1bm = dgc.variable "stage1.first.conv/mean" zeros : tensor<64xf32>
  %b1bv = dgc.variable "stage1.first.conv/variance" constant 1 : tensor<64xf32>
  %b1bc = dgc.conv2d %b1ar, %b1bk padding [[1, 1], [1, 1]]
  %b1bn, %b1bmn, %b1bvn = dgc.batch_norm %b1bc, %b1bs, %b1bo, %b1bm, %b1bv momentum 0.9 epsilon 1.0e-5
  dgc.assign %b1bm, %b1bmn
  dgc.assign %b1bv, %b1bvn
  %b1br = dgc.relu %b1bn
  %b1ck = dgc.variable "stage1.first.expand/kernel" he_normal : tensor<1x1x64x256xf32>
  %b1cs = dgc.variable "stage1.first.expand/scale" constant 1 : tensor<256xf32>
  %b1co = dgc.variable "stage1.first.expand/offset" zeros : tensor<256xf32>
  %b1cm = dgc.variable "stage1.first.expand/mean" zeros : tensor<256xf32>
  %b1cv = dgc.variable "stage1.first.expand/variance" constant 1 : tensor<256xf32>
  %b1cc = dgc.conv2d %b1br, %b1ck
  %b1cn, %b1cmn, %b1cvn = dgc.batch_norm %b1cc, %b1cs, %b1co, %b1cm, %b1cv momentum 0.9 epsilon 1.0e-5
  dgc.assign %b1cm, %b1cmn
  dgc.assign %b1cv, %b1cvn
  %b1pk = dgc.variable "stage1.first.project/kernel" he_normal : tensor<1x1x64x256xf32>
  %b1ps = dgc.variable "stage1.first.project/scale" constant 1 : tensor<256xf32>
  %b1po = dgc.variable "stage1.first.project/offset" zeros : tensor<256xf32>
  %b1pm = dgc.variable "stage1.first.project/mean" zeros : tensor<256xf32>
  %b1pv = dgc.variable "stage1.first.project/variance" constant 1 : tensor<256xf32>
  %b1pc = dgc.conv2d %pooled, %b1pk
  %b1pn, %b1pmn, %b1pvn = dgc.batch_norm %b1pc, %b1ps, %b1po, %b1pm, %b1pv momentum 0.9 epsilon 1.0e-5
  dgc.assign %b1pm, %b1pmn
  dgc.assign %b1pv, %b1pvn
  %b1sum = dgc.add %b1cn, %b1pn
  %b1out = dgc.relu %b1sum
  %x1 = dgc.repeat 2 "stage1" (%x = %b1out) {
    %ak = dgc.variable "reduce/kernel" he_normal : tensor<1x1x256x64xf32>
    %as = dgc.variable "reduce/scale" constant 1 : tensor<64xf32>
    %ao = dgc.variable "reduce/offset" zeros : tensor<64xf32>
    %am = dgc.variable "reduce/mean" zeros : tensor<64xf32>
    %av = dgc.variable "reduce/variance" constant 1 : tensor<64xf32>
    %ac = dgc.conv2d %x, %ak
    %an, %amn, %avn = dgc.batch_norm %ac, %as, %ao, %am, %av momentum 0.9 epsilon 1.0e-5
    dgc.assign %am, %amn
    dgc.assign %av, %avn
    %ar = dgc.relu %an
    %bk = dgc.variable "conv/kernel" he_normal : tensor<3x3x64x64xf32>
    %bs = dgc.variable "conv/scale" constant 1 : tensor<64xf32>
    %bo = dgc.variable "conv/offset" zeros : tensor<64xf32>
    %bm = dgc.variable "conv/mean" zeros : tensor<64xf32>
    %bv = dgc.variable "conv/variance" constant 1 : tensor<64xf32>
    %bc = dgc.conv2d %ar, %bk padding [[1, 1], [1, 1]]
    %bn, %bmn, %bvn = dgc.batch_norm %bc, %bs, %bo, %bm, %bv momentum 0.9 epsilon 1.0e-5
    dgc.assign %bm, %bmn
    dgc.assign %bv, %bvn
    %br = dgc.relu %bn
    %ck = dgc.variable "expand/kernel" he_normal : tensor<1x1x64x256xf32>
    %cs = dgc.variable "expand/scale" constant 1 : tensor<256xf32>
    %co = dgc.variable "expand/offset" zeros : tensor<256xf32>
    %cm = dgc.variable "expand/mean" zeros : tensor<256xf32>
    %cv = dgc.variable "expand/variance" constant 1 : tensor<256xf32>
    %cc = dgc.conv2d %br, %ck
    %cn, %cmn, %cvn = dgc.batch_norm %cc, %cs, %co, %cm, %cv momentum 0.9 epsilon 1.0e-5
    dgc.assign %cm, %cmn
    dgc.assign %cv, %cvn
    %sum = dgc.add %cn, %x
    %out = dgc.relu %sum
    dgc.next %out
  }

  // Stage 2: 4 blocks, 28 by 28, 512 channels.
  %b2ak = dgc.variable "stage2.first.reduce/kernel" he_normal : tensor<1x1x256x128xf32>
  %b2as = dgc.variable "stage2.first.reduce/scale" constant 1 : tensor<128xf32>
  %b2ao = dgc.variable "stage2.first.reduce/offset" zeros : tensor<128xf32>
  %b2am = dgc.variable "stage2.first.reduce/mean" zeros : tensor<128xf32>
  %b2av = dgc.variable "stage2.first.reduce/variance" constant 1 : tensor<128xf32>
  %b2ac = dgc.conv2d %x1, %b2ak
  %b2an, %b2amn, %b2avn = dgc.batch_norm %b2ac, %b2as, %b2ao, %b2am, %b2av momentum 0.9 epsilon 1.0e-5
  dgc.assign %b2am, %b2amn
  dgc.assign %b2av, %b2avn
  %b2ar = dgc.relu %b2an
  %b2bk = dgc.variable "stage2.first.conv/kernel" he_normal : tensor<3x3x128x128xf32>
  %b2bs = dgc.variable "stage2.first.conv/scale" constant 1 : tensor<128xf32>
  %b2bo = dgc.variable "stage2.first.conv/offset" zeros : tensor<128xf32>
  %b2bm = dgc.variable "stage2.first.conv/mean" zeros : tensor<128xf32>
  %b2bv = dgc.variable "stage2.first.conv/variance" constant 1 : tensor<128xf32>
  %b2bc = dgc.conv2d %b2ar, %b2bk strides [2, 2] padding [[1, 1], [1, 1]]
  %b2bn, %b2bmn, %b2bvn = dgc.batch_norm %b2bc, %b2bs, %b2bo, %b2bm, %b2bv momentum 0.9 epsilon 1.0e-5
  dgc.assign %b2bm, %b2bmn
  dgc.assign %b2bv, %b2bvn
  %b2br = dgc.relu %b2bn
  %b2ck = dgc.variable "stage2.first.expand/kernel" he_normal : tensor<1x1x128x512xf32>
  %b2cs = dgc.variable "stage2.first.expand/scale" constant 1 : tensor<512xf32>
  %b2co = dgc.variable "stage2.first.expand/offset" zeros : tensor<512xf32>
  %b2cm = dgc.variable "stage2.first.expand/mean" zeros : tensor<512xf32>
  %b2cv = dgc.variable "stage2.first.expand/variance" constant 1 : tensor<512xf32>
  %b2cc = dgc.conv2d %b2br, %b2ck
  %b2cn, %b2cmn, %b2cvn = dgc.batch_norm %b2cc, %b2cs, %b2co, %b2cm, %b2cv momentum 0.9 epsilon 1.0e-5
  dgc.assign %b2cm, %b2cmn
  dgc.assign %b2cv, %b2cvn
  %b2pk = dgc.variable "stage2.first.project/kernel" he_normal : tensor<1x1x256x512xf32>
  %b2ps = dgc.variable "stage2.first.project/scale" constant 1 : tensor<512xf32>
  %b2po = dgc.variable "stage2.first.project/offset" zeros : tensor<512xf32>
  %b2pm = dgc.variable "stage2.first.project/mean" zeros : tensor<512xf32>
  %b2pv = dgc.variable "stage2.first.project/variance" constant 1 : tensor<512xf32>
  %b2pc = dgc.conv2d %x1, %b2pk strides [2, 2]
  %b2pn, %b2pmn, %b2pvn = dgc.batch_norm %b2pc, %b2ps, %b2po, %b2pm, %b2pv momentum 0.9 epsilon 1.0e-5
  dgc.assign %b2pm, %b2pmn
  dgc.assign %b2pv, %b2pvn
  %b2sum = dgc.add %b2cn, %b2pn
  %b2out = dgc.relu %b2sum
  %x2 = dgc.repeat 3 "stage2" (%x = %b2out) {
    %ak = dgc.variable "reduce/kernel" he_normal : tensor<1x1x512x128xf32>
    %as = dgc.variable "reduce/scale" constant 1 : tensor<128xf32>
    %ao = dgc.variable "reduce/offset" zeros : tensor<128xf32>
    %am = dgc.variable "reduce/mean" zeros : tensor<128xf32>
    %av = dgc.variable "reduce/variance" constant 1 : tensor<128xf32>
    %ac = dgc.conv2d %x, %ak
    %an, %amn, %avn = dgc.batch_norm %ac, %as, %ao, %am, %av momentum 0.9 epsilon 1.0e-5
    dgc.assign %am, %amn
    dgc.assign %av, %avn
    %ar = dgc.relu %an
    %bk = dgc.variable "conv/kernel" he_normal : tensor<3x3x128x128xf32>
    %bs = dgc.variable "conv/scale" constant 1 : tensor<128xf32>
    %bo = dgc.variable "conv/offset" zeros : tensor<128xf32>
    %bm = dgc.variable "conv/mean" zeros : tensor<128xf32>
    %bv = dgc.variable "conv/variance" constant 1 : tensor<128xf32>
    %bc = dgc.conv2d %ar, %bk padding [[1, 1], [1, 1]]
    %bn, %bmn, %bvn = dgc.batch_norm %bc, %bs, %bo, %bm, %bv momentum 0.9 epsilon 1.0e-5
    dgc.assign %bm, %bmn
    dgc.assign %bv, %bvn
    %br = dgc.relu %bn
    %ck = dgc.variable "expand/kernel" he_normal : tensor<1x1x128x512xf32>
    %cs = dgc.variable "expand/scale" constant 1 : tensor<512xf32>
    %co = dgc.variable "expand/offset" zeros : tensor<512xf32>
    %cm = dgc.variable "expand/mean" zeros : tensor<512xf32>
    %cv = dgc.variable "expand/variance" constant 1 : tensor<512xf32>
    %cc = dgc.conv2d %br, %ck
    %cn, %cmn, %cvn = dgc.batch_norm %cc, %cs, %co, %cm, %cv momentum 0.9 epsilon 1.0e-5
    dgc.assign %cm, %cmn
    dgc.assign %cv, %cvn
    %sum = dgc.add %cn, %x
    %out = dgc.relu %sum
    dgc.next %out
  }

  // Stage 3: 6 blocks, 14 by 14, 1024 channels.
  %b3ak = dgc.variable "stage3.first.reduce/kernel" he_normal : tensor<1x1x512x256xf32>
  %b3as = dgc.variable "stage3.first.reduce/scale" constant 1 : tensor<256xf32>
  %b3ao = dgc.variable "stage3.first.reduce/offset" zeros : tensor<256xf32>
  %b3am = dgc.variable "stage3.first.reduce/mean" zeros : tensor<256xf32>
  %b3av = dgc.variable "stage3.first.reduce/variance" constant 1 : tensor<256xf32>
  %b3ac = dgc.conv2d %x2, %b3ak
  %b3an, %b3amn, %b3avn = dgc.batch_norm %b3ac, %b3as, %b3ao, %b3am, %b3av momentum 0.9 epsilon 1.0e-5
  dgc.assign %b3am, %b3amn
  dgc.assign %b3av, %b3avn
  %b3ar = dgc.relu %b3an
  %b3bk = dgc.variable "stage3.first.conv/kernel" he_normal : tensor<3x3x256x256xf32>
  %b3bs = dgc.variable "stage3.first.conv/scale" constant 1 : tensor<256xf32>
  %b3bo = dgc.variable "stage3.first.conv/offset" zeros : tensor<256xf32>
  %b3bm = dgc.variable "stage3.first.conv/mean" zeros : tensor<256xf32>
  %b3bv = dgc.variable "stage3.first.conv/variance" constant 1 : tensor<256xf32>
  %b3bc = dgc.conv2d %b3ar, %b3bk strides [2, 2] padding [[1, 1], [1, 1]]
  %b3bn, %b3bmn, %b3bvn = dgc.batch_norm %b3bc, %b3bs, %b3bo, %b3bm, %b3bv momentum 0.9 epsilon 1.0e-5
  dgc.assign %b3bm, %b3bmn
  dgc.assign %b3bv, %b3bvn
  %b3br = dgc.relu %b3bn
  %b3ck = dgc.variable "stage3.first.expand/kernel" he_normal : tensor<1x1x256x1024xf32>
  %b3cs = dgc.variable "stage3.first.expand/scale" constant 1 : tensor<1024xf32>
  %b3co = dgc.variable "stage3.first.expand/offset" zeros : tensor<1024xf32>
  %b3cm = dgc.variable "stage3.first.expand/mean" zeros : tensor<1024xf32>
  %b3cv = dgc.variable "stage3.first.expand/variance" constant 1 : tensor<1024xf32>
  %b3cc = dgc.conv2d %b3br, %b3ck
  %b3cn, %b3cmn, %b3cvn = dgc.batch_norm %b3cc, %b3cs, %b3co, %b3cm, %b3cv momentum 0.9 epsilon 1.0e-5
  dgc.assign %b3cm, %b3cmn
  dgc.assign %b3cv, %b3cvn
  %b3pk = dgc.variable "stage3.first.project/kernel" he_normal : tensor<1x1x512x1024xf32>
  %b3ps = dgc.variable "stage3.first.project/scale" constant 1 : tensor<1024xf32>
  %b3po = dgc.variable "stage3.first.project/offset" zeros : tensor<1024xf32>
  %b3pm = dgc.variable "stage3.first.project/mean" zeros : tensor<1024xf32>
  %b3pv = dgc.variable "stage3.first.project/variance" constant 1 : tensor<1024xf32>
  %b3pc = dgc.conv2d %x2, %b3pk strides [2, 2]
  %b3pn, %b3pmn, %b3pvn = dgc.batch_norm %b3pc, %b3ps, %b3po, %b3pm, %b3pv momentum 0.9 epsilon 1.0e-5
  dgc.assign %b3pm, %b3pmn
  dgc.assign %b3pv, %b3pvn
  %b3sum = dgc.add %b3cn, %b3pn
  %b3out = dgc.relu %b3sum
  %x3 = dgc.repeat 5 "stage3" (%x = %b3out) {
    %ak = dgc.variable "reduce/kernel" he_normal : tensor<1x1x1024x256xf32>
    %as = dgc.variable "reduce/scale" constant 1 : tensor<256xf32>
    %ao = dgc.variable "reduce/offset" zeros : tensor<256xf32>
    %am = dgc.variable "reduce/mean" zeros : tensor<256xf32>
    %av = dgc.variable "reduce/variance" constant 1 : tensor<256xf32>
    %ac = dgc.conv2d %x, %ak
    %an, %amn, %avn = dgc.batch_norm %ac, %as, %ao, %am, %av momentum 0.9 epsilon 1.0e-5
    dgc.assign %am, %amn
    dgc.assign %av, %avn
    %ar = dgc.relu %an
    %bk = dgc.variable "conv/kernel" he_normal : tensor<3x3x256x256xf32>
    %bs = dgc.variable "conv/scale" constant 1 : tensor<256xf32>
    %bo = dgc.variable "conv/offset" zeros : tensor<256xf32>
    %bm = dgc.variable "conv/mean" zeros : tensor<256xf32>
    %bv = dgc.variable "conv/variance" constant 1 : tensor<256xf32>
    %bc = dgc.conv2d %ar, %bk padding [[1, 1], [1, 1]]
    %bn, %bmn, %bvn = dgc.batch_norm %bc, %bs, %bo, %bm, %bv momentum 0.9 epsilon 1.0e-5
    dgc.assign %bm, %bmn
    dgc.assign %bv, %bvn
    %br = dgc.relu %bn
    %ck = dgc.variable "expand/kernel" he_normal : tensor<1x1x256x1024xf32>
    %cs = dgc.variable "expand/scale" constant 1 : tensor<1024xf32>
    %co = dgc.variable "expand/offset" zeros : tensor<1024xf32>
    %cm = dgc.variable "expand/mean" zeros : tensor<1024xf32>
    %cv = dgc.variable "expand/variance" constant 1 : tensor<1024xf32>
    %cc = dgc.conv2d %br, %ck
    %cn, %cmn, %cvn = dgc.batch_norm %cc, %cs, %co, %cm, %cv momentum 0.9 epsilon 1.0e-5
    dgc.assign %cm, %cmn
    dgc.assign %cv, %cvn
    %sum = dgc.add %cn, %x
    %out = dgc.relu %sum
    dgc.next %out
  }

  // Stage 4: 3 blocks, 7 by 7, 2048 channels.
  %b4ak = dgc.variable "stage4.first.reduce/kernel" he_normal : tensor<1x1x1024x512xf32>
  %b4as = dgc.variable "stage4.first.reduce/scale" constant 1 : tensor<512xf32>
  %b4ao = dgc.variable "stage4.first.reduce/offset" zeros : tensor<512xf32>
  %b4am = dgc.variable "stage4.first.reduce/mean" zeros : tensor<512xf32>
  %b4av = dgc.variable "stage4.first.reduce/variance" constant 1 : tensor<512xf32>
  %b4ac = dgc.conv2d %x3, %b4ak
  %b4an, %b4amn, %b4avn = dgc.batch_norm %b4ac, %b4as, %b4ao, %b4am, %b4av momentum 0.9 epsilon 1.0e-5
  dgc.assign %b4am, %b4amn
  dgc.assign %b4av, %b4avn
  %b4ar = dgc.relu %b4an
  %b4bk = dgc.variable "stage4.first.conv/kernel" he_normal : tensor<3x3x512x512xf32>
  %b4bs = dgc.variable "stage4.first.conv/scale" constant 1 : tensor<512xf32>
  %b4bo = dgc.variable "stage4.first.conv/offset" zeros : tensor<512xf32>
  %b4bm = dgc.variable "stage4.first.conv/mean" zeros : tensor<512xf32>
  %b4bv = dgc.variable "stage4.first.conv/variance" constant 1 : tensor<512xf32>
  %b4bc = dgc.conv2d %b4ar, %b4bk strides [2, 2] padding [[1, 1], [1, 1]]
  %b4bn, %b4bmn, %b4bvn = dgc.batch_norm %b4bc, %b4bs, %b4bo, %b4bm, %b4bv momentum 0.9 epsilon 1.0e-5
  dgc.assign %b4bm, %b4bmn
  dgc.assign %b4bv, %b4bvn
  %b4br = dgc.relu %b4bn
  %b4ck = dgc.variable "stage4.first.expand/kernel" he_normal : tensor<1x1x512x2048xf32>
  %b4cs = dgc.variable "stage4.first.expand/scale" constant 1 : tensor<2048xf32>
  %b4co = dgc.variable "stage4.first.expand/offset" zeros : tensor<2048xf32>
  %b4cm = dgc.variable "stage4.first.expand/mean" zeros : tensor<2048xf32>
  %b4cv = dgc.variable "stage4.first.expand/variance" constant 1 : tensor<2048xf32>
  %b4cc = dgc.conv2d %b4br, %b4ck
  %b4cn, %b4cmn, %b4cvn = dgc.batch_norm %b4cc, %b4cs, %b4co, %b4cm, %b4cv momentum 0.9 epsilon 1.0e-5
  dgc.assign %b4cm, %b4cmn
  dgc.assign %b4cv, %b4cvn
  %b4pk = dgc.variable "stage4.first.project/kernel" he_normal : tensor<1x1x1024x2048xf32>
  %b4ps = dgc.variable "stage4.first.project/scale" constant 1 : tensor<2048xf32>
  %b4po = dgc.variable "stage4.first.project/offset" zeros : tensor<2048xf32>
  %b4pm = dgc.variable "stage4.first.project/mean" zeros : tensor<2048xf32>
  %b4pv = dgc.variable "stage4.first.project/variance" constant 1 : tensor<2048xf32>
  %b4pc = dgc.conv2d %x3, %b4pk strides [2, 2]
  %b4pn, %b4pmn, %b4pvn = dgc.batch_norm %b4pc, %b4ps, %b4po, %b4pm, %b4pv momentum 0.9 epsilon 1.0e-5
  dgc.assign %b4pm, %b4pmn
  dgc.assign %b4pv, %b4pvn
  %b4sum = dgc.add %b4cn, %b4pn
  %b4out = dgc.relu %b4sum
  %x4 = dgc.repeat 2 "stage4" (%x = %b4out) {
    %ak = dgc.variable "reduce/kernel" he_normal : tensor<1x1x2048x512xf32>
    %as = dgc.variable "reduce/scale" constant 1 : tensor<512xf32>
    %ao = dgc.variable "reduce/offset" zeros : tensor<512xf32>
    %am = dgc.variable "reduce/mean" zeros : tensor<512xf32>
    %av = dgc.variable "reduce/variance" constant 1 : tensor<512xf32>
    %ac = dgc.conv2d %x, %ak
    %an, %amn, %avn = dgc.batch_norm %ac, %as, %ao, %am, %av momentum 0.9 epsilon 1.0e-5
    dgc.assign %am, %amn
    dgc.assign %av, %avn
    %ar = dgc.relu %an
    %bk = dgc.variable "conv/kernel" he_normal : tensor<3x3x512x512xf32>
    %bs = dgc.variable "conv/scale" constant 1 : tensor<512xf32>
    %bo = dgc.variable "conv/offset" zeros : tensor<512xf32>
    %bm = dgc.variable "conv/mean" zeros : tensor<512xf32>
    %bv = dgc.variable "conv/variance" constant 1 : tensor<512xf32>
    %bc = dgc.conv2d %ar, %bk padding [[1, 1], [1, 1]]
    %bn, %bmn, %bvn = dgc.batch_norm %bc, %bs, %bo, %bm, %bv momentum 0.9 epsilon 1.0e-5
    dgc.assign %bm, %bmn
    dgc.assign %bv, %bvn
    %br = dgc.relu %bn
    %ck = dgc.variable "expand/kernel" he_normal : tensor<1x1x512x2048xf32>
    %cs = dgc.variable "expand/scale" constant 1 : tensor<2048xf32>
    %co = dgc.variable "expand/offset" zeros : tensor<2048xf32>
    %cm = dgc.variable "expand/mean" zeros : tensor<2048xf32>
    %cv = dgc.variable "expand/variance" constant 1 : tensor<2048xf32>
    %cc = dgc.conv2d %br, %ck
    %cn, %cmn, %cvn = dgc.batch_norm %cc, %cs, %co, %cm, %cv momentum 0.9 epsilon 1.0e-5
    dgc.assign %cm, %cmn
    dgc.assign %cv, %cvn
    %sum = dgc.add %cn, %x
    %out = dgc.relu %sum
    dgc.next %out
  }

  %averaged = dgc.avg_pool %x4 window [7, 7]
  %features = dgc.flatten %averaged
  %w = dgc.variable "dense/kernel" normal 0 0.01 : tensor<2048x1000xf32>
  %b = dgc.variable "dense/bias" zeros : tensor<1000xf32>
  %logits = dgc.dense %features, %w, %b

  %loss = dgc.cross_entropy %logits, %label
  %accuracy = dgc.accuracy %logits, %label
  dgc.loss %loss
  dgc.metric "accuracy" %accuracy
  dgc.output "logits" %logits
  dgc.optimizer sgd learning_rate 0.1 cosine steps 450000 final 0.0 warm_up 25000 momentum 0.9 weight_decay 1.0e-4
}
