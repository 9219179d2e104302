#include "runtime/Signature.h"
#include "runtime/Once.h"

#include <stdlib.h>

namespace ptc::runtime {

namespace {
/// Zero-initialised, and made once.
struct Described {
  static Once once;
  static EntryDescription *entries;
  static int32_t entryCount;
  static ptc_external *externals;
  static int32_t externalCount;
  static void *blocks[5];
};

/// How many of each there are.
struct Counts {
  int32_t entries, tensors, dims, symbols, externals;
};

/// The places that come next.
struct Places {
  ptc_tensor *tensors;
  ptc_dim *dims;
  ptc_symbol *symbols;
  DLDevice device;
};
} // namespace

Once Described::once;
EntryDescription *Described::entries;
int32_t Described::entryCount;
ptc_external *Described::externals;
int32_t Described::externalCount;
void *Described::blocks[5];

static void release() {
  for (void *&block : Described::blocks) {
    free(block);
    block = nullptr;
  }
}

/// A library that is unloaded leaves nothing behind.
__attribute__((destructor)) static void releaseSignatures() { release(); }

static void count(const TensorEntry *entries, int32_t number, Counts &counts) {
  counts.tensors += number;
  for (int32_t i = 0; i < number; ++i)
    counts.dims += entries[i].rank > 0 ? entries[i].rank : 0;
}

static Counts countAll(const Program *first) {
  Counts counts = {};
  for (const Program *entry = first; entry; entry = entry->nextEntry) {
    counts.entries += entry->entry != nullptr;
    counts.symbols += entry->symbolCount;
    counts.externals += entry->externalCount;
    count(entry->inputs, entry->inputCount, counts);
    count(entry->outputs, entry->outputCount, counts);
    count(entry->states, entry->stateCount, counts);
    for (int32_t i = 0; i < entry->externalCount; ++i)
      count(entry->externals[i].tensors, entry->externals[i].tensorCount(), counts);
  }
  return counts;
}

static const ptc_tensor *describe(const TensorEntry *entries, int32_t number, Places &next) {
  const ptc_tensor *described = next.tensors;
  for (int32_t i = 0; i < number; ++i) {
    const TensorEntry &entry = entries[i];
    for (int32_t d = 0; d < entry.rank; ++d)
      next.dims[d] = {entry.dims[d].text, entry.dims[d].min, entry.dims[d].max};
    *next.tensors++ = {
        entry.name, {entry.code, entry.bits, 1}, next.device, entry.rank, entry.isWritten ? PTC_TENSOR_WRITTEN : 0u,
        next.dims};
    next.dims += entry.rank > 0 ? entry.rank : 0;
  }
  return described;
}

static EntryDescription describe(const Program &program, Places &next) {
  // What the general version says of sizes holds in all calls.
  const Program &entry = program.general ? *program.general : program;
  const ptc_symbol *symbols = next.symbols;
  for (int32_t i = 0; i < entry.symbolCount; ++i)
    *next.symbols++ = {entry.symbols[i].name, entry.symbols[i].min, entry.symbols[i].max};
  const ptc_tensor *inputs = describe(entry.inputs, entry.inputCount, next);
  const ptc_tensor *outputs = describe(entry.outputs, entry.outputCount, next);
  const ptc_tensor *states = describe(entry.states, entry.stateCount, next);
  return {&program,
          {entry.name, entry.compiler, entry.target, inputs, outputs, states, symbols, entry.requiredCount,
           entry.outputCount, entry.stateCount, entry.symbolCount},
          inputs + entry.requiredCount,
          entry.inputCount - entry.requiredCount};
}

/// False when there is no memory for it.
static bool build(const Program *first) {
  Counts counts = countAll(first);
  auto *entries = static_cast<EntryDescription *>(calloc(counts.entries, sizeof(EntryDescription)));
  auto *tensors = static_cast<ptc_tensor *>(calloc(counts.tensors + 1, sizeof(ptc_tensor)));
  auto *dims = static_cast<ptc_dim *>(calloc(counts.dims + 1, sizeof(ptc_dim)));
  auto *symbols = static_cast<ptc_symbol *>(calloc(counts.symbols + 1, sizeof(ptc_symbol)));
  auto *externals = static_cast<ptc_external *>(calloc(counts.externals + 1, sizeof(ptc_external)));
  void *blocks[] = {entries, tensors, dims, symbols, externals};
  for (int32_t i = 0; i < 5; ++i)
    Described::blocks[i] = blocks[i];
  if (!entries || !tensors || !dims || !symbols || !externals) {
    release();
    return false;
  }
  Places next = {tensors, dims, symbols, {first->device ? static_cast<DLDeviceType>(first->device->type) : kDLCPU, 0}};
  Described::entries = entries;
  Described::entryCount = counts.entries;
  Described::externals = externals;
  Described::externalCount = counts.externals;
  for (const Program *entry = first; entry; entry = entry->nextEntry) {
    if (entry->entry)
      *entries++ = describe(*entry, next);
    for (int32_t i = 0; i < entry->externalCount; ++i) {
      const ExternalEntry &external = entry->externals[i];
      const ptc_tensor *described = describe(external.tensors, external.tensorCount(), next);
      *externals++ = {
          external.name,       external.call,       external.source, described, described + external.inputCount,
          external.inputCount, external.outputCount};
    }
  }
  return true;
}

static bool isDescribed(const Programs &programs) {
  return Described::once.run([&] { return build(programs.all); });
}

const EntryDescription *describeEntry(const Programs &programs, int32_t entry) {
  return isDescribed(programs) && entry < Described::entryCount ? &Described::entries[entry] : nullptr;
}

const ptc_external *describeExternals(const Programs &programs, int32_t *count) {
  int32_t found = isDescribed(programs) ? Described::externalCount : 0;
  if (count)
    *count = found;
  return found ? Described::externals : nullptr;
}

} // namespace ptc::runtime
