#include "compiler/codegen/cpu/pack/WeightPanels.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace llvm;

namespace ptc::cpu {

/// The place of a row-major index over these sizes and strides.
static int64_t placeOf(int64_t index, ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  int64_t place = 0;
  for (unsigned i = sizes.size(); i-- > 0; index /= sizes[i])
    place += index % sizes[i] * strides[i];
  return place;
}

/// Consecutive rows [panelWidth][group] of one panel. Elements of a file may lie anywhere.
template <int64_t elementBytes, int64_t group>
static void packRows(const WeightView &view, int64_t batch, int64_t panel, int64_t panelWidth, int64_t row,
                     int64_t count, char *to) {
  int64_t first = panel * panelWidth, width = std::min(panelWidth, view.columns - first), inner = view.innerSize();
  int64_t base = view.offset + placeOf(batch, view.batchSizes, view.batchStrides);
  SmallVector<int64_t, 64> columns(width);
  for (int64_t i = 0; i < width; ++i)
    columns[i] = base + placeOf(first + i, view.columnSizes, view.columnStrides);
  bool isRun = columns.back() - columns.front() == width - 1 && is_sorted(columns);
  int64_t innerStride = view.kStrides.empty() ? 0 : view.kStrides.back(), innerRows = view.innerRows();
  ArrayRef<int64_t> outerSizes = ArrayRef(view.kSizes).drop_back(view.kSizes.empty() ? 0 : 1);
  ArrayRef<int64_t> outerStrides = ArrayRef(view.kStrides).drop_back(view.kStrides.empty() ? 0 : 1);
  int64_t rowBytes = panelWidth * group * elementBytes;
  if (width < panelWidth || inner < innerRows * group)
    std::memset(to, 0, count * rowBytes);

  constexpr int64_t kBlock = 64; // so that the lines read down the columns stay in L1
  for (int64_t end = row + count; row < end;) {
    int64_t begin = row % innerRows, rows = std::min({kBlock, innerRows - begin, end - row});
    int64_t outer = placeOf(row / innerRows, outerSizes, outerStrides);
    const char *from = view.bytes + (outer + begin * group * innerStride) * elementBytes;
    if (group == 1 && isRun) {
      for (int64_t r = 0; r < rows; ++r)
        std::memcpy(to + r * rowBytes, from + (columns[0] + r * innerStride) * elementBytes, width * elementBytes);
    } else {
      int64_t whole = std::clamp<int64_t>(inner / group - begin, 0, rows); // the last group may have fewer k
      bool hasPart = whole < rows && begin + whole == inner / group;
      for (int64_t i = 0; i < width; ++i) {
        const char *column = from + columns[i] * elementBytes;
        char *lane = to + i * group * elementBytes;
        for (int64_t r = 0; r < whole; ++r)
          for (int64_t g = 0; g < group; ++g)
            std::memcpy(lane + r * rowBytes + g * elementBytes, column + (r * group + g) * innerStride * elementBytes,
                        elementBytes);
        for (int64_t g = 0; hasPart && g < inner % group; ++g)
          std::memcpy(lane + whole * rowBytes + g * elementBytes,
                      column + (whole * group + g) * innerStride * elementBytes, elementBytes);
      }
    }
    row += rows;
    to += rows * rowBytes;
  }
}

using PackRows = void (*)(const WeightView &, int64_t, int64_t, int64_t, int64_t, int64_t, char *);

template <int64_t group> static PackRows choosePackRows(int64_t elementBytes) {
  switch (elementBytes) {
  case 1:
    return packRows<1, group>;
  case 2:
    return packRows<2, group>;
  case 4:
    return packRows<4, group>;
  case 8:
    return packRows<8, group>;
  }
  llvm_unreachable("elements have 1, 2, 4 or 8 bytes");
}

static PackRows choosePackRows(const WeightView &view) {
  switch (view.group) {
  case 1:
    return choosePackRows<1>(view.elementBytes);
  case 2:
    return choosePackRows<2>(view.elementBytes);
  case 4:
    return choosePackRows<4>(view.elementBytes);
  }
  llvm_unreachable("groups have 1, 2 or 4 elements");
}

ByteSource pack(const WeightView &view, int64_t panelWidth) {
  int64_t panels = llvm::divideCeil(view.columns, panelWidth), rows = view.rows();
  uint64_t unit = panelWidth * view.group * view.elementBytes;
  auto make = [=, packRows = choosePackRows(view)](uint64_t first, MutableArrayRef<char> to) {
    int64_t next = first;
    while (!to.empty()) {
      int64_t panel = next / rows, row = next % rows, count = std::min<int64_t>(rows - row, to.size() / unit);
      packRows(view, panel / panels, panel % panels, panelWidth, row, count, to.data());
      next += count;
      to = to.drop_front(count * unit);
    }
  };
  return {view.batches * panels * rows * unit, unit, make};
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
  if (view.step > 1)
    stream << ".steps" << view.step;
  return suffix;
}

} // namespace ptc::cpu
