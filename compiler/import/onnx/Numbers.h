//===- Numbers.h - numbers of inputs that a graph computes sizes from --------------------===//
//
// A size may be a number that a call gives, as an element of an input. The model
// is then built with a symbol for each such element, which the function's first
// operations define. Where a result has a size that the model declares, the
// symbol has the value that makes it so, and a call with another one is refused:
// sizes that are known make faster code.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/onnx/Builder.h"

namespace ptc::import::onnx {

class Numbers {
public:
  /// Integers, as few as a shape has.
  static bool canBeSizes(mlir::Type type);

  /// The function is built anew.
  void restart() { elements.clear(); }
  /// The inputs that have such elements.
  std::vector<std::string> inputs() const;
  /// Whether the elements of an input are data, as those of others are.
  void setData(llvm::StringRef input, bool isData);
  /// An input whose elements are known: as symbols, or as what they are supposed to be.
  Value bind(Builder &b, llvm::StringRef name, mlir::Value argument);
  /// Supposes what the declared sizes of a result leave no choice of; whether that is anything new. Sizes of -1 are not
  /// declared.
  bool suppose(const SymbolTable &symbols, ShapeRef sizes, IntsRef declared);
  /// Defines the symbols that sizes were computed from, and asks of a call what is supposed.
  void define(Builder &b) const;

private:
  struct Element {
    std::string symbol, input;
    mlir::Value argument;
    int64_t place;
  };
  std::vector<Element> elements;
  llvm::StringSet<> data; ///< inputs
  llvm::StringMap<int64_t> supposed;
};

} // namespace ptc::import::onnx
