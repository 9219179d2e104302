#include "dialects/loop/Tuning.h"

#include "dialects/loop/Loop.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;

namespace ptc::loop {

llvm::ArrayRef<Knob> getKnobs() {
  static constexpr Knob kAll[] = {Knob::Winograd, Knob::Vectors, Knob::Rows, Knob::Grain, Knob::Bands};
  return kAll;
}

llvm::StringRef getName(Knob knob) {
  switch (knob) {
  case Knob::Winograd:
    return "winograd";
  case Knob::Vectors:
    return "vectors";
  case Knob::Rows:
    return "rows";
  case Knob::Grain:
    return "grain";
  case Knob::Bands:
    return "bands";
  }
  llvm_unreachable("no knob");
}

std::optional<int64_t> getTuning(Operation *op, Knob knob) {
  auto kernel = llvm::dyn_cast<KernelOp>(op);
  if (!kernel)
    kernel = op->getParentOfType<KernelOp>();
  auto tuning = kernel ? kernel->getAttrOfType<DictionaryAttr>(kTuning) : DictionaryAttr();
  auto value = tuning ? tuning.getAs<IntegerAttr>(getName(knob)) : IntegerAttr();
  return value ? std::optional<int64_t>(value.getInt()) : std::nullopt;
}

std::string describeTuning(Operation *kernel) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::ListSeparator comma;
  for (Knob knob : getKnobs())
    if (auto value = getTuning(kernel, knob))
      out << comma << getName(knob) << ' ' << *value;
  return text;
}

void setTuning(Operation *kernel, Knob knob, int64_t value) {
  Builder builder(kernel->getContext());
  auto tuning = kernel->getAttrOfType<DictionaryAttr>(kTuning);
  NamedAttrList all(tuning ? tuning : builder.getDictionaryAttr({}));
  all.set(getName(knob), builder.getI64IntegerAttr(value));
  kernel->setAttr(kTuning, all.getDictionary(kernel->getContext()));
}

int64_t scaleByGrain(int64_t amount, int64_t grain) {
  return std::max<int64_t>(1, grain < 0 ? amount >> -grain : amount << grain);
}

} // namespace ptc::loop
