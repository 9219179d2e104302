//===- math_test.cpp - vector math against libm in double -----------------===//

#include "test/codegen/Jit.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

using ptc::test::Jit;

namespace {

struct Function {
  const char *name;
  double (*exact)(double);
  double low, high; ///< where samples lie densely
  double ulps = 2;
};

double rsqrt(double x) { return 1 / std::sqrt(x); }

const Function kFunctions[] = {
    {"exp", std::exp, -110, 95},      {"exp2", std::exp2, -155, 135},   {"expm1", std::expm1, -20, 90},
    {"log", std::log, 0, 10},         {"log2", std::log2, 0, 10},       {"log10", std::log10, 0, 10},
    {"log1p", std::log1p, -1, 5},     {"sin", std::sin, -1000, 1000},   {"cos", std::cos, -1000, 1000},
    {"sin", std::sin, -1e5, 1e5},     {"cos", std::cos, -1e5, 1e5},
    {"tan", std::tan, -100, 100},     {"asin", std::asin, -1.1, 1.1},   {"acos", std::acos, -1.1, 1.1},
    {"atan", std::atan, -10, 10},     {"sinh", std::sinh, -95, 95},     {"cosh", std::cosh, -95, 95},
    {"tanh", std::tanh, -10, 10},     {"asinh", std::asinh, -10, 10},   {"acosh", std::acosh, 0.5, 10},
    {"atanh", std::atanh, -1.1, 1.1}, {"erf", std::erf, -5, 5},         {"erfc", std::erfc, -5, 11},
    {"cbrt", std::cbrt, -10, 10},     {"rsqrt", rsqrt, 0, 10},
};

std::string kernel(const std::string &op, const std::string &type, const std::string &result,
                   const std::string &before = "") {
  std::string in = "tensor<?x" + type + ", affine_map<()[s0] -> (s0)>>";
  std::string out = "tensor<?x" + result + ", affine_map<()[s0] -> (s0)>>";
  return "loop.kernel \"k\" outer 1 (%x, %y) {\n^bb0(%a: " + in + ", %b: " + in +
         "):\n%r = loop.map {\n^bb0(%i: index):\n" + "%u = loop.read %a[affine_map<(d0) -> (d0)>](%i) : " + in +
         " -> " + type + "\n" + "%v = loop.read %b[affine_map<(d0) -> (d0)>](%i) : " + in + " -> " + type + "\n" +
         before + "%w = " + op + "\nloop.yield %w : " + result + "\n} : " + out + "\nloop.yield %r : " + out +
         "\n} : (" + in + ", " + in + ") -> " + out + "\n";
}

std::string module(const std::vector<std::string> &kernels, const std::string &type) {
  std::string in = "tensor<?x" + type + ", affine_map<()[s0] -> (s0)>>", body;
  for (size_t i = 0; i < kernels.size(); ++i)
    body += "%z" + std::to_string(i) + " = " + kernels[i];
  return "module attributes {ptc.symbols = [{name = \"s0\", min = 0 : i64, max = -1 : i64}]} {\nfunc.func "
         "@forward(%x: " +
         in + ", %y: " + in + ") {\n" + body + "return\n}\n}\n";
}

/// Distance in units of the float's last place; 0 for equals, NaN and NaN too.
double ulps(float value, double exact) {
  float rounded = exact;
  if (std::isnan(exact) || std::isnan(value))
    return std::isnan(exact) && std::isnan(value) ? 0 : 1e30;
  if (value == rounded)
    return std::signbit(value) == std::signbit(rounded) ? 0 : 1e30;
  if (std::isinf(value) || std::isinf(rounded))
    return std::abs(exact) > 3.4028e38 && std::abs(value) > 3.4028e38 ? 1 : 1e30;
  float magnitude = std::max(std::abs(rounded), 0x1p-126f);
  return std::abs(value - exact) / (std::nextafter(magnitude, INFINITY) - magnitude);
}

/// Samples of the interval, of all floats, and the edges.
std::vector<float> samples(double low, double high, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> range(low, high);
  std::uniform_int_distribution<uint32_t> bits;
  std::vector<float> values = {0.f,  -0.f, 1.f,  -1.f, INFINITY, -INFINITY, NAN,     0.5f,    -0.5f, 2.f,
                               3.f,  -3.f, 1e-45f, -1e-40f, 1e-38f, 3.4e38f, -3.4e38f, 1e10f, 16777216.f};
  for (int i = 0; i < 100000; ++i)
    values.push_back(range(generator));
  for (int i = 0; i < 100001; ++i) {
    uint32_t word = bits(generator);
    float value;
    std::memcpy(&value, &word, 4);
    values.push_back(value);
  }
  return values;
}

} // namespace

