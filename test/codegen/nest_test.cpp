//===- nest_test.cpp - maps, reductions and scans against plain C++ -------===//

#include "test/codegen/Jit.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <random>

using ptc::test::Jit;

static std::vector<float> randoms(size_t n) {
  static std::mt19937 generator(7);
  std::uniform_real_distribution<float> range(-2, 2);
  std::vector<float> values(n);
  for (float &v : values)
    v = range(generator);
  return values;
}

static std::string module(const std::string &body, const std::string &symbols = "") {
  return "module " + (symbols.empty() ? "" : "attributes {ptc.symbols = [" + symbols + "]} ") + "{\n" + body + "\n}";
}

TEST_CASE("a pointwise chain over symbolic sizes") {
  Jit jit(module(R"(
  func.func @forward(%x: tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>) {
    %y = loop.kernel "chain" outer 2 (%x) {
    ^bb0(%a: tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>):
      %r = loop.map {
      ^bb0(%i: index, %j: index):
        %v = loop.read %a[affine_map<(d0, d1) -> (d0, d1)>](%i, %j)
            : tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>> -> f32
        %s = math.sin %v : f32
        %c = math.cos %s : f32
        loop.yield %c : f32
      } : tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>
      loop.yield %r : tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>
    } : (tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>) -> tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>
    return
  })",
                 R"({name = "s0", min = 0 : i64, max = -1 : i64}, {name = "s1", min = 0 : i64, max = -1 : i64})"));
  auto [rows, columns] = GENERATE(std::pair(1, 1), std::pair(7, 13), std::pair(1000, 1003), std::pair(0, 5));
  std::vector<float> x = randoms(rows * columns), y(x.size() + 1, 99);
  CHECK(jit.run({x.data(), y.data()}, {rows, columns}) == 0);
  for (size_t i = 0; i < x.size(); ++i)
    REQUIRE(std::abs(y[i] - std::cos(std::sin(x[i]))) < 3e-7f);
  CHECK(y.back() == 99);
}

TEST_CASE("what is transposed on its way is read and stored in whole vectors") {
  auto [rows, columns] = GENERATE(std::pair(16, 16), std::pair(5, 40), std::pair(40, 5), std::pair(33, 70),
                                  std::pair(1, 17), std::pair(300, 1000));
  bool isOpen = GENERATE(false, true);
  std::string r = std::to_string(rows), c = std::to_string(columns);
  auto type = [&](const std::string &first, const std::string &second, const std::string &symbols,
                  const std::string &element) {
    return isOpen ? "tensor<?x?x" + element + ", affine_map<()[s0, s1] -> (" + symbols + ")>>"
                  : "tensor<" + first + "x" + second + "x" + element + ">";
  };
  std::string x = type(r, c, "s0, s1", "f32"), y = type(c, r, "s1, s0", "f32"), z = type(c, r, "s1, s0", "i32");
  Jit jit(module(R"(
  func.func @forward(%x: )" +
                     x + R"() {
    %y:2 = loop.kernel "transpose" outer 2 (%x) {
    ^bb0(%a: )" + x + R"():
      %r:2 = loop.map {
      ^bb0(%j: index, %i: index):
        %v = loop.read %a[affine_map<(d0, d1) -> (d1, d0)>](%j, %i) : )" +
                     x + R"( -> f32
        %k = arith.index_cast %j : index to i32
        %f = arith.sitofp %k : i32 to f32
        %s = arith.addf %v, %f : f32
        %n = arith.fptosi %s : f32 to i32
        loop.yield %s, %n : f32, i32
      } : )" + y + ", " +
                     z + R"(
      loop.yield %r#0, %r#1 : )" +
                     y + ", " + z + R"(
    } : ()" + x + ") -> (" +
                     y + ", " + z + R"()
    return
  })",
                 isOpen ? R"({name = "s0", min = 0 : i64, max = -1 : i64},
                             {name = "s1", min = 0 : i64, max = -1 : i64})"
                        : ""));
  std::vector<float> in = randoms(rows * columns), out(in.size() + 1, 99);
  std::vector<int32_t> whole(in.size() + 1, 99);
  std::vector<int64_t> sizes = isOpen ? std::vector<int64_t>{rows, columns} : std::vector<int64_t>{};
  CHECK(jit.run({in.data(), out.data(), whole.data()}, sizes) == 0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      REQUIRE(out[j * rows + i] == in[i * columns + j] + float(j));
      REQUIRE(whole[j * rows + i] == int32_t(in[i * columns + j] + float(j)));
    }
  CHECK(out.back() == 99);
  CHECK(whole.back() == 99);
}

