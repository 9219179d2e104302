#include "compiler/import/onnx/Table.h"

using llvm::StringRef;

namespace ptc::import::onnx {

void Table::rows(StringRef names, Row row) {
  llvm::SmallVector<StringRef> split;
  names.split(split, ' ', -1, false);
  for (StringRef name : split)
    all.try_emplace(name, row);
}

const Row *Table::find(StringRef name) const {
  auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

std::vector<StringRef> Table::names() const {
  std::vector<StringRef> result;
  for (const auto &entry : all)
    result.push_back(entry.first());
  llvm::sort(result);
  return result;
}

const Table &table() {
  static const Table *built = [] {
    auto *table = new Table;
    addAttention(*table);
    addClassical(*table);
    addDeformable(*table);
    addDetection(*table);
    addElementwise(*table);
    addFused(*table);
    addFusedAttention(*table);
    addFusedQuantization(*table);
    addIndexing(*table);
    addLoss(*table);
    addNetwork(*table);
    addNormalization(*table);
    addPad(*table);
    addPooling(*table);
    addQuantization(*table);
    addRandom(*table);
    addRecurrent(*table);
    addReduction(*table);
    addResize(*table);
    addSequence(*table);
    addShape(*table);
    addSignal(*table);
    addSlice(*table);
    addTfIdf(*table);
    addTrees(*table);
    return table;
  }();
  return *built;
}

Values buildAs(Builder &b, StringRef name, const Node &node) { return (*table().find(name))(b, node); }

std::vector<StringRef> operatorNames() {
  std::vector<StringRef> result = table().names();
  llvm::append_range(result, std::initializer_list<StringRef>{"If", "Loop", "Scan", "SequenceMap"});
  llvm::sort(result);
  return result;
}

} // namespace ptc::import::onnx
