//===- BodyEmitter.h - scalar bodies as vector code -----------------------===//
//
// Emits a region of arith, math and loop.read for `width` neighbouring points
// at once. Used for the members of loop nests and the epilogues of templates.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/kernel/KernelFrame.h"
#include "compiler/codegen/kernel/Lanes.h"

#include "mlir/IR/Region.h"

namespace ptc::loop {
class ReadOp;
class IndexOp;
class CheckedIndexOp;
} // namespace ptc::loop

namespace ptc::kernel {

class BodyEmitter {
public:
  /// Width 1 emits scalar code. `mask`: the lanes that take part (null: all).
  BodyEmitter(KernelFrame &frame, unsigned width, llvm::Value *mask = nullptr)
      : lanes(frame.b, width, mask), frame(frame) {}

  /// Emits the region for these block arguments; answers what it yields. Only one block.
  llvm::SmallVector<Lanes> emit(mlir::Region &region, llvm::ArrayRef<Lanes> arguments);

  /// The element of a tensor at (index...), as memory holds it, and the store of one.
  Lanes load(mlir::Value tensor, llvm::ArrayRef<Lanes> indices, const Lanes *where = nullptr,
             const Lanes *otherwise = nullptr);
  void store(mlir::Value tensor, llvm::ArrayRef<Lanes> indices, const Lanes &value);

  /// Of an operation that was emitted.
  Lanes valueOf(mlir::Value value) const { return values.lookup(value); }

  /// Tensors whose element at the current point is at hand: reads of them are free.
  llvm::DenseMap<mlir::Value, Lanes> registers;
  /// Results of loop.read that are at hand, as another thread has read them.
  llvm::DenseMap<mlir::Value, Lanes> reads;
  /// Stores to results bypass the caches.
  bool streaming = false;

  LaneBuilder lanes;

private:
  Memory memoryOf(mlir::Value tensor);
  Lanes emitPlace(mlir::AffineExpr place, llvm::ArrayRef<Lanes> dims);
  Lanes placeOf(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> indices, llvm::ArrayRef<Lanes> dims);
  Lanes loadAt(mlir::Value tensor, const Lanes &place, const Lanes *where, const Lanes *otherwise);

  void emitOp(mlir::Operation &op);
  std::optional<Lanes> decide(mlir::Operation &op);
  std::optional<Lanes> compareFirst(llvm::CmpInst::Predicate predicate, const Lanes &x, const Lanes &y) const;
  std::optional<llvm::ConstantRange> rangeOf(const Lanes &value) const;
  Lanes emitRead(loop::ReadOp op);
  Lanes emitCheckedIndex(loop::CheckedIndexOp op);
  bool emitIndexArith(mlir::Operation &op);

  KernelFrame &frame;
  llvm::DenseMap<mlir::Value, Lanes> values;
};

/// From registers to what is moved from and to memory, and back to values of `scalar`: a bool is a byte there, and
/// halves travel as integers, because not every machine has masked accesses for them.
Lanes packed(Ir &b, const Lanes &lanes);
Lanes unpacked(Ir &b, llvm::Value *value, llvm::Type *scalar);

/// The LLVM type of a value in a body: index is i64.
llvm::Type *valueType(llvm::LLVMContext &context, mlir::Type type);

/// Emits one operation of arith or math on scalars or vectors (all alike) and
/// answers its results (BodyOps.cpp). Null where the operation is not known.
llvm::SmallVector<llvm::Value *, 2> emitScalarOp(Ir &b, mlir::Operation &op, llvm::ArrayRef<llvm::Value *> operands);

/// The constant of an arith.constant.
llvm::Constant *emitConstant(llvm::LLVMContext &context, mlir::Attribute value);

} // namespace ptc::kernel
