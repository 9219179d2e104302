#include "compiler/codegen/cuda/GpuBuilder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/NVPTXAddrSpace.h"

using namespace llvm;

namespace ptc::cuda {

/// Of the driver's, with its alignment.
constexpr unsigned kMapBytes = 128, kMapAlignment = 64;

Function *NvvmBuilder::createKernel(Module &module, StringRef name, unsigned pointers, unsigned numbers, unsigned maps,
                                    unsigned threads, unsigned resident) {
  LLVMContext &context = module.getContext();
  SmallVector<Type *> types(pointers, PointerType::getUnqual(context));
  types.append(numbers, Type::getInt64Ty(context));
  types.append(maps, PointerType::getUnqual(context));
  auto *type = FunctionType::get(Type::getVoidTy(context), types, /*isVarArg=*/false);
  auto *function = Function::Create(type, Function::ExternalLinkage, name, module);
  function->setCallingConv(CallingConv::PTX_Kernel);
  function->setDoesNotThrow();
  function->addFnAttr("nvvm.maxntid", std::to_string(threads));
  if (resident)
    function->addFnAttr("nvvm.minctasm", std::to_string(resident));
  Type *map = ArrayType::get(Type::getInt8Ty(context), kMapBytes);
  for (Argument &parameter : drop_begin(function->args(), pointers + numbers)) {
    parameter.addAttr(Attribute::getWithByValType(context, map));
    parameter.addAttr(Attribute::getWithAlignment(context, Align(kMapAlignment)));
    parameter.addAttr(Attribute::get(context, "nvvm.grid_constant"));
  }
  return function;
}

static Value *readIndex(Ir &b, Intrinsic::ID id) { return b.CreateZExt(b.CreateIntrinsic(id, {}), b.getInt64Ty()); }

Value *NvvmBuilder::threadIndex(Ir &b) { return readIndex(b, Intrinsic::nvvm_read_ptx_sreg_tid_x); }
Value *NvvmBuilder::blockIndex(Ir &b) { return readIndex(b, Intrinsic::nvvm_read_ptx_sreg_ctaid_x); }
Value *NvvmBuilder::blockCount(Ir &b) { return readIndex(b, Intrinsic::nvvm_read_ptx_sreg_nctaid_x); }

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

Value *NvvmBuilder::exp2(Ir &b, Value *x) {
  return b.CreateIntrinsic(Intrinsic::nvvm_ex2_approx_ftz, {x->getType()}, {x});
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

/// Each kernel declares it under a name of its own, so that the texts of several can be one module.
Value *NvvmBuilder::dynamicShared(Ir &b) {
  Function *function = b.GetInsertBlock()->getParent();
  Module &module = *function->getParent();
  std::string name = (function->getName() + "_memory").str();
  if (GlobalVariable *known = module.getNamedGlobal(name))
    return known;
  auto *memory =
      new GlobalVariable(module, ArrayType::get(b.getInt8Ty(), 0), /*isConstant=*/false, GlobalValue::ExternalLinkage,
                         nullptr, name, nullptr, GlobalValue::NotThreadLocal, NVPTXAS::ADDRESS_SPACE_SHARED);
  memory->setAlignment(Align(1024));
  return memory;
}

Value *NvvmBuilder::uniform(Ir &b, Value *value) {
  return b.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_idx_i32,
                           {b.getInt32(-1), value, b.getInt32(0), b.getInt32(kWarp - 1)});
}

void NvvmBuilder::warpBarrier(Ir &b) { b.CreateIntrinsic(Intrinsic::nvvm_bar_warp_sync, {b.getInt32(-1)}); }

/// 16 bytes go by L2 alone: what several blocks read is there, and L1 is full of what others copy.
static Intrinsic::ID getCopy(unsigned bytes) {
  return bytes == 16  ? Intrinsic::nvvm_cp_async_cg_shared_global_16_s
         : bytes == 8 ? Intrinsic::nvvm_cp_async_ca_shared_global_8_s
                      : Intrinsic::nvvm_cp_async_ca_shared_global_4_s;
}

void NvvmBuilder::copyAsync(Ir &b, Value *to, Value *from, unsigned bytes, Value *isThere) {
  Value *global = b.CreateAddrSpaceCast(from, b.getPtrTy(NVPTXAS::ADDRESS_SPACE_GLOBAL));
  Value *read = b.getInt32(bytes);
  if (isThere)
    read = b.CreateSelect(isThere, read, b.getInt32(0));
  b.CreateIntrinsic(getCopy(bytes), {to, global, read});
}

void NvvmBuilder::commitCopies(Ir &b) { b.CreateIntrinsic(Intrinsic::nvvm_cp_async_commit_group, {}); }

void NvvmBuilder::waitForCopies(Ir &b, unsigned groups) {
  b.CreateIntrinsic(Intrinsic::nvvm_cp_async_wait_group, {b.getInt32(groups)});
}

/// The members of what an instruction with several results answers.
static SmallVector<Value *, 4> unpack(Ir &b, Value *answer) {
  SmallVector<Value *, 4> members;
  for (unsigned i = 0; i < cast<StructType>(answer->getType())->getNumElements(); ++i)
    members.push_back(b.CreateExtractValue(answer, i));
  return members;
}

SmallVector<Value *, 4> NvvmBuilder::loadMatrices(Ir &b, Value *row, bool transposes) {
  Intrinsic::ID id = transposes ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                                : Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16;
  return unpack(b, b.CreateIntrinsic(id, {row->getType()}, {row}));
}

/// What the instruction adds to the sums, which are its last operands.
static void emitMma(Ir &b, Intrinsic::ID id, ArrayRef<Value *> lhs, ArrayRef<Value *> rhs,
                    MutableArrayRef<Value *> sums) {
  SmallVector<Value *> operands(lhs);
  append_range(operands, rhs);
  append_range(operands, sums);
  copy(unpack(b, b.CreateIntrinsic(id, {}, operands)), sums.begin());
}

void NvvmBuilder::multiplyMatrices(Ir &b, Type *element, ArrayRef<Value *> lhs, ArrayRef<Value *> rhs,
                                   MutableArrayRef<Value *> sums) {
  if (element->isDoubleTy()) {
    for (unsigned half = 0; half < lhs.size(); ++half)
      emitMma(b, Intrinsic::nvvm_mma_m8n8k4_row_col_f64, lhs[half], rhs, sums.slice(2 * half, 2));
    return;
  }
  if (!element->isHalfTy()) {
    Intrinsic::ID id =
        element->isFloatTy() ? Intrinsic::nvvm_mma_m16n8k8_row_col_tf32 : Intrinsic::nvvm_mma_m16n8k16_row_col_bf16;
    return emitMma(b, id, lhs, rhs, sums);
  }
  auto asPairs = [&](ArrayRef<Value *> words) {
    auto *pair = FixedVectorType::get(element, 2);
    return to_vector(map_range(words, [&](Value *word) { return b.CreateBitCast(word, pair); }));
  };
  emitMma(b, Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32, asPairs(lhs), asPairs(rhs), sums);
}

void NvvmBuilder::multiplyBytes(Ir &b, bool isLhsUnsigned, bool isRhsUnsigned, ArrayRef<Value *> lhs,
                                ArrayRef<Value *> rhs, MutableArrayRef<Value *> sums) {
  Intrinsic::ID id = isLhsUnsigned   ? isRhsUnsigned ? Intrinsic::nvvm_mma_m16n8k32_row_col_u8
                                                     : Intrinsic::nvvm_mma_m16n8k32_row_col_u8_s8
                     : isRhsUnsigned ? Intrinsic::nvvm_mma_m16n8k32_row_col_s8_u8
                                     : Intrinsic::nvvm_mma_m16n8k32_row_col_s8;
  emitMma(b, id, lhs, rhs, sums);
}

Value *NvvmBuilder::roundToTf32(Ir &b, Value *bits) {
  return b.CreateIntrinsic(Intrinsic::nvvm_f2tf32_rna, {b.CreateBitCast(bits, b.getFloatTy())});
}

//===----------------------------------------------------------------------===//
// Products of warpgroups
//===----------------------------------------------------------------------===//

void NvvmBuilder::fenceForProducts(Ir &b) { b.CreateIntrinsic(Intrinsic::nvvm_fence_proxy_async_shared_cta, {}); }

void NvvmBuilder::beginProducts(Ir &b) { b.CreateIntrinsic(Intrinsic::nvvm_wgmma_fence_sync_aligned, {}); }

void NvvmBuilder::commitProducts(Ir &b) { b.CreateIntrinsic(Intrinsic::nvvm_wgmma_commit_group_sync_aligned, {}); }

/// An instruction that changes the sums in place and reads `others`: results 0 to n - 1, which the first n operands are
/// tied to. What reads the sums cannot move above it.
static void emitOnSums(Ir &b, const Twine &text, MutableArrayRef<Value *> sums, ArrayRef<Value *> others) {
  std::string constraints;
  Type *sum = sums.front()->getType();
  for (unsigned i = 0; i < sums.size(); ++i)
    constraints += sum->isFloatTy() ? "=f," : "=r,";
  for (unsigned i = 0; i < sums.size(); ++i)
    constraints += std::to_string(i) + ",";
  for (Value *other : others)
    constraints += other->getType()->isIntegerTy(64) ? "l," : "r,";
  SmallVector<Value *> operands(sums.begin(), sums.end());
  append_range(operands, others);
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  auto *result = StructType::get(b.getContext(), SmallVector<Type *>(sums.size(), sum));
  auto *type = FunctionType::get(result, types, /*isVarArg=*/false);
  InlineAsm *instruction = InlineAsm::get(type, text.str(), constraints + "~{memory}", /*hasSideEffects=*/true);
  CallInst *call = b.CreateCall(instruction, operands);
  call->addFnAttr(Attribute::Convergent);
  call->addFnAttr(Attribute::NoUnwind);
  for (unsigned i = 0; i < sums.size(); ++i)
    sums[i] = b.CreateExtractValue(call, i);
}

/// The sums' registers, as an instruction's text has them.
static std::string nameRegisters(unsigned first, unsigned count) {
  std::string names;
  for (unsigned i = first; i < first + count; ++i)
    names += (i == first ? "$" : ", $") + std::to_string(i);
  return names;
}

static const char *nameElement(Type *element, bool isUnsigned = false) {
  return element->isIntegerTy()  ? isUnsigned ? "u8" : "s8"
         : element->isFloatTy()  ? "tf32"
         : element->isBFloatTy() ? "bf16"
                                 : "f16";
}

void NvvmBuilder::startProduct(Ir &b, Type *element, SharedMatrix lhs, SharedMatrix rhs, MutableArrayRef<Value *> sums,
                               Value *isMore) {
  constexpr unsigned kDepthBytes = 32;
  unsigned count = sums.size(), bytes = element->getScalarSizeInBits() / 8;
  std::string signs = element->isIntegerTy() ? "" : ", 1, 1"; // of operands
  if (bytes == 2)
    signs += formatv(", {0}, {1}", int(!lhs.isDeep), int(!rhs.isDeep)); // others have the depth side by side
  std::string text =
      formatv("{{ .reg .pred p; setp.ne.b32 p, ${0}, 0; wgmma.mma_async.sync.aligned.m64n{1}k{2}.{3}.{4}.{5} {{{6}}, "
              "${7}, ${8}, p{9}; }",
              2 * count + 2, 2 * count, kDepthBytes / bytes, element->isIntegerTy() ? "s32" : "f32",
              nameElement(element, lhs.isUnsigned), nameElement(element, rhs.isUnsigned), nameRegisters(0, count),
              2 * count, 2 * count + 1, signs);
  emitOnSums(b, text, sums, {lhs.descriptor, rhs.descriptor, isMore});
}

void NvvmBuilder::startProduct(Ir &b, Type *element, ArrayRef<Value *> lhs, SharedMatrix rhs,
                               MutableArrayRef<Value *> sums) {
  unsigned count = sums.size();
  std::string text = formatv("wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1} {{{2}}, {{{3}}, ${4}, 1, 1, 1, {5};",
                             2 * count, nameElement(element), nameRegisters(0, count),
                             nameRegisters(2 * count, lhs.size()), 2 * count + lhs.size(), int(!rhs.isDeep));
  SmallVector<Value *> operands(lhs);
  operands.push_back(rhs.descriptor);
  emitOnSums(b, text, sums, operands);
}

void NvvmBuilder::waitForProducts(Ir &b, unsigned groups, MutableArrayRef<Value *> sums, ArrayRef<Value *> operands) {
  emitOnSums(b, "wgmma.wait_group.sync.aligned " + Twine(groups) + ";", sums, operands);
}

void NvvmBuilder::comeTogether(Ir &b, Value *barrier, unsigned threads) {
  b.CreateIntrinsic(Intrinsic::nvvm_barrier_cta_sync_aligned_count, {barrier, b.getInt32(threads)});
}

void NvvmBuilder::comeBy(Ir &b, Value *barrier, unsigned threads) {
  b.CreateIntrinsic(Intrinsic::nvvm_barrier_cta_arrive_aligned_count, {barrier, b.getInt32(threads)});
}

void NvvmBuilder::raiseRegisters(Ir &b, unsigned registers) {
  b.CreateIntrinsic(Intrinsic::nvvm_setmaxnreg_inc_sync_aligned_u32, {b.getInt32(registers)});
}

void NvvmBuilder::lowerRegisters(Ir &b, unsigned registers) {
  b.CreateIntrinsic(Intrinsic::nvvm_setmaxnreg_dec_sync_aligned_u32, {b.getInt32(registers)});
}

} // namespace ptc::cuda
