// A plug-in of another build: its number is DGC_TEST_INTERFACE, or there is none. Whoever calls it ends.
#include <stdlib.h>

#ifdef DGC_TEST_INTERFACE
const unsigned dgc_device_interface = DGC_TEST_INTERFACE;
#endif

const void *dgc_device_plugin(void) { abort(); }
