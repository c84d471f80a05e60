/* A libnvidia-ml.so.1 for tests. $FAKE_NVML_USED is what of the GPU is taken, $FAKE_NVML_PID a process that takes 123 bytes
 * of it. */
#include <stdlib.h>
#include <string.h>

static unsigned long long number(const char *name) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : 0;
}

int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device) {
  *device = (void *)1;
  return strcmp(id, "0000:65:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) {
  memory[0] = 1 << 30;
  memory[2] = number("FAKE_NVML_USED");
  memory[1] = memory[0] - memory[2];
  return 0;
}
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *megahertz) {
  *megahertz = kind == 1 ? 345 : 2619;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void *device, int kind, unsigned *megahertz) {
  *megahertz = kind == 1 ? 1980 : 3201;
  return 0;
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) {
  strncpy(text, "580.12.34", size);
  return 0;
}
struct process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu, compute;
};
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *processes) {
  *count = 2;
  processes[0] = (struct process){(unsigned)number("FAKE_NVML_PID") + 1, 7, 0, 0};
  processes[1] = (struct process){(unsigned)number("FAKE_NVML_PID"), 123, 0, 0};
  return 0;
}
