//===- WeightPanels.cpp ---------------------------------------------------===//

#include "compiler/schedule/WeightPanels.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <thread>

using namespace llvm;

namespace ptc {

/// The place of a row-major index over these sizes and strides.
static int64_t placeOf(int64_t index, ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  int64_t place = 0;
  for (unsigned i = sizes.size(); i-- > 0; index /= sizes[i])
    place += index % sizes[i] * strides[i];
  return place;
}

/// Writes panel `panel` of batch `batch`: [k / group][panelWidth][group], but for zeros beyond the last column and k.
template <typename Element>
static void packPanel(const WeightView &view, int64_t batch, int64_t panel, int64_t panelWidth, Element *to) {
  const auto *from = reinterpret_cast<const Element *>(view.bytes);
  int64_t base = view.offset + placeOf(batch, view.batchSizes, view.batchStrides);
  int64_t first = panel * panelWidth, count = std::min(panelWidth, view.columns - first), k = view.kCount();
  SmallVector<int64_t> columns(count);
  for (int64_t i = 0; i < count; ++i)
    columns[i] = base + placeOf(first + i, view.columnSizes, view.columnStrides);
  // The innermost k is cut so that the lines read down the columns stay in L1.
  constexpr int64_t kBlock = 64;
  int64_t inner = view.innerSize(), group = view.group, groups = llvm::divideCeil(inner, group);
  int64_t innerStride = view.kStrides.empty() ? 0 : view.kStrides.back();
  ArrayRef<int64_t> outerSizes = ArrayRef(view.kSizes).drop_back(view.kSizes.empty() ? 0 : 1);
  ArrayRef<int64_t> outerStrides = ArrayRef(view.kStrides).drop_back(view.kStrides.empty() ? 0 : 1);
  for (int64_t outer = 0; outer < k / inner; ++outer) {
    int64_t outerPlace = placeOf(outer, outerSizes, outerStrides);
    for (int64_t block = 0; block < inner; block += kBlock)
      for (int64_t i = 0; i < count; ++i)
        for (int64_t j = block; j < std::min(inner, block + kBlock); ++j) {
          Element value;
          std::memcpy(&value, from + columns[i] + outerPlace + j * innerStride, sizeof value);
          to[((outer * groups + j / group) * panelWidth + i) * group + j % group] = value;
        }
  }
}

std::vector<char> pack(const WeightView &view, int64_t panelWidth) {
  int64_t panels = llvm::divideCeil(view.columns, panelWidth), panelSize = view.packedCount() * panelWidth;
  std::vector<char> packed(view.batches * panels * panelSize * view.elementBytes);
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      char *to = packed.data() + i * panelSize * view.elementBytes;
      switch (view.elementBytes) {
      case 8:
        packPanel(view, i / panels, i % panels, panelWidth, reinterpret_cast<uint64_t *>(to));
        break;
      case 4:
        packPanel(view, i / panels, i % panels, panelWidth, reinterpret_cast<uint32_t *>(to));
        break;
      case 2:
        packPanel(view, i / panels, i % panels, panelWidth, reinterpret_cast<uint16_t *>(to));
        break;
      default:
        packPanel(view, i / panels, i % panels, panelWidth, reinterpret_cast<uint8_t *>(to));
      }
    }
  };
  int64_t count = view.batches * panels;
  // Packing is bound by memory; a second thread is worth its start only for large weights.
  if (packed.size() < (1 << 20)) {
    run(0, count);
    return packed;
  }
  std::thread other(run, 0, count / 2);
  run(count / 2, count);
  other.join();
  return packed;
}

std::string getPackedName(const WeightView &view, int64_t panel) {
  std::string suffix = "packed";
  llvm::raw_string_ostream stream(suffix);
  for (auto sizes : {ArrayRef(view.columnStrides), ArrayRef(view.kStrides), ArrayRef(view.batchStrides)})
    for (int64_t stride : sizes)
      stream << '.' << stride;
  stream << '.' << view.offset << '.' << panel;
  if (view.group > 1)
    stream << ".by" << view.group;
  return suffix;
}

} // namespace ptc
