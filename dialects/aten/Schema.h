//===- Schema.h - what an ATen operator takes and returns -----------------===//
//
// Every operator that PyTorch lists, and those of the libraries that exports of
// quantized and of detection models call (quantized_decomposed, torchvision), is
// one row of schema.txt, which is part of the program as text. A row is found by
// binary search in that text and parsed when it is first asked for, so an
// operator that a model does not use costs nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ptc::aten {

/// What an argument or a result is. SymInt and int are one kind here: both may
/// be symbolic. Informative kinds (device, layout, ...) do not change values.
enum class Kind : uint8_t {
  Tensor,
  Int,
  Float,
  Bool,
  Scalar,
  String,
  ScalarType,
  Device,
  Layout,
  MemoryFormat,
  Generator,
  Other, ///< Dimname, Storage, Stream, QScheme: nothing that a tensor program needs.
};
llvm::StringRef toString(Kind kind);

/// `Tensor(a!)`: alias set `a`, written to. `Tensor(a -> *)[]`: set `a`.
struct Alias {
  std::string set; ///< Empty when the value aliases nothing.
  bool written = false;
  explicit operator bool() const { return !set.empty(); }
};

struct Argument {
  std::string name;
  Kind kind = Kind::Tensor;
  bool isList = false;
  bool isOptional = false;         ///< `Tensor?`, `int[]?`: None is a value.
  bool areElementsOptional = false; ///< `Tensor?[]`
  bool isKeywordOnly = false;
  bool hasDefault = false;
  unsigned listSize = 0;    ///< `int[2]`: 2, else 0.
  std::string defaultText; ///< As written, "None", "1", "[0,1]", "long".
  Alias alias;

  bool isTensor() const { return kind == Kind::Tensor; }
  /// An `out=` argument of an out variant.
  bool isOut() const { return isKeywordOnly && alias.written; }
  /// `Tensor?[]? x=None`, as PyTorch writes it.
  std::string str() const;
};

struct Return {
  std::string name; ///< Empty when PyTorch names it not.
  Kind kind = Kind::Tensor;
  bool isList = false;
  Alias alias;
  bool isTensor() const { return kind == Kind::Tensor; }
};

/// Facts about an operator which its signature does not say.
enum class Mark : uint8_t {
  Core,           ///< c: in PyTorch's core ATen set
  Composite,      ///< i: CompositeImplicitAutograd: defined through other operators
  Pointwise,      ///< p
  Reduction,      ///< r
  Random,         ///< n: nondeterministic_seeded
  InplaceView,    ///< v: changes its argument's geometry, `transpose_`
  DynamicShape,   ///< d: the output's size depends on data
  DataDependent,  ///< q: reads a tensor's value into a number
  MaybeAliases,   ///< m: may return or write its argument, and does not say so
  Generated,      ///< g: derived by torchgen from another operator
};

struct Schema {
  std::string name; ///< "add.Tensor", "relu.default"; of another library than ATen "torchvision.nms.default"
  std::vector<Argument> arguments;
  std::vector<Return> returns;
  uint16_t marks = 0;

  bool has(Mark mark) const { return marks >> unsigned(mark) & 1; }
  /// "add" of "add.Tensor", "Tensor" of it; "torchvision.nms" of "torchvision.nms.default".
  llvm::StringRef baseName() const { return llvm::StringRef(name).rsplit('.').first; }
  llvm::StringRef overload() const { return llvm::StringRef(name).rsplit('.').second; }

  const Argument *find(llvm::StringRef argument) const;
  /// Position of an argument, or -1.
  int indexOf(llvm::StringRef argument) const;

  /// Writes to an argument (in-place and out variants, batch_norm_update...).
  bool mutates() const;
  /// Returns an alias of an argument without writing it: view, reshape, ...
  bool isView() const;
  /// `add.out`: takes the tensors to write as keyword arguments.
  bool isOut() const;

  /// The row as PyTorch writes it: "add.Tensor(Tensor self, ...) -> Tensor".
  std::string str() const;
};

/// The schema of "add.Tensor", "aten.add.Tensor" or "torchvision.nms.default"; null
/// when there is no such operator. The answer lives as long as the program. Thread-safe.
const Schema *lookup(llvm::StringRef name);

/// Names near to a misspelt one, best first, at most three.
std::vector<llvm::StringRef> suggest(llvm::StringRef name);

/// Every operator's name, in order.
std::vector<llvm::StringRef> allNames();

/// Parses one row of the table; for lookup and its tests.
llvm::Expected<Schema> parseRow(llvm::StringRef row);

} // namespace ptc::aten
