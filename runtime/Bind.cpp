#include "runtime/Bind.h"
#include "runtime/ShapeText.h"
#include "runtime/Strided.h"
#include "runtime/device/DeviceCall.h"

#include <stdio.h>
#include <string.h>

namespace ptc::runtime {

namespace {
enum { kDLBool = 6, kDLFloat8E4M3FN = 10, kDLFloat8E5M2FNUZ = 13 }; // of newer versions of dlpack.h

/// How a message calls a tensor: input 'x' (0).
struct Place {
  const char *what, *name;
  int32_t index;
  const Device *device; ///< that the program runs on; null: the CPU
};

/// "2..1024", "at least 2".
struct RangeText {
  char text[64];
  RangeText(int64_t min, int64_t max) {
    if (!isOpen(min, max))
      snprintf(text, sizeof(text), "%lld..%lld", static_cast<long long>(min), static_cast<long long>(max));
    else
      snprintf(text, sizeof(text), "at least %lld", static_cast<long long>(min));
  }
};

/// PyTorch's names.
struct TypeText {
  char text[32];
  TypeText(int code, int bits, int lanes = 1) {
    static const char *const kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
    static const char *const eights[] = {"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"};
    if (code >= kDLFloat8E4M3FN && code <= kDLFloat8E5M2FNUZ && bits == 8 && lanes == 1)
      snprintf(text, sizeof(text), "%s", eights[code - kDLFloat8E4M3FN]);
    else if (code == kDLBool && bits == 8 && lanes == 1)
      snprintf(text, sizeof(text), "bool");
    else if (code >= 0 && code <= kDLBool)
      snprintf(text, sizeof(text), lanes == 1 ? "%s%d" : "%s%dx%d", kinds[code], bits, lanes);
    else
      snprintf(text, sizeof(text), "type %d of %d bits", code, bits);
  }
};
} // namespace

static bool isType(const TensorEntry &entry, DLDataType type) {
  if (type.lanes != 1 || type.bits != entry.bits)
    return false;
  return type.code == entry.code || (entry.code == kDLBool && type.code == kDLUInt);
}

static bool isHostMemory(DLDevice device) { return device.device_type == kDLCPU || device.device_type == kDLCUDAHost; }

static ptc_status setElsewhere(const Place &at, DLDevice device, Error &error) {
  if (!at.device)
    return error.set(PTC_MISMATCH, "%s '%s' (%d): is on DLPack device %d, but the model runs on the CPU", at.what,
                     at.name, at.index, static_cast<int>(device.device_type));
  return error.set(PTC_MISMATCH, "%s '%s' (%d): is on DLPack device %d:%d, but the model runs on %d:%d", at.what,
                   at.name, at.index, static_cast<int>(device.device_type), static_cast<int>(device.device_id),
                   static_cast<int>(at.device->place.device_type), static_cast<int>(at.device->place.device_id));
}

/// Adds the bytes that `steps` steps of a stride lead away, in either direction; false when no memory is that large.
static bool addReach(int64_t stride, int64_t steps, int64_t elementBytes, int64_t &reach) {
  constexpr int64_t kAddressSpace = int64_t(1) << 56;
  int64_t bytes;
  return stride != INT64_MIN && !__builtin_mul_overflow(__builtin_llabs(stride), steps, &bytes) &&
         !__builtin_mul_overflow(bytes, elementBytes, &bytes) && !__builtin_add_overflow(reach, bytes, &reach) &&
         reach <= kAddressSpace;
}

/// All but the sizes' values.
static ptc_status checkForm(const TensorEntry &entry, const Place &at, const DLTensor *tensor, Error &error) {
  if (!tensor)
    return error.set(PTC_INVALID_ARGUMENT, "%s '%s' (%d): no tensor", at.what, at.name, at.index);
  if (!isHostMemory(tensor->device) && !(at.device && isMemoryOf(*at.device, tensor->device)))
    return setElsewhere(at, tensor->device, error);
  if (!isType(entry, tensor->dtype))
    return error.set(PTC_MISMATCH, "%s '%s' (%d): has type %s, but the model was compiled for %s", at.what, at.name,
                     at.index, TypeText(tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes).text,
                     TypeText(entry.code, entry.bits).text);
  if (tensor->ndim != entry.rank) {
    error.set(PTC_MISMATCH, "%s '%s' (%d): has %d dimensions, but the model was compiled for %d", at.what, at.name,
              at.index, static_cast<int>(tensor->ndim), entry.rank);
    return addShapes(entry, *tensor, error);
  }
  if (entry.rank > 0 && !tensor->shape)
    return error.set(PTC_INVALID_ARGUMENT, "%s '%s' (%d): has no shape", at.what, at.name, at.index);

  bool isEmpty = false;
  int64_t bytes = entry.bits / 8, reach = 0;
  for (int32_t d = 0; d < entry.rank; ++d) {
    int64_t size = tensor->shape[d];
    if (size < 0)
      return error.set(PTC_INVALID_ARGUMENT, "%s '%s' (%d): dimension %d has the negative size %lld", at.what, at.name,
                       at.index, d, static_cast<long long>(size));
    isEmpty |= size == 0;
    if (size > 1 && __builtin_mul_overflow(bytes, size, &bytes))
      return error.set(PTC_MISMATCH, "%s '%s' (%d): is larger than memory", at.what, at.name, at.index);
    if (tensor->strides && size > 1 && !addReach(tensor->strides[d], size - 1, entry.bits / 8, reach))
      return error.set(PTC_INVALID_ARGUMENT,
                       "%s '%s' (%d): dimension %d has the stride %lld, which leads out of memory", at.what, at.name,
                       at.index, d, static_cast<long long>(tensor->strides[d]));
  }
  if (!tensor->data && !isEmpty)
    return error.set(PTC_INVALID_ARGUMENT, "%s '%s' (%d): its data is null", at.what, at.name, at.index);
  return PTC_OK;
}

namespace {
/// The symbols' values for a message: ", with s0 = 7, s1 = 2". Empty without symbols.
struct Given {
  const Program *program;
  const int64_t *symbols;
  char text[256];

