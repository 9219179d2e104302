//===- Contraction.cpp - what contractions and composites compute ---------===//

#include "dialects/prims/Compute.h"

#include "dialects/prims/reference/Evaluation.h"

using namespace mlir;
using llvm::Error;

namespace ptc::prims {

/// c[M, N] += a[M, K] b[K, N]; blocked so that rows of b and c stay in cache.
template <typename T> static void multiply(const T *a, const T *b, T *c, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kColumns = 512, kDepth = 64;
  for (int64_t j0 = 0; j0 < n; j0 += kColumns)
    for (int64_t p0 = 0; p0 < k; p0 += kDepth)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t p = p0, pEnd = std::min(k, p0 + kDepth); p < pEnd; ++p) {
          T factor = a[i * k + p];
          const T *row = b + p * n;
          T *out = c + i * n;
          for (int64_t j = j0, jEnd = std::min(n, j0 + kColumns); j < jEnd; ++j)
            out[j] += factor * row[j];
        }
}

/// Sums of integers wrap around, those of bools are their disjunction.
static void boundIntegers(Tensor &result) {
  for (int64_t &value : result.integers)
    value = isBool(result.element) ? value != 0 : wrap(value, result.element);
}

static Sizes freeDims(size_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  Sizes dims;
  for (int64_t d = 0; d < int64_t(rank); ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contract, d))
      dims.push_back(d);
  return dims;
}

static int64_t countDims(const Tensor &x, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= x.shape[dim];
  return count;
}

/// x with its dimensions in the order of three groups.
static Tensor group(const Tensor &x, ArrayRef<int64_t> a, ArrayRef<int64_t> b, ArrayRef<int64_t> c) {
  Sizes order(a.begin(), a.end());
  order.append(b.begin(), b.end());
  order.append(c.begin(), c.end());
  return permute(x, order);
}

Error ContractOp::evaluate(Evaluation &e) {
  Sizes rows = freeDims(e[0].shape.size(), getLhsBatch(), getLhsContract());
  Sizes columns = freeDims(e[1].shape.size(), getRhsBatch(), getRhsContract());
  Tensor lhs = group(e[0], getLhsBatch(), rows, getLhsContract());
  Tensor rhs = group(e[1], getRhsBatch(), getRhsContract(), columns);
  Tensor result = e.makeResult();
  int64_t m = countDims(e[0], rows), n = countDims(e[1], columns), k = countDims(e[0], getLhsContract());
  int64_t batches = countDims(e[0], getLhsBatch());
  result.visit([&](auto &out) {
    using T = typename std::decay_t<decltype(out)>::value_type;
    for (int64_t i = 0; i < batches; ++i)
      multiply(lhs.as<T>().data() + i * m * k, rhs.as<T>().data() + i * k * n, out.data() + i * m * n, m, n, k);
  });
  boundIntegers(result);
  return e.set(std::move(result));
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

namespace {

/// A convolution with channels first; its weights [groups, O/g, (C/g, kernel)].
struct Geometry {
  Sizes input, kernel, output;
  mutable ConvolutionOp op;

  /// Where output `at` reads its input under kernel element `k`; -1: a zero.
  int64_t place(ArrayRef<int64_t> at, ArrayRef<int64_t> k) const {
    int64_t result = 0;
    for (size_t d = 0; d < input.size(); ++d) {
      int64_t index = at[d] * op.getStrides()[d] + k[d] * op.getDilations()[d] - op.getLow()[d];
      int64_t dilation = op.getInputDilations()[d];
      if (index < 0 || index % dilation || index / dilation >= input[d])
        return -1;
      result = result * input[d] + index / dilation;
    }
    return result;
  }
};

} // namespace

/// [C, input] becomes [(C, kernel), output]: the elements each output reads.
template <typename T>
static std::vector<T> unfold(const Geometry &g, const std::vector<int64_t> &places, const T *x, int64_t channels) {
  int64_t plane = countElements(g.input);
  std::vector<T> columns(channels * places.size());
  for (int64_t c = 0; c < channels; ++c)
    for (size_t i = 0; i < places.size(); ++i)
      columns[c * places.size() + i] = places[i] < 0 ? T(0) : x[c * plane + places[i]];
  return columns;
}

static Sizes channelsFirst(size_t rank) {
  Sizes order{0, int64_t(rank) - 1};
  for (size_t d = 1; d + 1 < rank; ++d)
    order.push_back(d);
  return order;
}

Error ConvolutionOp::evaluate(Evaluation &e) {
  size_t rank = e[0].shape.size(), spatial = rank - 2;
  Tensor x = e[0], w = e[1], result = e.makeResult();
  if (getChannelsLast()) {
    x = permute(x, channelsFirst(rank));
    Sizes order{int64_t(rank) - 1, int64_t(rank) - 2};
    for (size_t d = 0; d < spatial; ++d)
      order.push_back(d);
    w = permute(w, order);
    result = permute(result, channelsFirst(rank));
  }
  Geometry g{Sizes(llvm::ArrayRef(x.shape).drop_front(2)), Sizes(llvm::ArrayRef(w.shape).drop_front(2)),
             Sizes(llvm::ArrayRef(result.shape).drop_front(2)), *this};
  std::vector<int64_t> places;
  for (IndexCounter k(g.kernel); k; ++k)
    for (IndexCounter at(g.output); at; ++at)
      places.push_back(g.place(*at, *k));
  int64_t groups = getGroups(), inputs = w.shape[1], outputs = w.shape[0] / groups;
  int64_t plane = countElements(g.input), points = countElements(g.output), depth = inputs * countElements(g.kernel);
  result.visit([&](auto &out) {
    using T = typename std::decay_t<decltype(out)>::value_type;
    for (int64_t i = 0; i < x.shape[0] * groups; ++i) {
      std::vector<T> columns = unfold(g, places, x.as<T>().data() + i * inputs * plane, inputs);
      multiply(w.as<T>().data() + i % groups * outputs * depth, columns.data(), out.data() + i * outputs * points,
               outputs, points, depth);
    }
  });
  boundIntegers(result);
  if (getChannelsLast()) {
    Sizes order{0};
    for (size_t d = 0; d < spatial; ++d)
      order.push_back(d + 2);
    order.push_back(1);
    result = permute(result, order);
  }
  return e.set(std::move(result));
}

//===----------------------------------------------------------------------===//
// Random bits
//===----------------------------------------------------------------------===//

/// Philox4x32 with ten rounds (Salmon et al., 2011).
static uint32_t philox(uint64_t key, uint64_t counter, uint64_t stream, int64_t word) {
  uint32_t c[4] = {uint32_t(counter), uint32_t(counter >> 32), uint32_t(stream), uint32_t(stream >> 32)};
  uint32_t k[2] = {uint32_t(key), uint32_t(key >> 32)};
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * c[0], b = uint64_t(0xCD9E8D57) * c[2];
    uint32_t next[4] = {uint32_t(b >> 32) ^ c[1] ^ k[0], uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ k[1], uint32_t(a)};
    std::copy_n(next, 4, c);
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return c[word];
}

Error RandomBitsOp::evaluate(Evaluation &e) {
  Tensor result = e.makeResult();
  for (int64_t i = 0; i < int64_t(result.integers.size()); ++i)
    result.integers[i] = int32_t(philox(e[0].integers[0], i / 4, e[0].integers[1] + getStream(), i % 4));
  return e.set(std::move(result));
}

} // namespace ptc::prims
