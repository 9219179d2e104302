#include "runtime/Loader.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#pragma weak dl_iterate_phdr
}

namespace ptc::runtime {

namespace {
struct Paths {
  bool (*isOne)(const char *path, void *data);
  void *data;
  char **paths;
  int32_t count, capacity;
  bool isComplete;
};
} // namespace

/// Only names are collected here: dlopen from the callback could deadlock with a dlopen of another thread.
static int collect(dl_phdr_info *info, size_t, void *opaque) {
  auto &found = *static_cast<Paths *>(opaque);
  if (!info->dlpi_name || !found.isOne(info->dlpi_name, found.data))
    return 0;
  if (found.count == found.capacity) {
    int32_t capacity = 2 * found.capacity + 16;
    auto *grown = static_cast<char **>(realloc(found.paths, capacity * sizeof(char *)));
    if (!grown) {
      found.isComplete = false;
      return 1;
    }
    found.paths = grown;
    found.capacity = capacity;
  }
  char *path = strdup(info->dlpi_name);
  if (path)
    found.paths[found.count++] = path;
  else
    found.isComplete = false;
  return 0;
}

Search findLoaded(bool (*isOne)(const char *, void *), bool (*use)(void *, const char *, void *), void *data) {
  if (!dlopen || !dlsym || !dl_iterate_phdr)
    return Search::NotThere;
  Paths found = {isOne, data, nullptr, 0, 0, true};
  dl_iterate_phdr(collect, &found);
  bool isUsed = false;
  for (int32_t i = 0; i < found.count; ++i) {
    void *library = isUsed ? nullptr : dlopen(found.paths[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
      isUsed = use(library, found.paths[i], data);
      if (!isUsed)
        dlclose(library);
    }
    free(found.paths[i]);
  }
  free(found.paths);
  return isUsed ? Search::Found : found.isComplete ? Search::NotThere : Search::NoMemory;
}

bool findOwnPath(char *path, size_t size) {
  struct Place {
    char *path;
    size_t size;
  } own = {path, size};
  auto isOwn = [](dl_phdr_info *info, size_t, void *opaque) {
    auto *own = static_cast<Place *>(opaque);
    auto code = reinterpret_cast<uintptr_t>(&findOwnPath) - info->dlpi_addr;
    bool holds = false;
    for (int i = 0; i < info->dlpi_phnum; ++i)
      holds |= info->dlpi_phdr[i].p_type == PT_LOAD && code - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz;
    if (holds)
      snprintf(own->path, own->size, "%s", info->dlpi_name);
    return int(holds);
  };
  return dl_iterate_phdr && dl_iterate_phdr(isOwn, &own);
}

} // namespace ptc::runtime
