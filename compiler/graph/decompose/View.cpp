//===- View.cpp - views, as the values that they show ---------------------===//
//
// Functionalization has run: a view is a new value. What a view's shape is,
// the exporter has found out (-1 resolved, symbols simplified), so that most
// rows go to the declared shape.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

/// A conversion to real numbers takes the real part.
static T converted(B &b, T x, Rest) { return b.hasDeclared(0) ? b.to(x, b.declaredType()) : x; }
static T toDeclared(B &b, T x, Rest) { return b.reshape(x, b.declared()); }

/// The bytes of x, little-endian, as numbers of another type; the last dimension becomes as much longer or shorter.
static T reinterpret(B &b, T x, mlir::Type dtype) {
  auto isBool = [](mlir::Type type) { return type.isInteger(1); };
  auto integer = [&](mlir::Type type) {
    return mlir::IntegerType::get(b.context(), isBool(type) ? 8 : type.getIntOrFloatBitWidth());
  };
  mlir::IntegerType from = integer(x.dtype()), to = integer(dtype);
  int64_t width = std::min(from.getWidth(), to.getWidth());
  T bits = isBool(x.dtype()) ? b.to(x, from) : x.dtype() == from ? x : b.bitcast(x, from);
  if (from.getWidth() > to.getWidth()) {
    TList parts;
    for (int64_t low = 0; low < from.getWidth(); low += width)
      parts.push_back(b.to(b.shiftRight(bits, low), to));
    bits = b.reshape(b.stack(parts, -1), b.declared());
  } else if (from.getWidth() < to.getWidth()) {
    Shape sizes = b.declared();
    sizes.push_back(b.size(to.getWidth() / width));
    T split = b.reshape(bits, sizes);
    for (int64_t low = 0; low < to.getWidth(); low += width) {
      T part = b.to(b.select(split, -1, b.size(low / width)), to) & ((int64_t(1) << width) - 1);
      bits = low == 0 ? part : bits | b.shiftLeft(part, low);
    }
  }
  return isBool(dtype) ? b.ne(bits, 0) : dtype == to ? bits : b.bitcast(bits, dtype);
}

static void addReshapes(Table &t) {
  t.def("alias alias_copy contiguous clone lift lift_fresh lift_fresh_copy to.dtype to.device "
        "to.dtype_layout to.other _to_copy type_as resolve_conj resolve_neg",
        [](B &b, T x, Rest rest) { return converted(b, x, rest); });
  t.def("detach detach_copy", [](B &b, T x) { return b.stopGradient(x); });
  t.def("view view_copy _unsafe_view reshape _reshape_alias _reshape_copy _reshape_alias_copy view_as reshape_as "
        "flatten.using_ints unflatten.int ravel squeeze squeeze.dim squeeze.dims squeeze_copy squeeze_copy.dim "
        "squeeze_copy.dims atleast_1d atleast_2d",
        [](B &b, T x, Rest rest) { return toDeclared(b, x, rest); });
  t.def("unsqueeze unsqueeze_copy", [](B &b, T x, int64_t dim) { return b.unsqueeze(x, dim); });
  t.def("expand expand_copy expand_as broadcast_to", [](B &b, T x, Rest) { return b.expand(x, b.declared()); });
  t.def("atleast_3d", [](B &b, T x) {
    return x.rank() == 2 ? b.unsqueeze(x, 2) : b.reshape(x, b.declared());
  });
  t.def("atleast_1d.Sequence atleast_2d.Sequence", [](B &b, TList inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = b.hasDeclared(i) ? b.reshape(inputs[i], b.declared(i)) : T();
    return inputs;
  });
  t.def("atleast_3d.Sequence", [](B &b, TList inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (b.hasDeclared(i))
        inputs[i] = inputs[i].rank() == 2 ? b.unsqueeze(inputs[i], 2) : b.reshape(inputs[i], b.declared(i));
    return inputs;
  });
  t.def("view.dtype view_copy.dtype", [](B &b, T x, Dtype dtype) {
    bool isFrom = isComplex(x.dtype()), isTo = isComplex(dtype);
    auto part = [](mlir::Type type) { return llvm::cast<mlir::ComplexType>(type).getElementType(); };
    if (isFrom && isTo && x.dtype() == dtype)
      return x;
    if (isFrom && !isTo && part(x.dtype()) == dtype)
      return b.reshape(b.stack({b.real(x), b.imag(x)}, -1), b.declared());
    if (isTo && !isFrom && part(dtype) == x.dtype()) {
      Shape pairs = b.declared();
      pairs.push_back(b.size(2));
      T split = b.reshape(x, pairs);
      return b.complex(b.select(split, -1, b.size(0)), b.select(split, -1, b.size(1)));
    }
    if (isFrom || isTo)
      return b.unsupported("between complex numbers and numbers of another width");
    return reinterpret(b, x, dtype);
  });
}

