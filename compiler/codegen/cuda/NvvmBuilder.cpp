#include "compiler/codegen/cuda/GpuBuilder.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/NVPTXAddrSpace.h"

using namespace llvm;

namespace ptc::cuda {

Function *NvvmBuilder::createKernel(Module &module, StringRef name, unsigned pointers, unsigned numbers,
                                    unsigned threads) {
  LLVMContext &context = module.getContext();
  SmallVector<Type *> types(pointers, PointerType::getUnqual(context));
  types.append(numbers, Type::getInt64Ty(context));
  auto *type = FunctionType::get(Type::getVoidTy(context), types, /*isVarArg=*/false);
  auto *function = Function::Create(type, Function::ExternalLinkage, name, module);
  function->setCallingConv(CallingConv::PTX_Kernel);
  function->setDoesNotThrow();
  function->addFnAttr("nvvm.maxntid", std::to_string(threads));
  return function;
}

static Value *readIndex(Ir &b, Intrinsic::ID id) { return b.CreateZExt(b.CreateIntrinsic(id, {}), b.getInt64Ty()); }

Value *NvvmBuilder::threadIndex(Ir &b) { return readIndex(b, Intrinsic::nvvm_read_ptx_sreg_tid_x); }
Value *NvvmBuilder::blockIndex(Ir &b) { return readIndex(b, Intrinsic::nvvm_read_ptx_sreg_ctaid_x); }

void NvvmBuilder::barrier(Ir &b) { b.CreateIntrinsic(Intrinsic::nvvm_barrier_cta_sync_aligned_all, {b.getInt32(0)}); }

/// All threads of the device.
static SyncScope::ID getScope(Ir &b) { return b.getContext().getOrInsertSyncScopeID("device"); }

void NvvmBuilder::atomic(Ir &b, AtomicRMWInst::BinOp combine, Value *address, Value *value) {
  b.CreateAtomicRMW(combine, address, value, MaybeAlign(), AtomicOrdering::Monotonic, getScope(b));
}

Value *NvvmBuilder::compareAndSwap(Ir &b, Value *address, Value *expected, Value *next) {
  Value *pair = b.CreateAtomicCmpXchg(address, expected, next, MaybeAlign(), AtomicOrdering::Monotonic,
                                      AtomicOrdering::Monotonic, getScope(b));
  return b.CreateExtractValue(pair, 0);
}

Value *NvvmBuilder::loadRelaxed(Ir &b, Type *type, Value *address) {
  LoadInst *value = b.CreateLoad(type, address);
  value->setAtomic(AtomicOrdering::Monotonic, getScope(b));
  return value;
}

Value *NvvmBuilder::shuffle(Ir &b, Value *value, unsigned mask) {
  Value *all = b.getInt32(-1), *lanes = b.getInt32(kWarp - 1);
  return b.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_bfly_i32, {all, value, b.getInt32(mask), lanes});
}

Value *NvvmBuilder::shared(Ir &b, Type *element, unsigned count) {
  Module &module = *b.GetInsertBlock()->getModule();
  auto *type = ArrayType::get(element, count);
  auto *memory =
      new GlobalVariable(module, type, /*isConstant=*/false, GlobalValue::InternalLinkage, PoisonValue::get(type),
                         "shared", nullptr, GlobalValue::NotThreadLocal, NVPTXAS::ADDRESS_SPACE_SHARED);
  memory->setAlignment(Align(16));
  return b.CreateAddrSpaceCast(memory, b.getPtrTy());
}

} // namespace ptc::cuda