  const char *describe() {
    size_t length = 0;
    text[0] = 0;
    for (int32_t i = 0; symbols && i < program->symbolCount && length + 64 < sizeof(text); ++i)
      if (program->symbols[i].input != kFollows)
        length += snprintf(text + length, sizeof(text) - length, "%s%.24s = %lld", length ? ", " : ", with ",
                           program->symbols[i].name, static_cast<long long>(symbols[i]));
    return text;
  }
};
} // namespace

static ptc_status checkShape(const TensorEntry &entry, const Place &at, const DLTensor &tensor, const int64_t *values,
                             Given &given, Error &error) {
  for (int32_t d = 0; d < entry.rank; ++d) {
    const DimEntry &dim = entry.dims[d];
    int64_t wanted = values[dim.size], found = tensor.shape[d];
    if (found == wanted)
      continue;
    if (dim.min == dim.max)
      error.set(PTC_MISMATCH, "%s '%s' (%d): dimension %d has size %lld, but the model was compiled for %lld", at.what,
                at.name, at.index, d, static_cast<long long>(found), static_cast<long long>(wanted));
    else
      error.set(PTC_MISMATCH, "%s '%s' (%d): dimension %d has size %lld, but must be %s = %lld%s (allowed: %s)",
                at.what, at.name, at.index, d, static_cast<long long>(found), dim.text, static_cast<long long>(wanted),
                given.describe(), RangeText(dim.min, dim.max).text);
    return addShapes(entry, tensor, error);
  }
  return PTC_OK;
}

/// A symbolic-int input's value; the tensor has been checked.
static ptc_status readScalar(Frame &frame, const DLTensor &tensor, int64_t &value, Error &error) {
  if (frame.device && !isOnHost(tensor))
    return readOnDevice(frame, tensor, value, error);
  memcpy(&value, dataOf(tensor), sizeof(value));
  return PTC_OK;
}

static ptc_status bindSymbol(Frame &frame, int32_t index, const DLTensor *const *inputs, int64_t *symbols,
                             Error &error) {
  const Program &program = *frame.program;
  const SymbolEntry &symbol = program.symbols[index];
  if (symbol.input < 0) { // nobody asks for it, or it follows
    symbols[index] = symbol.min;
    return PTC_OK;
  }
  const TensorEntry &entry = program.inputs[symbol.input];
  const DLTensor &tensor = *inputs[symbol.input];
  RangeText range(symbol.min, symbol.max);
  if (symbol.dim < 0) {
    int64_t &value = symbols[index];
    if (ptc_status status = readScalar(frame, tensor, value, error))
      return status;
    if (!isWithin(value, symbol.min, symbol.max))
      return error.set(PTC_MISMATCH, "input '%s' (%d): is %lld, allowed: %s (%s)", entry.name, symbol.input,
                       static_cast<long long>(value), range.text, symbol.name);
    return PTC_OK;
  }

  const DimEntry &dim = entry.dims[symbol.dim];
  int64_t size = tensor.shape[symbol.dim], rest;
  if (__builtin_sub_overflow(size, symbol.offset, &rest) || rest % symbol.scale != 0) {
    error.set(PTC_MISMATCH, "input '%s' (%d): dimension %d has size %lld, but must be %s for an integer %s in %s",
              entry.name, symbol.input, symbol.dim, static_cast<long long>(size), dim.text, symbol.name, range.text);
    return addShapes(entry, tensor, error);
  }
  int64_t value = symbols[index] = rest / symbol.scale;
  if (isWithin(value, symbol.min, symbol.max))
    return PTC_OK;
  error.set(PTC_MISMATCH, "input '%s' (%d): dimension %d has size %lld, allowed: %s (%s)", entry.name, symbol.input,
            symbol.dim, static_cast<long long>(size), RangeText(dim.min, dim.max).text, dim.text);
  return addShapes(entry, tensor, error);
}

ptc_status bindSymbols(Frame &frame, const DLTensor *const *inputs, int64_t *symbols, Error &error) {
  const Program &program = *frame.program;
  for (int32_t i = 0; i < program.inputCount; ++i)
    if (ptc_status status =
            checkForm(program.inputs[i], {"input", program.inputs[i].name, i, frame.device}, inputs[i], error))
      return status;
  for (int32_t i = 0; i < program.symbolCount; ++i)
    if (ptc_status status = bindSymbol(frame, i, inputs, symbols, error))
      return status;
  return PTC_OK;
}

ptc_status checkGuards(const Program &program, int32_t definitions, const int64_t *symbols, const int64_t *values,
                       Error &error) {
  Given given = {&program, symbols, {}};
  for (int32_t i = 0; i < program.guardCount; ++i) {
    const GuardEntry &guard = program.guards[i];
    int64_t value = values[guard.value];
    bool isInside = isWithin(value, guard.min, guard.max);
    if (guard.definitions == definitions && isInside == (guard.isExcluded != 0))
      return error.set(PTC_MISMATCH, "the inputs' sizes break a condition that the model was compiled for: %s%s",
                       guard.text, given.describe());
  }
  return PTC_OK;
}

ptc_status checkSizes(const Program &program, const DLTensor *const *inputs, const int64_t *symbols,
                      const int64_t *values, Error &error) {
  Given given = {&program, symbols, {}};
  for (int32_t i = 0; i < program.inputCount; ++i)
    if (ptc_status status = checkShape(program.inputs[i], {"input", program.inputs[i].name, i, nullptr}, *inputs[i],
                                       values, given, error))
      return status;
  return checkGuards(program, 0, symbols, values, error);
}

ptc_status checkTensor(const TensorEntry &entry, const Device *device, const char *what, int32_t index,
                       const DLTensor *tensor, const int64_t *values, Error &error) {
  Place at = {what, entry.name, index, device};
  if (ptc_status status = checkForm(entry, at, tensor, error))
    return status;
  Given given = {};
  return checkShape(entry, at, *tensor, values, given, error);
}

ptc_status checkCopied(const Device *device, const DLTensor *tensor, Error &error) {
  if (!tensor)
    return error.set(PTC_INVALID_ARGUMENT, "no tensor to copy");
  DLDataType type = tensor->dtype;
  bool isWhole = type.lanes == 1 && type.bits >= 8 && type.bits <= 128 && (type.bits & (type.bits - 1)) == 0;
  if (!isWhole || tensor->ndim < 0 || tensor->ndim > kMaxRank)
    return error.set(PTC_UNSUPPORTED, "a tensor of %d dimensions and type %s cannot be copied",
                     static_cast<int>(tensor->ndim), TypeText(type.code, type.bits, type.lanes).text);
  TensorEntry entry = {};
  entry.name = "to copy";
  entry.rank = tensor->ndim;
  entry.code = type.code;
  entry.bits = type.bits;
  return checkForm(entry, {"tensor", entry.name, 0, device}, tensor, error);
}

} // namespace ptc::runtime
