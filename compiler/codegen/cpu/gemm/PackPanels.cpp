#include "compiler/codegen/cpu/gemm/PackPanels.h"

#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/cpu/tile/TileEpilogue.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"

using namespace llvm;

namespace ptc::cpu {

/// Nested loops over k in steps of `group`: body(place in packed k, offset in rhs, how many of the step are there).
/// Null stands for all.
static void forEachK(CpuFrame &f, ArrayRef<ReductionLoop> loops, unsigned group, Value *place, Value *offset,
                     function_ref<void(Value *, Value *, Value *)> body) {
  Ir &b = f.b;
  bool isInnermost = loops.size() == 1;
  Value *size = emitSize(f, loops.front().size), *packed = size;
  if (isInnermost)
    packed = emitSize(f, loops.front().size.ceilDiv(group) * group);
  Value *stride = emitSize(f, loops.front().rhsStride);
  emitLoop(b, b.getInt64(0), size, isInnermost ? group : 1, [&](Value *i) {
    Value *at = b.CreateAdd(b.CreateMul(place, packed), i), *from = b.CreateAdd(offset, b.CreateMul(i, stride));
    if (isInnermost)
      body(at, from, packed == size ? nullptr : b.CreateSub(size, i));
    else
      forEachK(f, loops.drop_front(), group, at, from, body);
  });
}

void packPanels(CpuFrame &f, const ContractionPlan &plan, Type *element, Value *firstPanel, Value *lastPanel,
                function_ref<Value *(Value *)> addressOf) {
  Ir &b = f.b;
  Value *n = emitSize(f, plan.nSize), *packedK = emitSize(f, plan.packedReductionSize());
  Align align(element->getScalarSizeInBits() / 8);
  Value *width = b.getInt64(plan.panel), *first = b.CreateMul(firstPanel, width), *zero = b.getInt64(0);
  Value *panelSize = b.CreateMul(packedK, width), *count = b.CreateSub(lastPanel, firstPanel);
  Value *kStride = emitSize(f, plan.k.back().rhsStride);
  if (plan.rhsColumnStride && getConstant(plan.rhsColumnStride) == 1) {
    Value *from = addressOf(first);
    forEachK(f, plan.k, plan.group, zero, zero, [&](Value *place, Value *offset, Value *there) {
      emitLoop(b, zero, count, 1, [&](Value *panel) {
        Value *column = b.CreateMul(panel, width), *left = b.CreateSub(n, b.CreateAdd(first, column));
        Value *source = emitAddress(b, element, from, b.CreateAdd(offset, column));
        Value *to = b.CreateAdd(b.CreateMul(panel, panelSize), b.CreateMul(place, width));
        auto *type = FixedVectorType::get(element, plan.width);
        auto lanesBelow = [&](unsigned j) {
          return emitLanesBelow(b, plan.width, b.CreateSub(left, b.getInt64(j * plan.width)));
        };
        auto load = [&](Value *address, Value *mask) { return emitMaskedLoad(b, type, address, align, mask); };
        for (unsigned j = 0; j < plan.panel / plan.width; ++j) {
          Value *address = emitAddress(b, element, source, b.getInt64(j * plan.width)), *mask = lanesBelow(j);
          Value *value = load(address, mask);
          if (plan.group == 2) {
            if (there)
              mask = b.CreateAnd(mask, b.CreateVectorSplat(plan.width, b.CreateICmpSGT(there, b.getInt64(1))));
            value = emitInterleave(b, value, load(emitAddress(b, element, address, kStride), mask));
          }
          Value *at = b.CreateAdd(to, b.getInt64(j * plan.width * plan.group));
          b.CreateAlignedStore(value, emitAddress(b, element, f.scratch, at), align);
        }
      });
    });
    return;
  }
  // k is contiguous, as in q k^T: a column at a time.
  Value *columns = b.CreateMul(count, width);
  emitLoop(b, zero, columns, 1, [&](Value *column) {
    Value *place = b.CreateMul(b.CreateUDiv(column, width), panelSize);
    Value *inPanel = b.CreateMul(b.CreateURem(column, width), b.getInt64(plan.group));
    Value *to = emitAddress(b, element, f.scratch, b.CreateAdd(place, inPanel));
    auto store = [&](Value *at, Value *value) {
      b.CreateAlignedStore(value, emitAddress(b, element, to, b.CreateMul(at, width)), align);
    };
    Value *inside = b.CreateICmpSLT(b.CreateAdd(first, column), n);
    emitIf(b, inside, [&] {
      Value *from = addressOf(b.CreateAdd(first, column));
      forEachK(f, plan.k, plan.group, zero, zero, [&](Value *at, Value *offset, Value *there) {
        store(at, emitLoadGroup(b, element, plan.group, emitAddress(b, element, from, offset), kStride, there));
      });
    });
    emitIf(b, b.CreateNot(inside), [&] {
      Type *type = plan.group > 1 ? FixedVectorType::get(element, plan.group) : element;
      emitLoop(b, zero, packedK, plan.group, [&](Value *at) { store(at, Constant::getNullValue(type)); });
    });
  });
}

} // namespace ptc::cpu
