#include "compiler/codegen/cuda/PartialSums.h"

#include "compiler/codegen/kernel/IndexExpr.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::emitSize;

Value *placePartialSums(GpuFrame &f, const Product &product, Value *part, ArrayRef<Value *> batch) {
  Ir &b = f.b;
  Value *matrix = part;
  for (auto [index, size] : zip_equal(batch, product.batch))
    matrix = b.CreateAdd(b.CreateMul(matrix, emitSize(f, size)), index);
  Value *first = b.CreateMul(matrix, emitSize(f, product.m * product.n));
  return kernel::emitAddress(b, product.sumType(b), f.workspace, first);
}

void finishSum(GpuFrame &f, const Product &product, unsigned parts, Value *part, ArrayRef<Value *> batch, Value *row,
               Value *column, Value *sum) {
  if (parts == 1)
    return product.finish(f, batch, row, column, sum);
  Ir &b = f.b;
  Value *place = b.CreateAdd(b.CreateMul(row, emitSize(f, product.n)), column);
  b.CreateStore(sum, kernel::emitAddress(b, sum->getType(), placePartialSums(f, product, part, batch), place));
}

/// Results that a thread takes: columns side by side.
static mlir::AffineExpr countSums(const Product &product) {
  return product.batches * product.m * product.n.floorDiv(product.columnsTogether);
}

/// Adds up the parts' sums in order.
static void emitSums(GpuFrame &f, const Product &product, unsigned parts) {
  Ir &b = f.b;
  unsigned width = product.columnsTogether;
  Type *sum = product.sumType(b);
  Value *point = b.CreateAdd(b.CreateMul(f.gpu.blockIndex(b), b.getInt64(f.threads)), f.gpu.threadIndex(b));
  kernel::emitIf(b, b.CreateICmpSLT(point, emitSize(f, countSums(product))), [&] {
    Shape sizes = product.batch;
    sizes.append({product.m, product.n.floorDiv(width)});
    SmallVector<Value *> indices = Product::split(f, point, sizes);
    Value *column = b.CreateMul(indices.pop_back_val(), b.getInt64(width)), *row = indices.pop_back_val();
    Value *results = emitSize(f, product.batches * product.m * product.n),
          *place = b.CreateMul(point, b.getInt64(width));
    Type *type = width > 1 ? FixedVectorType::get(sum, width) : sum;
    Align align(std::min<unsigned>(kVectorBytes, width * (sum->getPrimitiveSizeInBits() / 8)));
    Value *total = nullptr;
    for (unsigned part = 0; part < parts; ++part) {
      Value *at = b.CreateAdd(b.CreateMul(results, b.getInt64(part)), place);
      Value *one = b.CreateAlignedLoad(type, kernel::emitAddress(b, sum, f.workspace, at), align);
      total = !total ? one : sum->isFloatingPointTy() ? b.CreateFAdd(total, one) : b.CreateAdd(total, one);
    }
    product.finish(f, indices, row, column, total);
  });
}

void addPartialSums(KernelPlan &plan, std::shared_ptr<const Product> product, unsigned parts, unsigned sumBytes) {
  constexpr unsigned kThreads = 256;
  plan.grids.push_back({countSums(*product).ceilDiv(kThreads), kThreads,
                        [product, parts](GpuFrame &frame) { emitSums(frame, *product, parts); }});
  plan.workspaceBytes = product->batches * product->m * product->n * (parts * sumBytes);
}

} // namespace ptc::cuda
