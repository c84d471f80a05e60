// All ops of the dgc dialect, one family a file.

include "dialects/dgc/Enums.td"
include "dialects/dgc/ElementwiseOps.td"
