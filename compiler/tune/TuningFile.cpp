#include "compiler/tune/TuningFile.h"

#include "compiler/support/InputFile.h"
#include "compiler/support/OutputFile.h"
#include "compiler/support/ParseJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace ptc {

static constexpr int64_t kVersion = 2;
static constexpr double kNanoseconds = 1e6; // in a millisecond

/// Values that plans can do something with: a file is not trusted.
static bool isPossible(loop::Knob knob, int64_t value) {
  switch (knob) {
  case loop::Knob::Winograd:
    return value == 0 || value == 2 || value == 4;
  case loop::Knob::Vectors:
    return value >= 1 && value <= 4;
  case loop::Knob::Rows:
    return value >= 1 && value <= 28;
  case loop::Knob::Grain:
    return value >= -8 && value <= 8;
  case loop::Knob::Bands:
    return value >= 1 && value <= 64;
  }
  return false;
}

static Error readTuning(const json::Object &knobs, Tuning &tuning) {
  for (const auto &[name, value] : knobs) {
    const loop::Knob *knob =
        find_if(loop::getKnobs(), [&](loop::Knob k) { return loop::getName(k) == StringRef(name); });
    std::optional<int64_t> number = value.getAsInteger();
    if (knob == loop::getKnobs().end())
      return createStringError("there is no knob '" + name.str() + "'");
    if (!number || !isPossible(*knob, *number))
      return createStringError("'" + name.str() + "' has a value that it cannot have");
    tuning[*knob] = *number;
  }
  return Error::success();
}

static Expected<TunedKernel> readKernel(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  const json::Object *knobs = object ? object->getObject("tuning") : nullptr;
  if (!knobs)
    return createStringError("it has no 'tuning'");
  TunedKernel kernel;
  kernel.kernel = object->getString("kernel").value_or("").str();
  kernel.machine = object->getString("machine").value_or("").str();
  kernel.threads = object->getInteger("threads").value_or(0);
  kernel.milliseconds = object->getNumber("ns").value_or(0) / kNanoseconds;
  kernel.byRules = object->getNumber("ns_by_rules").value_or(0) / kNanoseconds;
  if (Error error = readTuning(*knobs, kernel.tuning))
    return error;
  return kernel;
}

Expected<TuningFile> TuningFile::read(StringRef path) {
  TuningFile file;
  if (!sys::fs::exists(path))
    return file;
  auto fail = [&](const Twine &what) { return createStringError(path + ": " + what); };
  Expected<std::unique_ptr<MemoryBuffer>> buffer = openInput(InputFile(path));
  if (!buffer)
    return buffer.takeError();
  Expected<json::Value> root = parseJson((*buffer)->getBuffer());
  if (!root)
    return fail("not a tuning file: " + toString(root.takeError()));
  const json::Object *object = root->getAsObject();
  const json::Object *kernels = object ? object->getObject("kernels") : nullptr;
  if (!kernels || object->getInteger("ptc_tuning") != kVersion)
    return fail("not a tuning file of version " + Twine(kVersion));
  for (const auto &[key, value] : *kernels) {
    Expected<TunedKernel> kernel = readKernel(value);
    if (!kernel)
      return fail("kernel " + key.str() + ": " + toString(kernel.takeError()));
    file.set(key, std::move(*kernel));
  }
  return file;
}

static json::Value toJson(const TunedKernel &kernel) {
  json::Object knobs;
  for (auto [knob, value] : kernel.tuning)
    knobs[loop::getName(knob)] = value;
  auto rounded = [](double milliseconds) { return std::llround(milliseconds * kNanoseconds); };
  return json::Object{
      {"kernel", kernel.kernel},    {"machine", kernel.machine},          {"threads", kernel.threads},
      {"tuning", std::move(knobs)}, {"ns", rounded(kernel.milliseconds)}, {"ns_by_rules", rounded(kernel.byRules)}};
}

Error TuningFile::write(StringRef path) const {
  // A line for each kernel, in the order of keys: what changes is what a diff shows.
  return writeOutputFile(path, [&](raw_ostream &out) {
    out << "{\"ptc_tuning\": " << kVersion << ",\n \"kernels\": {";
    ListSeparator comma(",");
    for (const auto &[key, kernel] : kernels)
      out << comma << "\n  \"" << key << "\": " << toJson(kernel);
    out << "\n}}\n";
  });
}

const TunedKernel *TuningFile::find(StringRef key) const {
  auto found = kernels.find(std::string_view(key));
  return found == kernels.end() ? nullptr : &found->second;
}

} // namespace ptc
