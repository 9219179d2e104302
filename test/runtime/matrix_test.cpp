//===- matrix_test.cpp - the algorithms on matrices, by what they promise -===//

#include "runtime/matrix/Algorithms.h"
#include "runtime/matrix/Boxes.h"
#include "runtime/matrix/Factor.h"
#include "runtime/matrix/Fourier.h"
#include "runtime/matrix/Sequence.h"
#include "runtime/matrix/Spectrum.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace ptc::matrix;
using Numbers = std::vector<double>;

static Numbers randomNumbers(int64_t count, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  Numbers numbers(count);
  for (double &x : numbers)
    x = number(engine);
  return numbers;
}

/// x [m, k] times y [k, n].
static Numbers product(const Numbers &x, const Numbers &y, int64_t m, int64_t k, int64_t n) {
  Numbers z(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        z[i * n + j] += x[i * k + l] * y[l * n + j];
  return z;
}

static Numbers transposed(const Numbers &x, int64_t rows, int64_t columns) {
  Numbers y(x.size());
  transpose(x.data(), y.data(), rows, columns);
  return y;
}

static double difference(const Numbers &x, const Numbers &y) {
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i)
    most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

/// Complex numbers lie in pairs.
template <class Number>
static void run(Function<Number> function, std::vector<Numbers *> tensors, std::vector<int64_t> sizes) {
  std::vector<Number *> pointers;
  for (Numbers *tensor : tensors)
    pointers.push_back(reinterpret_cast<Number *>(tensor->data()));
  function(pointers.data(), sizes.data());
}

TEST_CASE("LU: the factors' product is the matrix with its rows exchanged") {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 5}, {7, 4}, {4, 7}, {1, 1}}) {
    int64_t k = std::min(m, n);
    Numbers a = randomNumbers(m * n), factors(m * n), pivots(k), status(1), exchanged(m * n);
    run(lu<double>, {&a, &factors, &pivots, &status}, {m, n});
    Numbers lower(m * k), upper(k * n);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < k; ++j)
        lower[i * k + j] = i == j ? 1 : i > j ? factors[i * n + j] : 0;
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = i; j < n; ++j)
        upper[i * n + j] = factors[i * n + j];
    run(swap_rows<double>, {&pivots, &a, &exchanged}, {k, m, n});
    CHECK(difference(product(lower, upper, m, k, n), exchanged) < 1e-12);
    CHECK(status[0] == 0);
    Numbers back(m * n);
    run(swap_rows_back<double>, {&pivots, &exchanged, &back}, {k, m, n});
    CHECK(difference(back, a) == 0);
  }
}

TEST_CASE("LU: a matrix without rank says where") {
  Numbers a{1, 2, 2, 4}, factors(4), pivots(2), status(1);
  run(lu<double>, {&a, &factors, &pivots, &status}, {2, 2});
  CHECK(status[0] == 2);
}

TEST_CASE("LDL solves symmetric systems, blocks of two included") {
  int64_t n = 6;
  Numbers a = randomNumbers(n * n), x = randomNumbers(n * 2, 2);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j)
      a[j * n + i] = a[i * n + j];
    a[i * n + i] *= 0.01; // off the diagonal is more
  }
  Numbers b = product(a, x, n, n, 2), factors(n * n), pivots(n), status(1), solution(n * 2);
  run(ldl<double>, {&a, &factors, &pivots, &status}, {n});
  CHECK(std::any_of(pivots.begin(), pivots.end(), [](double pivot) { return pivot < 0; }));
  run(ldl_solve<double>, {&factors, &pivots, &b, &solution}, {n, 2});
  CHECK(difference(solution, x) < 1e-10);
}

TEST_CASE("QR: orthogonal columns times a triangle") {
  int64_t m = 7, n = 4;
  Numbers a = randomNumbers(m * n), r(m * n), tau(n), sum(n), q(m * n), triangle(n * n);
  run(qr<double>, {&a, &r, &tau, &sum}, {m, n});
  run(householder<double>, {&r, &tau, &q, &sum}, {m, n, n});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i; j < n; ++j)
      triangle[i * n + j] = r[i * n + j];
  CHECK(difference(product(q, triangle, m, n, n), a) < 1e-12);
  Numbers identity(n * n);
  setIdentity(identity.data(), n);
  CHECK(difference(product(transposed(q, m, n), q, n, m, n), identity) < 1e-12);
}