static void addPermutations(Table &t) {
  t.def("permute permute_copy", [](B &b, T x, Dims order) {
    for (int64_t &d : order)
      d = b.dim(x, d);
    return b.permute(x, order);
  });
  t.def("transpose.int transpose_copy.int swapaxes swapdims",
        [](B &b, T x, int64_t d0, int64_t d1) { return b.transpose(x, d0, d1); });
  t.def("t t_copy", [](B &b, T x) { return x.rank() < 2 ? x : b.transpose(x, 0, 1); });
  t.def("mT", [](B &b, T x) { return b.transpose(x, -2, -1); });
  t.def("adjoint mH matrix_H", [](B &b, T x) { return x.rank() < 2 ? b.conj(x) : b.conj(b.transpose(x, -2, -1)); });
  t.def("numpy_T", [](B &b, T x) {
    Dims order = b.dims(x, {});
    std::reverse(order.begin(), order.end());
    return b.permute(x, order);
  });
  t.def("movedim.int moveaxis.int", [](B &b, T x, int64_t from, int64_t to) { return b.moveDim(x, from, to); });
  t.def("movedim.intlist moveaxis.intlist", [](B &b, T x, Dims from, Dims to) {
    Dims order(x.rank(), -1);
    for (size_t i = 0; i < from.size(); ++i)
      order[b.dim(x, to[i])] = b.dim(x, from[i]);
    auto next = order.begin();
    for (int64_t d = 0; d < x.rank(); ++d)
      if (!llvm::is_contained(order, d)) {
        next = std::find(next, order.end(), -1);
        if (next == order.end())
          throwMisfit("a dimension is moved to two places");
        *next = d;
      }
    return b.permute(x, order);
  });
}

/// Consecutive pieces along `dim`, as large as declared; `size` is that of a
/// piece that nobody uses and that therefore declares nothing.
static TList pieces(B &b, T x, int64_t dim, llvm::function_ref<AffineExpr(unsigned)> size) {
  TList pieces;
  dim = b.dim(x, dim);
  AffineExpr start = b.size(0);
  for (unsigned i = 0; i < b.resultCount(); ++i) {
    AffineExpr limit = start + (b.hasDeclared(i) ? b.declared(i)[dim] : size(i));
    pieces.push_back(b.hasDeclared(i) ? b.slice(x, dim, start, limit) : T());
    start = limit;
  }
  return pieces;
}

static TList splitAt(B &b, T x, Ints places, int64_t dim) {
  return pieces(b, x, dim, [&](unsigned i) { return i ? places[i] - places[i - 1] : places[i]; });
}

/// The first n % k pieces have one element more.
static TList splitEvenly(B &b, T x, int64_t count, int64_t dim) {
  AffineExpr n = x.size(b.dim(x, dim));
  return pieces(b, x, dim, [&](unsigned i) { return (n + (count - 1 - int64_t(i))).floorDiv(count); });
}

