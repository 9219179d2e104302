// A compiled model as a C++ value: what a program of its own might write around ptc.h.
#pragma once

#include <dlfcn.h>
#include <memory>
#include <ptc/ptc.h>
#include <stdexcept>
#include <string>
#include <vector>

class Model {
public:
  using Output = std::unique_ptr<DLManagedTensor, void (*)(DLManagedTensor *)>;

  explicit Model(const std::string &path) : library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), dlclose) {
    if (!library)
      throw std::runtime_error(dlerror());
    auto get = reinterpret_cast<const ptc_api *(*)(uint32_t)>(dlsym(library.get(), "ptc_get_api"));
    api = get ? get(PTC_ABI_VERSION) : nullptr;
    ptc_context *created = nullptr;
    if (!api || api->context_create(&created) != PTC_OK)
      throw std::runtime_error(path + " is no model, or not for this machine");
    context = {created, api->context_destroy};
  }

  const ptc_signature &signature() const { return *api->signature(); }

  /// Row-major float tensors in, tensors of the model's own out.
  std::vector<Output> operator()(const std::vector<DLTensor> &inputs) {
    std::vector<const DLTensor *> pointers;
    for (const DLTensor &input : inputs)
      pointers.push_back(&input);
    std::vector<DLManagedTensor *> made(signature().output_count);
    if (api->call_new(context.get(), pointers.data(), pointers.size(), made.data(), made.size()) != PTC_OK)
      throw std::runtime_error(api->last_error(context.get()));
    std::vector<Output> outputs;
    for (DLManagedTensor *output : made)
      outputs.emplace_back(output, output->deleter);
    return outputs;
  }

private:
  std::unique_ptr<void, int (*)(void *)> library;
  const ptc_api *api = nullptr;
  std::unique_ptr<ptc_context, void (*)(ptc_context *)> context{nullptr, nullptr};
};
