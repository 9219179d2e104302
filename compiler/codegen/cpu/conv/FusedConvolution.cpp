#include "compiler/codegen/cpu/conv/FusedConvolution.h"

#include "compiler/codegen/cpu/conv/Convolution.h"
#include "compiler/codegen/cpu/gemm/Contraction.h"
#include "compiler/codegen/cpu/tile/MicroTile.h"
#include "compiler/codegen/kernel/Loops.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;

namespace ptc::cpu {

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

/// Rows are copied by whole vectors, which may reach beyond the last one.
static constexpr int64_t kVectorBytes = 64;

int64_t FusedConvolutionPlan::scratchBytes() const { return rows * rowBytes() + kVectorBytes; }

/// From the first row that a row of the convolution reads to the last one.
static int64_t spanOf(const ConvolutionPlan &plan) { return (plan.kernel[0] - 1) * plan.dilations[0]; }

Expected<FusedConvolutionPlan> planFusedConvolution(const loop::FusedConvolution &fused, const Target &target) {
  Expected<ContractionPlan> product = planContraction(fused.product, target, /*onMatrixUnit=*/false);
  if (!product)
    return product.takeError();
  FusedConvolutionPlan plan{std::move(*product), planConvolution(fused.convolution, target), 0, 0};
  plan.width = *getConstant(plan.convolution.input[2]);
  cutPixelRows(plan.product, plan.width);
  plan.product.copyLhs = false; // its rows are pixels
  // Bands that L2 holds beside the rest, enough of them for the threads.
  constexpr int64_t kBandBytes = 256 << 10, kTasks = 16;
  int64_t stride = plan.convolution.strides[0], span = spanOf(plan.convolution);
  int64_t fit = std::max<int64_t>(1, (kBandBytes / plan.rowBytes() - span - 1) / stride + 1);
  int64_t images = getConstant(plan.convolution.output[0]).value_or(1);
  int64_t all = images * *getConstant(plan.convolution.rows);
  int64_t rowsPerTask = std::clamp<int64_t>(divideCeil(all, kTasks), 1, fit);
  cutIntoBands(plan.convolution, rowsPerTask);
  plan.rows = (rowsPerTask - 1) * stride + span + 1;
  return plan;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {

class FusedConvolutionEmitter {
public:
  FusedConvolutionEmitter(CpuFrame &frame, const loop::FusedConvolution &fused, const FusedConvolutionPlan &plan)
      : f(frame), b(frame.b), fused(fused), plan(plan), convolution(plan.convolution),
        height(*getConstant(convolution.input[1])), rows(*getConstant(convolution.rows)) {}

  void emit() {
    ConvolutionWalk walk(f, convolution);
    walk.forEachTask([&](const ConvolutionTask &task) { emitTask(task); });
  }

private:
  void emitTask(const ConvolutionTask &task);
  void moveToFront(Value *first, Value *count);

  Value *times(Value *value, int64_t factor) { return b.CreateMul(value, b.getInt64(factor)); }
  Value *plus(Value *value, int64_t number) { return b.CreateAdd(value, b.getInt64(number)); }
  Value *inImage(Value *row) {
    row = b.CreateBinaryIntrinsic(Intrinsic::smax, row, b.getInt64(0));
    return b.CreateBinaryIntrinsic(Intrinsic::smin, row, b.getInt64(height));
  }
  /// The first row of the product that a row of the convolution reads.
  Value *firstRead(Value *row) { return inImage(plus(times(row, convolution.strides[0]), -convolution.low[0])); }
  /// The row behind the last one that rows before `end` read.
  Value *endRead(Value *end) {
    return inImage(plus(times(plus(end, -1), convolution.strides[0]), spanOf(convolution) + 1 - convolution.low[0]));
  }

  CpuFrame &f;
  Ir &b;
  const loop::FusedConvolution &fused;
  const FusedConvolutionPlan &plan;
  const ConvolutionPlan &convolution;
  int64_t height, rows; ///< of an image of the product and of the convolution
};

} // namespace

/// Rows of scratch from `first` on become its first ones. A vector has no more than a row: what it overwrites is read.
void FusedConvolutionEmitter::moveToFront(Value *first, Value *count) {
  int64_t elements = plan.rowElements(), width = std::min<int64_t>(plan.product.width, bit_floor(uint64_t(elements)));
  auto *vector = FixedVectorType::get(b.getFloatTy(), width);
  Value *from = emitAddress(b, b.getFloatTy(), f.scratch, times(first, elements));
  emitLoop(b, b.getInt64(0), times(count, elements), width, [&](Value *i) {
    Value *value = b.CreateAlignedLoad(vector, emitAddress(b, b.getFloatTy(), from, i), Align(sizeof(float)));
    b.CreateAlignedStore(value, emitAddress(b, b.getFloatTy(), f.scratch, i), Align(sizeof(float)));
  });
}

void FusedConvolutionEmitter::emitTask(const ConvolutionTask &task) {
  Value *begin = firstRead(task.firstRow), *end = endRead(task.lastRow);
  // The note: which row of the convolution, counted over all images, follows the last band.
  auto note = [&](Value *row) { return b.CreateAdd(times(task.image, rows), row); };
  Value *isNext = b.CreateICmpEQ(b.CreateLoad(b.getInt64Ty(), f.kept), note(task.firstRow));
  isNext = b.CreateAnd(isNext, b.CreateICmpNE(task.firstRow, b.getInt64(0)));
  Value *kept = b.CreateBinaryIntrinsic(Intrinsic::smax, endRead(task.firstRow), begin);
  emitIf(b, isNext, [&] {
    Value *before = firstRead(plus(task.firstRow, -convolution.rowsPerTask));
    moveToFront(b.CreateSub(begin, before), b.CreateSub(kept, begin));
  });
  Value *made = b.CreateSelect(isNext, kept, begin);
  b.CreateStore(note(task.lastRow), f.kept);

  // Rows lie in scratch as if it were a part of the whole result.
  Value *image = times(task.image, height), *firstRow = b.CreateAdd(image, begin);
  Value *result = emitAddress(b, b.getInt8Ty(), f.scratch, b.CreateNeg(times(firstRow, plan.rowBytes())));
  f.pointers[fused.product->getResult(0)] = result;
  emitContractionRows(f, fused.product, plan.product, b.CreateAdd(image, made), b.CreateAdd(image, end), plan.width);
  emitGroupedTask(f, fused.convolution, convolution, task);
}

void emitFusedConvolution(CpuFrame &frame, const loop::FusedConvolution &fused, const FusedConvolutionPlan &plan) {
  FusedConvolutionEmitter(frame, fused, plan).emit();
}

} // namespace ptc::cpu
