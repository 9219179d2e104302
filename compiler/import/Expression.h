//===- Expression.h - sizes and conditions as torch writes them ------------===//
//
// One tree for the three spellings that torch's files use: sympy's repr in a
// .pt2 (`Add(Symbol('s0', integer=True), Integer(1))`), Python in a printed
// graph (`((s0 + 1)//2)`), and Python over inputs in guards
// (`L['x'].size()[0] % 8 == 0`). Knows nothing of MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ptc::import {

struct Expression {
  enum Kind : uint8_t { Integer, Real, Boolean, Symbol, Infinity, Call };

  Kind kind = Integer;
  int64_t integer = 0; ///< Integer, Boolean (0 or 1), Infinity (its sign).
  double real = 0;
  std::string name; ///< Symbol; Call: one name for all spellings: "Add", "FloorDiv", "Eq".
  std::vector<Expression> arguments;

  Expression() = default;
  Expression(int64_t value) : integer(value) {}
  static Expression makeReal(double value);
  static Expression makeBoolean(bool value);
  static Expression makeSymbol(llvm::StringRef name);
  static Expression makeCall(llvm::StringRef name, std::vector<Expression> arguments);

  /// A float in Python, whatever its value.
  bool isFloat() const;
  /// A bool in Python, whatever its value.
  bool isCondition() const;
  bool operator==(const Expression &other) const;

  /// As Python, for messages.
  std::string str() const;
};

/// Resolves what is neither sympy nor arithmetic: a guard's `L['x'].size()[0]`.
/// Takes it off the front of the text; an empty name in the result's Symbol
/// means "not mine".
using PrimaryParser = llvm::function_ref<llvm::Expected<Expression>(llvm::StringRef &text)>;

/// Parses the whole text. An error says what is wrong and at which column.
llvm::Expected<Expression> parseExpression(llvm::StringRef text, PrimaryParser primary = nullptr);

} // namespace ptc::import
