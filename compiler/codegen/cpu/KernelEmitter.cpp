//===- KernelEmitter.cpp --------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"

#include "compiler/codegen/cpu/Describe.h"
#include "compiler/codegen/cpu/FusedConvolution.h"
#include "compiler/codegen/cpu/LoopNest.h"
#include "compiler/codegen/cpu/TemplateKernel.h"
#include "compiler/codegen/cpu/TileEpilogue.h"
#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "dialects/loop/Tuning.h"

#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace ptc::cpu {

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static bool hasCode(mlir::Type type) {
  if (auto tensor = dyn_cast<mlir::RankedTensorType>(type))
    type = tensor.getElementType();
  return type.isF32() || type.isF64() || type.isF16() || type.isBF16() || isa<mlir::IndexType, mlir::IntegerType>(type);
}

static Error checkBodies(loop::KernelOp kernel) {
  for (mlir::Type type :
       concat<const mlir::Type>(to_vector(kernel->getOperandTypes()), to_vector(kernel->getResultTypes())))
    if (!hasCode(type)) {
      std::string text;
      raw_string_ostream(text) << type;
      return createStringError("kernel " + kernel.getName() + ": no CPU code for elements of " + text);
    }
  Error error = Error::success();
  kernel->walk([&](mlir::Operation *op) {
    bool isKnown = op == kernel || op->getDialect()->getNamespace() == "loop" ||
                   op->getName().getStringRef() == "arith.constant" || isScalarOp(op->getName().getStringRef());
    if (isKnown || error)
      return;
    error = createStringError("kernel " + kernel.getName() + ": no CPU code for " + op->getName().getStringRef());
  });
  return error;
}

static Expected<KernelPlan> planByMembers(loop::KernelOp kernel, const Target &target) {
  if (Error error = checkBodies(kernel))
    return error;
  if (auto fused = loop::getFusedConvolution(kernel)) {
    Expected<FusedConvolutionPlan> plan = planFusedConvolution(*fused, target);
    if (!plan)
      return plan.takeError();
    auto bytes = getAffineConstantExpr(plan->scratchBytes(), kernel.getContext());
    return KernelPlan{plan->convolution.tasks, bytes,
                      [fused = *fused, plan = *plan](CpuFrame &frame) { emitFusedConvolution(frame, fused, plan); },
                      describe(*fused, *plan)};
  }
  mlir::Operation *first = &kernel.getBody().front().front();
  if (loop::isTemplate(first)) {
    Expected<TemplateKernel> plan = planTemplate(first, target);
    if (!plan)
      return plan.takeError();
    return KernelPlan{plan->tasks, plan->scratchBytes, std::move(plan->emit), std::move(plan->algorithm)};
  }
  if (isa<loop::ScatterOp>(first))
    return planScatter(kernel, target);
  if (isa<loop::SortOp>(first))
    return planSort(kernel);
  if (isa<loop::MatrixOp>(first))
    return planMatrix(kernel);
  auto plan = std::make_shared<NestPlan>(planNest(kernel, target));
  return KernelPlan{plan->tasks, plan->scratchBytes, [plan](CpuFrame &frame) { emitNest(frame, *plan); },
                    describe(kernel, *plan)};
}

Expected<KernelPlan> planKernel(loop::KernelOp kernel, const Target &target) {
  Expected<KernelPlan> plan = planByMembers(kernel, target);
  if (!plan)
    return plan;
  std::string tuning = loop::describeTuning(kernel);
  plan->algorithm.because = joinReasons({tuning.empty() ? "" : "tuning entry: " + tuning, plan->algorithm.because});
  return plan;
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

static std::vector<std::string> operatorNames(mlir::Location loc) {
  std::vector<std::string> names;
  loc->walk([&](mlir::Location l) {
    if (auto name = dyn_cast<mlir::NameLoc>(l))
      names.push_back(name.getName().str());
    return mlir::WalkResult::advance();
  });
  return names;
}

std::vector<std::string> faultTexts(loop::KernelOp kernel) {
  std::vector<std::string> texts;
  kernel->walk([&](loop::CheckedIndexOp op) {
    std::vector<std::string> names = operatorNames(op.getLoc());
    texts.push_back("index out of range" + (names.empty() ? "" : " in " + names.front()));
  });
  return texts;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

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

static void setAlias(CpuFrame &frame, loop::KernelOp kernel) {
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

static Function *declareKernel(Module &module, StringRef symbol, const Target &target) {
  LLVMContext &context = module.getContext();
  Type *pointer = PointerType::getUnqual(context), *i64 = Type::getInt64Ty(context);
  auto *type = FunctionType::get(Type::getVoidTy(context), {pointer, pointer, pointer, i64, i64}, false);
  auto *function = Function::Create(type, Function::ExternalLinkage, symbol, module);
  function->setAlignment(Align(kCodeAlignment));
  function->setVisibility(GlobalValue::HiddenVisibility);
  function->setDoesNotThrow();
  for (unsigned i = 0; i < 3; ++i)
    function->addParamAttr(i, Attribute::NoAlias);
  // Whole registers, also where the tuning of a CPU would rather not.
  std::string bits = std::to_string(target.vectorBytes * 8);
  function->addFnAttr("min-legal-vector-width", bits);
  function->addFnAttr("prefer-vector-width", bits);
  return function;
}

/// An index that is out of range is noted, and another element read in its stead. Of nothing there is no other: the
/// task ends before it begins.
static void endWhereNothingIsIndexed(CpuFrame &frame, loop::KernelOp kernel) {
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
    b.CreateStore(b.getInt32(frame.faultCodes.lookup(op)), frame.fault);
    b.CreateRetVoid();
    b.SetInsertPoint(next);
  });
}

void emitKernel(Module &module, loop::KernelOp kernel, const KernelPlan &plan, StringRef symbol, const Target &target) {
  Function *function = declareKernel(module, symbol, target);
  Ir b(BasicBlock::Create(module.getContext(), "entry", function));
  Type *pointer = b.getPtrTy(), *i64 = b.getInt64Ty();
  MDNode *empty = MDNode::get(b.getContext(), {});
  auto loadField = [&](Type *type, Value *base, unsigned index) {
    LoadInst *load = b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(type, base, index));
    load->setMetadata(LLVMContext::MD_invariant_load, empty);
    return load;
  };
  Value *worker = function->getArg(2);
  CpuFrame frame(b);
  frame.scratch = loadField(pointer, worker, 0);
  frame.fault = loadField(pointer, worker, 1);
  frame.kept = b.CreateConstInBoundsGEP1_64(i64, worker, 2);
  frame.begin = function->getArg(3);
  frame.end = function->getArg(4);
  mlir::Block &body = kernel.getBody().front();
  unsigned slot = 0;
  for (mlir::Value argument : body.getArguments())
    frame.pointers[argument] = loadField(pointer, function->getArg(0), slot++);
  for (mlir::Value result : body.getTerminator()->getOperands())
    frame.pointers[result] = loadField(pointer, function->getArg(0), slot++);
  for (unsigned i = 0, count = getSymbols(kernel).size(); i < count; ++i)
    frame.symbols.push_back(loadField(i64, function->getArg(1), i));
  int32_t code = 0;
  kernel->walk([&](loop::CheckedIndexOp op) { frame.faultCodes[op] = ++code; });
  setAlias(frame, kernel);
  endWhereNothingIsIndexed(frame, kernel);
  plan.emit(frame);
  b.CreateRetVoid();
}

} // namespace ptc::cpu
