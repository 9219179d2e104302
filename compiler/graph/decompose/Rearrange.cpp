//===- Rearrange.cpp - joining, repeating and reordering ------------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Table.h"

#include <functional>
#include <numeric>
#include <vector>

namespace ptc::decompose {

using mlir::AffineExpr;

/// PyTorch's cat passes over 1-d tensors without elements.
static T join(B &b, TList inputs, int64_t dim) {
  TList kept;
  for (const T &x : inputs)
    if (x.rank() != 1 || getConstant(x.size(0)) != 0 || inputs.size() == 1)
      kept.push_back(x);
  return kept.empty() ? inputs.front() : b.cat(kept, dim);
}

static void addJoins(Table &t) {
  t.def("cat concat concatenate", [](B &b, TList inputs, int64_t dim) { return join(b, inputs, dim); });
  t.def("pad_sequence", [](B &b, TList inputs, bool batchFirst, double value, Str side) {
    AffineExpr longest = b.declared()[batchFirst ? 1 : 0], none = b.size(0);
    for (T &x : inputs) {
      AffineExpr missing = longest - x.size(0);
      x = side == "left" ? b.padDim(x, 0, missing, none, value) : b.padDim(x, 0, none, missing, value);
    }
    return b.stack(inputs, batchFirst ? 0 : 1);
  });
  t.def("stack _stack", [](B &b, TList inputs, int64_t dim) { return b.stack(inputs, dim); });
  t.def("hstack", [](B &b, TList inputs) {
    for (T &x : inputs)
      x = x.rank() ? x : b.unsqueeze(x, 0);
    return b.cat(inputs, inputs.front().rank() == 1 ? 0 : 1);
  });
  t.def("vstack row_stack", [](B &b, TList inputs) {
    for (T &x : inputs)
      while (x.rank() < 2)
        x = b.unsqueeze(x, 0);
    return b.cat(inputs, 0);
  });
  t.def("dstack", [](B &b, TList inputs) {
    for (T &x : inputs) {
      while (x.rank() < 2)
        x = b.unsqueeze(x, 0);
      x = x.rank() == 2 ? b.unsqueeze(x, 2) : x;
    }
    return b.cat(inputs, 2);
  });
  t.def("column_stack", [](B &b, TList inputs) {
    for (T &x : inputs)
      while (x.rank() < 2)
        x = b.unsqueeze(x, -1);
    return b.cat(inputs, 1);
  });
  // Each tensor padded to whole chunks along `dim`, what follows it flat, side by side.
  t.def("_chunk_cat", [](B &b, TList inputs, int64_t dim, int64_t chunks) {
    dim = b.dim(inputs.front(), dim);
    for (T &x : inputs) {
      AffineExpr chunk = x.size(dim).ceilDiv(chunks);
      x = b.padDim(x, dim, b.size(0), chunk * chunks - x.size(dim), 0);
      Shape all = x.sizes(), sizes(all.begin(), all.begin() + dim);
      sizes.push_back(b.size(chunks));
      sizes.push_back(chunk * product(ShapeRef(all).drop_front(dim + 1), b.context()));
      x = b.reshape(x, sizes);
    }
    return b.cat(inputs, dim + 1);
  });
  t.def("block_diag", [](B &b, TList inputs) {
    TList rows;
    AffineExpr before = b.size(0), columns = b.declared()[1];
    for (T &x : inputs) {
      while (x.rank() < 2)
        x = b.unsqueeze(x, 0);
      rows.push_back(b.padDim(x, 1, before, columns - before - x.size(1), 0));
      before = before + x.size(1);
    }
    return b.cat(rows, 0);
  });
}

/// Each tensor along its own dimension of the common grid.
static TList meshgrid(B &b, TList inputs, bool isXy) {
  TList grids;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!b.hasDeclared(i)) {
      grids.push_back(T());
      continue;
    }
    int64_t dim = isXy && i < 2 && inputs.size() > 1 ? 1 - i : i;
    T x = inputs[i].rank() ? inputs[i] : b.unsqueeze(inputs[i], 0);
    grids.push_back(b.broadcastInDim(x, b.declared(i), {dim}));
  }
  return grids;
}

/// x with every element (or every run along `dim`) `repeats` times.
static T repeatEach(B &b, T x, AffineExpr repeats, int64_t dim) {
  dim = b.dim(x, dim);
  Shape grown = x.sizes(), joined = x.sizes();
  grown.insert(grown.begin() + dim + 1, repeats);
  joined[dim] = joined[dim] * repeats;
  return b.reshape(b.expand(b.unsqueeze(x, dim + 1), grown), joined);
}

