// A step of training in a steady state: from the second call on nothing is allocated, no weight or moment is copied,
// and each state stays where it is. The functions below stand before the C library's, for the library that is called
// too.
#include <ptc/ptc.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

/// Of fewer bytes are copies of shapes, and of running statistics, which are known before a step may change states.
static constexpr size_t kCopyBytes = 256;
static bool isCounting;
static int allocations, copies;

static void countAllocation() { allocations += isCounting; }

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  countAllocation();
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  countAllocation();
  return __libc_calloc(count, size);
}
void *realloc(void *block, size_t size) {
  countAllocation();
  return __libc_realloc(block, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  countAllocation();
  return __libc_memalign(alignment, size);
}
void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  countAllocation();
  return reinterpret_cast<void *>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}
void *memcpy(void *to, const void *from, size_t size) {
  copies += isCounting && size >= kCopyBytes;
  return memmove(to, from, size);
}
}

namespace {
constexpr int64_t kBatch = 16, kPixels = 64, kClasses = 10;

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<uint64_t> bytes; ///< aligned for all elements
  DLTensor tensor = {};

  Tensor(std::vector<int64_t> sizes, DLDataType type) : shape(std::move(sizes)) {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    bytes.resize(size_t(count * type.bits / 8 + 7) / 8 + 1);
    tensor.data = bytes.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = int32_t(shape.size());
    tensor.dtype = type;
    tensor.shape = shape.data();
  }
  Tensor(const Tensor &) = delete;
};

/// The classifier of examples/digits, in steps of AdamW.
class Steps {
public:
  explicit Steps(int32_t threads) {
    void *library = dlopen("test/train/step.so", RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library);
    api = reinterpret_cast<decltype(&ptc_get_api)>(dlsym(library, "ptc_get_api"))(PTC_ABI_VERSION);
    REQUIRE(api->context_create(&context) == PTC_OK);
    REQUIRE(api->set_threads(context, threads) == PTC_OK);
    for (int64_t i = 0; i < kBatch * kPixels; ++i)
      static_cast<float *>(images.tensor.data)[i] = float(i * 7 % 17);
    for (int64_t i = 0; i < kBatch; ++i)
      static_cast<int64_t *>(labels.tensor.data)[i] = i % kClasses;
    const ptc_signature *signature = api->signature();
    REQUIRE(signature->input_count == 2);
    for (int32_t i = 0; i < signature->output_count; ++i) {
      std::vector<int64_t> shape(size_t(signature->outputs[i].ndim));
      REQUIRE(api->output_shape(context, inputs, 2, i, shape.data(), int32_t(shape.size())) == PTC_OK);
      owned.push_back(std::make_unique<Tensor>(shape, signature->outputs[i].dtype));
      outputs.push_back(&owned.back()->tensor);
    }
  }
  ~Steps() { api->context_destroy(context); }

  ptc_status call() { return api->call(context, inputs, 2, outputs.data(), int32_t(outputs.size())); }
  double loss() const { return *static_cast<float *>(outputs.front()->data); }
  void getLargestState() {
    const ptc_signature *signature = api->signature();
    int32_t largest = 0;
    auto bytesOf = [&](int32_t state) {
      int64_t bytes = signature->states[state].dtype.bits / 8;
      for (int32_t i = 0; i < signature->states[state].ndim; ++i)
        bytes *= signature->states[state].dims[i].min;
      return bytes;
    };
    for (int32_t i = 1; i < signature->state_count; ++i)
      largest = bytesOf(i) > bytesOf(largest) ? i : largest;
    const ptc_tensor &state = signature->states[largest];
    std::vector<int64_t> shape;
    for (int32_t i = 0; i < state.ndim; ++i)
      shape.push_back(state.dims[i].min);
    Tensor copy(shape, state.dtype);
    REQUIRE(api->state_get(context, largest, &copy.tensor) == PTC_OK);
  }
  std::vector<void *> places() const {
    std::vector<void *> places;
    for (int32_t i = 0; i < api->signature()->state_count; ++i) {
      DLTensor live = {};
      REQUIRE(api->state_view(context, i, &live) == PTC_OK);
      places.push_back(live.data);
    }
    return places;
  }

private:
  const ptc_api *api;
  ptc_context *context = nullptr;
  Tensor images{{kBatch, 1, 8, 8}, {kDLFloat, 32, 1}}, labels{{kBatch}, {kDLInt, 64, 1}};
  const DLTensor *inputs[2] = {&images.tensor, &labels.tensor};
  std::vector<std::unique_ptr<Tensor>> owned;
  std::vector<DLTensor *> outputs;
};
} // namespace

TEST_CASE("the second step allocates nothing and copies no weight") {
  for (int32_t threads : {1, 2}) {
    INFO(threads << " threads");
    Steps steps(threads);
    REQUIRE(steps.call() == PTC_OK);
    double loss = steps.loss();
    std::vector<void *> places = steps.places();
    allocations = copies = 0;
    isCounting = true;
    ptc_status status = steps.call();
    isCounting = false;
    REQUIRE(status == PTC_OK);
    CHECK(allocations == 0);
    CHECK(copies == 0);
    CHECK(steps.places() == places);
    CHECK(steps.loss() < loss);
  }
}

TEST_CASE("what a library allocates and copies is counted") {
  isCounting = true;
  Steps steps(1);
  isCounting = false;
  CHECK(allocations > 0);
  copies = 0;
  isCounting = true;
  steps.getLargestState();
  isCounting = false;
  CHECK(copies > 0);
}
