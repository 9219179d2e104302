//===- Matrix.cpp - calls of the algorithms on matrices -------------------===//
//
// A task is one matrix of the batch: the kernel puts the addresses of its parts
// into a table and calls the function of runtime/matrix. Results that nobody
// reads lie in scratch.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "dialects/core/MatrixSignature.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace ptc::cpu {

namespace {

/// One pointer that the algorithm takes.
struct Part {
  mlir::Value tensor; ///< null: in scratch
  mlir::AffineExpr count; ///< elements a matrix
};

struct MatrixCall {
  std::string symbol;
  bool isDouble;
  mlir::AffineExpr batch, scratchBytes;
  Shape sizes;
  SmallVector<Part> parts;

  explicit MatrixCall(loop::KernelOp kernel);
  void emit(CpuFrame &f) const;
};

} // namespace

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

void MatrixCall::emit(CpuFrame &f) const {
  Ir &b = f.b;
  Type *pointer = b.getPtrTy(), *i64 = b.getInt64Ty(), *element = isDouble ? b.getDoubleTy() : b.getFloatTy();
  Value *table = b.CreateAlloca(pointer, b.getInt64(parts.size()));
  Value *values = b.CreateAlloca(i64, b.getInt64(std::max<size_t>(sizes.size(), 1)));
  for (auto [i, size] : enumerate(sizes))
    b.CreateStore(emitSize(f, size), b.CreateConstInBoundsGEP1_64(i64, values, i));
  Value *place = b.getInt64(0);
  for (auto [i, part] : enumerate(parts)) {
    if (part.tensor)
      continue;
    b.CreateStore(emitAddress(b, element, f.scratch, place), b.CreateConstInBoundsGEP1_64(pointer, table, i));
    place = b.CreateAdd(place, emitSize(f, part.count));
  }
  Module &module = *b.GetInsertBlock()->getModule();
  auto *type = FunctionType::get(b.getVoidTy(), {pointer, pointer}, false);
  FunctionCallee callee = module.getOrInsertFunction(symbol, type);
  cast<Function>(callee.getCallee())->setVisibility(GlobalValue::HiddenVisibility);
  emitLoop(b, f.begin, f.end, 1, [&](Value *task) {
    for (auto [i, part] : enumerate(parts))
      if (part.tensor)
        b.CreateStore(emitAddress(b, element, f.pointers[part.tensor], b.CreateMul(task, emitSize(f, part.count))),
                      b.CreateConstInBoundsGEP1_64(pointer, table, i));
    b.CreateCall(callee, {table, values});
  });
}

KernelPlan planMatrix(loop::KernelOp kernel) {
  auto call = std::make_shared<MatrixCall>(kernel);
  auto op = cast<loop::MatrixOp>(kernel.getBody().front().front());
  auto sizes = map_range(call->sizes, [&](mlir::AffineExpr size) { return toString(size, getSymbols(kernel)); });
  std::string because =
      toString(call->batch, getSymbols(kernel)) + " matrices of size " + join(sizes, " x ") + ", a task each";
  return {call->batch,
          call->scratchBytes,
          [call](CpuFrame &frame) { call->emit(frame); },
          {op.getAlgorithm().str(), because}};
}

} // namespace ptc::cpu
