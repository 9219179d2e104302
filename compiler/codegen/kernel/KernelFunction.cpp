#include "compiler/codegen/kernel/KernelFunction.h"

#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "dialects/loop/Faults.h"
#include "runtime/FaultNote.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace ptc::kernel {

static bool hasCode(mlir::Type type) {
  if (auto tensor = dyn_cast<mlir::RankedTensorType>(type))
    type = tensor.getElementType();
  return type.isF32() || type.isF64() || type.isF16() || type.isBF16() || isa<mlir::IndexType, mlir::IntegerType>(type);
}

Error checkBodies(loop::KernelOp kernel, StringRef device) {
  for (mlir::Type type :
       concat<const mlir::Type>(to_vector(kernel->getOperandTypes()), to_vector(kernel->getResultTypes())))
    if (!hasCode(type)) {
      std::string text;
      raw_string_ostream(text) << type;
      return createStringError("kernel " + kernel.getName() + ": no " + device + " code for elements of " + text);
    }
  Error error = Error::success();
  kernel->walk([&](mlir::Operation *op) {
    bool isKnown = op == kernel || op->getDialect()->getNamespace() == "loop" ||
                   op->getName().getStringRef() == "arith.constant" || isScalarOp(op->getName().getStringRef());
    if (isKnown || error)
      return;
    error = createStringError("kernel " + kernel.getName() + ": no " + device + " code for " +
                              op->getName().getStringRef());
  });
  return error;
}

static std::vector<std::string> operatorNames(mlir::Location loc) {
  std::vector<std::string> names;
  loc->walk([&](mlir::Location l) {
    if (auto name = dyn_cast<mlir::NameLoc>(l))
      names.push_back(name.getName().str());
    return mlir::WalkResult::advance();
  });
  return names;
}

/// Whether it is `x < 0 ? x + size : x`, as PyTorch's indices that count from the end come to be.
static bool isWrapped(loop::CheckedIndexOp op) {
  mlir::Value value = op.getValue();
  for (mlir::Operation *from; (from = value.getDefiningOp());) {
    auto read = dyn_cast<loop::ReadOp>(from);
    auto map = read ? read.getTensor().getDefiningOp<loop::MapOp>() : nullptr;
    if (auto cast = dyn_cast<mlir::arith::IndexCastOp>(from))
      value = cast.getIn();
    else if (map) // of the same kernel
      value = map.getBody().front().getTerminator()->getOperand(0);
    else
      break;
  }
  auto select = value.getDefiningOp<mlir::arith::SelectOp>();
  auto sum = select ? select.getTrueValue().getDefiningOp<mlir::arith::AddIOp>() : nullptr;
  return sum && is_contained(sum->getOperands(), select.getFalseValue());
}

std::vector<Fault> findFaults(loop::KernelOp kernel) {
  std::vector<Fault> faults;
  kernel->walk([&](loop::CheckedIndexOp op) {
    if (!loop::mayFault(op))
      return;
    std::vector<std::string> names = operatorNames(op.getLoc());
    faults.push_back({"index out of range" + (names.empty() ? "" : " in " + names.front()),
                      getSizeFromAttr(op.getSize()), isWrapped(op)});
  });
  return faults;
}

void numberFaults(KernelFrame &frame, loop::KernelOp kernel) {
  int32_t code = 0;
  kernel->walk([&](loop::CheckedIndexOp op) {
    if (loop::mayFault(op))
      frame.faultCodes[op] = ++code;
  });
}

void noteFault(KernelFrame &frame, loop::CheckedIndexOp op, Value *index, Value *isOutside) {
  Ir &b = frame.b;
  Type *type = index->getType();
  auto constant = [&](uint64_t value) { return ConstantInt::get(type, value); };
  index = b.CreateBinaryIntrinsic(Intrinsic::smin, index, constant(runtime::kMostFaultIndex));
  index = b.CreateBinaryIntrinsic(Intrinsic::smax, index, constant(runtime::kLeastFaultIndex));
  Value *low = b.CreateAnd(index, constant((uint64_t(1) << runtime::kFaultIndexBits) - 1));
  Value *note =
      b.CreateNot(b.CreateOr(low, constant(uint64_t(frame.faultCodes.lookup(op)) << runtime::kFaultIndexBits)));
  if (type->isVectorTy())
    note = b.CreateIntMaxReduce(b.CreateSelect(isOutside, note, constant(0)), /*IsSigned=*/false);
  b.CreateAtomicRMW(AtomicRMWInst::UMax, frame.fault, note, Align(sizeof(uint64_t)), AtomicOrdering::Monotonic);
}

