/*===- ptc.h - the C interface of a compiled model --------------------------===
 *
 * Every library that `ptc compile` writes exports the functions below. Tensors
 * are DLPack's (dlpack/dlpack.h). docs/c-abi.md is the guide; in short:
 *
 *     void *library = dlopen("./model.so", RTLD_NOW | RTLD_LOCAL);
 *     const ptc_api *(*get_api)(uint32_t) = dlsym(library, "ptc_get_api");
 *     const ptc_api *ptc = get_api(PTC_ABI_VERSION);
 *     ptc_context *context;
 *     ptc->context_create(&context);
 *     if (ptc->call(context, inputs, 1, outputs, 1) != PTC_OK)
 *       puts(ptc->last_error(context));
 *     ptc->context_destroy(context);
 *
 * A program that links with one model calls ptc_context_create, ptc_call, ... directly.
 * Nothing here throws, exits or prints. All functions may be called from
 * several threads at once, on one context or on many, except that a context
 * must not be destroyed while it is in use.
 *
 *===------------------------------------------------------------------------===*/
#ifndef PTC_PTC_H
#define PTC_PTC_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Grows by one when something below changes its meaning; additions at the end of ptc_api do not. */
#define PTC_ABI_VERSION 1

#ifndef PTC_EXPORT
#define PTC_EXPORT
#endif

typedef enum ptc_status {
  PTC_OK = 0,
  PTC_INVALID_ARGUMENT = 1, /**< a null pointer, a wrong count, an index out of range of this interface */
  PTC_MISMATCH = 2,         /**< a tensor does not fit what the model was compiled for */
  PTC_INDEX_ERROR = 3,      /**< an index in the data was out of range; outputs and states are unspecified */
  PTC_OUT_OF_MEMORY = 4,
  PTC_UNSUPPORTED = 5,    /**< this machine lacks what the model was compiled for */
  PTC_IO_ERROR = 6,       /**< a file could not be read or written */
  PTC_EXTERNAL_ERROR = 7, /**< a function of the caller's is missing, or failed: outputs and states are unspecified */
  PTC_CORRUPT = 8,        /**< the file of the library or of a checkpoint is not as it was written, or is cut off */
  PTC_DEVICE_ERROR = 9    /**< a GPU or its driver failed at work: outputs and states are unspecified */
} ptc_status;

/** What calls need and leave: states, working memory, settings, errors. */
typedef struct ptc_context ptc_context;

/** The size of a dimension: `text` is "8" or, when symbolic, "2*s0 + 1". */
typedef struct ptc_dim {
  const char *text;
  int64_t min, max; /**< equal when static; max is -1 when unbounded */
} ptc_dim;

#define PTC_TENSOR_WRITTEN 1u /**< an input that calls update in place */

typedef struct ptc_tensor {
  const char *name; /**< as in the exported graph's signature */
  DLDataType dtype; /**< code 6 with 8 bits is bool, a byte each; 8-bit unsigned is accepted for it too */
  DLDevice device;  /**< where the model works; calls take tensors in the host's memory too */
  int32_t ndim;
  uint32_t flags;
  const ptc_dim *dims;
} ptc_tensor;

typedef struct ptc_symbol {
  const char *name;
  int64_t min, max; /**< max is -1 when unbounded; INT64_MAX where min is negative */
} ptc_symbol;

/** What the model takes, answers and keeps. Lives as long as the library. `inputs` are those that every call must give:
 * behind them a call may give more (ptc_get_optional_inputs). */
typedef struct ptc_signature {
  const char *model, *compiler, *target;
  const ptc_tensor *inputs, *outputs, *states;
  const ptc_symbol *symbols;
  int32_t input_count, output_count, state_count, symbol_count;
} ptc_signature;

/** A place in the model where a function of the caller's computes what the model does not (docs/fallback.md). */
typedef struct ptc_external {
  const char *name;   /**< of the operator, "mylib::scale.default"; several places may have one name */
  const char *call;   /**< its arguments, JSON: {"args": [{"tensor": 0}, 2.0], "kwargs": {}} */
  const char *source; /**< "net.py:12"; "" when unknown */
  const ptc_tensor *inputs, *outputs; /**< without names; an output that the model does not need has ndim -1 */
  int32_t input_count, output_count;
} ptc_external;

