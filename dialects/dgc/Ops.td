// All ops of the dgc dialect, one family a file, sorted. A family is built because it is listed here.

include "dialects/dgc/ConstantOps.td"
include "dialects/dgc/ContractionOps.td"
include "dialects/dgc/ConvolutionOps.td"
include "dialects/dgc/ElementwiseOps.td"
include "dialects/dgc/GradientOps.td"
include "dialects/dgc/RandomOps.td"
include "dialects/dgc/ReductionOps.td"
include "dialects/dgc/ShapeOps.td"
include "dialects/dgc/WindowOps.td"
