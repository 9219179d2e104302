// A library for a GPU as ptc writes it, with tables of codegen/host and the runtime for CUDA, under the fake driver.
#include "test/link/Loaded.h"
#include "test/link/TestModel.h"

#include "llvm/Support/MemoryBuffer.h"

#include <ptc/ptc.hpp>

using namespace ptc::test;
using Catch::Contains;

/// `affine` whose kernels are those of kernels.so.
static Model makeModel(Models &models) {
  Model model = models.affine();
  auto image = llvm::MemoryBuffer::getFile("test/cuda/kernels.so");
  REQUIRE(image);
  model.spec.target = "cuda";
  model.spec.machine = "sm_80";
  model.spec.device = {kDLCUDA, 8, 0, false, false, (*image)->getBuffer().str()};
  for (auto &launch : model.spec.launches) {
    launch.grids = {{launch.kernel, launch.tasks, 8, 0}};
    launch.kernel.clear();
    launch.tasks = {};
  }
  return model;
}

TEST_CASE("a library for a GPU needs the C library alone, until there is a context") {
  Models models;
  std::string path = build(makeModel(models));
  std::string needed = outputOf("readelf -d " + path + " | grep NEEDED");
  CHECK_THAT(needed, Contains("[libc.so.6]"));
  CHECK(std::count(needed.begin(), needed.end(), '\n') == 1);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library);
  auto *api = reinterpret_cast<const ptc_api *(*)(uint32_t)>(dlsym(library, "ptc_get_api"))(PTC_ABI_VERSION);
  CHECK(api->signature()->inputs[0].device.device_type == kDLCUDA);
  if (!dlopen("libcuda.so.1", RTLD_NOW)) {
    ptc_context *context = nullptr;
    CHECK(api->context_create(&context) == PTC_UNSUPPORTED);
    CHECK_THAT(api->last_error(nullptr), Contains("the model needs an NVIDIA driver"));
  }
  dlclose(library);
}

TEST_CASE("its calls are the GPU's") {
  REQUIRE(dlopen("test/cuda/libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
  Models models;
  Model model = makeModel(models);
  Loaded loaded(build(model));
  CHECK(std::string(loaded->machine()) == "sm_80");
  for (int64_t rows : {2, 300}) {
    Tensor<float> x({rows, 8}, std::vector<float>(rows * 8, 2)), y({rows, 8});
    CHECK(loaded.call({&x.view}, {&y.view}) == PTC_OK);
    CHECK(y.values[rows * 8 - 1] == 2 * 8 + 80);
  }
  Tensor<float> x({4, 8}), y({4, 8});
  x.view.device = {kDLCUDA, 1};
  CHECK(loaded.call({&x.view}, {&y.view}) == PTC_MISMATCH);
  CHECK(loaded.error() == "input 'x' (0): is on DLPack device 2:1, but the model runs on 2:0");
}

TEST_CASE("in C++ results stay on the GPU where the inputs are, or where the caller says") {
  REQUIRE(dlopen("test/cuda/libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
  Models models;
  ptc::Model model(build(makeModel(models)));
  CHECK(model.device().device_type == kDLCUDA);
  std::vector<float> x(16, 2);
  CHECK(model({ptc::view(x, {2, 8})})[0].values<float>()[15] == 2 * 8 + 80);
  ptc::Tensor onGpu = model.toDevice(ptc::view(x, {2, 8}));
  model.setStream(nullptr);
  std::vector<ptc::Tensor> once = model({onGpu.view()}), twice = model({once[0].view()});
  CHECK(twice[0].device().device_type == kDLCUDA);
  CHECK_THROWS_WITH(twice[0].values<float>(), Contains("a result in a GPU's memory, read on the host"));
  model.setOutputDevice({kDLCPU, 0});
  CHECK(model({once[0].view()})[0].values<float>()[15] == (2 * 8 + 80) * 8 + 80);
  model.useOwnStream();
  model.synchronize();
  CHECK_THROWS_WITH(ptc::Model(build(makeModel(models)), 0, 1),
                    Contains("there is no CUDA device 1: the driver shows 1"));
}

TEST_CASE("a program for a GPU without the runtime for it is refused") {
  Models models;
  Model model = makeModel(models);
  model.spec.device->type = kDLROCM;
  std::string path = build(model);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library);
  auto *api = reinterpret_cast<const ptc_api *(*)(uint32_t)>(dlsym(library, "ptc_get_api"))(PTC_ABI_VERSION);
  ptc_context *context = nullptr;
  CHECK(api->context_create(&context) == PTC_UNSUPPORTED);
  CHECK_THAT(api->last_error(nullptr), Contains("lacks the runtime for the device"));
  dlclose(library);
}
