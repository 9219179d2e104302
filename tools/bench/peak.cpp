// What this machine can do, as a line of JSON: multiply-adds of f32 in registers, and copies of memory that no cache
// holds.
//
//   peak [THREADS]
//
// All threads at once, the best of many short rounds: a limit for kernels, which other programs must not lower.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <immintrin.h>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr int kRounds = 50;

/// Independent chains, enough for two units with a latency of five.
constexpr int kChains = 12;

__attribute__((target("avx512f"))) float multiplyAdd512(long count) {
  __m512 sums[kChains], factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(0.001f);
  for (__m512 &sum : sums)
    sum = term;
  for (long i = 0; i < count; ++i)
    for (__m512 &sum : sums) {
      sum = _mm512_fmadd_ps(sum, factor, term);
      asm volatile("" : "+v"(sum)); // stays in a register, is not computed in advance
    }
  for (int i = 1; i < kChains; ++i)
    sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_reduce_add_ps(sums[0]);
}

__attribute__((target("avx2,fma"))) float multiplyAdd256(long count) {
  __m256 sums[kChains], factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f);
  for (__m256 &sum : sums)
    sum = term;
  for (long i = 0; i < count; ++i)
    for (__m256 &sum : sums) {
      sum = _mm256_fmadd_ps(sum, factor, term);
      asm volatile("" : "+x"(sum));
    }
  for (int i = 1; i < kChains; ++i)
    sums[0] = _mm256_add_ps(sums[0], sums[i]);
  float lanes[8];
  _mm256_storeu_ps(lanes, sums[0]);
  return lanes[0];
}

/// The shortest time that all threads together took for their share, in seconds.
double measure(int threads, const std::function<void(int)> &work) {
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i)
      others.emplace_back(work, i);
    work(0);
    for (std::thread &other : others)
      other.join();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

double measureFlops(int threads) {
  constexpr long kCount = 1'000'000;
  bool isWide = __builtin_cpu_supports("avx512f");
  std::vector<float> results(16 * threads); // a cache line apart
  double seconds =
      measure(threads, [&](int i) { results[16 * i] = (isWide ? multiplyAdd512 : multiplyAdd256)(kCount); });
  return 2.0 * (isWide ? 16 : 8) * kChains * kCount * threads / seconds;
}

/// Read and written bytes, as kernels' traffic is counted.
double measureCopies(int threads) {
  constexpr size_t kBytes = size_t(256) << 20;
  size_t share = kBytes / threads / 64 * 64;
  auto *from = static_cast<char *>(std::aligned_alloc(4096, kBytes)),
       *to = static_cast<char *>(std::aligned_alloc(4096, kBytes));
  std::memset(from, 1, kBytes);
  std::memset(to, 2, kBytes);
  double seconds = measure(threads, [&](int i) { std::memcpy(to + i * share, from + i * share, share); });
  std::free(from);
  std::free(to);
  return 2.0 * share * threads / seconds;
}

} // namespace

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  if (threads < 1 || threads > 4096 || !__builtin_cpu_supports("fma")) {
    std::fprintf(stderr, "peak: error: usage: peak [THREADS], on a processor with FMA\n");
    return 2;
  }
  std::printf("{\"threads\": %d, \"gflops\": %.1f, \"gbytes\": %.1f}\n", threads, measureFlops(threads) / 1e9,
              measureCopies(threads) / 1e9);
  return 0;
}
