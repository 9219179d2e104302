//===- Creation.cpp - tensors from nothing --------------------------------===//

#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

static T filled(B &b, T value) { return b.full(b.declared(), value, b.declaredType()); }

static void addFull(Table &t) {
  t.def("zeros zeros_like new_zeros empty.memory_format empty_like new_empty empty_strided new_empty_strided "
        "empty_permuted zero _efficientzerotensor",
        [](B &b, Rest) { return filled(b, 0); });
  t.def("ones ones_like new_ones", [](B &b, Rest) { return filled(b, 1); });
  t.def("full full_like fill.Scalar fill.Tensor", [](B &b, Any, T value, Rest) { return filled(b, value); });
  t.def("new_full", [](B &b, Any, Any, T value, Dtype) { return filled(b, value); });
  t.def("copy", [](B &b, T, T source) { return b.expand(b.to(source, b.declaredType()), b.declared()); });
  // Without a dtype it is how a Python number enters the graph.
  t.def("scalar_tensor", [](B &b, T value, Dtype dtype) {
    T x = filled(b, value);
    if (!dtype)
      b.markWrapped(x);
    return x;
  });
}

/// start + i * step as the declared type; floats are computed in f64, as
/// PyTorch accumulates them.
static T range(B &b, T start, T step) {
  mlir::Type type = b.declaredType();
  Shape sizes = b.declared();
  bool startsAtZero = !start.symbolic() && start.real() == 0, isUnit = !step.symbolic() && step.real() == 1;
  if (startsAtZero && isUnit)
    return b.iota(sizes, 0, type);
  mlir::Type compute = isIntegral(type) ? b.i64() : b.f64();
  T index = b.iota(sizes, 0, compute);
  T scaled = isUnit ? index : index * b.to(step, compute);
  return b.to(startsAtZero ? scaled : scaled + b.to(start, compute), type);
}

/// From start to end in equal steps, counted from the nearer end, so that both are exact. The ends are numbers of the
/// declared type, and so is their distance; where `isRounded`, of half types every step is, too.
static T ramp(B &b, T start, T end, Int steps, bool isRounded) {
  mlir::Type type = b.declaredType(), compute = isIntegral(type) ? b.f64() : opmath(type);
  auto complex = llvm::dyn_cast<mlir::ComplexType>(type);
  mlir::Type place = complex ? complex.getElementType() : compute;
  auto round = [&](T x, bool wanted) { return isHalf(type) && wanted ? b.to(b.to(x, type), compute) : x; };
  T first = b.to(b.tensor(start, type), compute), last = b.to(b.tensor(end, type), compute);
  if (b.isOne(steps))
    return b.expand(first, steps);
  T index = b.iota(steps, 0, place), count = b.tensor(T(steps), place);
  T step = round(round(last - first, true) / (count - 1.0), isRounded);
  T up = first + round(index * step, isRounded), down = last - round((count - 1.0 - index) * step, isRounded);
  return b.where(index * 2.0 < count - 1.0, up, down);
}

static void addRanges(Table &t) {
  t.def("arange", [](B &b, T, Dtype) { return range(b, 0, 1); });
  t.def("arange.start", [](B &b, T start, T, Dtype) { return range(b, start, 1); });
  t.def("arange.start_step range.step", [](B &b, T start, T, T step, Dtype) { return range(b, start, step); });
  t.def("range", [](B &b, T start, T, Dtype) { return range(b, start, 1); });
  t.def("linspace linspace.Tensor_Tensor linspace.Tensor_Scalar linspace.Scalar_Tensor",
        [](B &b, T start, T end, Int steps, Dtype) { return ramp(b, start, end, steps, true); });
  t.def("logspace logspace.Tensor_Tensor logspace.Tensor_Scalar logspace.Scalar_Tensor",
        [](B &b, T start, T end, Int steps, double base, Dtype) {
          return b.pow(base, ramp(b, start, end, steps, false));
        });
}

/// column - row of each element in the last two dimensions.
static T distance(B &b, ShapeRef sizes) {
  ShapeRef matrix = sizes.take_back(2);
  return b.iota(matrix, 1, b.i64()) - b.iota(matrix, 0, b.i64());
}

/// The places of a triangle, row by row: known at compile time.
static T triangle(B &b, int64_t rows, int64_t columns, int64_t offset, bool isLower) {
  checkMost(checkMost(rows, kMostListed) * checkMost(columns, kMostListed), kMostListed);
  llvm::SmallVector<int64_t> row, column;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      if (isLower ? c - r <= offset : c - r >= offset) {
        row.push_back(r);
        column.push_back(c);
      }
  if (row.empty())
    return filled(b, 0);
  return b.stack({b.constant(row), b.constant(column)}, 0);
}

static void addMatrices(Table &t) {
  t.def("eye eye.m", [](B &b, Rest) { return distance(b, b.declared()) == 0; });
  t.def("tril", [](B &b, T x, Int diagonal) { return b.where(distance(b, x.sizes()) <= T(diagonal), x, 0); });
  t.def("triu", [](B &b, T x, Int diagonal) { return b.where(distance(b, x.sizes()) >= T(diagonal), x, 0); });
  t.def("tril_indices", [](B &b, int64_t rows, int64_t columns, int64_t offset, Dtype) {
    return triangle(b, rows, columns, offset, true);
  });
  t.def("triu_indices", [](B &b, int64_t rows, int64_t columns, int64_t offset, Dtype) {
    return triangle(b, rows, columns, offset, false);
  });
}

/// Facts about tensors that hold by how the graph was exported.
static void addChecks(Table &t) {
  t.def("_assert_tensor_metadata _assert_scalar sym_constrain_range sym_constrain_range_for_size",
        [](B &, Rest) { return TList(); });
}

void addCreation(Table &t) {
  addFull(t);
  addRanges(t);
  addMatrices(t);
  addChecks(t);
}

} // namespace ptc::decompose