TEST_CASE("singular values: the parts' product is the matrix, also without rank") {
  int64_t m = 6, n = 4;
  for (bool isSingular : {false, true}) {
    Numbers a = randomNumbers(m * n), u(m * n), s(n), vt(n * n), columns(m * n), v(n * n), order(n);
    for (int64_t i = 0; i < m && isSingular; ++i)
      a[i * n + 3] = a[i * n + 2] = a[i * n] + a[i * n + 1];
    run(svd<double>, {&a, &u, &s, &vt, &columns, &v, &order}, {m, n});
    CHECK(std::is_sorted(s.rbegin(), s.rend()));
    Numbers scaled = vt, identity(n * n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        scaled[i * n + j] *= s[i];
    CHECK(difference(product(u, scaled, m, n, n), a) < 1e-12);
    setIdentity(identity.data(), n);
    CHECK(difference(product(transposed(u, m, n), u, n, m, n), identity) < 1e-12);
    CHECK(difference(product(vt, transposed(vt, n, n), n, n, n), identity) < 1e-12);
  }
}

TEST_CASE("eigenvalues: A V = V L") {
  int64_t n = 8;
  Numbers a = randomNumbers(n * n), values(n), vectors(n * n), scratch(n * n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j)
      a[j * n + i] = a[i * n + j];
  run(eigh<double>, {&a, &values, &vectors, &scratch}, {n});
  Numbers scaled = vectors;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      scaled[i * n + j] *= values[j];
  CHECK(std::is_sorted(values.begin(), values.end()));
  CHECK(difference(product(a, vectors, n, n, n), scaled) < 1e-12);
}

TEST_CASE("rows in lexical order; equal ones stay as they stand") {
  for (int64_t m : {0, 1, 2, 3, 7, 100}) {
    int64_t n = 3;
    Numbers x = randomNumbers(m * n), places(m), scratch(m);
    for (double &number : x)
      number = std::floor(number * 2);
    run(lexical_order<double>, {&x, &places, &scratch}, {m, n});
    auto row = [&](int64_t i) {
      auto first = x.begin() + int64_t(places[i]) * n;
      Numbers key(first, first + n);
      key.push_back(places[i]);
      return key;
    };
    for (int64_t i = 1; i < m; ++i)
      CHECK(row(i - 1) < row(i));
  }
}

TEST_CASE("a box that a better one overlaps is not kept, and suppresses nothing") {
  // Each overlaps the one before it by 8 of 12; the first and the third overlap by 6 of 14.
  Numbers boxes = {0, 0, 10, 1, 2, 0, 12, 1, 4, 0, 14, 1, 50, 0, 60, 1}, threshold = {0.5}, kept(4);
  run(suppress_overlaps<double>, {&boxes, &threshold, &kept}, {4});
  CHECK(kept == Numbers{1, 0, 1, 1});
  threshold = {0.4};
  run(suppress_overlaps<double>, {&boxes, &threshold, &kept}, {4});
  CHECK(kept == Numbers{1, 0, 0, 1});
  // As much as the threshold is not more. Boxes of no area overlap nothing.
  threshold = {8.0 / 12};
  run(suppress_overlaps<double>, {&boxes, &threshold, &kept}, {4});
  CHECK(kept == Numbers{1, 1, 1, 1});
  boxes = {1, 1, 1, 1, 1, 1, 1, 1};
  run(suppress_overlaps<double>, {&boxes, &threshold, &kept}, {2});
  CHECK((kept[0] == 1 && kept[1] == 1));
}

TEST_CASE("running products and logarithms of sums of exponentials") {
  Numbers x = {1, 2, 0, -1, -3, 0.5}, products(6), sums(6);
  run(cumprod<Wide>, {&x, &products}, {3});
  CHECK(difference(products, {1, 2, 2, -1, -5.5, 4}) < 1e-15);
  run(logcumsumexp<Wide>, {&x, &sums}, {3});
  Wide sum{0, 0};
  for (int64_t i = 0; i < 3; ++i) {
    sum = sum + Wide{std::exp(x[2 * i]) * std::cos(x[2 * i + 1]), std::exp(x[2 * i]) * std::sin(x[2 * i + 1])};
    CHECK(std::abs(sums[2 * i] - std::log(magnitude(sum))) < 1e-14);
    CHECK(std::abs(sums[2 * i + 1] - std::atan2(sum.im, sum.re)) < 1e-14);
  }
}

TEST_CASE("Fourier: every way to compute it agrees with the definition, and comes back") {
  for (int64_t n : {1, 2, 3, 16, 31, 32, 33, 37, 60, 128, 1009}) {
    Numbers x = randomNumbers(2 * n), y(2 * n), back(2 * n), scratch(48 * n);
    run(fourier<Wide>, {&x, &y, &scratch}, {n});
    std::vector<Wide> direct(n), roots(n), input(n);
    for (int64_t k = 0; k < n; ++k)
      input[k] = {x[2 * k], x[2 * k + 1]};
    transformDirectly(input.data(), direct.data(), n, -1, roots.data());
    double most = 0;
    for (int64_t k = 0; k < n; ++k)
      most = std::max({most, std::abs(direct[k].re - y[2 * k]), std::abs(direct[k].im - y[2 * k + 1])});
    CHECK(most < 1e-10);
    run(fourier_inverse<Wide>, {&y, &back, &scratch}, {n});
    for (double &number : back)
      number /= double(n);
    CHECK(difference(back, x) < 1e-12);
  }
}
