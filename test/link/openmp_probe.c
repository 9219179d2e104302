/* openmp_probe MODEL.so: runs `neighbours` on 2 threads, and prints the OpenMP runtime in use, a checksum, how many threads the
 * process has, and "idle" when nothing spins afterwards. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <ptc/ptc.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double cpu_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static int count_threads(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/task");
  while (readdir(folder))
    ++count;
  closedir(folder);
  return count - 2;
}

int main(int argc, char **argv) {
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library)
    return 1;
  const ptc_api *(*get_api)(uint32_t);
  *(void **)&get_api = dlsym(library, "ptc_get_api");
  const ptc_api *ptc = get_api(PTC_ABI_VERSION);
  ptc_context *context;
  if (ptc->context_create(&context))
    return 1;
  ptc->set_threads(context, 2);

  enum { kSize = 500 };
  static int64_t in[kSize], out[kSize];
  for (int i = 0; i < kSize; ++i)
    in[i] = i * i;
  int64_t shape[] = {kSize};
  DLTensor x = {in, {kDLCPU, 0}, 1, {kDLInt, 64, 1}, shape, NULL, 0}, y = x;
  y.data = out;
  const DLTensor *inputs[] = {&x};
  DLTensor *outputs[] = {&y};
  for (int i = 0; i < 100; ++i)
    if (ptc->call(context, inputs, 1, outputs, 1))
      return 1;
  double before = cpu_ms();
  usleep(300 * 1000);
  double spent = cpu_ms() - before;

  uint64_t sum = 0;
  for (int i = 0; i < kSize; ++i)
    sum = sum * 31 + (uint64_t)out[i];
  ptc_threading threading;
  ptc->threading(context, &threading);
  printf("openmp=%s asked=%d threads=%d sum=%llu %s\n", threading.library ? threading.library : "none", threading.threads,
         count_threads(), (unsigned long long)sum, spent < 30 ? "idle" : "spinning");
  ptc->context_destroy(context);
  return 0;
}
