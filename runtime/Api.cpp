//===- Api.cpp - the exported functions -----------------------------------===//
//
// Arguments that are wrong in themselves are answered here; everything else is
// the context's business. `ptc_programs` are this model's, by hidden visibility.
//
//===----------------------------------------------------------------------===//

#define PTC_EXPORT __attribute__((visibility("default")))
#include "runtime/include/ptc/ptc.h"

#include "runtime/Call.h"
#include "runtime/Cpu.h"
#include "runtime/Loader.h"
#include "runtime/Note.h"
#include "runtime/OpenMP.h"
#include "runtime/Placement.h"
#include "runtime/Seal.h"
#include "runtime/Signature.h"
#include "runtime/States.h"
#include "runtime/Tensor.h"
#include "runtime/Threading.h"

#include <string.h>

using namespace ptc::runtime;

//===----------------------------------------------------------------------===//
// What the model is like
//===----------------------------------------------------------------------===//

/// Null where there is no such entry, or no memory to describe it.
static const EntryDescription *findEntry(int32_t entry) {
  return entry < 0 ? nullptr : describeEntry(ptc_programs, entry);
}

const ptc_signature *ptc_get_signature(void) { return ptc_entry_signature(0); }

const ptc_tensor *ptc_get_optional_inputs(int32_t *count) { return ptc_entry_optional_inputs(0, count); }

int32_t ptc_entry_find(const char *name) {
  int32_t index = 0;
  for (const Program *entry = ptc_programs.all; name && entry && entry->entry; entry = entry->nextEntry, ++index)
    if (strcmp(entry->entry, name) == 0)
      return index;
  return -1;
}

const char *ptc_entry_name(int32_t entry) {
  const EntryDescription *found = findEntry(entry);
  return found ? found->program->entry : nullptr;
}

const ptc_signature *ptc_entry_signature(int32_t entry) {
  const EntryDescription *found = findEntry(entry);
  return found ? &found->signature : nullptr;
}

const ptc_tensor *ptc_entry_optional_inputs(int32_t entry, int32_t *count) {
  const EntryDescription *found = findEntry(entry);
  if (count)
    *count = found ? found->optionalCount : 0;
  return found && found->optionalCount ? found->optional : nullptr;
}

/// Tables that are made by hand have none.
extern "C" __attribute__((visibility("hidden"), weak)) const char ptc_note[];

const char *ptc_info(void) { return ptc_note ? ptc_note + kNoteTextOffset : ""; }

const ptc_external *ptc_get_externals(int32_t *count) { return describeExternals(ptc_programs, count); }

//===----------------------------------------------------------------------===//
// Contexts and calls
//===----------------------------------------------------------------------===//

uint32_t ptc_abi_version(void) { return PTC_ABI_VERSION; }

const char *ptc_status_string(ptc_status status) {
  static const char *const texts[] = {"success",       "invalid argument", "tensor mismatch",    "index out of range",
                                      "out of memory", "unsupported",      "input/output error", "external function",
                                      "corrupt file",  "device error"};
  return status >= PTC_OK && status <= PTC_DEVICE_ERROR ? texts[status] : "unknown status";
}

/// Where the linker put the library's ELF header.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];

static ptc_status checkFile(Error &error) {
  Seal seal;
  memcpy(&seal, __ehdr_start + kSealOffset, sizeof(seal));
  char path[4096], what[256];
  if (memcmp(seal.mark, kSealMark, sizeof(kSealMark)) != 0 || !findOwnPath(path, sizeof(path)))
    return error.set(PTC_UNSUPPORTED, "the model is not in a library as ptc compile writes it, and has no hash");
  checkSeal(path, &seal, what);
  return what[0] ? error.set(PTC_CORRUPT, "%s", what) : PTC_OK;
}

/// Of contexts that could not be created.
static ErrorLog creationErrors;

__attribute__((destructor)) static void releaseCreationErrors() { creationErrors.release(); }

