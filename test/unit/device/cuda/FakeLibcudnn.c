/* A libcudnn.so.9 for tests, which like the real one opens a part of it by name once something is asked; with FAKE_PART
 * that part. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#ifdef FAKE_PART
size_t fakeVersion(void) { return FAKE_PART; }
#else
size_t cudnnGetVersion(void) {
  void *part = dlopen("libcudnn_graph.so.9", RTLD_NOW);
  size_t (*version)(void) = part ? (size_t(*)(void))dlsym(part, "fakeVersion") : NULL;
  return version ? version() : 0;
}
#endif
