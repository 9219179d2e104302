#include "tools/ptc/ProfileFile.h"

#include "compiler/support/ParseJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <map>
#include <string>

using namespace llvm;

namespace ptc {

namespace {
struct Interval {
  double begin, end; // microseconds
};
} // namespace

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Expected<StringMap<double>> readProfile(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(path + ": " + buffer.getError().message());
  Expected<json::Value> root = parseJson((*buffer)->getBuffer());
  if (!root)
    return createStringError(path + ": is no profile, which ptc run --profile writes: " + toString(root.takeError()));
  const json::Array *events = root->getAsObject() ? root->getAsObject()->getArray("traceEvents") : nullptr;
  if (!events)
    return createStringError(path + ": is no profile (ptc run --profile writes one)");
  std::vector<double> calls;
  std::map<std::string, std::vector<Interval>> kernels;
  for (const json::Value &value : *events) {
    const json::Object *event = value.getAsObject();
    std::optional<double> begin = event ? event->getNumber("ts") : std::nullopt;
    std::optional<double> duration = event ? event->getNumber("dur") : std::nullopt;
    std::optional<StringRef> name = event ? event->getString("name") : std::nullopt;
    if (!begin || !duration || !name)
      continue;
    if (event->getString("cat") == "call")
      calls.push_back(*begin);
    else if (event->getString("cat") != "wait")
      kernels[name->str()].push_back({*begin, *begin + *duration});
  }
  llvm::sort(calls);
  StringMap<double> times;
  for (auto &[name, intervals] : kernels) {
    llvm::sort(intervals, [](Interval a, Interval b) { return a.begin < b.begin; });
    std::vector<double> ofCall(calls.size());
    double end = 0;
    for (Interval interval : intervals) {
      size_t call = llvm::upper_bound(calls, interval.begin) - calls.begin();
      double from = std::max(interval.begin, end);
      end = std::max(end, interval.end);
      if (call > 0 && end > from)
        ofCall[call - 1] += (end - from) / 1000;
    }
    times[name] = median(std::move(ofCall));
  }
  return times;
}

} // namespace ptc
