//===- FourierStages.cpp --------------------------------------------------===//
//
// Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series", 1965, for any factors. With
// n = f m, elements j = j1 m + j2 and frequencies k = k2 f + k1,
//
//   X[k] = sum over j2 of w_m^(j2 k2) w_n^(j2 k1) (sum over j1 of w_f^(j1 k1) x[j]),   w_n = e^(-2 pi i / n):
//
// transforms of f elements, which are a product with a constant matrix, turns of what they make, and transforms of m
// elements. Parts lie beside each other, so that a product of complex numbers is one of real ones.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/FourierStages.h"

#include <cmath>
#include <map>
#include <utility>

using namespace mlir;

namespace ptc::decompose {

std::optional<SmallVector<int64_t>> getFourierFactors(int64_t n) {
  // A stage multiplies each number with the elements of a row of its matrix and moves it, which takes as long as so
  // many products. Sums of more numbers would be less exact than those of PyTorch's algorithm.
  constexpr int64_t kMove = 32, kLargest = 64;
  struct Plan {
    int64_t cost;
    SmallVector<int64_t> factors;
  };
  // What the first stage's results are turned by are 2 n constants.
  constexpr int64_t kMost = 1 << 20;
  if (n < 1 || n > kMost)
    return std::nullopt;
  if (n == 1)
    return SmallVector<int64_t>{1};
  std::map<int64_t, std::optional<Plan>> plans = {{1, Plan{0, {}}}};
  auto planOf = [&](auto &self, int64_t n) -> const std::optional<Plan> & {
    if (auto found = plans.find(n); found != plans.end())
      return found->second;
    std::optional<Plan> best;
    for (int64_t f = 2; f <= std::min(n, kLargest); ++f) {
      const std::optional<Plan> &rest = n % f ? std::nullopt : self(self, n / f);
      if (!rest || (best && best->cost <= rest->cost + f + kMove))
        continue;
      best = Plan{rest->cost + f + kMove, {f}};
      best->factors.append(rest->factors);
    }
    return plans[n] = best;
  };
  const std::optional<Plan> &plan = planOf(planOf, n);
  return plan ? std::optional(plan->factors) : std::nullopt;
}

namespace {
/// Real numbers have no imaginary part.
struct Parts {
  T re;
  std::optional<T> im;
};

/// e^(2 pi i k / n), exact where it is 0 or 1.
struct Root {
  double re, im;
  Root(int64_t k, int64_t n) {
    k = ((k % n) + n) % n;
    int64_t quarters = (4 * k + n / 2) / n; // to the nearest axis
    double angle = 2 * M_PI * double(4 * k - quarters * n) / double(4 * n);
    re = std::cos(angle), im = std::sin(angle);
    for (; quarters > 0; --quarters)
      re = -std::exchange(im, re);
  }
};

/// The stages of one transform.
class Stages {
public:
  Stages(B &b, bool isForward, Type part) : b(b), sign(isForward ? -1 : 1), part(part) {}

  /// Of [batch..., n] along the last dimension.
  Parts transform(Parts x, ArrayRef<int64_t> factors);

private:
  T matrix(int64_t f, bool isReal);
  Parts turned(Parts x, int64_t m, int64_t f);

  B &b;
  int sign;
  Type part;
};
} // namespace

/// [part][j][part][k], or [j][part][k] for real numbers.
T Stages::matrix(int64_t f, bool isReal) {
  std::vector<double> values;
  for (int64_t from = 0; from < (isReal ? 1 : 2); ++from)
    for (int64_t j = 0; j < f; ++j)
      for (int64_t to = 0; to < 2; ++to)
        for (int64_t k = 0; k < f; ++k) {
          Root root(sign * j * k, f);
          values.push_back(from == to ? root.re : from == 0 ? root.im : -root.im);
        }
  Shape sizes = {b.size(f), b.size(2), b.size(f)};
  if (!isReal)
    sizes.insert(sizes.begin(), b.size(2));
  return b.reshape(b.constant(values, part), sizes);
}

/// x [batch..., m, f] times w_n^(j2 k1).
Parts Stages::turned(Parts x, int64_t m, int64_t f) {
  std::vector<double> re, im;
  for (int64_t j = 0; j < m; ++j)
    for (int64_t k = 0; k < f; ++k) {
      Root root(sign * j * k, m * f);
      re.push_back(root.re);
      im.push_back(root.im);
    }
  Shape sizes = {b.size(m), b.size(f)};
  T c = b.reshape(b.constant(re, part), sizes), s = b.reshape(b.constant(im, part), sizes);
  return {x.re * c - *x.im * s, x.re * s + *x.im * c};
}

Parts Stages::transform(Parts x, ArrayRef<int64_t> factors) {
  Shape batch = x.re.sizes();
  batch.pop_back();
  int64_t rank = batch.size(), f = factors.front(), m = llvm::product_of(factors.drop_front());
  auto sized = [&](T t, std::initializer_list<int64_t> last) {
    Shape sizes = batch;
    for (int64_t size : last)
      sizes.push_back(b.size(size));
    return b.reshape(t, sizes);
  };
  auto swapped = [&](T t) { return b.transpose(t, -1, -2); };
  auto columns = [&](T t) { return swapped(sized(t, {f, m})); }; // [batch..., m, f]

  T lhs = x.im ? b.stack({columns(x.re), columns(*x.im)}, -2) : columns(x.re);
  T product = x.im ? b.contract(lhs, matrix(f, false), {}, {}, {rank + 1, rank + 2}, {0, 1})
                   : b.contract(lhs, matrix(f, true), {}, {}, {rank + 1}, {0});
  Parts y = {b.select(product, -2, b.size(0)), b.select(product, -2, b.size(1))}; // [batch..., m, f]
  if (m > 1) {
    y = turned(y, m, f);
    y = transform({swapped(y.re), swapped(*y.im)}, factors.drop_front()); // [batch..., f, m]
    y = {swapped(y.re), swapped(*y.im)};
  }
  return {sized(y.re, {f * m}), sized(*y.im, {f * m})};
}

T transformByStages(B &b, T x, ArrayRef<int64_t> factors, bool isForward) {
  // Transforms of few elements take little time in doubles. In float32 the largest error of a sum of products is up to
  // three times that of PyTorch's algorithm.
  constexpr int64_t kMostInDoubles = 16;
  T re = b.real(x);
  Type part = re.dtype(), inner = llvm::product_of(factors) <= kMostInDoubles ? b.f64() : part;
  Parts parts = {b.to(re, inner), isComplex(x.dtype()) ? std::optional(b.to(b.imag(x), inner)) : std::nullopt};
  Parts y = Stages(b, isForward, inner).transform(parts, factors);
  return b.complex(b.to(y.re, part), b.to(*y.im, part));
}

} // namespace ptc::decompose