/// x side by side with itself, repeats[i] times along dimension i.
static T tile(B &b, T x, ShapeRef repeats) {
  Shape target = b.declared(), grown, sizes(target.size() - x.rank(), b.size(1)), aligned(repeats);
  sizes.append(x.sizes());
  aligned.insert(aligned.begin(), target.size() - aligned.size(), b.size(1));
  Dims dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!b.isOne(aligned[i]))
      grown.push_back(aligned[i]);
    dims.push_back(grown.size());
    grown.push_back(sizes[i]);
  }
  return b.reshape(b.broadcastInDim(b.reshape(x, sizes), grown, dims), target);
}

/// Index i, repeats[i] times: each start of a run counts one more.
static T repeatedIndex(B &b, T repeats, AffineExpr total) {
  repeats = b.to(repeats.rank() ? repeats : b.unsqueeze(repeats, 0), b.i64());
  b.define(total, b.sum(repeats, {}), b.size(b.range(total).max));
  T starts = b.scan("sum", repeats, 0) - repeats;
  T counts = b.scatter(b.full(total + 1, 0, b.i64()), b.full(starts.sizes(), 1, b.i64()), {starts}, {0}, "sum");
  return b.slice(b.scan("sum", counts, 0), 0, b.size(0), total) - 1;
}

/// All ways to choose r of n numbers, in lexical order; each column is the i-th chosen number.
static std::vector<llvm::SmallVector<int64_t>> chooseAll(int64_t n, int64_t r, bool withReplacement) {
  constexpr int64_t kMostChosen = 1024;
  if (r < 0)
    throwMisfit("a negative number of elements to choose");
  checkMost(r, kMostChosen);
  double ways = 1, of = double(n) + double(withReplacement ? r - 1 : 0);
  for (int64_t i = 0; i < r; ++i)
    ways *= std::max(of - double(i), 0.0) / double(i + 1);
  if (ways * double(r) > double(kMostListed))
    throwMisfit("there are too many ways to choose " + llvm::Twine(r) + " of " + llvm::Twine(n));
  std::vector<llvm::SmallVector<int64_t>> columns(r);
  llvm::SmallVector<int64_t> chosen;
  std::function<void(int64_t)> choose = [&](int64_t from) {
    if (int64_t(chosen.size()) == r) {
      for (int64_t i = 0; i < r; ++i)
        columns[i].push_back(chosen[i]);
      return;
    }
    int64_t missing = withReplacement ? 1 : r - int64_t(chosen.size());
    for (int64_t i = from; i <= n - missing; ++i) {
      chosen.push_back(i);
      choose(withReplacement ? i : i + 1);
      chosen.pop_back();
    }
  };
  choose(0);
  return columns;
}

static void addRepeats(Table &t) {
  t.def("repeat_interleave.Tensor",
        [](B &b, T repeats, OptInt) { return repeatedIndex(b, repeats, b.declared()[0]); });
  t.def("repeat_interleave.self_Tensor", [](B &b, T x, T repeats, std::optional<int64_t> dim, OptInt) {
    T source = dim ? x : b.reshape(x, x.rank() ? x.numel() : b.size(1));
    int64_t along = b.dim(source, dim.value_or(0));
    if (b.isOne(repeats.numel()))
      repeats = b.expand(b.reshape(repeats, b.size(1)), source.size(along));
    return selectRows(b, source, along, repeatedIndex(b, repeats, b.declared()[along]));
  });
  t.def("combinations", [](B &b, T x, int64_t r, bool withReplacement) {
    auto n = getConstant(x.size(0));
    if (!n)
      return b.unsupported("the number of elements must be known at compile time");
    auto chosen = chooseAll(*n, r, withReplacement);
    if (chosen.empty() || chosen.front().empty())
      return b.full({b.size(0), b.size(r)}, 0, x.dtype());
    if (!getConstant(b.declared()[0]))
      b.define(b.declared()[0], b.full({}, int64_t(chosen.front().size()), b.i64()), b.size(chosen.front().size()));
    TList columns;
    for (auto &column : chosen)
      columns.push_back(b.gather(x, {b.constant(column)}, {0}));
    return b.stack(columns, 1);
  });
  t.def("meshgrid", [](B &b, TList inputs) { return meshgrid(b, inputs, false); });
  t.def("meshgrid.indexing", [](B &b, TList inputs, Str order) { return meshgrid(b, inputs, order == "xy"); });
  t.def("cartesian_prod", [](B &b, TList inputs) {
    if (inputs.size() == 1)
      return inputs.front();
    Shape grid;
    for (const T &x : inputs)
      grid.push_back(x.size(0));
    TList columns;
    for (auto [d, x] : llvm::enumerate(inputs))
      columns.push_back(b.reshape(b.broadcastInDim(x, grid, {int64_t(d)}), product(grid, b.context())));
    return b.stack(columns, 1);
  });
  t.def("broadcast_tensors", [](B &b, TList inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = b.hasDeclared(i) ? b.expand(inputs[i], b.declared(i)) : T();
    return inputs;
  });
  t.def("repeat tile", [](B &b, T x, Ints repeats) { return tile(b, x, repeats); });
  t.def("repeat_interleave.self_int", [](B &b, T x, Int repeats, std::optional<int64_t> dim, OptInt) {
    T source = dim ? x : b.reshape(x, x.rank() ? x.numel() : b.size(1));
    return repeatEach(b, source, repeats, dim.value_or(0));
  });
}