static void addSplits(Table &t) {
  t.def("chunk unsafe_chunk", [](B &b, T x, int64_t count, int64_t dim) {
    return pieces(b, x, dim, [&](unsigned) { return x.size(b.dim(x, dim)).ceilDiv(count); });
  });
  t.def("split.Tensor split_copy.Tensor unsafe_split.Tensor", [](B &b, T x, Int size, int64_t dim) {
    return pieces(b, x, dim, [&](unsigned) { return size; });
  });
  t.def("split.sizes split_with_sizes split_with_sizes_copy unsafe_split_with_sizes",
        [](B &b, T x, Ints sizes, int64_t dim) {
          return pieces(b, x, dim, [&](unsigned i) { return sizes[i]; });
        });
  t.def("tensor_split.sections", [](B &b, T x, int64_t n, int64_t dim) { return splitEvenly(b, x, n, dim); });
  t.def("tensor_split.indices", [](B &b, T x, Ints places, int64_t dim) { return splitAt(b, x, places, dim); });
  t.def("hsplit.int", [](B &b, T x, int64_t n) { return splitEvenly(b, x, n, x.rank() == 1 ? 0 : 1); });
  t.def("vsplit.int", [](B &b, T x, int64_t n) { return splitEvenly(b, x, n, 0); });
  t.def("dsplit.int", [](B &b, T x, int64_t n) { return splitEvenly(b, x, n, 2); });
  t.def("hsplit.array", [](B &b, T x, Ints places) { return splitAt(b, x, places, x.rank() == 1 ? 0 : 1); });
  t.def("vsplit.array", [](B &b, T x, Ints places) { return splitAt(b, x, places, 0); });
  t.def("dsplit.array", [](B &b, T x, Ints places) { return splitAt(b, x, places, 2); });
}

static void addSlices(Table &t) {
  t.def("slice.Tensor slice_copy.Tensor", [](B &b, T x, int64_t dim, OptInt start, OptInt, int64_t step) {
    Span span = declaredSpan(b, x, dim, start, step, b.declared()[b.dim(x, dim)]);
    return b.slice(x, dim, span.start, span.limit, step);
  });
  t.def("narrow narrow_copy", [](B &b, T x, int64_t dim, Int start, Int length) {
    start = normaliseIndex(b, start, x.size(dim));
    return b.slice(x, dim, start, start + length);
  });
  t.def("select.int select_copy.int", [](B &b, T x, int64_t dim, Int index) { return b.select(x, dim, index); });
  t.def("unbind.int unbind_copy.int", [](B &b, T x, int64_t dim) {
    TList parts;
    for (unsigned i = 0; i < b.resultCount(); ++i)
      parts.push_back(b.select(x, dim, b.size(i)));
    return parts;
  });
}

static void addDiagonals(Table &t) {
  t.def("diagonal diagonal_copy linalg_diagonal", [](B &b, T x, int64_t offset, int64_t dim1, int64_t dim2) {
    return diagonal(b, x, offset, dim1, dim2);
  });
  t.def("diag", [](B &b, T x, int64_t offset) {
    return x.rank() == 2 ? diagonal(b, x, offset, 0, 1) : diagonalEmbed(b, x, offset, 0, 1);
  });
  t.def("diagflat", [](B &b, T x, int64_t offset) {
    return diagonalEmbed(b, b.reshape(x, x.rank() ? x.numel() : b.size(1)), offset, 0, 1);
  });
  t.def("diag_embed", [](B &b, T x, int64_t offset, int64_t dim1, int64_t dim2) {
    return diagonalEmbed(b, x, offset, dim1, dim2);
  });
  t.def("trace", [](B &b, T x) {
    T sum = diagonal(b, x, 0, 0, 1);
    return b.sum(b.to(sum, b.declaredType()), {});
  });
}

static void addStrided(Table &t) {
  t.def("as_strided as_strided_copy", [](B &b, T x, Ints size, Ints stride, OptInt offset) {
    T flat = b.reshape(x, product(x.sizes(), b.context()));
    return b.gather(flat, {stridedIndex(b, size, stride, offset ? *offset : b.size(0))}, {0});
  });
  t.def("unfold unfold_copy", [](B &b, T x, int64_t dim, int64_t size, int64_t step) {
    if (!x.rank())
      return b.reshape(x, b.declared());
    dim = b.dim(x, dim);
    b.require(b.size(size), x.size(dim));
    Shape windows{b.declared()[dim], b.size(size)};
    T index = b.iota(windows, 0, b.i64()) * step + b.iota(windows, 1, b.i64());
    T gathered = b.gather(x, {index}, {dim}); // windows, size, other dimensions
    T placed = b.moveDim(gathered, 1, -1);
    return b.moveDim(placed, 0, dim);
  });
}

void addView(Table &t) {
  addReshapes(t);
  addPermutations(t);
  addSlices(t);
  addSplits(t);
  addDiagonals(t);
  addStrided(t);
}

} // namespace ptc::decompose
