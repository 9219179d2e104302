//===- special_test.cpp - special functions where formulas lose digits ----===//

#include "runtime/special/Special.h"

#include <catch2/catch.hpp>

#include <cmath>

/// Expected values are of 50 digits, rounded (mpmath).
static void checkAround(double value, double expected) {
  CHECK(std::fabs(value - expected) <= 3 * 0x1p-52 * std::fabs(expected));
}

TEST_CASE("the quantile of the normal distribution has all digits around 1/2") {
  CHECK(ptc_special_ndtri(0.5) == 0);
  checkAround(ptc_special_ndtri(0.5 + 0x1p-52), 5.565832849343534e-16);
  checkAround(ptc_special_ndtri(0.5 - 1e-9), -2.5066283428845328e-09);
  checkAround(ptc_special_ndtri(0.4988777069100392), -0.002813175302271619);
  checkAround(ptc_special_ndtri(0.5028668212377829), 0.007186117021306839);
  checkAround(ptc_special_ndtri(0.25), -0.6744897501960817);
  checkAround(ptc_special_ndtri(0.75), 0.6744897501960817);
  checkAround(ptc_special_ndtri(0.2), -0.8416212335729142);
}

TEST_CASE("the quantile of the normal distribution has all digits down to the last denormal probability") {
  checkAround(ptc_special_ndtri(1e-300), -37.0470962993612);
  checkAround(ptc_special_ndtri(1e-315), -37.96730035106736);
  checkAround(ptc_special_ndtri(5e-324), -38.467405617144344);
}
