//===- SymbolTable.h - torch's symbolic integers as affine expressions -----===//
//
// All arithmetic on sizes ends here: what the exported graph computes with
// symbolic numbers becomes expressions over `ptc.symbols`, and what it asserts
// about them is proved from their ranges or becomes a guard.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"
#include "dialects/core/SymbolicShape.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <map>
#include <tuple>

namespace ptc::import {

class SymbolTable {
public:
  SymbolTable(mlir::MLIRContext *context, const ExportedProgram &program);

  /// A symbolic integer; an error when it is none that ptc can hold.
  llvm::Expected<mlir::AffineExpr> toAffine(const Expression &expression);
  llvm::Expected<Shape> toShape(llvm::ArrayRef<Expression> sizes);

  /// The value of a number that is no symbolic one; nullopt otherwise.
  std::optional<double> toConstant(const Expression &expression);

  /// True or false when the symbols' ranges leave no other choice.
  std::optional<bool> prove(const Expression &condition);

  /// The same of a relation to zero.
  std::optional<bool> decide(llvm::StringRef relation, mlir::AffineExpr difference) const;

  /// Drops a condition that always holds, keeps another for `ptc.guards`.
  void addGuard(const Expression &condition);
  size_t countGuards() const { return guards.size(); }
  llvm::ArrayRef<Expression> allGuards() const { return guards; }
  /// Forgets all but the first, for what is not built after all.
  void keepGuards(size_t count) { guards.erase(guards.begin() + count, guards.end()); }
  /// All but the first, which are kept no more.
  std::vector<Expression> takeGuards(size_t count) {
    std::vector<Expression> taken(guards.begin() + count, guards.end());
    keepGuards(count);
    return taken;
  }

  /// A symbol for the value of a user's SymInt input; its position.
  llvm::Expected<unsigned> bind(const Expression &expression);

  /// An expression that stands for an affine one, so that sizes of tensors
  /// whose types were derived here can take part in arithmetic.
  Expression wrap(mlir::AffineExpr expr);

  /// The same with the symbols' names, as a condition should be told.
  Expression express(mlir::AffineExpr expr) const;
  /// An expression with names in place of what `wrap` made.
  Expression express(const Expression &expression) const;

  /// What the symbol follows from, if it does.
  const std::optional<Extremum> &extremumOf(unsigned position) const { return symbols[position].extremum; }

  /// What two sizes become that are equal, or of which one is 1: a symbol that follows from them.
  mlir::AffineExpr broadcast(mlir::AffineExpr a, mlir::AffineExpr b);

  /// Those that were met so far.
  llvm::ArrayRef<Symbol> all() const { return symbols; }
  size_t count() const { return symbols.size(); }

  /// From now on the symbol's name stands for `value`: the exporter has a symbol for what follows from others.
  void define(unsigned position, mlir::AffineExpr value) { defined[symbols[position].name] = value; }

  /// Sets `ptc.symbols` to those met so far.
  void publish(mlir::ModuleOp module) const;

  /// Makes the conditions `ptc.guards` of the module, or of one of its functions, and keeps them no more; an error
  /// names one that no call can be checked for.
  llvm::Error annotateGuards(mlir::Operation *op);

  /// Sets `ptc.symbols` and `ptc.guards`.
  llvm::Error annotate(mlir::ModuleOp module);

private:
  /// torch's own infinity for sizes is near to INT64_MAX, and not quite it.
  static constexpr int64_t kInfinite = int64_t(1) << 62;

  /// A rational number: torch computes some sizes through float division.
  struct Quotient {
    mlir::AffineExpr numerator, denominator;
  };
  llvm::Expected<Quotient> evaluate(const Expression &expression);
  llvm::Expected<Quotient> evaluateCall(const Expression &call);
  llvm::Expected<mlir::AffineExpr> evaluateCondition(const Expression &condition);
  /// The condition as a relation of a size to zero.
  llvm::Expected<std::pair<llvm::StringRef, mlir::AffineExpr>> relate(const Expression &condition);
  llvm::Expected<mlir::AffineExpr> multiplyDifferences(const Expression &equalities);
  llvm::Expected<Quotient> evaluateChoice(const Expression &call);
  llvm::Expected<Quotient> evaluatePower(const Quotient &base, const Expression &exponent);
  llvm::Expected<Quotient> evaluateReal(double value);
  llvm::Expected<mlir::AffineExpr> round(const Quotient &value, llvm::StringRef how);
  std::optional<mlir::AffineExpr> roundScaled(llvm::StringRef how, const Expression &product);
  mlir::AffineExpr roundToEven(mlir::AffineExpr value, int64_t divisor);
  llvm::Expected<mlir::AffineExpr> toInteger(const Quotient &value, const Expression &expression);

  mlir::AffineExpr constant(int64_t value) const;
  mlir::AffineExpr simplify(mlir::AffineExpr expr) const;
  mlir::AffineExpr floorDivide(mlir::AffineExpr a, mlir::AffineExpr b) const;
  mlir::AffineExpr symbol(llvm::StringRef name);
  Range range(mlir::AffineExpr expr) const { return getRange(expr, symbols); }
  void addRange(const RangeConstraint &constraint);

  mlir::MLIRContext *context;
  llvm::SmallVector<Symbol> symbols;
  llvm::StringMap<unsigned> positions;
  llvm::StringMap<mlir::AffineExpr> defined; ///< What names stand for that are no symbols (any more).
  llvm::StringMap<Range> known;             ///< Of symbols by name, before they are met.
  std::vector<RangeConstraint> otherRanges; ///< Of expressions that are no symbol.
  std::vector<Expression> guards;
  std::vector<mlir::AffineExpr> wrapped;
  /// For a scale, the largest size, and whether results are floored: the fraction that stands for the scale.
  std::map<std::tuple<double, int64_t, bool>, std::optional<std::pair<int64_t, int64_t>>> fractions;

  bool hasRanges;
};

} // namespace ptc::import