ptc_status ptc_context_create_on(int32_t device, uint32_t flags, ptc_context **context) {
  Error error = {};
  if (context)
    *context = nullptr;
  if (!context || flags & ~PTC_CHECK_FILE)
    error.set(PTC_INVALID_ARGUMENT, context ? "there are no such flags: %u" : "no place for the context", flags);
  else if (device < kAnyDevice)
    error.set(PTC_INVALID_ARGUMENT, "there is no device %d", device);
  else if (!(flags & PTC_CHECK_FILE) || checkFile(error) == PTC_OK)
    ptc_context::create(ptc_programs, device, context, error);
  return creationErrors.report(error);
}

ptc_status ptc_context_create_with(uint32_t flags, ptc_context **context) {
  return ptc_context_create_on(kAnyDevice, flags, context);
}

ptc_status ptc_context_create(ptc_context **context) { return ptc_context_create_with(0, context); }

const char *ptc_get_machine(void) {
  Error ignored = {};
  const Program *program = chooseProgram(ptc_programs, kAnyDevice, ignored);
  return program ? program->machine : nullptr;
}

void ptc_context_destroy(ptc_context *context) {
  if (context)
    ptc_context::destroy(context);
}

const char *ptc_last_error(const ptc_context *context) {
  return (context ? context->errors : creationErrors).lastOfThisThread();
}

/// Runs `body(error)` and keeps its message for ptc_last_error.
template <typename Body> static ptc_status reporting(ptc_context *context, Body body) {
  if (!context)
    return PTC_INVALID_ARGUMENT;
  Error error = {};
  ptc_status status = body(error);
  return status == PTC_OK ? PTC_OK : context->errors.report(error);
}

/// Runs `body(program, error)` with the program of the entry.
template <typename Body> static ptc_status withEntry(ptc_context *context, int32_t entry, Body body) {
  return reporting(context, [&](Error &error) {
    const Program *program = context->findEntry(entry);
    return program ? body(*program, error) : error.set(PTC_INVALID_ARGUMENT, "the model has no entry %d", entry);
  });
}

ptc_status ptc_call_entry(ptc_context *context, int32_t entry, const DLTensor *const *inputs, int32_t input_count,
                          DLTensor *const *outputs, int32_t output_count) {
  return withEntry(context, entry, [&](const Program &program, Error &error) {
    return call(*context, program, {inputs, input_count}, outputs, output_count, error);
  });
}

ptc_status ptc_call_entry_new(ptc_context *context, int32_t entry, const DLTensor *const *inputs, int32_t input_count,
                              DLManagedTensor **outputs, int32_t output_count) {
  return withEntry(context, entry, [&](const Program &program, Error &error) {
    return callNew(*context, program, {inputs, input_count}, outputs, output_count, error);
  });
}

ptc_status ptc_entry_output_shape(ptc_context *context, int32_t entry, const DLTensor *const *inputs,
                                  int32_t input_count, int32_t output, int64_t *shape, int32_t ndim) {
  return withEntry(context, entry, [&](const Program &program, Error &error) {
    return outputShape(*context, program, {inputs, input_count}, output, shape, ndim, error);
  });
}

ptc_status ptc_call(ptc_context *context, const DLTensor *const *inputs, int32_t input_count, DLTensor *const *outputs,
                    int32_t output_count) {
  return ptc_call_entry(context, 0, inputs, input_count, outputs, output_count);
}

ptc_status ptc_call_new(ptc_context *context, const DLTensor *const *inputs, int32_t input_count,
                        DLManagedTensor **outputs, int32_t output_count) {
  return ptc_call_entry_new(context, 0, inputs, input_count, outputs, output_count);
}

ptc_status ptc_output_shape(ptc_context *context, const DLTensor *const *inputs, int32_t input_count, int32_t output,
                            int64_t *shape, int32_t ndim) {
  return ptc_entry_output_shape(context, 0, inputs, input_count, output, shape, ndim);
}