static T roll(B &b, T x, AffineExpr shift, int64_t dim) {
  AffineExpr n = x.size(dim);
  if (getConstant(n) == 0)
    return x;
  AffineExpr back = (-shift) % b.larger(n, b.size(1)); // the element that comes first
  return b.cat({b.slice(x, dim, back, n), b.slice(x, dim, b.size(0), back)}, dim);
}

static void addOrders(Table &t) {
  t.def("flip", [](B &b, T x, Dims dims) { return b.reverse(x, dims); });
  t.def("fliplr", [](B &b, T x) { return b.reverse(x, {1}); });
  t.def("flipud", [](B &b, T x) { return b.reverse(x, {0}); });
  t.def("rot90", [](B &b, T x, int64_t k, Dims dims) {
    k = ((k % 4) + 4) % 4;
    if (k == 1)
      return b.transpose(b.reverse(x, {dims[1]}), dims[0], dims[1]);
    if (k == 3)
      return b.transpose(b.reverse(x, {dims[0]}), dims[0], dims[1]);
    return k ? b.reverse(x, dims) : x;
  });
  t.def("roll", [](B &b, T x, Ints shifts, Dims dims) {
    if (!x.rank())
      return x;
    if (dims.empty())
      return b.reshape(roll(b, b.reshape(x, x.numel()), shifts[0], 0), x.sizes());
    for (size_t i = 0; i < dims.size(); ++i)
      x = roll(b, x, shifts[i], dims[i]);
    return x;
  });
}

/// The last three dimensions [g * a, ...] regrouped: reshape, permute, reshape.
static T regroup(B &b, T x, ShapeRef split, DimsRef order) {
  Shape sizes = x.sizes();
  Shape grown(ShapeRef(sizes).drop_back(3));
  int64_t lead = grown.size();
  grown.append(split.begin(), split.end());
  Dims permutation(lead);
  std::iota(permutation.begin(), permutation.end(), 0);
  for (int64_t d : order)
    permutation.push_back(lead + d);
  return b.reshape(b.permute(b.reshape(x, grown), permutation), b.declared());
}

static void addShuffles(Table &t) {
  t.def("pixel_shuffle", [](B &b, T x, int64_t r) {
    AffineExpr factor = b.size(r);
    return regroup(b, x, {x.size(-3).floorDiv(r * r), factor, factor, x.size(-2), x.size(-1)}, {0, 3, 1, 4, 2});
  });
  t.def("pixel_unshuffle", [](B &b, T x, int64_t r) {
    AffineExpr factor = b.size(r);
    return regroup(b, x, {x.size(-3), x.size(-2).floorDiv(r), factor, x.size(-1).floorDiv(r), factor},
                   {0, 2, 4, 1, 3});
  });
  t.def("channel_shuffle native_channel_shuffle", [](B &b, T x, Int groups) {
    Shape sizes = x.sizes(), grown = sizes;
    grown[1] = groups;
    grown.insert(grown.begin() + 2, sizes[1].floorDiv(groups));
    return b.reshape(b.transpose(b.reshape(x, grown), 1, 2), sizes);
  });
}

void addRearrange(Table &t) {
  addJoins(t);
  addRepeats(t);
  addOrders(t);
  addShuffles(t);
}

} // namespace ptc::decompose
