//===- ToLoopReduction.cpp - reductions, windows, scans, sorting ----------===//

#include "compiler/schedule/Lowering.h"
#include "dialects/core/Polynomial.h"
#include "dialects/prims/Compute.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

using Predicate = arith::CmpIPredicate;

static bool isUnsigned(Value tensor) {
  Type element = elementType(tensor);
  return element.isUnsignedInteger() || element.isInteger(1);
}

/// A reduction of elements of x, in the order that its element type has.
static Value reduceOrdered(Builder &b, Value x, Value result, StringRef kind, ShapeRef sizes, ScalarBody body,
                           ScalarBody finish = {}) {
  Type element = elementType(x);
  auto ordered = [&](ValueRange ids) { return orderedBits(b, kind, element, body(ids)); };
  auto number = [&](ValueRange args) { return orderedBits(b, kind, element, args.back()); };
  if (element.isUnsignedInteger() && !kind.starts_with("arg"))
    return createReduce(b, tensorType(result), kind, sizes, ordered, number);
  return createReduce(b, tensorType(result), kind, sizes, ordered, finish);
}

/// Reads x with the dimensions `dims` taken from the end of the domain, the others from its front.
static Value reduceDims(Builder &b, Value x, Value result, StringRef kind, ArrayRef<int64_t> dims) {
  Shape sizes = getShape(x), reduced, places(sizes.size());
  unsigned front = 0, back = tensorType(result).getRank();
  for (unsigned i = 0; i < sizes.size(); ++i) {
    bool isReduced = llvm::is_contained(dims, i);
    places[i] = getAffineDimExpr(isReduced ? back++ : front++, b.getContext());
    if (isReduced)
      reduced.push_back(sizes[i]);
  }
  return reduceOrdered(b, x, result, kind, reduced, [&](ValueRange ids) { return widen(b, read(b, x, places, ids)); });
}

/// Sums and products of float32 go on in double, as in PyTorch: the errors of long rows add up.
static Value widenForScan(Builder &b, StringRef kind, Value element) {
  Value wide = widen(b, element);
  bool adds = kind == "sum" || kind == "prod" || kind == "logaddexp";
  return adds && element.getType().isF32() ? Value(arith::ExtFOp::create(b, b.getF64Type(), wide)) : wide;
}

static Value createScan(Builder &b, Value x, Value result, StringRef kind, int64_t dim) {
  Type element = elementType(x);
  auto scan = loop::ScanOp::create(b, result.getType(), kind, dim);
  buildRegion(b, scan.getBody(), tensorType(x).getRank(), {}, [&](ValueRange ids) {
    return SmallVector<Value>{orderedBits(b, kind, element, widenForScan(b, kind, read(b, x, ids)))};
  });
  if (kind.starts_with("arg") || !element.isUnsignedInteger())
    return scan.getResult();
  return createMap(b, tensorType(result),
                   [&](ValueRange ids) { return orderedBits(b, kind, element, read(b, scan.getResult(), ids)); });
}

static Value logicalOr(Builder &b, Value x, Value y) { return x ? Value(arith::OrIOp::create(b, x, y)) : y; }

static std::string argKind(StringRef kind) { return ("arg" + kind).str(); }

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// The sliding of windows over x: the domain is the result's dimensions, then those of the window that are not 1.
template <typename Op> struct Windows {
  Windows(Builder &b, Op op) : b(b), op(op), sizes(getShape(op.getX())), window(*getSizesFromAttr(op.getWindow())) {
    unsigned rank = sizes.size(), next = rank;
    for (unsigned i = 0; i < rank; ++i) {
      AffineExpr place = getAffineDimExpr(i, b.getContext()) * op.getStrides()[i] - op.getLow()[i];
      if (getConstant(window[i]) != 1) {
        dims.push_back(i);
        reduced.push_back(window[i]);
        place = place + getAffineDimExpr(next++, b.getContext()) * op.getDilations()[i];
      }
      places.push_back(place);
    }
  }

  /// The element under the window, neutral in the padding.
  Value element(StringRef kind, ValueRange ids) {
    Value inside;
    AffineExpr zero = getAffineConstantExpr(0, b.getContext());
    for (unsigned i = 0; i < sizes.size(); ++i) {
      if (op.getLow()[i] > 0)
        inside = logicalAnd(b, inside, compare(b, Predicate::sge, places[i], zero, ids));
      if (mayPassEnd(i))
        inside = logicalAnd(b, inside, compare(b, Predicate::slt, places[i], sizes[i], ids));
    }
    if (!inside)
      return widen(b, read(b, op.getX(), places, ids));
    Value otherwise = neutral(b, kind, loop::getScalarType(op.getX()), isUnsigned(op.getX()));
    return widen(b, readWhere(b, op.getX(), places, ids, inside, otherwise));
  }

  bool mayPassEnd(unsigned i) {
    AffineExpr last = (getShape(op.getResult())[i] - 1) * op.getStrides()[i] + (window[i] - 1) * op.getDilations()[i] -
                      op.getLow()[i];
    auto slack = getConstant(simplifySum(sizes[i] - 1 - last));
    return !slack || *slack < 0;
  }

  Builder &b;
  Op op;
  Shape sizes, window, places, reduced;
  SmallVector<unsigned> dims; ///< that the window moves within
};
} // namespace

