//===- Generator.h - a program under construction -------------------------===//
//
// The steps of each family of prims are in Generate<Family>.cpp. A step takes
// operands among the values so far, makes what it lacks, and adds its results.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Prims.h"
#include "test/random/Case.h"
#include "test/random/Random.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <functional>

namespace ptc::test {

using mlir::Value;
using Values = llvm::SmallVector<Value>;
using Dims = llvm::SmallVector<int64_t>;

class Generator {
public:
  Generator(uint64_t seed, mlir::MLIRContext &context);
  Case run();

private:
  // Generate.cpp: what all steps use.
  void bindSymbols();
  bool step();
  mlir::Type randomElement();
  mlir::AffineExpr randomSize();
  Shape randomShape(unsigned minRank, unsigned maxRank);
  /// Whether a tensor of this shape is one we want to compute, for all sets of sizes.
  bool fits(ShapeRef shape) const;
  int64_t least(mlir::AffineExpr size) const { return getRange(size, symbols).min; }
  mlir::AffineExpr constant(int64_t value) { return mlir::getAffineConstantExpr(value, b.getContext()); }

  /// A recent value more often than an old one; null when none is wanted.
  Value pick(llvm::function_ref<bool(Value)> wanted);
  Value pickFloat();
  Value pickInteger();
  /// A new input or weight. `bound`: of indices, which lie below it.
  Value parameter(ShapeRef shape, mlir::Type element, mlir::AffineExpr bound = {});
  /// A value of this shape and element type, old or new.
  Value like(ShapeRef shape, mlir::Type element);
  Value like(Value x) { return like(getShape(x), elementOf(x)); }
  Value full(ShapeRef shape, mlir::Type element, double value);
  Value convert(Value x, mlir::Type element);
  Value broadcast(Value x, ShapeRef shape, llvm::ArrayRef<int64_t> dims);
  Value add(Value value);
  static unsigned rankOf(Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()).getRank(); }
  Dims someDims(unsigned rank, bool atLeastOne);
  mlir::Attribute sizesAttr(ShapeRef sizes) { return makeSizesAttr(sizes, b.getContext()); }
  void returnValues();
  prims::Tensor randomTensor(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> sizes, mlir::AffineExpr bound);
  double randomReal(mlir::Type element);
  int64_t randomInteger(mlir::Type element);

  // GenerateElementwise.cpp
  Value elementwise(llvm::StringRef name, mlir::ValueRange operands);
  bool unaryFloat();
  bool unaryInteger();
  bool binary();
  bool comparison();
  bool select();
  bool conversion();
  bool special();
  Value tame(llvm::StringRef function, Value x);

  // GenerateStructure.cpp
  bool generator();
  bool view();
  bool slice();
  bool pad();
  bool concatenate();
  bool gather();
  bool scatter();
  Value broadcastMore(Value x);
  Value reshape(Value x);
  Value indexInto(mlir::AffineExpr size, ShapeRef shape);
  /// What gather reads and scatter writes.
  struct Places {
    Value x;
    Dims dims;
    Values indices;
    Shape sizes; ///< of what is read or written
  };
  std::optional<Places> choosePlaces();

  // GenerateCompute.cpp
  bool reduce();
  bool argReduce();
  bool scan();
  bool window();
  bool sort();
  bool contract();
  bool convolution();
  bool attention();
  llvm::StringRef reduceKind(mlir::Type element);

  Random r;
  mlir::ImplicitLocOpBuilder b;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  llvm::SmallVector<Symbol> symbols;
  std::vector<std::vector<int64_t>> sets; ///< the symbols' values of each call
  Shape palette;                          ///< sizes that the program's dimensions have
  llvm::SmallVector<mlir::Type> elements; ///< element types that it prefers
  int64_t mostElements;
  bool wild; ///< NaN, infinities and the ends of the integers among the inputs
  Values pool;
  std::vector<mlir::AffineExpr> bounds; ///< of each argument; null where anything goes
};

} // namespace ptc::test
