// The attributes of the dgc dialect. Enumerations are in Enums.td.

#ifndef DGC_ATTRS_TD
#define DGC_ATTRS_TD

include "dialects/dgc/Enums.td"
include "dialects/dgc/ModelAttrs.td"
include "dialects/dgc/OptimizerAttrs.td"

#endif // DGC_ATTRS_TD
