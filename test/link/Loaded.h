//===- Loaded.h - a model.so as a C program would open it -----------------===//
#pragma once

#include <ptc/ptc.h>

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace ptc::test {

/// A DLTensor over a vector.
template <typename T> struct Tensor {
  std::vector<T> values;
  std::vector<int64_t> shape, strides;
  DLTensor view;

  Tensor(std::vector<int64_t> sizes, std::vector<T> contents = {})
      : values(std::move(contents)), shape(std::move(sizes)) {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    values.resize(std::max<size_t>(values.size(), count));
    view = {values.data(), {kDLCPU, 0}, static_cast<int>(shape.size()), type(), shape.data(), nullptr, 0};
  }
  Tensor(const Tensor &) = delete;

  void setStrides(std::vector<int64_t> steps) {
    strides = std::move(steps);
    view.strides = strides.data();
  }

private:
  static DLDataType type() {
    uint8_t code = std::is_floating_point_v<T> ? kDLFloat : kDLInt;
    return {code, sizeof(T) * 8, 1};
  }
};

class Loaded {
public:
  explicit Loaded(const std::string &path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    INFO((handle ? "" : dlerror()));
    REQUIRE(handle);
    auto get = reinterpret_cast<const ptc_api *(*)(uint32_t)>(dlsym(handle, "ptc_get_api"));
    REQUIRE(get);
    api = get(PTC_ABI_VERSION);
    REQUIRE(api);
    REQUIRE(api->context_create(&context) == PTC_OK);
  }
  Loaded(const Loaded &) = delete;
  ~Loaded() {
    api->context_destroy(context);
    dlclose(handle);
  }

  ptc_status call(std::vector<const DLTensor *> inputs, std::vector<DLTensor *> outputs) {
    return api->call(context, inputs.data(), inputs.size(), outputs.data(), outputs.size());
  }
  std::string error() const { return api->last_error(context); }
  const ptc_api *operator->() const { return api; }

  void *handle;
  const ptc_api *api = nullptr;
  ptc_context *context = nullptr;
};

} // namespace ptc::test
