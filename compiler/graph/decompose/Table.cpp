#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

void Table::prepare(Mode mode, B &b, llvm::ArrayRef<T *> tensors) {
  if (mode == Mode::Plain)
    return;
  mlir::Type type;
  if (mode != Mode::Opmath) {
    TList values;
    for (T *tensor : tensors)
      values.push_back(*tensor);
    type = b.promoted(values);
    if (mode == Mode::Floating || mode == Mode::Quotients)
      type = decompose::toFloating(type);
  }
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    if (mode == Mode::Opmath) {
      *tensor = b.toOpmath(*tensor);
      continue;
    }
    bool isNumber = !tensor->isTensor() || tensor->isWrapped(),
         isOfSecond = mode == Mode::Products || mode == Mode::Quotients;
    bool isExact = isOfSecond ? i == 1 && (isNumber || tensor->rank() == 0) : isNumber && mode != Mode::Operands;
    *tensor = isExact ? b.to(*tensor, decompose::opmath(type)) : b.rounded(*tensor, type);
  }
}

void attempt(B &b, llvm::function_ref<void()> body) {
  try {
    body();
  } catch (const Misfit &misfit) {
    b.misfits(misfit);
  }
}

void Table::insert(llvm::StringRef names, Row row) {
  llvm::SmallVector<llvm::StringRef> split;
  names.split(split, ' ', -1, false);
  for (llvm::StringRef name : split) {
    std::string full = name.contains('.') ? name.str() : (name + ".default").str();
    bool isNew = rows.try_emplace(full, row).second;
    assert(isNew && "two rows for one operator");
    (void)isNew;
  }
}

const Table &table() {
  static const Table *built = [] {
    auto *table = new Table;
    addActivations(*table);
    addAttention(*table);
    addBackward(*table);
    addBinary(*table);
    addChoose(*table);
    addContraction(*table);
    addConvolution(*table);
    addCreation(*table);
    addDetection(*table);
    addDifferences(*table);
    addEmbedding(*table);
    addFactorization(*table);
    addFourier(*table);
    addGridSample(*table);
    addHistogram(*table);
    addIndexing(*table);
    addLinalg(*table);
    addLoss(*table);
    addMarginLoss(*table);
    addNormalization(*table);
    addPointwise(*table);
    addPad(*table);
    addPooling(*table);
    addQr(*table);
    addQuantized(*table);
    addRandom(*table);
    addRearrange(*table);
    addRecurrent(*table);
    addReduce(*table);
    addResize(*table);
    addScan(*table);
    addScatter(*table);
    addSort(*table);
    addSpecial(*table);
    addSpectrum(*table);
    addView(*table);
    addViewScatter(*table);
    addSignalWindows(*table);
    return table;
  }();
  return *built;
}

} // namespace ptc::decompose