/** Such a function: computes outputs from inputs, all row-major, of the sizes of this call, in memory that is theirs
 * until the function returns. Outputs that the model does not need are null; inputs must not be written. Answers 0, or
 * a number of its own and a text of at most `message_size` bytes with its end, which the call then fails with. Called
 * on the thread that called the model; it must not use the same context. */
typedef int32_t (*ptc_function)(void *data, const ptc_external *external, DLTensor *const *inputs,
                                DLTensor *const *outputs, char *message, size_t message_size);

typedef struct ptc_memory {
  int64_t weights; /**< mapped from the library, shared between contexts and processes */
  int64_t states;
  int64_t arena;    /**< what the largest call so far planned for intermediate tensors */
  int64_t reserved; /**< all working memory that the context holds now */
  int64_t peak;     /**< the most that it held */
} ptc_memory;

typedef struct ptc_threading {
  const char *library; /**< path of the OpenMP runtime whose threads calls use (PTC_THREADS=openmp); null: the pool's */
  int32_t threads;     /**< how many a call asks for */
} ptc_threading;

/** Of context_create_with: compares the library's file with the hash that it was written with, which reads all of it.
 */
#define PTC_CHECK_FILE 1u

/** Of checkpoint_load: states that the file lacks stay as they are, and tensors that are no states are passed over. */
#define PTC_CHECKPOINT_PARTIAL 1u

/** How threads wait for each other within a call, and workers for the next call (docs/c-abi.md says what each costs).
 */
typedef enum ptc_waiting {
  PTC_WAIT_DEFAULT = 0,  /**< as PTC_WAIT in the environment says: passive, adaptive or active; without it adaptive */
  PTC_WAIT_ADAPTIVE = 1, /**< spinning for as long as waking takes, and while calls follow each other; then asleep */
  PTC_WAIT_PASSIVE = 2,  /**< asleep: workers are woken where that pays for one call alone */
  PTC_WAIT_ACTIVE = 3    /**< spinning, up to 100 ms; every call gets all threads that it asks for */
} ptc_waiting;

/** What calls of a context have used since it was created. */
typedef struct ptc_activity {
  int64_t calls;
  int64_t threads; /**< sum over calls: of those that took part, the caller included */
  int64_t wakeups; /**< of sleeping workers */
} ptc_activity;

