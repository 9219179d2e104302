//===- Loader.h - the libraries that the process has loaded ---------------===//
#pragma once

#include <cstddef>
#include <dlfcn.h>

// Older C libraries keep these in libdl, which a model does not ask for: then nothing is found, and nothing fails.
extern "C" {
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlclose
#pragma weak dlerror
}

namespace ptc::runtime {

enum class Search { Found, NotThere, NoMemory };

/// Goes through the loaded libraries whose path `isOne`, and stops where use(handle, path, data) is true: that handle
/// stays open, others are closed again.
Search findLoaded(bool (*isOne)(const char *path, void *data), bool (*use)(void *library, const char *path, void *data),
                  void *data);

/// The path under which the library that has this code was opened; false where it is not known.
bool findOwnPath(char *path, size_t size);

} // namespace ptc::runtime
