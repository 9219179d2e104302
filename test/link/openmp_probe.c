/* openmp_probe MODEL.so [BESIDE]: runs `neighbours` on 2 threads, while so many other threads compute, and prints the
 * OpenMP runtime in use, a checksum, how many threads the process has, and "idle" when nothing spins afterwards. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <ptc/ptc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
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

static atomic_int is_over;

static void *compute(void *unused) {
  while (!is_over) {
  }
  return unused;
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

  int beside = argc > 2 ? atoi(argv[2]) : 0, calls = beside ? 3000 : 100;
  enum { kMostSize = 20000 };
  static int64_t in[kMostSize], out[kMostSize];
  int64_t size = beside ? kMostSize : 500;
  for (int64_t i = 0; i < size; ++i)
    in[i] = i * i;
  int64_t shape[] = {size};
  DLTensor x = {in, {kDLCPU, 0}, 1, {kDLInt, 64, 1}, shape, NULL, 0}, y = x;
  y.data = out;
  const DLTensor *inputs[] = {&x};
  DLTensor *outputs[] = {&y};
  pthread_t threads[8];
  for (int i = 0; i < beside; ++i)
    if (pthread_create(&threads[i], NULL, compute, NULL))
      return 1;
  for (int i = 0; i < calls; ++i)
    if (ptc->call(context, inputs, 1, outputs, 1))
      return 1;
  is_over = 1;
  for (int i = 0; i < beside; ++i)
    pthread_join(threads[i], NULL);
  double before = cpu_ms();
  usleep(300 * 1000);
  double spent = cpu_ms() - before;

  uint64_t sum = 0;
  for (int64_t i = 0; i < size; ++i)
    sum = sum * 31 + (uint64_t)out[i];
  ptc_threading threading;
  ptc->threading(context, &threading);
  printf("openmp=%s asked=%d threads=%d sum=%llu %s\n", threading.library ? threading.library : "none",
         threading.threads, count_threads(), (unsigned long long)sum, spent < 30 ? "idle" : "spinning");
  ptc->context_destroy(context);
  return 0;
}
