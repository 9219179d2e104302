// Kernels as the compiler would emit them, for models made by hand (TestModel.cpp).
#include <stdint.h>

struct ptc_worker {
  void *scratch;
  uint64_t *fault;
  int32_t thread;
};

#define KERNEL(NAME)                                                                                                   \
  __attribute__((visibility("hidden"))) void NAME(void *const *args, const int64_t *symbols,                           \
                                                  struct ptc_worker *worker, int64_t begin, int64_t end)

// t[s0, 8] = x[s0, 8] * w[8]; a task a row
KERNEL(scale_rows) {
  const float *x = args[0], *w = args[1];
  float *t = args[2];
  (void)symbols, (void)worker;
  for (int64_t row = begin; row < end; ++row)
    for (int i = 0; i < 8; ++i)
      t[row * 8 + i] = x[row * 8 + i] * w[i];
}

// y[s0, 8] = t + b[8], by way of scratch
KERNEL(add_row) {
  const float *t = args[0], *b = args[1];
  float *y = args[2], *row_copy = worker->scratch;
  (void)symbols;
  for (int64_t row = begin; row < end; ++row) {
    for (int i = 0; i < 8; ++i)
      row_copy[i] = t[row * 8 + i];
    for (int i = 0; i < 8; ++i)
      y[row * 8 + i] = row_copy[i] + b[i];
  }
}

// y[n] = x[n] + x[n + 1], around the corner: every task reads what its neighbours wrote in the launch before
KERNEL(add_neighbours) {
  const int64_t *x = args[0];
  int64_t *y = args[1], n = symbols[0];
  (void)worker;
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] + x[i + 1 < n ? i + 1 : 0];
}

// total[1] = old[1] + sum(x[4])
KERNEL(accumulate) {
  const float *old = args[0], *x = args[1];
  float *total = args[2];
  (void)symbols, (void)worker, (void)begin, (void)end;
  *total = *old + x[0] + x[1] + x[2] + x[3];
}

// y[4] = table[index[4]], table of 10
KERNEL(look_up) {
  const float *table = args[0];
  const int64_t *index = args[1];
  float *y = args[2];
  (void)symbols;
  for (int64_t i = begin; i < end; ++i) {
    int64_t at = index[i];
    if (at < 0 || at >= 10) {
      uint64_t note = ~((uint64_t)1 << 48 | (at & (((uint64_t)1 << 48) - 1)));
      *worker->fault = note > *worker->fault ? note : *worker->fault;
      at = at < 0 ? 0 : 9;
    }
    y[i] = table[at];
  }
}

// probabilities[s0, 10] from images[s0, 1, 8, 8]: all weight on (lit pixels) mod 10
KERNEL(count_lit) {
  const float *images = args[0];
  float *probabilities = args[1];
  (void)symbols, (void)worker;
  for (int64_t n = begin; n < end; ++n) {
    int lit = 0;
    for (int i = 0; i < 64; ++i)
      lit += images[n * 64 + i] > 8;
    for (int i = 0; i < 10; ++i)
      probabilities[n * 10 + i] = i == lit % 10;
  }
}

// x[4] += 1, in the caller's memory
KERNEL(increment) {
  float *x = args[0];
  (void)symbols, (void)worker;
  for (int64_t i = begin; i < end; ++i)
    x[i] += 1;
}
