// Kernels of the tests' programs, as x86 for the fake driver and as PTX for a GPU. Parameters: the launch's arguments,
// a place for a FaultNote, the symbols.
#ifdef __NVPTX__
#include <stdint.h>
#define KERNEL(NAME) __attribute__((device_kernel)) void NAME
#define fake_block_index __nvvm_read_ptx_sreg_ctaid_x
#define fake_thread_index __nvvm_read_ptx_sreg_tid_x
#define fake_block_size __nvvm_read_ptx_sreg_ntid_x
extern __attribute__((address_space(3), aligned(16))) char dynamic_shared[];
#define fake_shared() ((float *)dynamic_shared)
#else
#include "test/cuda/fake_driver.h"
#define KERNEL(NAME) void NAME
#endif

static int64_t element(void) { return (int64_t)fake_block_index() * fake_block_size() + fake_thread_index(); }

// t[s0, 4] = x[s0, 4] * w[4]
KERNEL(scale)(const float *x, const float *w, float *t, uint64_t *fault, int64_t s0) {
  (void)fault;
  int64_t i = element();
  if (i < s0 * 4)
    t[i] = x[i] * w[i % 4];
}

// y[s0, 4] = t[index[s0], 4]; fault 2 where an index is out of range
KERNEL(gather)(const float *t, const int64_t *index, float *y, uint64_t *fault, int64_t s0) {
  int64_t i = element();
  if (i >= s0 * 4)
    return;
  int64_t row = index[i / 4];
  if (row < 0 || row >= s0)
    __atomic_fetch_max(fault, ~((uint64_t)2 << 48 | (row & (((uint64_t)1 << 48) - 1))), __ATOMIC_RELAXED);
  else
    y[i] = t[row * 4 + i % 4];
}

// next[1] = total[1] + s0, by way of shared memory
KERNEL(count)(const float *total, float *next, uint64_t *fault, int64_t s0) {
  (void)fault;
  float *shared = fake_shared();
  *shared = *total + (float)s0;
  *next = *shared;
}

// i[1] = 0, size[1] = 1, goes_on[1] = n > 0
KERNEL(start)(const int64_t *n, int64_t *i, int64_t *size, char *goes_on, uint64_t *fault, int64_t u0) {
  (void)fault, (void)u0;
  *i = 0;
  *size = 1;
  *goes_on = *n > 0;
}

// i += 1, size *= 3, goes_on = i < n
KERNEL(step)(const int64_t *n, int64_t *i, int64_t *size, char *goes_on, uint64_t *fault, int64_t u0) {
  (void)fault, (void)u0;
  *i += 1;
  *size *= 3;
  *goes_on = *i < *n;
}

// y[u0] = 10, 11, ...
KERNEL(fill)(int64_t *y, uint64_t *fault, int64_t u0) {
  (void)fault;
  int64_t i = element();
  if (i < u0)
    y[i] = 10 + i;
}

// t[s0, 8] = x[s0, 8] * w[8], then y[s0, 8] = t + b[8]: a block a row
KERNEL(scale_rows)(const float *x, const float *w, float *t, uint64_t *fault, int64_t s0) {
  (void)fault, (void)s0;
  t[element()] = x[element()] * w[fake_thread_index()];
}
KERNEL(add_row)(const float *t, const float *b, float *y, uint64_t *fault, int64_t s0) {
  (void)fault, (void)s0;
  y[element()] = t[element()] + b[fake_thread_index()];
}
