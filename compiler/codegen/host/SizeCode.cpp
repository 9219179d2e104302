#include "compiler/codegen/host/SizeCode.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace ptc::host {

runtime::ValueId SizeTable::add(AffineExpr expr) {
  if (!expr) {
    if (zero < 0) {
      zero = exprs.size();
      exprs.push_back(AffineExpr());
    }
    return zero;
  }
  auto [entry, isNew] = ids.try_emplace(expr, exprs.size());
  if (isNew)
    exprs.push_back(expr);
  return entry->second;
}

namespace {
/// Emits expressions into one block, shared subexpressions once.
class SizeEmitter {
public:
  SizeEmitter(llvm::IRBuilder<> &b, llvm::Value *symbols) : b(b), symbols(symbols), failed(b.getFalse()) {}

  /// From here on the symbol stands for the extremum.
  void define(AffineExpr symbol, const Extremum &e) {
    llvm::Value *value =
        b.CreateBinaryIntrinsic(e.isMax ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, emit(e.a), emit(e.b));
    b.CreateStore(value, address(symbol));
    done[symbol] = value;
  }

  llvm::Value *emit(AffineExpr expr) {
    if (!expr)
      return b.getInt64(0);
    if (llvm::Value *known = done.lookup(expr))
      return known;
    return done[expr] = emitNew(expr);
  }

  llvm::Value *anyFailed() const { return failed; }

private:
  llvm::Value *emitNew(AffineExpr expr) {
    if (auto constant = llvm::dyn_cast<AffineConstantExpr>(expr))
      return b.getInt64(constant.getValue());
    if (llvm::isa<AffineSymbolExpr>(expr))
      return b.CreateLoad(b.getInt64Ty(), address(expr));
    auto binary = llvm::cast<AffineBinaryOpExpr>(expr);
    llvm::Value *lhs = emit(binary.getLHS()), *rhs = emit(binary.getRHS());
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      return checked(llvm::Intrinsic::sadd_with_overflow, lhs, rhs);
    case AffineExprKind::Mul:
      return checked(llvm::Intrinsic::smul_with_overflow, lhs, rhs);
    default:
      return divide(binary.getKind(), lhs, rhs);
    }
  }

  llvm::Value *address(AffineExpr symbol) {
    return b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), symbols, llvm::cast<AffineSymbolExpr>(symbol).getPosition());
  }

  llvm::Value *checked(llvm::Intrinsic::ID id, llvm::Value *lhs, llvm::Value *rhs) {
    llvm::Value *pair = b.CreateBinaryIntrinsic(id, lhs, rhs);
    failed = b.CreateOr(failed, b.CreateExtractValue(pair, 1));
    return b.CreateExtractValue(pair, 0);
  }

  /// Division rounds down (or up), and mod is never negative, for positive divisors; others fail.
  llvm::Value *divide(AffineExprKind kind, llvm::Value *lhs, llvm::Value *rhs) {
    llvm::Value *isBad = b.CreateICmpSLE(rhs, b.getInt64(0));
    failed = b.CreateOr(failed, isBad);
    rhs = b.CreateSelect(isBad, b.getInt64(1), rhs);
    llvm::Value *quotient = b.CreateSDiv(lhs, rhs), *rest = b.CreateSRem(lhs, rhs);
    llvm::Value *isBelow = b.CreateICmpSLT(rest, b.getInt64(0));
    if (kind == AffineExprKind::Mod)
      return b.CreateSelect(isBelow, b.CreateAdd(rest, rhs), rest);
    if (kind == AffineExprKind::FloorDiv)
      return b.CreateSub(quotient, b.CreateZExt(isBelow, b.getInt64Ty()));
    return b.CreateAdd(quotient, b.CreateZExt(b.CreateICmpSGT(rest, b.getInt64(0)), b.getInt64Ty()));
  }

  llvm::IRBuilder<> &b;
  llvm::Value *symbols, *failed;
  llvm::DenseMap<AffineExpr, llvm::Value *> done;
};
} // namespace

llvm::Function *SizeTable::emit(llvm::Module &module, llvm::ArrayRef<Symbol> symbols) const {
  llvm::IRBuilder<> b(module.getContext());
  // bool comes back in a register's low byte: zeroext, as in C.
  auto *type = llvm::FunctionType::get(b.getInt1Ty(), {b.getPtrTy(), b.getPtrTy()}, false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "ptc_evaluate", module);
  function->addRetAttr(llvm::Attribute::ZExt);
  function->setDoesNotThrow();
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
  SizeEmitter emitter(b, function->getArg(0));
  for (auto [position, symbol] : llvm::enumerate(symbols))
    if (symbol.extremum)
      emitter.define(getAffineSymbolExpr(position, symbol.extremum->a.getContext()), *symbol.extremum);
  for (auto [index, expr] : llvm::enumerate(exprs))
    b.CreateStore(emitter.emit(expr), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), function->getArg(1), index));
  b.CreateRet(b.CreateNot(emitter.anyFailed()));
  return function;
}

} // namespace ptc::host