TEST_CASE("softmax in one kernel: rows in registers and scratch") {
  int64_t n = GENERATE(1, 5, 16, 100, 197, 1000);
  std::string t = "tensor<6x" + std::to_string(n) + "xf32>", sizes = "array<i64: " + std::to_string(n) + ">";
  Jit jit(module(R"(
  func.func @forward(%x: )" +
                 t + R"() {
    %y = loop.kernel "softmax" outer 1 (%x) {
    ^bb0(%a: )" + t +
                 R"():
      %m = loop.reduce ["max"] over )" +
                 sizes + R"( {
      ^bb0(%i: index, %j: index):
        %v = loop.read %a[affine_map<(d0, d1) -> (d0, d1)>](%i, %j) : )" +
                 t + R"( -> f32
        loop.yield %v : f32
      } : tensor<6xf32>
      %e = loop.map {
      ^bb0(%i: index, %j: index):
        %v = loop.read %a[affine_map<(d0, d1) -> (d0, d1)>](%i, %j) : )" +
                 t + R"( -> f32
        %w = loop.read %m[affine_map<(d0) -> (d0)>](%i) : tensor<6xf32> -> f32
        %d = arith.subf %v, %w : f32
        %r = math.exp %d : f32
        loop.yield %r : f32
      } : )" + t +
                 R"(
      %s = loop.reduce ["sum"] over )" +
                 sizes + R"( {
      ^bb0(%i: index, %j: index):
        %v = loop.read %e[affine_map<(d0, d1) -> (d0, d1)>](%i, %j) : )" +
                 t + R"( -> f32
        loop.yield %v : f32
      } : tensor<6xf32>
      %r = loop.map {
      ^bb0(%i: index, %j: index):
        %v = loop.read %e[affine_map<(d0, d1) -> (d0, d1)>](%i, %j) : )" +
                 t + R"( -> f32
        %w = loop.read %s[affine_map<(d0) -> (d0)>](%i) : tensor<6xf32> -> f32
        %q = arith.divf %v, %w : f32
        loop.yield %q : f32
      } : )" + t +
                 R"(
      loop.yield %r : )" +
                 t + R"(
    } : ()" + t + ") -> " +
                 t + R"(
    return
  })"));
  std::vector<float> x = randoms(6 * n), y(6 * n);
  CHECK(jit.run({x.data(), y.data()}) == 0);
  for (int64_t i = 0; i < 6; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j)
      sum += std::exp(double(x[i * n + j]));
    for (int64_t j = 0; j < n; ++j)
      REQUIRE(std::abs(y[i * n + j] - std::exp(double(x[i * n + j])) / sum) < 1e-6);
  }
}

TEST_CASE("sum over rows or columns, argmax, and what finish makes of them") {
  auto [m, n] =
      GENERATE(std::pair(1, 1), std::pair(3, 70), std::pair(300, 17), std::pair(1000, 64), std::pair(2, 20000));
  bool overRows = GENERATE(true, false);
  std::string t = "tensor<" + std::to_string(m) + "x" + std::to_string(n) + "xf32>";
  int64_t kept = overRows ? n : m, reduced = overRows ? m : n;
  std::string k = std::to_string(kept), map = overRows ? "(d1, d0)" : "(d0, d1)";
  Jit jit(module(R"(
  func.func @forward(%x: )" +
                 t + R"() {
    %y:2 = loop.kernel "reduce" outer 1 (%x) {
    ^bb0(%a: )" + t +
                 R"():
      %s:2 = loop.reduce ["sum", "argmax"] over array<i64: )" +
                 std::to_string(reduced) + R"(> {
      ^bb0(%i: index, %j: index):
        %v = loop.read %a[affine_map<(d0, d1) -> )" +
                 map + R"(>](%i, %j) : )" + t + R"( -> f32
        loop.yield %v, %v : f32, f32
      } finish {
      ^bb0(%i: index, %sum: f32, %place: i64):
        %two = arith.constant 2.0 : f32
        %d = arith.mulf %sum, %two : f32
        loop.yield %d, %place : f32, i64
      } : tensor<)" +
                 k + "xf32>, tensor<" + k + R"(xi64>
      loop.yield %s#0, %s#1 : tensor<)" +
                 k + "xf32>, tensor<" + k + R"(xi64>
    } : ()" + t + ") -> (tensor<" +
                 k + "xf32>, tensor<" + k + R"(xi64>)
    return
  })"));
  std::vector<float> x = randoms(m * n), y(kept);
  if (x.size() > 100)
    x[70] = NAN;
  std::vector<int64_t> places(kept);
  CHECK(jit.run({x.data(), y.data(), places.data()}) == 0);
  for (int64_t i = 0; i < kept; ++i) {
    double sum = 0;
    int64_t place = 0;
    auto at = [&](int64_t j) { return overRows ? x[j * n + i] : x[i * n + j]; };
    for (int64_t j = 0; j < reduced; ++j) {
      sum += at(j);
      if (at(j) > at(place) || (std::isnan(at(j)) && !std::isnan(at(place))))
        place = j;
    }
    CHECK(places[i] == place);
    if (std::isnan(sum))
      CHECK(std::isnan(y[i]));
    else
      CHECK(std::abs(y[i] - 2 * sum) < 2e-5 * std::sqrt(double(reduced)));
  }
}

