#include "runtime/Error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ptc::runtime {

ptc_status Error::set(ptc_status code, const char *format, ...) {
  status = code;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return code;
}

void Error::append(const char *format, ...) {
  size_t length = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + length, sizeof(text) - length, format, arguments);
  va_end(arguments);
}

ErrorLog::Entry *ErrorLog::find(long thread) const {
  Entry *entry = entries;
  while (entry && entry->thread != thread)
    entry = entry->next;
  return entry;
}

ptc_status ErrorLog::report(const Error &error) {
  if (error.status == PTC_OK)
    return PTC_OK;
  long thread = syscall(SYS_gettid);
  Guard guard(mutex);
  Entry *entry = find(thread);
  if (!entry) {
    entry = static_cast<Entry *>(calloc(1, sizeof(Entry)));
    if (!entry)
      return error.status;
    entry->thread = thread;
    entry->next = entries;
    entries = entry;
  }
  memcpy(entry->text, error.text, sizeof(entry->text));
  return error.status;
}

const char *ErrorLog::lastOfThisThread() const {
  Guard guard(mutex);
  Entry *entry = find(syscall(SYS_gettid));
  return entry ? entry->text : "";
}

void ErrorLog::release() {
  while (Entry *entry = entries) {
    entries = entry->next;
    free(entry);
  }
}

} // namespace ptc::runtime