static Value lowerWindow(Builder &b, prims::ReduceWindowOp op) {
  Windows windows(b, op);
  return reduceOrdered(b, op.getX(), op.getResult(), op.getKind(), windows.reduced,
                       [&](ValueRange ids) { return windows.element(op.getKind(), ids); });
}

/// The place in the window, taken apart, gives the place in x. Where all elements are as extreme as the padding, that
/// may come first: the first element of x is meant.
static Value lowerArgWindow(Builder &b, prims::ArgReduceWindowOp op) {
  Windows windows(b, op);
  StringRef kind = "argmax_last_nan";
  unsigned rank = windows.sizes.size(), first = rank - op.getSpatial();
  auto finish = [&](ValueRange args) {
    Value rest = args.back();
    SmallVector<Value> at(rank);
    auto number = [&](AffineExpr e) {
      return arith::IndexCastOp::create(b, b.getI64Type(), index(b, e, args.drop_back())).getResult();
    };
    for (size_t i = windows.dims.size(); i-- > 0;) {
      Value size = number(windows.reduced[i]);
      at[windows.dims[i]] = i == 0 ? rest : Value(arith::RemSIOp::create(b, rest, size));
      rest = arith::DivSIOp::create(b, rest, size);
    }
    Value linear = constantInt(b, b.getI64Type(), 0), zero = linear, outside;
    SmallVector<Value> places, inside;
    for (unsigned dim = 0; dim < rank; ++dim) {
      AffineExpr from = getAffineDimExpr(dim, b.getContext()) * op.getStrides()[dim] - op.getLow()[dim];
      int64_t dilation = op.getDilations()[dim];
      Value start = number(from), place = start;
      if (at[dim])
        place = arith::AddIOp::create(b, start,
                                      arith::MulIOp::create(b, at[dim], constantInt(b, b.getI64Type(), dilation)));
      if (op.getLow()[dim] > 0)
        outside = logicalOr(b, outside, arith::CmpIOp::create(b, Predicate::slt, place, zero));
      if (windows.mayPassEnd(dim))
        outside = logicalOr(b, outside, arith::CmpIOp::create(b, Predicate::sge, place, number(windows.sizes[dim])));
      places.push_back(place);
      inside.push_back(op.getLow()[dim] > 0 ? Value(arith::MaxSIOp::create(b, start, number(from % dilation))) : start);
    }
    for (unsigned dim = first; dim < rank; ++dim) {
      Value place = outside ? Value(arith::SelectOp::create(b, outside, inside[dim], places[dim])) : places[dim];
      linear = arith::AddIOp::create(b, arith::MulIOp::create(b, linear, number(windows.sizes[dim])), place);
    }
    return linear;
  };
  return reduceOrdered(b, op.getX(), op.getResult(), kind, windows.reduced,
                       [&](ValueRange ids) { return windows.element(kind, ids); }, finish);
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

/// `op`: a prims.sort, or a prims.top_k, whose results are the head of the sorted tensor.
static SmallVector<Value> createSort(Builder &b, Operation *op, int64_t dim, bool descending) {
  Shape sizes = getShape(op->getResult(0));
  Type values = makeTensorType(sizes, elementType(op->getOperand(0))), places = makeTensorType(sizes, b.getI64Type());
  auto sort = loop::SortOp::create(b, values, places, op->getOperand(0), static_cast<uint64_t>(dim), descending);
  return sort.getResults();
}

Lowered lowerReduction(Lowering &lowering, Operation *op) {
  Builder &b = lowering.b;
  if (!llvm::isa<prims::ReduceOp, prims::ArgReduceOp, prims::ScanOp, prims::ArgScanOp, prims::ReduceWindowOp,
                 prims::ArgReduceWindowOp, prims::SortOp, prims::TopKOp>(op))
    return std::nullopt;
  if (llvm::isa<ComplexType>(elementType(op->getOperand(0)))) {
    op->emitError() << op->getName() << " of complex numbers is not supported";
    return SmallVector<Value>();
  }
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([&](prims::ReduceOp op) -> SmallVector<Value> {
        return {reduceDims(b, op.getX(), op.getResult(), op.getKind(), op.getDims())};
      })
      .Case([&](prims::ArgReduceOp op) -> SmallVector<Value> {
        return {reduceDims(b, op.getX(), op.getResult(), argKind(op.getKind()), {static_cast<int64_t>(op.getDim())})};
      })
      .Case([&](prims::ScanOp op) -> SmallVector<Value> {
        return {createScan(b, op.getX(), op.getResult(), op.getKind(), op.getDim())};
      })
      .Case([&](prims::ArgScanOp op) -> SmallVector<Value> {
        return {createScan(b, op.getX(), op.getResult(), argKind(op.getKind()), op.getDim())};
      })
      .Case([&](prims::ReduceWindowOp op) -> SmallVector<Value> { return {lowerWindow(b, op)}; })
      .Case([&](prims::ArgReduceWindowOp op) -> SmallVector<Value> { return {lowerArgWindow(b, op)}; })
      .Case([&](prims::SortOp op) { return createSort(b, op, op.getDim(), op.getDescending()); })
      .Case([&](prims::TopKOp op) { return createSort(b, op, op.getDim(), op.getLargest()); });
}

} // namespace ptc::schedule
