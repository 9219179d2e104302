#include "compiler/codegen/kernel/MatrixCall.h"

#include "compiler/codegen/kernel/IndexExpr.h"
#include "dialects/core/MatrixSignature.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace ptc::kernel {

MatrixCall::MatrixCall(loop::KernelOp kernel) {
  auto op = cast<loop::MatrixOp>(kernel.getBody().front().front());
  mlir::MLIRContext *context = op.getContext();
  MatrixSignature signature = *MatrixSignature::find(op.getAlgorithm());
  isDouble = loop::getScalarType(op.getInputs()[0]).isF64();
  symbol = ("ptc_matrix_" + op.getAlgorithm() + (isDouble ? "_f64" : "_f32")).str();
  SmallVector<Shape> shapes;
  for (mlir::Value input : op.getInputs())
    shapes.push_back(getShape(input));
  sizes = signature.letterSizes(shapes);
  batch = product(ShapeRef(shapes[0]).drop_back(signature.operands[0].size()), context);
  auto count = [&](StringRef letters) { return product(signature.sizes(letters, shapes), context); };
  for (auto [letters, input] : zip_equal(signature.operands, op.getInputs()))
    parts.push_back({input, count(letters)});
  for (auto [letters, result] : zip_equal(signature.results, op.getResults()))
    parts.push_back({result.use_empty() ? mlir::Value() : mlir::Value(result),
                     product(ShapeRef(getShape(result)).take_back(letters.size()), context)});
  for (StringRef letters : signature.scratch)
    parts.push_back({{}, count(letters)});
  scratchBytes = getAffineConstantExpr(0, context);
  for (const Part &part : parts)
    if (!part.tensor)
      scratchBytes = scratchBytes + part.count * int64_t(isDouble ? 8 : 4);
}

std::string MatrixCall::describe(loop::KernelOp kernel, StringRef worker) const {
  auto names = map_range(sizes, [&](mlir::AffineExpr size) { return toString(size, getSymbols(kernel)); });
  return toString(batch, getSymbols(kernel)) + " matrices of size " + join(names, " x ") + ", a " + worker.str() +
         " each";
}

MatrixCall::Tables MatrixCall::emitTables(KernelFrame &f, Value *scratch) const {
  Ir &b = f.b;
  Type *pointer = b.getPtrTy(), *i64 = b.getInt64Ty(), *element = isDouble ? b.getDoubleTy() : b.getFloatTy();
  BasicBlock &entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  Ir atEntry(&entry, entry.begin());
  Value *table = atEntry.CreateAlloca(pointer, b.getInt64(parts.size()));
  Value *values = atEntry.CreateAlloca(i64, b.getInt64(std::max<size_t>(sizes.size(), 1)));
  for (auto [i, size] : enumerate(sizes))
    b.CreateStore(emitSize(f, size), b.CreateConstInBoundsGEP1_64(i64, values, i));
  Value *place = b.getInt64(0);
  for (auto [i, part] : enumerate(parts)) {
    if (part.tensor)
      continue;
    b.CreateStore(emitAddress(b, element, scratch, place), b.CreateConstInBoundsGEP1_64(pointer, table, i));
    place = b.CreateAdd(place, emitSize(f, part.count));
  }
  return {table, values};
}

void MatrixCall::emit(KernelFrame &f, const Tables &tables, Value *matrix) const {
  Ir &b = f.b;
  Type *pointer = b.getPtrTy(), *element = isDouble ? b.getDoubleTy() : b.getFloatTy();
  auto *type = FunctionType::get(b.getVoidTy(), {pointer, pointer}, false);
  FunctionCallee callee = b.GetInsertBlock()->getModule()->getOrInsertFunction(symbol, type);
  cast<Function>(callee.getCallee())->setVisibility(GlobalValue::HiddenVisibility);
  for (auto [i, part] : enumerate(parts))
    if (part.tensor)
      b.CreateStore(emitAddress(b, element, f.pointers[part.tensor], b.CreateMul(matrix, emitSize(f, part.count))),
                    b.CreateConstInBoundsGEP1_64(pointer, tables.pointers, i));
  b.CreateCall(callee, {tables.pointers, tables.sizes});
}

} // namespace ptc::kernel
