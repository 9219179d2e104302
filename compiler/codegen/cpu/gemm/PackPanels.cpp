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

/// Nested loops over all of k but the innermost: body(place in k of what is packed, offset in rhs).
static void forEachRun(CpuFrame &f, ArrayRef<ReductionLoop> loops, Value *place, Value *offset,
                       function_ref<void(Value *, Value *)> body) {
  if (loops.size() == 1)
    return body(place, offset);
  Ir &b = f.b;
  Value *size = emitSize(f, loops.front().size), *stride = emitSize(f, loops.front().rhsStride);
  emitLoop(b, b.getInt64(0), size, 1, [&](Value *i) {
    Value *at = b.CreateAdd(b.CreateMul(place, size), i), *from = b.CreateAdd(offset, b.CreateMul(i, stride));
    forEachRun(f, loops.drop_front(), at, from, body);
  });
}

namespace {
/// Packs a right-hand side whose k is contiguous, as in x w^T: squares of as many columns as a vector has lanes, and as
/// many steps of k, are transposed in registers.
class SquarePacker {
public:
  SquarePacker(CpuFrame &frame, const ContractionPlan &plan, Type *element)
      : f(frame), b(frame.b), plan(plan), element(element), align(element->getScalarSizeInBits() / 8),
        steps(plan.width * plan.group) {
    bool isSingle = plan.group == 1; // else the elements of a step move as one number
    Type *unit = isSingle ? element : b.getIntNTy(element->getScalarSizeInBits() * plan.group);
    loaded = FixedVectorType::get(element, steps);
    moved = FixedVectorType::get(unit, plan.width);
  }

  /// The columns from `first` on, `count` of them: whole panels.
  void pack(Value *first, Value *count, function_ref<Value *(Value *)> addressOf) {
    Value *last = b.CreateSub(emitSize(f, plan.nSize), b.getInt64(1));
    Value *panelSize = b.CreateMul(emitSize(f, plan.packedReductionSize()), b.getInt64(plan.panel));
    emitLoop(b, b.getInt64(0), count, plan.width, [&](Value *column) {
      columns.clear();
      for (unsigned i = 0; i < plan.width; ++i) { // nobody looks at what stands for columns that are not there
        Value *at = b.CreateAdd(first, b.CreateAdd(column, b.getInt64(i)));
        columns.push_back(addressOf(b.CreateBinaryIntrinsic(Intrinsic::smin, at, last)));
      }
      Value *panel = b.CreateMul(b.CreateUDiv(column, b.getInt64(plan.panel)), panelSize);
      Value *lane = b.CreateMul(b.CreateURem(column, b.getInt64(plan.panel)), b.getInt64(plan.group));
      to = emitAddress(b, element, f.scratch, b.CreateAdd(panel, lane));
      forEachRun(f, plan.k, b.getInt64(0), b.getInt64(0), [&](Value *place, Value *offset) { packRun(place, offset); });
    });
  }

private:
  /// The innermost k.
  void packRun(Value *place, Value *offset) {
    Value *size = emitSize(f, plan.k.back().size),
          *packed = emitSize(f, plan.k.back().size.ceilDiv(plan.group) * plan.group);
    Value *begin = b.CreateMul(place, packed), *whole = b.CreateSub(size, b.CreateURem(size, b.getInt64(steps)));
    emitLoop(b, b.getInt64(0), whole, steps, [&](Value *k) {
      SmallVector<Value *> square;
      for (Value *column : columns) {
        Value *address = emitAddress(b, element, column, b.CreateAdd(offset, k));
        square.push_back(b.CreateBitCast(b.CreateAlignedLoad(loaded, address, align), moved));
      }
      emitTranspose(b, square);
      for (auto [i, row] : enumerate(square)) {
        Value *at = b.CreateAdd(b.CreateAdd(begin, k), b.getInt64(i * plan.group));
        b.CreateAlignedStore(row, emitAddress(b, element, to, b.CreateMul(at, b.getInt64(plan.panel))), align);
      }
    });
    emitLoop(b, whole, size, plan.group, [&](Value *k) {
      Value *left = plan.group > 1 ? b.CreateSub(size, k) : nullptr;
      Value *row = emitAddress(b, element, to, b.CreateMul(b.CreateAdd(begin, k), b.getInt64(plan.panel)));
      for (auto [i, column] : enumerate(columns)) {
        Value *from = emitAddress(b, element, column, b.CreateAdd(offset, k));
        Value *value = emitLoadGroup(b, element, plan.group, from, b.getInt64(1), left);
        b.CreateAlignedStore(value, emitAddress(b, element, row, b.getInt64(i * plan.group)), align);
      }
    });
  }

  CpuFrame &f;
  Ir &b;
  const ContractionPlan &plan;
  Type *element;
  Align align;
  unsigned steps; ///< of k, in a square
  FixedVectorType *loaded, *moved;
  SmallVector<Value *> columns; ///< addresses at k = 0
  Value *to = nullptr;          ///< the first column at k = 0
};
} // namespace

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
  Value *columns = b.CreateMul(count, width);
  if (getConstant(plan.k.back().rhsStride) == 1)
    return SquarePacker(f, plan, element).pack(first, columns, addressOf);
  // Neither columns nor k are contiguous: a column at a time.
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