ptc_status ptc_state_get(ptc_context *context, int32_t state, DLTensor *value) {
  return reporting(context, [&](Error &error) { return getState(*context, state, value, error); });
}

ptc_status ptc_state_set(ptc_context *context, int32_t state, const DLTensor *value) {
  return reporting(context, [&](Error &error) { return setState(*context, state, value, error); });
}

ptc_status ptc_state_reset(ptc_context *context) {
  return reporting(context, [&](Error &error) {
    Guard guard(context->stateMutex);
    DeviceScope scope(context->device, error);
    return scope.status == PTC_OK ? context->resetStates(error) : scope.status;
  });
}

int32_t ptc_state_find(const char *name) { return name ? findState(ptc_programs.all[0], name) : -1; }

/// Of libraries of models without states: the others have these functions from runtime/checkpoint.
static ptc_status failWithoutStates(ptc_context *context) {
  return reporting(context,
                   [&](Error &error) { return error.set(PTC_UNSUPPORTED, "the model keeps no states between calls"); });
}
__attribute__((weak)) ptc_status ptc_state_view(ptc_context *context, int32_t, DLTensor *) {
  return failWithoutStates(context);
}
__attribute__((weak)) ptc_status ptc_checkpoint_save(ptc_context *context, const char *) {
  return failWithoutStates(context);
}
__attribute__((weak)) ptc_status ptc_checkpoint_load(ptc_context *context, const char *, uint32_t) {
  return failWithoutStates(context);
}

ptc_status ptc_set_seed(ptc_context *context, uint64_t seed) {
  return reporting(context, [&](Error &error) { return setSeed(*context, seed, error); });
}

ptc_status ptc_set_function(ptc_context *context, const char *name, ptc_function function, void *data) {
  return reporting(context, [&](Error &error) {
    if (name && context->setFunction(name, {function, data}))
      return PTC_OK;
    int32_t count = 0;
    const ptc_external *known = ptc_get_externals(&count);
    return error.set(PTC_INVALID_ARGUMENT, "the model calls no external function '%s'%s%s", name ? name : "(null)",
                     count ? "; the first that it calls is " : "", count ? known[0].name : "");
  });
}

ptc_status ptc_set_threads(ptc_context *context, int32_t threads) {
  return reporting(context, [&](Error &error) {
    if (threads < 0 || threads > kMaxThreads)
      return error.set(PTC_INVALID_ARGUMENT, "%d threads were asked for, allowed: 0..%d", threads, kMaxThreads);
    context->setThreads(threads);
    return PTC_OK;
  });
}

ptc_status ptc_get_threading(ptc_context *context, ptc_threading *threading) {
  if (!context || !threading)
    return PTC_INVALID_ARGUMENT;
  *threading = {usesOpenMP() ? OpenMP::get().path() : nullptr, context->threadTerms().threads};
  return PTC_OK;
}

ptc_status ptc_set_waiting(ptc_context *context, ptc_waiting waiting) {
  return reporting(context, [&](Error &error) {
    if (waiting < PTC_WAIT_DEFAULT || waiting > PTC_WAIT_ACTIVE)
      return error.set(PTC_INVALID_ARGUMENT, "there is no way to wait %d", static_cast<int>(waiting));
    context->setWaiting(waiting);
    return PTC_OK;
  });
}

ptc_status ptc_get_activity(ptc_context *context, ptc_activity *activity) {
  if (!context || !activity)
    return PTC_INVALID_ARGUMENT;
  const Activity &used = context->activity;
  *activity = {used.calls.load(std::memory_order_relaxed), used.threads.load(std::memory_order_relaxed),
               used.wakeups.load(std::memory_order_relaxed)};
  return PTC_OK;
}

