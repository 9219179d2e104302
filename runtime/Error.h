//===- Error.h - why a call failed ----------------------------------------===//
#pragma once

#include "runtime/include/ptc/ptc.h"

#include <pthread.h>

namespace ptc::runtime {

/// A mutex that needs no constructor: zeroed is unlocked.
struct Mutex {
  pthread_mutex_t handle;
  void lock() { pthread_mutex_lock(&handle); }
  void unlock() { pthread_mutex_unlock(&handle); }
};

struct Guard {
  explicit Guard(Mutex &m) : mutex(m) { mutex.lock(); }
  ~Guard() { mutex.unlock(); }
  Guard(const Guard &) = delete;
  Mutex &mutex;
};

/// What went wrong in one call. Filled once, where it is found out.
struct Error {
  ptc_status status;
  char text[480];

  __attribute__((format(printf, 3, 4))) ptc_status set(ptc_status code, const char *format, ...);
  /// Behind the text that is set, as much as there is room for.
  __attribute__((format(printf, 2, 3))) void append(const char *format, ...);
};

/// The last error of each thread that had one. Threads are few; entries stay until the context goes.
class ErrorLog {
public:
  ptc_status report(const Error &error);
  const char *lastOfThisThread() const;
  void release();

private:
  struct Entry {
    Entry *next;
    long thread;
    char text[sizeof(Error::text)];
  };
  Entry *find(long thread) const;

  mutable Mutex mutex;
  Entry *entries;
};

} // namespace ptc::runtime
