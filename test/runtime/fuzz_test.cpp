// Tensors of every kind of wrongness: the answer is a status, never a crash. `affine`: y[s0, 8] = x[s0, 8] * w + b.
#include <ptc/ptc.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {
constexpr int64_t kElements = 64 * 1024;

using Context = std::unique_ptr<ptc_context, decltype(&ptc_context_destroy)>;

Context makeContext() {
  ptc_context *context = nullptr;
  REQUIRE(ptc_context_create(&context) == PTC_OK);
  return Context(context, ptc_context_destroy);
}

/// A tensor over memory of kElements floats: mostly right, and wrong in one or two places. Sizes and strides that pass
/// the checks stay inside the memory, as a caller must promise.
struct RandomTensor {
  std::vector<float> memory = std::vector<float>(kElements + 16);
  int64_t shape[8], strides[8];
  DLTensor view;
  bool isNull = false;

  explicit RandomTensor(std::mt19937 &random) {
    auto pick = [&](auto... values) {
      int64_t all[] = {values...};
      return all[random() % sizeof...(values)];
    };
    auto rarely = [&] { return random() % 8 == 0; };
    for (int i = 0; i < 8; ++i)
      shape[i] = 1;
    shape[0] = rarely() ? pick(INT64_MIN, INT64_MAX, -1, 0, 1, 1025, int64_t(1) << 40) : 2 + random() % 1023;
    shape[1] = rarely() ? pick(INT64_MIN, INT64_MAX, -8, 0, 7, 9) : 8;
    bool isStrided = random() % 2;
    strides[0] = pick(8, 8, 16, 32, 1, 0);
    strides[1] = pick(1, 1, 2, 0);
    view = {memory.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, isStrided ? strides : nullptr, 0};
    if (random() % 16 == 0)
      strides[random() % 2] = pick(INT64_MIN, INT64_MAX, -INT64_MAX, INT64_MAX / 8, -(int64_t(1) << 61));
    if (rarely())
      view.ndim = pick(-1, 0, 1, 3, INT32_MAX, INT32_MIN);
    if (rarely())
      view.dtype = {static_cast<uint8_t>(random()), static_cast<uint8_t>(random()),
                    static_cast<uint16_t>(random() % 3)};
    if (rarely())
      view.device.device_type = static_cast<DLDeviceType>(pick(2, 4, 13, 3));
    if (rarely())
      view.data = nullptr;
    if (rarely())
      view.byte_offset = random() % 8;
    if (rarely())
      view.shape = nullptr;
    isNull = random() % 32 == 0;
  }
  DLTensor *get() { return isNull ? nullptr : &view; }
};
} // namespace

TEST_CASE("random tensors") {
  Context context = makeContext();
  std::mt19937 random(11);
  int good = 0;
  for (int round = 0; round < 4000; ++round) {
    RandomTensor x(random), y(random);
    if (random() % 2) // or hardly a call would pass
      y.shape[0] = x.shape[0];
    const DLTensor *inputs[] = {x.get()};
    DLTensor *outputs[] = {y.get()};
    ptc_status status = ptc_call(context.get(), inputs, 1, outputs, 1);
    good += status == PTC_OK;
    if (status != PTC_OK)
      REQUIRE(std::strlen(ptc_last_error(context.get())) > 10);

    DLManagedTensor *made[1];
    int64_t shape[2];
    ptc_status shaped = ptc_output_shape(context.get(), inputs, 1, 0, shape, 2);
    status = ptc_call_new(context.get(), inputs, 1, made, 1);
    REQUIRE((status == PTC_OK) == (made[0] != nullptr));
    REQUIRE(shaped == status);
    if (made[0])
      made[0]->deleter(made[0]);
  }
  CHECK(good > 100);
}

TEST_CASE("the interface from several threads at once") {
  Context context = makeContext();
  auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < 200; ++round) {
      RandomTensor x(random), y(random);
      const DLTensor *inputs[] = {x.get()};
      DLTensor *outputs[] = {y.get()};
      switch (random() % 6) {
      case 0:
        ptc_trim(context.get());
        break;
      case 1:
        ptc_set_threads(context.get(), 1 + random() % 3);
        break;
      case 2: {
        ptc_memory memory;
        ptc_get_memory(context.get(), &memory);
        break;
      }
      default:
        if (ptc_call(context.get(), inputs, 1, outputs, 1) != PTC_OK)
          ptc_last_error(context.get());
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back(work, seed);
  for (std::thread &thread : threads)
    thread.join();
  ptc_get_signature();
}
