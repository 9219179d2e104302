//===- move_test.cpp - scatter and sort against plain C++ -----------------===//

#include "test/codegen/Jit.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using ptc::test::Jit;

TEST_CASE("sort is stable, NaN the greatest, along any dimension") {
  int64_t n = GENERATE(0, 1, 2, 7, 64, 1000);
  bool descending = GENERATE(false, true);
  bool isLast = GENERATE(false, true);
  std::string shape = isLast ? "3x" + std::to_string(n) + "x" : std::to_string(n) + "x3x";
  std::string t = "tensor<" + shape + "f32>", p = "tensor<" + shape + "i64>";
  Jit jit("module {\nfunc.func @forward(%x: " + t + ") {\n%y:2 = loop.kernel \"sort\" outer 0 (%x) {\n^bb0(%a: " + t +
          "):\n%v, %i = loop.sort %a {dim = " + (isLast ? "1" : "0") +
          " : i64, descending = " + (descending ? "true" : "false") + "} : " + t + " -> " + t + ", " + p +
          "\nloop.yield %v, %i : " + t + ", " + p + "\n} : (" + t + ") -> (" + t + ", " + p + ")\nreturn\n}\n}\n");
  std::mt19937 generator(3);
  std::uniform_int_distribution<int> few(0, 20);
  std::vector<float> x(3 * n), y(3 * n);
  for (float &v : x)
    v = few(generator) == 0 ? NAN : few(generator);
  std::vector<int64_t> places(3 * n);
  CHECK(jit.run({x.data(), y.data(), places.data()}) == 0);
  auto before = [&](float a, float b) {
    if (descending)
      std::swap(a, b);
    return a < b || (std::isnan(b) && !std::isnan(a));
  };
  for (int64_t row = 0; row < 3; ++row) {
    auto at = [&](int64_t j) { return isLast ? row * n + j : j * 3 + row; };
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return before(x[at(a)], x[at(b)]); });
    for (int64_t j = 0; j < n; ++j)
      REQUIRE(places[at(j)] == order[j]);
  }
}

TEST_CASE("scatter combines in order") {
  std::string combine = GENERATE("set", "sum", "max");
  Jit jit(R"(module {
  func.func @forward(%x: tensor<10x4xf32>, %n: tensor<6xi64>, %u: tensor<6x4xf32>) {
    %y = loop.kernel "scatter" outer 0 (%x, %n, %u) {
    ^bb0(%a: tensor<10x4xf32>, %k: tensor<6xi64>, %b: tensor<6x4xf32>):
      %r = loop.scatter %a ")" +
          combine + R"(" over array<i64: 6, 4> {
      ^bb0(%i: index, %j: index):
        %v = loop.read %b[affine_map<(d0, d1) -> (d0, d1)>](%i, %j) : tensor<6x4xf32> -> f32
        %row = loop.read %k[affine_map<(d0) -> (d0)>](%i) : tensor<6xi64> -> i64
        %c = loop.checked_index %row : i64 in 10 : i64
        loop.yield %v, %c, %j : f32, index, index
      } : tensor<10x4xf32> -> tensor<10x4xf32>
      loop.yield %r : tensor<10x4xf32>
    } : (tensor<10x4xf32>, tensor<6xi64>, tensor<6x4xf32>) -> tensor<10x4xf32>
    return
  }
})");
  std::vector<float> x(40, 1), u(24), y(40), expected = x;
  std::iota(u.begin(), u.end(), -3);
  std::vector<int64_t> n = {2, 9, 2, 0, 5, 9};
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 4; ++j) {
      float &e = expected[n[i] * 4 + j], v = u[i * 4 + j];
      e = combine == "set" ? v : combine == "sum" ? e + v : std::max(e, v);
    }
  CHECK(jit.run({x.data(), n.data(), u.data(), y.data()}) == 0);
  CHECK(y == expected);
  n[3] = 10;
  CHECK(jit.run({x.data(), n.data(), u.data(), y.data()}) == 1);
}
