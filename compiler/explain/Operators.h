//===- Operators.h - what ptc makes of PyTorch's operators -----------------===//
//
// All of it is found out from the tables that compiling uses, and by compiling
// an example: nothing here can say what is not so.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/aten/Schema.h"

#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}
namespace mlir {
class MLIRContext;
}

namespace ptc {

struct OperatorSupport {
  const aten::Schema *schema;
  bool isSupported;
  std::string through; ///< The functional operator that stands for one that writes; empty: itself.
  std::string reason;  ///< Why it is not supported.
};
OperatorSupport describeSupport(const aten::Schema &schema);

/// An operator compiled with small arguments that were made up for it.
struct OperatorExample {
  std::vector<std::string> inputs;  ///< "float32[4, 4]"
  std::vector<std::string> outputs;
  std::vector<std::string> prims;   ///< Each name once, in order.
};

struct OperatorReport {
  OperatorSupport support;
  OperatorExample example;         ///< Without prims when no arguments were found that fit: it needs particular ones.
  std::vector<std::string> dtypes; ///< The element types for which the example compiles.
};
/// `context` has the dialects of the pipeline.
OperatorReport describeOperator(const aten::Schema &schema, mlir::MLIRContext &context);

/// The schemas of a name as users write it: all overloads of "add", one of "add.Tensor" or "aten.add.Tensor"; else
/// an error that suggests near names.
llvm::Expected<std::vector<const aten::Schema *>> findOperators(llvm::StringRef name);

llvm::json::Value toJson(const OperatorSupport &support);
llvm::json::Value toJson(const OperatorReport &report);
void print(const OperatorReport &report, llvm::raw_ostream &out);

} // namespace ptc
