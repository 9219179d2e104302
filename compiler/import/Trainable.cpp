#include "compiler/import/Trainable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace ptc::import {

bool isTrainable(Type element) {
  if (auto number = llvm::dyn_cast<FloatType>(element))
    return number.getWidth() > 8;
  return llvm::isa<ComplexType>(element);
}

/// Of a weight or an input.
static StringAttr getName(func::FuncOp function, unsigned argument) {
  for (StringRef role : {"ptc.weight", "ptc.state", "ptc.input"})
    if (auto name = function.getArgAttrOfType<StringAttr>(argument, role))
      return name;
  return {};
}

static llvm::Error freeze(func::FuncOp function, const std::string &pattern) {
  llvm::Regex regex(pattern);
  std::string example;
  bool isFound = false;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    StringAttr name = getName(function, i);
    if (!name)
      continue;
    if (example.empty())
      example = " (such as '" + name.str() + "')";
    if (regex.match(name.getValue())) {
      isFound = true;
      function.removeArgAttr(i, "ptc.trainable");
      if (function.getArgAttr(i, "ptc.input"))
        function.setArgAttr(i, "ptc.frozen", UnitAttr::get(function.getContext()));
    }
  }
  return isFound ? llvm::Error::success()
                 : llvm::createStringError("no weight or input has a name that matches --freeze '" + pattern + "'" +
                                           example);
}

llvm::Error settleTrainables(ModuleOp module, llvm::ArrayRef<std::string> frozen) {
  auto function = module.lookupSymbol<func::FuncOp>("forward");
  for (const std::string &pattern : frozen)
    if (llvm::Error error = freeze(function, pattern))
      return error;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, "ptc.trainable") && function.getArgAttr(i, "ptc.state"))
      return llvm::createStringError("parameter '" + getName(function, i).str() +
                                     "': the model writes to it, which training does not support (--freeze leaves it "
                                     "to the model)");
  return llvm::Error::success();
}

} // namespace ptc::import
