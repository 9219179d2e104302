//===- Constants.h - C structs as LLVM constants --------------------------===//
#pragma once

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

namespace ptc::host {

/// Builds private constant data. Structs are written field by field in their declared order; LLVM's natural layout is
/// C's.
class Constants {
public:
  explicit Constants(llvm::Module &module) : module(module), context(module.getContext()) {}

  llvm::Constant *i8(uint64_t value) { return llvm::ConstantInt::get(llvm::Type::getInt8Ty(context), value); }
  llvm::Constant *i32(int64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), static_cast<uint64_t>(value), true, true);
  }
  llvm::Constant *i64(int64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), static_cast<uint64_t>(value));
  }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context)); }

  llvm::Constant *string(llvm::StringRef text) {
    llvm::Constant *&global = strings[text];
    if (!global)
      global = make(llvm::ConstantDataArray::getString(context, text), "text");
    return global;
  }

  /// A pointer to a file in memory, aligned as ELF wants it; null for none.
  llvm::Constant *bytes(llvm::StringRef content) {
    if (content.empty())
      return null();
    llvm::GlobalVariable *global =
        make(llvm::ConstantDataArray::getString(context, content, /*AddNull=*/false), "file");
    global->setAlignment(llvm::Align(16));
    return global;
  }

  /// A struct of type T (for its size: a forgotten field asserts).
  template <typename T> llvm::Constant *record(llvm::ArrayRef<llvm::Constant *> fields) {
    llvm::Constant *value = llvm::ConstantStruct::getAnon(context, fields);
    assert(module.getDataLayout().getTypeAllocSize(value->getType()) == sizeof(T) && "differs from runtime/Program.h");
    return value;
  }

  /// A pointer to the elements, which have one type; null for none.
  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> elements, llvm::StringRef name) {
    if (elements.empty())
      return null();
    auto *type = llvm::ArrayType::get(elements.front()->getType(), elements.size());
    return make(llvm::ConstantArray::get(type, elements), name);
  }

private:
  llvm::GlobalVariable *make(llvm::Constant *value, llvm::StringRef name) {
    auto *global = new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value,
                                            "ptc_" + name);
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return global;
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::StringMap<llvm::Constant *> strings;
};

} // namespace ptc::host
