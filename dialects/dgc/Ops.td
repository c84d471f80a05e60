// All ops of the dgc dialect, one family a file.

include "dialects/dgc/ElementwiseOps.td"
