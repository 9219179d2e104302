#include "dialects/loop/Reasons.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace ptc::loop {

static constexpr llvm::StringLiteral kBecause = "because";

void addReason(Operation *op, const llvm::Twine &reason) {
  Builder b(op->getContext());
  auto because = b.getDictionaryAttr(b.getNamedAttr(kBecause, b.getStringAttr(reason)));
  op->setLoc(FusedLoc::get(op->getContext(), op->getLoc(), because));
}

static void collect(Location location, std::vector<std::string> &reasons) {
  if (auto named = llvm::dyn_cast<NameLoc>(location))
    return collect(named.getChildLoc(), reasons);
  auto fused = llvm::dyn_cast<FusedLoc>(location);
  if (!fused)
    return;
  for (Location part : fused.getLocations())
    collect(part, reasons);
  auto metadata = llvm::dyn_cast_or_null<DictionaryAttr>(fused.getMetadata());
  auto because = metadata ? metadata.getAs<StringAttr>(kBecause) : StringAttr();
  if (because && !llvm::is_contained(reasons, because.getValue()))
    reasons.push_back(because.str());
}

std::vector<std::string> getReasons(Operation *op) {
  std::vector<std::string> reasons;
  collect(op->getLoc(), reasons);
  return reasons;
}

/// The amount in the largest unit that it has one of.
static std::string describe(double amount, int64_t step, llvm::ArrayRef<llvm::StringLiteral> units) {
  for (; amount >= step && units.size() > 1; units = units.drop_front())
    amount /= step;
  bool isWhole = amount == std::floor(amount);
  return llvm::formatv(isWhole ? "{0:F0} {1}" : "{0:F1} {1}", amount, units.front());
}

std::string describeBytes(int64_t bytes) {
  static constexpr llvm::StringLiteral kUnits[] = {"B", "KiB", "MiB", "GiB"};
  return describe(bytes, 1024, kUnits);
}

std::string describeFlops(int64_t flops) {
  static constexpr llvm::StringLiteral kUnits[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
  return describe(flops, 1000, kUnits);
}

std::string describeSizes(llvm::ArrayRef<int64_t> sizes) {
  return llvm::join(llvm::map_range(sizes, [](int64_t size) { return std::to_string(size); }), "x");
}

} // namespace ptc::loop