/** The same functions as below, for programs that open models with dlopen. */
typedef struct ptc_api {
  uint32_t abi_version;
  uint32_t size; /**< of this table, in bytes */
  const ptc_signature *(*signature)(void);
  const char *(*status_string)(ptc_status status);
  ptc_status (*context_create)(ptc_context **context);
  void (*context_destroy)(ptc_context *context);
  const char *(*last_error)(const ptc_context *context);
  ptc_status (*call)(ptc_context *context, const DLTensor *const *inputs, int32_t input_count,
                     DLTensor *const *outputs, int32_t output_count);
  ptc_status (*call_new)(ptc_context *context, const DLTensor *const *inputs, int32_t input_count,
                         DLManagedTensor **outputs, int32_t output_count);
  ptc_status (*output_shape)(ptc_context *context, const DLTensor *const *inputs, int32_t input_count, int32_t output,
                             int64_t *shape, int32_t ndim);
  ptc_status (*state_get)(ptc_context *context, int32_t state, DLTensor *value);
  ptc_status (*state_set)(ptc_context *context, int32_t state, const DLTensor *value);
  ptc_status (*state_reset)(ptc_context *context);
  ptc_status (*set_threads)(ptc_context *context, int32_t threads);
  ptc_status (*threading)(ptc_context *context, ptc_threading *threading);
  ptc_status (*memory)(ptc_context *context, ptc_memory *memory);
  ptc_status (*trim)(ptc_context *context);
  ptc_status (*profile_start)(ptc_context *context);
  ptc_status (*profile_stop)(ptc_context *context, const char *path);
  ptc_status (*set_seed)(ptc_context *context, uint64_t seed);
  const char *(*machine)(void);
  const ptc_external *(*externals)(int32_t *count);
  ptc_status (*set_function)(ptc_context *context, const char *name, ptc_function function, void *data);
  ptc_status (*set_waiting)(ptc_context *context, ptc_waiting waiting);
  ptc_status (*activity)(ptc_context *context, ptc_activity *activity);
  ptc_status (*context_create_with)(uint32_t flags, ptc_context **context);
  const ptc_tensor *(*optional_inputs)(int32_t *count);
  ptc_status (*context_create_on)(int32_t device, uint32_t flags, ptc_context **context);
  ptc_status (*device)(ptc_context *context, DLDevice *device);
  ptc_status (*set_stream)(ptc_context *context, void *stream, int32_t is_callers);
  ptc_status (*get_stream)(ptc_context *context, void **stream, int32_t *is_callers);
  ptc_status (*synchronize)(ptc_context *context);
  ptc_status (*set_output_device)(ptc_context *context, const DLDevice *device);
  ptc_status (*to_device)(ptc_context *context, const DLTensor *tensor, DLManagedTensor **copy);
  int32_t (*entry_find)(const char *name);
  const char *(*entry_name)(int32_t entry);
  const ptc_signature *(*entry_signature)(int32_t entry);
  const ptc_tensor *(*entry_optional_inputs)(int32_t entry, int32_t *count);
  ptc_status (*call_entry)(ptc_context *context, int32_t entry, const DLTensor *const *inputs, int32_t input_count,
                           DLTensor *const *outputs, int32_t output_count);
  ptc_status (*call_entry_new)(ptc_context *context, int32_t entry, const DLTensor *const *inputs, int32_t input_count,
                               DLManagedTensor **outputs, int32_t output_count);
  ptc_status (*entry_output_shape)(ptc_context *context, int32_t entry, const DLTensor *const *inputs,
                                   int32_t input_count, int32_t output, int64_t *shape, int32_t ndim);
  /* States by name, and as files. */
  int32_t (*state_find)(const char *name);
  ptc_status (*state_view)(ptc_context *context, int32_t state, DLTensor *live);
  ptc_status (*checkpoint_save)(ptc_context *context, const char *path);
  ptc_status (*checkpoint_load)(ptc_context *context, const char *path, uint32_t flags);
  const char *(*info)(void);
} ptc_api;

/** The table, or null when the library does not speak this version. */
PTC_EXPORT const ptc_api *ptc_get_api(uint32_t abi_version);

PTC_EXPORT uint32_t ptc_abi_version(void);
PTC_EXPORT const ptc_signature *ptc_get_signature(void);

/** What the library says of itself, as JSON: entries, machines, guards, weights, memory, how it was compiled. `ptc
 * info` prints the same without opening the library; docs/deploy.md lists the members. */
PTC_EXPORT const char *ptc_info(void);

/** Inputs that a call may give, by their place behind the signature's; `count` gets how many. One that it leaves out,
 * by fewer inputs or by a null pointer, has the value that the model's file gives. Null when there is none. */
PTC_EXPORT const ptc_tensor *ptc_get_optional_inputs(int32_t *count);

PTC_EXPORT const char *ptc_status_string(ptc_status status);

/** The machine ("x86-64-v4") whose code runs here, of those that the model was compiled for; null when the processor
 * can run none of it. */
PTC_EXPORT const char *ptc_get_machine(void);

/** PTC_UNSUPPORTED when the processor lacks instructions that the model was compiled for. A model for a GPU runs on the
 * calling thread's current CUDA device, or else on the first; PTC_UNSUPPORTED when that, or its driver, will not do. */
PTC_EXPORT ptc_status ptc_context_create(ptc_context **context);
PTC_EXPORT ptc_status ptc_context_create_with(uint32_t flags, ptc_context **context);
/** The same on the CUDA device of that number; -1 chooses as ptc_context_create does. A model for the CPU takes -1 and
 * 0. PTC_UNSUPPORTED when there is no such device. */
PTC_EXPORT ptc_status ptc_context_create_on(int32_t device, uint32_t flags, ptc_context **context);
PTC_EXPORT void ptc_context_destroy(ptc_context *context);

/** Why the calling thread's last failed call on this context failed; "" when none did. Valid until its next failure.
 * Without a context: why the thread could not create its last one. */
PTC_EXPORT const char *ptc_last_error(const ptc_context *context);

/** Runs the model into the caller's tensors. Inputs may have any strides, outputs any that do not overlap. */
PTC_EXPORT ptc_status ptc_call(ptc_context *context, const DLTensor *const *inputs, int32_t input_count,
                               DLTensor *const *outputs, int32_t output_count);