TEST_CASE("running sums along each dimension") {
  int64_t dim = GENERATE(0, 1);
  Jit jit(module(R"(
  func.func @forward(%x: tensor<9x37xf32>) {
    %y = loop.kernel "scan" outer 0 (%x) {
    ^bb0(%a: tensor<9x37xf32>):
      %s = loop.scan "sum" along )" +
                 std::to_string(dim) + R"( {
      ^bb0(%i: index, %j: index):
        %v = loop.read %a[affine_map<(d0, d1) -> (d0, d1)>](%i, %j) : tensor<9x37xf32> -> f32
        loop.yield %v : f32
      } : tensor<9x37xf32>
      loop.yield %s : tensor<9x37xf32>
    } : (tensor<9x37xf32>) -> tensor<9x37xf32>
    return
  })"));
  std::vector<float> x = randoms(9 * 37), y(x.size());
  CHECK(jit.run({x.data(), y.data()}) == 0);
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t j = 0; j < 37; ++j) {
      double sum = 0;
      for (int64_t k = 0; k <= (dim ? j : i); ++k)
        sum += dim ? x[i * 37 + k] : x[k * 37 + j];
      REQUIRE(std::abs(y[i * 37 + j] - sum) < 1e-4);
    }
}

TEST_CASE("a transposed read, a padded read, a read at a checked index") {
  Jit jit(module(R"(
  func.func @forward(%x: tensor<33x20xf32>, %n: tensor<20xi64>) {
    %y:2 = loop.kernel "reads" outer 2 (%x, %n) {
    ^bb0(%a: tensor<33x20xf32>, %k: tensor<20xi64>):
      %r:2 = loop.map {
      ^bb0(%i: index, %j: index):
        %t = loop.read %a[affine_map<(d0, d1) -> (d1, d0)>](%i, %j) : tensor<33x20xf32> -> f32
        %zero = arith.constant 0.0 : f32
        %three = arith.constant 3 : index
        %inside = arith.cmpi uge, %j, %three : index
        %p = loop.read %a[affine_map<(d0, d1) -> (d1 - 3, d0)>](%i, %j) where %inside else %zero : f32
            : tensor<33x20xf32> -> f32
        %sum = arith.addf %t, %p : f32
        %row = loop.read %k[affine_map<(d0) -> (d0)>](%i) : tensor<20xi64> -> i64
        %c = loop.checked_index %row : i64 in 33 : i64
        %g = loop.read %a[affine_map<(d0, d1) -> (d0, d1 mod 20)>](%c, %j) : tensor<33x20xf32> -> f32
        loop.yield %sum, %g : f32, f32
      } : tensor<20x33xf32>, tensor<20x33xf32>
      loop.yield %r#0, %r#1 : tensor<20x33xf32>, tensor<20x33xf32>
    } : (tensor<33x20xf32>, tensor<20xi64>) -> (tensor<20x33xf32>, tensor<20x33xf32>)
    return
  })"));
  std::vector<float> x = randoms(33 * 20), y(x.size()), z(x.size());
  std::vector<int64_t> n(20);
  for (int64_t i = 0; i < 20; ++i)
    n[i] = i * 7 % 33;
  CHECK(jit.run({x.data(), n.data(), y.data(), z.data()}) == 0);
  for (int64_t i = 0; i < 20; ++i)
    for (int64_t j = 0; j < 33; ++j) {
      REQUIRE(y[i * 33 + j] == x[j * 20 + i] + (j >= 3 ? x[(j - 3) * 20 + i] : 0));
      REQUIRE(z[i * 33 + j] == x[n[i] * 20 + j % 20]);
    }
  n[4] = 33;
  CHECK(jit.run({x.data(), n.data(), y.data(), z.data()}) == 1);
  n[4] = -1;
  CHECK(jit.run({x.data(), n.data(), y.data(), z.data()}) == 1);
}

TEST_CASE("of nothing no index reads") {
  Jit jit(R"(module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 9 : i64},
                                             {name = "s1", min = 0 : i64, max = 9 : i64}]} {
  func.func @forward(%x: tensor<?xf32, affine_map<()[s0, s1] -> (s0)>>,
                     %n: tensor<?xi64, affine_map<()[s0, s1] -> (s1)>>) {
    %y = loop.kernel "reads" outer 1 (%x, %n) {
    ^bb0(%a: tensor<?xf32, affine_map<()[s0, s1] -> (s0)>>, %k: tensor<?xi64, affine_map<()[s0, s1] -> (s1)>>):
      %r = loop.map {
      ^bb0(%i: index):
        %row = loop.read %k[affine_map<(d0) -> (d0)>](%i) : tensor<?xi64, affine_map<()[s0, s1] -> (s1)>> -> i64
        %c = loop.checked_index %row : i64 in affine_map<()[s0, s1] -> (s0)>
        %g = loop.read %a[affine_map<(d0) -> (d0)>](%c) : tensor<?xf32, affine_map<()[s0, s1] -> (s0)>> -> f32
        loop.yield %g : f32
      } : tensor<?xf32, affine_map<()[s0, s1] -> (s1)>>
      loop.yield %r : tensor<?xf32, affine_map<()[s0, s1] -> (s1)>>
    } : (tensor<?xf32, affine_map<()[s0, s1] -> (s0)>>, tensor<?xi64, affine_map<()[s0, s1] -> (s1)>>)
        -> tensor<?xf32, affine_map<()[s0, s1] -> (s1)>>
    return
  }
})");
  std::vector<int64_t> n(3);
  std::vector<float> x = {1, 2}, y(3);
  CHECK(jit.run({nullptr, n.data(), y.data()}, {0, 3}) == 1);
  CHECK(jit.run({nullptr, nullptr, nullptr}, {0, 0}) == 0);
  CHECK(jit.run({x.data(), n.data(), y.data()}, {2, 3}) == 0);
}

