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
#include "runtime/Once.h"
#include "runtime/OpenMP.h"
#include "runtime/Placement.h"
#include "runtime/Seal.h"
#include "runtime/States.h"
#include "runtime/Tensor.h"
#include "runtime/Threading.h"

#include <stdlib.h>
#include <string.h>

using namespace ptc::runtime;

//===----------------------------------------------------------------------===//
// The signature
//===----------------------------------------------------------------------===//

namespace {
/// Made once from the tables, in one piece that stays as long as the library.
struct SignatureStorage {
  static ptc_signature signature;
  static Once once;
  static const ptc_tensor *optional; ///< the inputs behind those of the signature
  static ptc_external *externals;
  static void *blocks[4];
  static bool build();
  static void release();
};
} // namespace
ptc_signature SignatureStorage::signature;
Once SignatureStorage::once;
const ptc_tensor *SignatureStorage::optional;
ptc_external *SignatureStorage::externals;
void *SignatureStorage::blocks[4];

void SignatureStorage::release() {
  for (void *&block : blocks) {
    free(block);
    block = nullptr;
  }
}

/// A library that is unloaded leaves nothing behind.
__attribute__((destructor)) static void releaseSignature() { SignatureStorage::release(); }

static int32_t countDims(const TensorEntry *entries, int32_t count) {
  int32_t dims = 0;
  for (int32_t i = 0; i < count; ++i)
    dims += entries[i].rank > 0 ? entries[i].rank : 0;
  return dims;
}

static void describeTensors(const TensorEntry *entries, int32_t count, ptc_tensor *tensors, ptc_dim *&dims) {
  const DeviceEntry *device = ptc_programs.all[0].device;
  DLDevice place = {device ? static_cast<DLDeviceType>(device->type) : kDLCPU, 0};
  for (int32_t i = 0; i < count; ++i) {
    const TensorEntry &entry = entries[i];
    for (int32_t d = 0; d < entry.rank; ++d)
      dims[d] = {entry.dims[d].text, entry.dims[d].min, entry.dims[d].max};
    tensors[i] = {entry.name, {entry.code, entry.bits, 1}, place, entry.rank, entry.isWritten ? PTC_TENSOR_WRITTEN : 0u,
                  dims};
    dims += entry.rank > 0 ? entry.rank : 0;
  }
}

/// False when there is no memory for it.
bool SignatureStorage::build() {
  const Program &program = ptc_programs.all[0]; // callers see no difference
  int32_t tensorCount = program.inputCount + program.outputCount + program.stateCount;
  int32_t dimCount = countDims(program.inputs, program.inputCount) + countDims(program.outputs, program.outputCount) +
                     countDims(program.states, program.stateCount);
  for (int32_t i = 0; i < program.externalCount; ++i) {
    tensorCount += program.externals[i].tensorCount();
    dimCount += countDims(program.externals[i].tensors, program.externals[i].tensorCount());
  }
  auto *tensors = static_cast<ptc_tensor *>(calloc(tensorCount + 1, sizeof(ptc_tensor)));
  auto *dims = static_cast<ptc_dim *>(calloc(dimCount + 1, sizeof(ptc_dim)));
  auto *symbols = static_cast<ptc_symbol *>(calloc(program.symbolCount + 1, sizeof(ptc_symbol)));
  externals = static_cast<ptc_external *>(calloc(program.externalCount + 1, sizeof(ptc_external)));
  blocks[0] = tensors, blocks[1] = dims, blocks[2] = symbols, blocks[3] = externals;
  if (!tensors || !dims || !symbols || !externals) {
    release();
    return false;
  }
  for (int32_t i = 0; i < program.symbolCount; ++i)
    symbols[i] = {program.symbols[i].name, program.symbols[i].min, program.symbols[i].max};
  ptc_tensor *outputs = tensors + program.inputCount, *states = outputs + program.outputCount;
  describeTensors(program.inputs, program.inputCount, tensors, dims);
  describeTensors(program.outputs, program.outputCount, outputs, dims);
  describeTensors(program.states, program.stateCount, states, dims);
  ptc_tensor *next = states + program.stateCount;
  for (int32_t i = 0; i < program.externalCount; ++i) {
    const ExternalEntry &entry = program.externals[i];
    describeTensors(entry.tensors, entry.tensorCount(), next, dims);
    externals[i] = {entry.name,       entry.call,       entry.source, next, next + entry.inputCount,
                    entry.inputCount, entry.outputCount};
    next += entry.tensorCount();
  }
  optional = tensors + program.requiredCount;
  signature = {program.name,
               program.compiler,
               program.target,
               tensors,
               outputs,
               states,
               symbols,
               program.requiredCount,
               program.outputCount,
               program.stateCount,
               program.symbolCount};
  return true;
}

const ptc_signature *ptc_get_signature(void) {
  return SignatureStorage::once.run(SignatureStorage::build) ? &SignatureStorage::signature : nullptr;
}

const ptc_tensor *ptc_get_optional_inputs(int32_t *count) {
  const Program &program = ptc_programs.all[0];
  int32_t found = ptc_get_signature() ? program.inputCount - program.requiredCount : 0;
  if (count)
    *count = found;
  return found ? SignatureStorage::optional : nullptr;
}

const ptc_external *ptc_get_externals(int32_t *count) {
  int32_t found = ptc_get_signature() ? ptc_programs.all[0].externalCount : 0;
  if (count)
    *count = found;
  return found ? SignatureStorage::externals : nullptr;
}

//===----------------------------------------------------------------------===//
// Contexts and calls
//===----------------------------------------------------------------------===//

uint32_t ptc_abi_version(void) { return PTC_ABI_VERSION; }

const char *ptc_status_string(ptc_status status) {
  static const char *const texts[] = {"success",         "invalid argument", "tensor mismatch",    "index out of range",
                                      "out of memory",   "unsupported",      "input/output error", "external function",
                                      "corrupt library", "device error"};
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

ptc_status ptc_call(ptc_context *context, const DLTensor *const *inputs, int32_t input_count, DLTensor *const *outputs,
                    int32_t output_count) {
  return reporting(context,
                   [&](Error &error) { return call(*context, {inputs, input_count}, outputs, output_count, error); });
}

ptc_status ptc_call_new(ptc_context *context, const DLTensor *const *inputs, int32_t input_count,
                        DLManagedTensor **outputs, int32_t output_count) {
  return reporting(
      context, [&](Error &error) { return callNew(*context, {inputs, input_count}, outputs, output_count, error); });
}

ptc_status ptc_output_shape(ptc_context *context, const DLTensor *const *inputs, int32_t input_count, int32_t output,
                            int64_t *shape, int32_t ndim) {
  return reporting(
      context, [&](Error &error) { return outputShape(*context, {inputs, input_count}, output, shape, ndim, error); });
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

ptc_status ptc_set_seed(ptc_context *context, uint64_t seed) {
  return reporting(context, [&](Error &error) { return setSeed(*context, seed, error); });
}

ptc_status ptc_set_function(ptc_context *context, const char *name, ptc_function function, void *data) {
  return reporting(context, [&](Error &error) {
    if (name && context->setFunction(name, {function, data}))
      return PTC_OK;
    const Program &program = *context->program;
    return error.set(PTC_INVALID_ARGUMENT, "the model calls no external function '%s'%s%s", name ? name : "(null)",
                     program.externalCount ? "; the first that it calls is " : "",
                     program.externalCount ? program.externals[0].name : "");
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
                              ptc_to_device};
  return abi_version == PTC_ABI_VERSION ? &api : nullptr;
}