/** Runs the model into new tensors: each outputs[i] is set, and owned by the caller (call its deleter). They may
 * outlive the context, but not the library. On failure all are null. */
PTC_EXPORT ptc_status ptc_call_new(ptc_context *context, const DLTensor *const *inputs, int32_t input_count,
                                   DLManagedTensor **outputs, int32_t output_count);

/** The sizes that output `output` will have for these inputs, whose data is read only for symbolic-int inputs: on a GPU
 * in the order of the context's stream, as a call reads it. */
PTC_EXPORT ptc_status ptc_output_shape(ptc_context *context, const DLTensor *const *inputs, int32_t input_count,
                                       int32_t output, int64_t *shape, int32_t ndim);

/** Entries are what a library can be called for, over states that they share: a library for training has `step` and
 * `eval`, one of gradients `gradients`; any other has one, `forward`. They are numbered from 0, which is the one that
 * ptc_get_signature describes and ptc_call runs. -1 when there is none of that name. */
PTC_EXPORT int32_t ptc_entry_find(const char *name);

/** Null when there are no more than `entry` entries. */
PTC_EXPORT const char *ptc_entry_name(int32_t entry);
PTC_EXPORT const ptc_signature *ptc_entry_signature(int32_t entry);

/** As ptc_get_optional_inputs, ptc_call, ptc_call_new and ptc_output_shape, of any entry. */
PTC_EXPORT const ptc_tensor *ptc_entry_optional_inputs(int32_t entry, int32_t *count);
PTC_EXPORT ptc_status ptc_call_entry(ptc_context *context, int32_t entry, const DLTensor *const *inputs,
                                     int32_t input_count, DLTensor *const *outputs, int32_t output_count);
PTC_EXPORT ptc_status ptc_call_entry_new(ptc_context *context, int32_t entry, const DLTensor *const *inputs,
                                         int32_t input_count, DLManagedTensor **outputs, int32_t output_count);
PTC_EXPORT ptc_status ptc_entry_output_shape(ptc_context *context, int32_t entry, const DLTensor *const *inputs,
                                             int32_t input_count, int32_t output, int64_t *shape, int32_t ndim);

/** States are the buffers that the model updates, as batch norm's running_mean; every context has its own. */
PTC_EXPORT ptc_status ptc_state_get(ptc_context *context, int32_t state, DLTensor *value);
PTC_EXPORT ptc_status ptc_state_set(ptc_context *context, int32_t state, const DLTensor *value);
PTC_EXPORT ptc_status ptc_state_reset(ptc_context *context);

/** The state of that name; -1 when there is none. */
PTC_EXPORT int32_t ptc_state_find(const char *name);

/** Fills `live` with the state's own memory, on the context's device: row-major, the context's, valid as long as it is.
 * `live->shape` is the context's too. Whoever reads or writes it must not do so while a call or a function for states
 * runs on the context: in no other thread, nor, on a GPU, in a stream that was not waited for. */
PTC_EXPORT ptc_status ptc_state_view(ptc_context *context, int32_t state, DLTensor *live);

/** Writes all states to a file, as safetensors under their names. It appears whole in the place of one that was there,
 * or not at all. Calls on the context wait meanwhile. PTC_UNSUPPORTED for a model without states. */
PTC_EXPORT ptc_status ptc_checkpoint_save(ptc_context *context, const char *path);

/** Sets the states to those of such a file, or of one that another program wrote. `flags`: PTC_CHECKPOINT_PARTIAL;
 * without it the file must have all states and nothing else. Types and shapes must be the states'. Unless it answers
 * PTC_OK (or PTC_DEVICE_ERROR) no state has changed: PTC_MISMATCH for another model's file, PTC_CORRUPT for one that is
 * cut off or damaged, PTC_IO_ERROR for one that cannot be read. */
PTC_EXPORT ptc_status ptc_checkpoint_load(ptc_context *context, const char *path, uint32_t flags);

/** Starts the random numbers of a model anew: calls after it draw what the same calls drew after the same seed,
 * whatever the number of threads. Models without random operators ignore it. The state is "ptc.random": seed, draws so
 * far. */