TEST_CASE("a concatenation whose tasks end shortly before an operand begins") {
  Jit jit(module(R"(
  func.func @forward(%x: tensor<300xf32>, %y: tensor<212xf32>) {
    %z = loop.kernel "concatenate" outer 1 (%x, %y) {
    ^bb0(%a: tensor<300xf32>, %b: tensor<212xf32>):
      %r = loop.map {
      ^bb0(%i: index):
        %zero = arith.constant 0.0 : f32
        %border = arith.constant 300 : index
        %before = arith.cmpi slt, %i, %border : index
        %first = loop.read %a[affine_map<(d0) -> (d0)>](%i) where %before else %zero : f32 : tensor<300xf32> -> f32
        %behind = arith.cmpi sge, %i, %border : index
        %v = loop.read %b[affine_map<(d0) -> (d0 - 300)>](%i) where %behind else %first : f32 : tensor<212xf32> -> f32
        loop.yield %v : f32
      } : tensor<512xf32>
      loop.yield %r : tensor<512xf32>
    } {ptc.tuning = {grain = -10 : i64}} : (tensor<300xf32>, tensor<212xf32>) -> tensor<512xf32>
    return
  })"));
  CHECK(jit.tasks() > 8);
  std::vector<float> x = randoms(300), y = randoms(212), z(512);
  CHECK(jit.run({x.data(), y.data(), z.data()}) == 0);
  std::vector<float> expected = x;
  expected.insert(expected.end(), y.begin(), y.end());
  CHECK(z == expected);
}

TEST_CASE("views of merged and split dimensions, also through loop.index") {
  Jit jit(module(R"(
  func.func @forward(%x: tensor<5x16x4xf32>) {
    %y:2 = loop.kernel "views" outer 2 (%x) {
    ^bb0(%a: tensor<5x16x4xf32>):
      %r:2 = loop.map {
      ^bb0(%i: index, %j: index):
        %v = loop.read %a[affine_map<(d0, d1) -> (d0, d1 floordiv 4, d1 mod 4)>](%i, %j) : tensor<5x16x4xf32> -> f32
        %k = loop.index [affine_map<(d0) -> (63 - d0)>](%j)
        %q = loop.index [affine_map<(d0) -> (d0 floordiv 4)>](%k)
        %m = loop.index [affine_map<(d0) -> (d0 mod 4)>](%k)
        %w = loop.read %a[affine_map<(d0, d1, d2) -> (d0, d1, d2)>](%i, %q, %m) : tensor<5x16x4xf32> -> f32
        loop.yield %v, %w : f32, f32
      } : tensor<5x64xf32>, tensor<5x64xf32>
      loop.yield %r#0, %r#1 : tensor<5x64xf32>, tensor<5x64xf32>
    } : (tensor<5x16x4xf32>) -> (tensor<5x64xf32>, tensor<5x64xf32>)
    return
  })"));
  std::vector<float> x = randoms(320), y(320), z(320);
  CHECK(jit.run({x.data(), y.data(), z.data()}) == 0);
  CHECK(y == x);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 64; ++j)
      REQUIRE(z[i * 64 + j] == x[i * 64 + 63 - j]);
}
