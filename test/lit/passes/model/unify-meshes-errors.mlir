// RUN: dgc-opt %s -split-input-file -dgc-unify-meshes -verify-diagnostics

// expected-note @+1 {{the other mesh}}
dist.mesh @mesh <a = 3, b = 2>
// expected-error @+1 {{the axes of the meshes @mesh #dist.mesh<a = 3, b = 2> and @other #dist.mesh<c = 2, d = 3> overlap: 2 neighbouring devices are together in the one and 3 in the other, and the first number does not divide the second; meshes of the same devices must cut them at places that divide one another}}
dist.mesh @other <c = 2, d = 3>