PTC_EXPORT ptc_status ptc_set_seed(ptc_context *context, uint64_t seed);

/** Where the model calls functions of the caller's; `count` gets how many places there are. Null when there is none. */
PTC_EXPORT const ptc_external *ptc_get_externals(int32_t *count);

/** Registers what calls on this context use at all places of that name; null takes it away. Not while a call runs on
 * the context. All names must have a function before a call. */
PTC_EXPORT ptc_status ptc_set_function(ptc_context *context, const char *name, ptc_function function, void *data);

/** How many threads a call may use, its caller's included; 0 (at first): what an OpenMP runtime in the process gives
 * the calling thread, else OMP_NUM_THREADS, else one for each processor. A call takes fewer where more do not pay. */
PTC_EXPORT ptc_status ptc_set_threads(ptc_context *context, int32_t threads);
PTC_EXPORT ptc_status ptc_get_threading(ptc_context *context, ptc_threading *threading);
PTC_EXPORT ptc_status ptc_set_waiting(ptc_context *context, ptc_waiting waiting);
PTC_EXPORT ptc_status ptc_get_activity(ptc_context *context, ptc_activity *activity);

PTC_EXPORT ptc_status ptc_get_memory(ptc_context *context, ptc_memory *memory);

/** Gives working memory that no call is using back to the system. */
PTC_EXPORT ptc_status ptc_trim(ptc_context *context);

/** Records every kernel of the calls between the two, and writes a trace for chrome://tracing or ui.perfetto.dev. */
PTC_EXPORT ptc_status ptc_profile_start(ptc_context *context);
PTC_EXPORT ptc_status ptc_profile_stop(ptc_context *context, const char *path);

/** Where the context's model runs: the CPU, or a GPU with its number. */
PTC_EXPORT ptc_status ptc_get_device(ptc_context *context, DLDevice *device);

/** The CUDA stream (CUstream, cudaStream_t; null is CUDA's default stream) that later calls on the context give their
 * work to, when `is_callers` is not 0. Such a call returns before its work is done: tensors in memory that the GPU
 * reaches (kDLCUDA, kDLCUDAHost, kDLCUDAManaged) are read and written in the order of the stream. Tensors in all other
 * memory of the host (kDLCPU) are read before it returns, and an output there makes it wait. A call waits, too, where
 * data decide sizes or branches, where a symbolic-int input is not in kDLCPU memory, and while a profile is recorded.
 * What fails behind a call, as an index out of range, is told by ptc_synchronize or by a later call on the context,
 * which then has not run. The stream must last as long as it is set, and as the tensors of call_new and to_device that
 * were made on it: their deleters give memory back in its order.
 *
 * With `is_callers` 0, as at first, `stream` is ignored, and calls return when their results are there; deleters then
 * give memory of the GPU's back in the order of the default stream. PTC_UNSUPPORTED for a stream of the caller's where
 * the model runs on the CPU. */
PTC_EXPORT ptc_status ptc_set_stream(ptc_context *context, void *stream, int32_t is_callers);
/** What was set last; a null stream with `is_callers` 0 when calls use streams of the context's own. */
PTC_EXPORT ptc_status ptc_get_stream(ptc_context *context, void **stream, int32_t *is_callers);

/** Waits until the work of all calls on the context is done, and answers what of it has failed that no call has yet
 * told. PTC_OK at once on the CPU. */
PTC_EXPORT ptc_status ptc_synchronize(ptc_context *context);

/** Where call_new makes outputs: on the context's device, or on {kDLCPU, 0}. Null, as at first: where the first input
 * is that is in the GPU's memory, else in the host's. PTC_MISMATCH for another device. */
PTC_EXPORT ptc_status ptc_set_output_device(ptc_context *context, const DLDevice *device);

/** A row-major copy of the tensor on the context's device (on the CPU where that is it), owned by the caller: call its
 * deleter. The tensor may be in the host's memory or on the device, and have any strides and any type whose elements
 * are of 8 to 128 bits. The copy is made when the function returns, or, on a stream of the caller's, in its order. On
 * failure `copy` is null. */
PTC_EXPORT ptc_status ptc_to_device(ptc_context *context, const DLTensor *tensor, DLManagedTensor **copy);

#ifdef __cplusplus
}
#endif

#endif /* PTC_PTC_H */