namespace {

/// Tells LLVM which buffers of a kernel are different memory. Operands that nothing is written to share a scope.
class AliasScopes {
public:
  AliasScopes(LLVMContext &context) : builder(context), domain(builder.createAnonymousAliasScopeDomain("kernel")) {}

  unsigned add() {
    scopes.push_back(builder.createAnonymousAliasScope(domain));
    return scopes.size() - 1;
  }
  AAMDNodes nodes(unsigned scope) const {
    SmallVector<Metadata *> others;
    for (unsigned i = 0; i < scopes.size(); ++i)
      if (i != scope)
        others.push_back(scopes[i]);
    AAMDNodes result;
    result.Scope = MDNode::get(domain->getContext(), {scopes[scope]});
    result.NoAlias = others.empty() ? nullptr : MDNode::get(domain->getContext(), others);
    return result;
  }

private:
  MDBuilder builder;
  MDNode *domain;
  SmallVector<Metadata *> scopes;
};

} // namespace

void setAlias(KernelFrame &frame, loop::KernelOp kernel) {
  AliasScopes scopes(frame.b.getContext());
  unsigned readOnly = scopes.add(), scratch = scopes.add();
  DenseMap<mlir::Value, unsigned> scopeOf; // by the kernel's operand: one may be passed twice
  for (mlir::Value input : kernel.getInputs())
    scopeOf[input] = readOnly;
  SmallVector<unsigned> resultScopes;
  ArrayRef<int64_t> inPlace = kernel.getInPlace();
  for (unsigned r = 0; r < kernel.getNumResults(); ++r) {
    resultScopes.push_back(scopes.add());
    if (r < inPlace.size() && inPlace[r] >= 0)
      scopeOf[kernel.getInputs()[inPlace[r]]] = resultScopes.back();
  }
  mlir::Block &body = kernel.getBody().front();
  for (mlir::Operation &member : body.without_terminator())
    for (mlir::Value result : member.getResults())
      frame.alias[result] = scopes.nodes(scratch);
  for (auto [argument, input] : zip_equal(body.getArguments(), kernel.getInputs()))
    frame.alias[argument] = scopes.nodes(scopeOf[input]);
  for (auto [result, scope] : zip_equal(body.getTerminator()->getOperands(), resultScopes))
    frame.alias[result] = scopes.nodes(scope);
}

void endWhereNothingIsIndexed(KernelFrame &frame, loop::KernelOp kernel) {
  Ir &b = frame.b;
  kernel->walk([&](loop::CheckedIndexOp op) {
    mlir::AffineExpr size = getSizeFromAttr(op.getSize());
    mlir::Operation *member = op->getParentOp();
    while (!loop::isMember(member))
      member = member->getParentOp();
    bool isOfResult = loop::getResultRegion(member) == op->getParentRegion();
    Shape domain = isOfResult ? getShape(member->getResult(0)) : loop::getDomain(member);
    if (getConstant(size).value_or(0) > 0 || is_contained(domain, getAffineConstantExpr(0, size.getContext())))
      return;
    Value *isBad = b.CreateICmpEQ(emitSize(frame, size), b.getInt64(0));
    for (mlir::AffineExpr extent : domain)
      if (!getConstant(extent))
        isBad = b.CreateAnd(isBad, b.CreateICmpSGT(emitSize(frame, extent), b.getInt64(0)));
    Function *function = b.GetInsertBlock()->getParent();
    auto *end = BasicBlock::Create(b.getContext(), "nothing", function);
    auto *next = BasicBlock::Create(b.getContext(), "something", function);
    b.CreateCondBr(isBad, end, next);
    b.SetInsertPoint(end);
    if (loop::mayFault(op))
      noteFault(frame, op, b.getInt64(0), b.getTrue());
    b.CreateRetVoid();
    b.SetInsertPoint(next);
  });
}

} // namespace ptc::kernel