ptc_status ptc_get_memory(ptc_context *context, ptc_memory *memory) {
  if (!context || !memory)
    return PTC_INVALID_ARGUMENT;
  *memory = context->memory();
  return PTC_OK;
}

ptc_status ptc_trim(ptc_context *context) {
  if (!context)
    return PTC_INVALID_ARGUMENT;
  context->trim();
  ptc::runtime::releaseDeletedTensors();
  return PTC_OK;
}

ptc_status ptc_profile_start(ptc_context *context) {
  if (!context)
    return PTC_INVALID_ARGUMENT;
  context->profile.start();
  return PTC_OK;
}

ptc_status ptc_profile_stop(ptc_context *context, const char *path) {
  return reporting(context, [&](Error &error) {
    return path ? context->profile.write(*context->program, path, error)
                : error.set(PTC_INVALID_ARGUMENT, "no path for the profile");
  });
}

//===----------------------------------------------------------------------===//
// Devices and streams
//===----------------------------------------------------------------------===//

ptc_status ptc_get_device(ptc_context *context, DLDevice *device) {
  if (!context || !device)
    return PTC_INVALID_ARGUMENT;
  *device = context->place();
  return PTC_OK;
}

ptc_status ptc_set_stream(ptc_context *context, void *stream, int32_t is_callers) {
  return reporting(context, [&](Error &error) { return setStream(*context, stream, is_callers != 0, error); });
}

ptc_status ptc_get_stream(ptc_context *context, void **stream, int32_t *is_callers) {
  if (!context || !stream || !is_callers)
    return PTC_INVALID_ARGUMENT;
  StreamChoice choice = context->streamChoice();
  *stream = choice.stream;
  *is_callers = choice.isCallers;
  return PTC_OK;
}

ptc_status ptc_synchronize(ptc_context *context) {
  return reporting(context, [&](Error &error) { return synchronize(*context, error); });
}

ptc_status ptc_set_output_device(ptc_context *context, const DLDevice *device) {
  return reporting(context, [&](Error &error) { return setOutputDevice(*context, device, error); });
}

ptc_status ptc_to_device(ptc_context *context, const DLTensor *tensor, DLManagedTensor **copy) {
  return reporting(context, [&](Error &error) {
    return copy ? toDevice(*context, tensor, copy, error) : error.set(PTC_INVALID_ARGUMENT, "no place for the copy");
  });
}

const ptc_api *ptc_get_api(uint32_t abi_version) {
  static const ptc_api api = {PTC_ABI_VERSION,
                              sizeof(ptc_api),
                              ptc_get_signature,
                              ptc_status_string,
                              ptc_context_create,
                              ptc_context_destroy,
                              ptc_last_error,
                              ptc_call,
                              ptc_call_new,
                              ptc_output_shape,
                              ptc_state_get,
                              ptc_state_set,
                              ptc_state_reset,
                              ptc_set_threads,
                              ptc_get_threading,
                              ptc_get_memory,
                              ptc_trim,
                              ptc_profile_start,
                              ptc_profile_stop,
                              ptc_set_seed,
                              ptc_get_machine,
                              ptc_get_externals,
                              ptc_set_function,
                              ptc_set_waiting,
                              ptc_get_activity,
                              ptc_context_create_with,
                              ptc_get_optional_inputs,
                              ptc_context_create_on,
                              ptc_get_device,
                              ptc_set_stream,
                              ptc_get_stream,
                              ptc_synchronize,
                              ptc_set_output_device,
                              ptc_to_device,
                              ptc_entry_find,
                              ptc_entry_name,
                              ptc_entry_signature,
                              ptc_entry_optional_inputs,
                              ptc_call_entry,
                              ptc_call_entry_new,
                              ptc_entry_output_shape,
                              ptc_state_find,
                              ptc_state_view,
                              ptc_checkpoint_save,
                              ptc_checkpoint_load,
                              ptc_info};
  return abi_version == PTC_ABI_VERSION ? &api : nullptr;
}
