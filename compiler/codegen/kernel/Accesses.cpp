#include "compiler/codegen/kernel/Accesses.h"

#include "dialects/loop/Loop.h"

#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace ptc::kernel {

namespace {

/// An index value: an affine part, and the dimensions that enter otherwise.
struct IndexForm {
  mlir::AffineExpr expr;
  SmallBitVector irregular;
};

class ReadCollector {
public:
  ReadCollector(BodyAccesses &result, mlir::Region &region, TensorStrides stridesOf)
      : result(result), region(region), stridesOf(stridesOf), rank(result.pinned.size()) {}

  void collect() {
    for (mlir::Operation &op : region.front().without_terminator()) {
      result.work += workOf(op);
      if (auto read = dyn_cast<loop::ReadOp>(op))
        addRead(read);
    }
    for (mlir::Operation &op : region.front())
      pinUses(op);
  }

private:
  static unsigned workOf(mlir::Operation &op);
  IndexForm formOf(mlir::Value index);
  SmallBitVector dimsBehind(mlir::Value value);
  void addRead(loop::ReadOp read);
  void pinUses(mlir::Operation &op);

  BodyAccesses &result;
  mlir::Region &region;
  TensorStrides stridesOf;
  unsigned rank;
  DenseMap<mlir::Value, SmallBitVector> behind;
};

} // namespace

unsigned ReadCollector::workOf(mlir::Operation &op) {
  StringRef name = op.getName().getStringRef();
  if (name == "arith.constant" || isa<loop::ReadOp, loop::IndexOp>(op))
    return 0;
  static const StringSet<> kCheap = {"math.absf", "math.fma",  "math.floor",    "math.ceil",    "math.trunc",
                                     "math.sqrt", "math.absi", "math.roundeven", "math.copysign"};
  bool isFunction = name.starts_with("math.") || name == "loop.atan2";
  return isFunction && !kCheap.contains(name) ? 20 : 1;
}

static SmallBitVector dimsOf(mlir::AffineExpr expr, unsigned rank) {
  SmallBitVector dims(rank);
  expr.walk([&](mlir::AffineExpr e) {
    if (auto dim = dyn_cast<mlir::AffineDimExpr>(e))
      dims.set(dim.getPosition());
  });
  return dims;
}

/// All dimensions that a value depends on.
SmallBitVector ReadCollector::dimsBehind(mlir::Value value) {
  if (auto known = behind.find(value); known != behind.end())
    return known->second;
  SmallBitVector dims(rank);
  if (auto argument = dyn_cast<mlir::BlockArgument>(value)) {
    if (argument.getType().isIndex())
      dims.set(argument.getArgNumber());
    else // a reduction's result: it may differ at every point
      dims.set();
  } else {
    // Indices that a map does not use are operands all the same.
    mlir::Operation *op = value.getDefiningOp();
    auto map = op->getAttrOfType<mlir::AffineMapAttr>("map");
    unsigned first = isa<loop::ReadOp>(op) ? 1 : 0; // a tensor is the same at every point
    for (auto [i, operand] : enumerate(op->getOperands().drop_front(first)))
      if (!map || i >= map.getValue().getNumDims() || map.getValue().isFunctionOfDim(i))
        dims |= dimsBehind(operand);
  }
  behind[value] = dims;
  return dims;
}

IndexForm ReadCollector::formOf(mlir::Value index) {
  mlir::MLIRContext *context = index.getContext();
  if (isa<mlir::BlockArgument>(index))
    return {getAffineDimExpr(cast<mlir::BlockArgument>(index).getArgNumber(), context), SmallBitVector(rank)};
  auto op = index.getDefiningOp<loop::IndexOp>();
  if (!op)
    return {getAffineConstantExpr(0, context), dimsBehind(index)};
  SmallVector<mlir::AffineExpr> operands;
  SmallBitVector irregular(rank);
  for (mlir::Value operand : op.getIndices()) {
    IndexForm form = formOf(operand);
    operands.push_back(form.expr);
    irregular |= form.irregular;
  }
  return {op.getMap().getResult(0).replaceDims(operands), irregular};
}

static void add(BodyAccesses &result, mlir::Value tensor, loop::ReadOp read, mlir::AffineExpr place,
                SmallBitVector irregular) {
  unsigned rank = result.pinned.size();
  Access access{tensor, !read, loop::getStridedAccess(place, rank), std::move(irregular), read};
  if (!access.strided) {
    access.irregular |= dimsOf(place, rank);
    result.pinned |= access.irregular;
  }
  result.accesses.push_back(std::move(access));
}

void ReadCollector::addRead(loop::ReadOp read) {
  SmallVector<mlir::AffineExpr> operands;
  SmallBitVector irregular(rank);
  for (mlir::Value index : read.getIndices()) {
    IndexForm form = formOf(index);
    operands.push_back(form.expr);
    irregular |= form.irregular;
  }
  mlir::AffineExpr place = getAffineConstantExpr(0, read.getContext());
  for (auto [index, stride] : zip_equal(read.getMap().getResults(), stridesOf(read.getTensor())))
    place = place + index.replaceDims(operands) * stride;
  add(result, read.getTensor(), read, place, irregular);
}

/// Indices that anything but a read's place uses.
void ReadCollector::pinUses(mlir::Operation &op) {
  if (isa<loop::IndexOp>(op))
    return;
  auto read = dyn_cast<loop::ReadOp>(op);
  for (mlir::Value operand : op.getOperands())
    if (operand.getType().isIndex() && !(read && is_contained(read.getIndices(), operand))) {
      IndexForm form = formOf(operand);
      // What comes from data was read at places that count by themselves.
      if (operand.getDefiningOp<loop::IndexOp>() || isa<mlir::BlockArgument>(operand))
        result.pinned |= dimsOf(form.expr, rank);
    }
}

Shape rowMajorStrides(mlir::Value tensor) {
  Shape strides = getShape(tensor);
  mlir::AffineExpr stride = getAffineConstantExpr(1, tensor.getContext());
  for (mlir::AffineExpr &size : reverse(strides))
    stride = std::exchange(size, stride) * stride;
  return strides;
}

bool walkAsOne(const BodyAccesses &accesses, ShapeRef domain, unsigned outer, unsigned inner) {
  if (accesses.pinned[outer] || accesses.pinned[inner])
    return false;
  return all_of(accesses.accesses, [&](const Access &access) {
    if (!access.strided)
      return !access.irregular[outer] && !access.irregular[inner];
    ArrayRef<mlir::AffineExpr> strides = access.strided->strides;
    return isEqual(strides[outer], strides[inner] * domain[inner]);
  });
}

void addReads(BodyAccesses &result, mlir::Region &region, TensorStrides stridesOf) {
  ReadCollector(result, region, stridesOf).collect();
}

void addStore(BodyAccesses &result, mlir::Value tensor, TensorStrides stridesOf) {
  mlir::AffineExpr place = getAffineConstantExpr(0, tensor.getContext());
  for (auto [i, stride] : enumerate(stridesOf(tensor)))
    place = place + getAffineDimExpr(i, tensor.getContext()) * stride;
  add(result, tensor, /*read=*/nullptr, place, SmallBitVector(result.pinned.size()));
}

} // namespace ptc::kernel
