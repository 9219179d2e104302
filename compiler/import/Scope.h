//===- Scope.h - what the names of a graph stand for ------------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/StringMap.h"

namespace ptc::import {

/// What a name is bound to while a graph is being built.
struct Binding {
  mlir::Value tensor;
  std::optional<Expression> number;
  bool isNone = false;
  bool isList = false; ///< Several tensors; only `getitem` may take it.
  bool isUntyped = false; ///< Nothing says what it is: a result of an unknown operator.
  bool isDerived = false; ///< A number that follows from a type that the file has wrong.
};

class Scope {
public:
  explicit Scope(const Graph &graph) : graph(graph) {}

  /// Null when nothing has that name.
  const Binding *find(llvm::StringRef name) const {
    // Chains are as long as the names that a printed graph gave one value.
    for (int hops = 0; hops < 8; ++hops) {
      auto alias = graph.aliases.find(name);
      if (alias == graph.aliases.end())
        break;
      name = alias->second;
    }
    auto found = bindings.find(name);
    return found == bindings.end() ? nullptr : &found->second;
  }
  void bind(llvm::StringRef name, Binding binding) {
    if (!name.empty())
      bindings[name] = std::move(binding);
  }
  void bind(llvm::StringRef name, mlir::Value tensor) { bind(name, Binding{tensor, std::nullopt}); }
  void bind(llvm::StringRef name, Expression number) { bind(name, Binding{mlir::Value(), std::move(number)}); }

private:
  const Graph &graph;
  llvm::StringMap<Binding> bindings;
};

} // namespace ptc::import