TEST_CASE("float functions are within two units in the last place") {
  std::vector<std::string> kernels;
  for (const Function &function : kFunctions)
    kernels.push_back(kernel(std::string("math.") + function.name + " %u : f32", "f32", "f32"));
  Jit jit(module(kernels, "f32"));
  for (size_t i = 0; i < std::size(kFunctions); ++i) {
    const Function &function = kFunctions[i];
    std::vector<float> x = samples(function.low, function.high, i), y(x.size());
    jit.run({x.data(), x.data(), y.data()}, {int64_t(x.size())}, i);
    double worst = 0;
    float at = 0;
    for (size_t j = 0; j < x.size(); ++j)
      if (double error = ulps(y[j], function.exact(x[j])); error > worst) {
        worst = error;
        at = x[j];
      }
    INFO(function.name << "(" << at << ") is off by " << worst);
    CHECK(worst <= function.ulps);
    if (std::getenv("PTC_PRINT_ULPS"))
      printf("%-6s %.3f at %a\n", function.name, worst, at);
  }
}

TEST_CASE("erf and tanh are 1 far from 0") {
  Jit jit(module({kernel("math.erf %u : f32", "f32", "f32"), kernel("math.tanh %u : f32", "f32", "f32")}, "f32"));
  std::vector<float> x(64), y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::ldexp(i % 2 ? -16.f : 16.f, 2 * (i / 2));
  for (unsigned k = 0; k < 2; ++k) {
    jit.run({x.data(), x.data(), y.data()}, {int64_t(x.size())}, k);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(x[i]);
      REQUIRE(y[i] == (i % 2 ? -1.f : 1.f));
    }
  }
}

TEST_CASE("a softmax's exp is 0 where it would be subnormal") {
  Jit jit(module({kernel("math.exp %u {ptc.flush} : f32", "f32", "f32")}, "f32"));
  std::vector<float> x = samples(-110, 0, 3), y(x.size());
  x.insert(x.end(), {-0x1.5d589ep6f, -0x1.5d58ap6f}); // the last normal number, and what follows
  y.resize(x.size());
  jit.run({x.data(), x.data(), y.data()}, {int64_t(x.size())});
  for (size_t i = 0; i < x.size(); ++i) {
    double exact = std::exp(double(x[i]));
    REQUIRE((exact < 0x1p-126 ? y[i] == 0 : ulps(y[i], exact) <= 2));
  }
}

TEST_CASE("functions of two arguments") {
  Jit jit(
      module({kernel("math.powf %u, %v : f32", "f32", "f32"), kernel("loop.atan2 %u, %v : f32", "f32", "f32")}, "f32"));
  std::vector<float> x = samples(-3, 50, 1), y = samples(-10, 10, 2), z(x.size());
  std::reverse(y.begin() + 300, y.end());
  // Every edge against every edge.
  for (int i = 0; i < 17; ++i)
    for (int j = 0; j < 17; ++j) {
      x[1000 + 17 * i + j] = x[i];
      y[1000 + 17 * i + j] = y[j];
    }
  double (*exact[])(double, double) = {std::pow, std::atan2};
  for (unsigned k = 0; k < 2; ++k) {
    jit.run({x.data(), y.data(), z.data()}, {int64_t(x.size())}, k);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(x[i] << ", " << y[i] << " gives " << z[i] << ", not " << exact[k](x[i], y[i]));
      REQUIRE(ulps(z[i], exact[k](x[i], y[i])) <= 2);
    }
  }
}

TEST_CASE("division by a number rounds as division does") {
  const float numbers[] = {3.f, 6.f, 1.41421356f, 49.f, 1.e10f, 0.3f, 0.0235294f, 0.000071f, -7.f, 8.f};
  std::vector<std::string> kernels;
  for (float number : numbers)
    kernels.push_back(kernel("arith.divf %u, %c : f32", "f32", "f32",
                             "%c = arith.constant " + std::to_string(number) + " : f32\n"));
  Jit jit(module(kernels, "f32"));
  std::vector<float> x = samples(-100, 100, 1), y(x.size());
  for (size_t k = 0; k < std::size(numbers); ++k) {
    jit.run({x.data(), x.data(), y.data()}, {int64_t(x.size())}, k);
    float by = std::stof(std::to_string(numbers[k]));
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(x[i] << " / " << by << " gives " << y[i]);
      float exact = x[i] / by;
      if (std::abs(x[i]) >= 0x1p-100f || x[i] == 0)
        REQUIRE((y[i] == exact ? std::signbit(y[i]) == std::signbit(exact) : std::isnan(y[i]) && std::isnan(exact)));
      else
        REQUIRE(ulps(y[i], double(x[i]) / by) <= 1);
    }
  }
}

TEST_CASE("extremes with a number keep NaN") {
  std::string zero = "%c = arith.constant 0.0 : f32\n", six = "%c = arith.constant 6.0 : f32\n";
  Jit jit(module({kernel("arith.maximumf %u, %c : f32", "f32", "f32", zero),
                  kernel("arith.minimumf %u, %c : f32", "f32", "f32", six),
                  kernel("arith.maximumf %c, %u : f32", "f32", "f32", six)},
                 "f32"));
  std::vector<float> x = samples(-10, 10, 1), y(x.size());
  float (*exact[])(float) = {[](float v) { return v < 0 ? 0 : v; }, [](float v) { return v > 6 ? 6 : v; },
                             [](float v) { return v < 6 ? 6 : v; }};
  for (unsigned k = 0; k < std::size(exact); ++k) {
    jit.run({x.data(), x.data(), y.data()}, {int64_t(x.size())}, k);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(k << " of " << x[i] << " gives " << y[i]);
      REQUIRE((y[i] == exact[k](x[i]) || (std::isnan(y[i]) && std::isnan(x[i]))));
    }
  }
}

