#include "dialects/core/MatrixSignature.h"

#include "runtime/matrix/Algorithms.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace ptc {

/// Each followed by `last`.
static llvm::SmallVector<std::string> splitList(llvm::StringRef list, llvm::StringRef last) {
  llvm::SmallVector<llvm::StringRef> tensors;
  list.trim().split(tensors, ',');
  return llvm::map_to_vector(tensors, [&](llvm::StringRef letters) { return (letters + last).str(); });
}

std::optional<MatrixSignature> MatrixSignature::find(llvm::StringRef algorithm) {
  llvm::StringSwitch<llvm::StringRef> text(algorithm), complexText(algorithm);
#define PTC_MATRIX_CASE(name, signature) text.Case(#name, signature);
#define PTC_COMPLEX_CASE(name, signature) complexText.Case("complex_" #name, signature);
  PTC_MATRIX_ALGORITHMS(PTC_MATRIX_CASE)
  PTC_COMPLEX_ALGORITHMS(PTC_COMPLEX_CASE)
#undef PTC_MATRIX_CASE
#undef PTC_COMPLEX_CASE
  llvm::StringRef ofReal = text.Default(""), found = ofReal.empty() ? complexText.Default("") : ofReal;
  llvm::StringRef last = ofReal.empty() ? "2" : "";
  if (found.empty())
    return std::nullopt;
  auto [operands, rest] = found.split("->");
  auto [results, scratch] = rest.split('|');
  return MatrixSignature{splitList(operands, last), splitList(results, last),
                         scratch.empty() ? llvm::SmallVector<std::string>() : splitList(scratch, last)};
}

std::string MatrixSignature::order() const {
  std::string letters;
  for (llvm::StringRef operand : operands)
    for (char letter : operand)
      if (!llvm::isDigit(letter) && letters.find(letter) == std::string::npos)
        letters += letter;
  return letters;
}

Shape MatrixSignature::letterSizes(llvm::ArrayRef<Shape> shapes) const {
  std::string letters = order();
  Shape found(letters.size());
  for (auto [operand, shape] : llvm::zip_equal(operands, shapes))
    for (auto [letter, size] : llvm::zip_equal(operand, ShapeRef(shape).take_back(operand.size()))) {
      size_t place = letters.find(letter);
      // A constant is as good as a symbolic spelling, or better.
      if (place != std::string::npos && (!found[place] || getConstant(size)))
        found[place] = size;
    }
  return found;
}

bool MatrixSignature::hasSmaller() const {
  return order().find('k') == std::string::npos &&
         llvm::any_of(results, [](llvm::StringRef letters) { return letters.contains('k'); });
}

Shape MatrixSignature::sizes(llvm::StringRef letters, llvm::ArrayRef<Shape> shapes, AffineExpr smaller) const {
  std::string known = order();
  Shape values = letterSizes(shapes), result;
  for (char letter : letters) {
    size_t place = known.find(letter);
    if (llvm::isDigit(letter))
      result.push_back(getAffineConstantExpr(letter - '0', values[0].getContext()));
    else
      result.push_back(place != std::string::npos ? values[place] : smaller);
  }
  return result;
}

} // namespace ptc