TEST_CASE("integers do not trap") {
  Jit jit(module({kernel("arith.divsi %u, %v : i32", "i32", "i32"), kernel("arith.remsi %u, %v : i32", "i32", "i32"),
                  kernel("arith.floordivsi %u, %v : i32", "i32", "i32"),
                  kernel("arith.shli %u, %v : i32", "i32", "i32"), kernel("arith.shrsi %u, %v : i32", "i32", "i32")},
                 "i32"));
  std::vector<int32_t> x, y;
  for (int64_t a : {0ll, 1ll, -1ll, 7ll, -7ll, 100ll, 2147483647ll, -2147483648ll})
    for (int64_t b : {0ll, 1ll, -1ll, 3ll, -3ll, 31ll, 32ll, 2147483647ll, -2147483648ll}) {
      x.push_back(a);
      y.push_back(b);
    }
  std::vector<int32_t> z(x.size());
  std::function<int64_t(int64_t, int64_t)> exact[] = {
      [](int64_t a, int64_t b) { return b ? a / b : 0; },
      [](int64_t a, int64_t b) { return b ? a % b : a; },
      [](int64_t a, int64_t b) { return b ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0; },
      [](int64_t a, int64_t b) { return b >= 0 && b < 32 ? int64_t(uint64_t(a) << b) : 0; },
      [](int64_t a, int64_t b) { return a >> (b >= 0 && b < 32 ? b : 31); }};
  for (unsigned k = 0; k < 5; ++k) {
    jit.run({x.data(), y.data(), z.data()}, {int64_t(x.size())}, k);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO("operation " << k << " of " << x[i] << ", " << y[i]);
      CHECK(z[i] == int32_t(exact[k](x[i], y[i])));
    }
  }
}

TEST_CASE("what does not fit an integer is the most negative one") {
  Jit jit(module(
      {kernel("arith.fptosi %u : f32 to i32", "f32", "i32"), kernel("arith.fptosi %u : f32 to i64", "f32", "i64")},
      "f32"));
  std::vector<float> x = {0.f,  1.9f, -1.9f,    2147483520.f, 2147483648.f, -2147483648.f,
                          3e9f, NAN,  INFINITY, -INFINITY,    1e19f};
  std::vector<int32_t> y(x.size());
  std::vector<int64_t> z(x.size());
  jit.run({x.data(), x.data(), y.data()}, {int64_t(x.size())}, 0);
  jit.run({x.data(), x.data(), z.data()}, {int64_t(x.size())}, 1);
  constexpr int32_t kLeast = INT32_MIN;
  CHECK(y == std::vector<int32_t>{0, 1, -1, 2147483520, kLeast, kLeast, kLeast, kLeast, kLeast, kLeast, kLeast});
  CHECK(z == std::vector<int64_t>{0, 1, -1, 2147483520, 2147483648, -2147483648, 3000000000, INT64_MIN, INT64_MIN,
                                  INT64_MIN, INT64_MIN});
}

TEST_CASE("unsigned integers have all their magnitudes, and negative numbers wrap") {
  Jit jit(module(
      {kernel("arith.fptoui %u : f32 to i32", "f32", "i32"), kernel("arith.fptoui %u : f32 to i64", "f32", "i64")},
      "f32"));
  std::vector<float> x = {0.f, 1.9f, -1.9f, 2147483648.f, 4294967040.f, 4294967296.f, 9223372036854775808.f, 1.5e19f};
  std::vector<uint32_t> y(x.size());
  std::vector<uint64_t> z(x.size());
  jit.run({x.data(), x.data(), y.data()}, {int64_t(x.size())}, 0);
  jit.run({x.data(), x.data(), z.data()}, {int64_t(x.size())}, 1);
  CHECK(y == std::vector<uint32_t>{0, 1, UINT32_MAX, 2147483648, 4294967040, 0, 0, 0});
  CHECK(z == std::vector<uint64_t>{0, 1, UINT64_MAX, 2147483648, 4294967040, 4294967296, 9223372036854775808u,
                                   uint64_t(1.5e19f)});
}

TEST_CASE("bf16 rounds to nearest even and keeps NaN") {
  Jit jit(module({kernel("arith.truncf %u : f32 to bf16", "f32", "bf16")}, "f32"));
  std::vector<float> x = {1.f, 1.00390625f, 1.01171875f, 1.00390637f, NAN, INFINITY, -0.f, 3.4e38f};
  std::vector<uint16_t> y(x.size());
  jit.run({x.data(), x.data(), y.data()}, {int64_t(x.size())});
  CHECK(y == std::vector<uint16_t>{0x3f80, 0x3f80, 0x3f82, 0x3f81, 0x7fc0, 0x7f80, 0x8000, 0x7f80});
}
