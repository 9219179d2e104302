//===- SignalWindows.cpp - windows of signal processing --------------------===//

#include "compiler/graph/decompose/Table.h"

#include <cmath>

namespace ptc::decompose {

/// `shape` of the places of the declared window in [0, 1], computed in f64. A window of one element is 1.
template <class F> static T window(B &b, bool isPeriodic, F shape) {
  mlir::AffineExpr length = b.declared()[0];
  int64_t shortest = b.range(length).min;
  if (b.isOne(length))
    return b.full(length, 1, b.declaredType());
  if (!isPeriodic && shortest < 2)
    return b.unsupported("a symmetric window whose length may be 1 at run time: give it a lower bound of 2");
  T last = b.tensor(T(isPeriodic ? length : length - 1), b.f64());
  return b.to(shape(b.range(length, b.f64()) / last), b.declaredType());
}

/// a - b cos(x) + c cos(2x) of a whole turn.
static T cosines(B &b, bool isPeriodic, double a, double first, double second = 0) {
  return window(b, isPeriodic, [&](T place) {
    T turn = place * (2 * M_PI), y = a - first * b.cos(turn);
    return second ? y + second * b.cos(turn * 2.0) : y;
  });
}

static T kaiser(B &b, bool isPeriodic, double beta) {
  return window(b, isPeriodic, [&](T place) {
    T x = place * 2.0 - 1.0;
    T inside = b.sqrt(b.maximum(1.0 - x * x, 0.0)) * beta;
    return b.special("modified_bessel_i0", inside) / b.special("modified_bessel_i0", b.tensor(beta, b.f64()));
  });
}

void addSignalWindows(Table &t) {
  t.def("hann_window", [](B &b, Int, Dtype) { return cosines(b, true, 0.5, 0.5); });
  t.def("hann_window.periodic", [](B &b, Int, bool periodic, Dtype) { return cosines(b, periodic, 0.5, 0.5); });
  t.def("hamming_window", [](B &b, Int, Dtype) { return cosines(b, true, 0.54, 0.46); });
  t.def("hamming_window.periodic", [](B &b, Int, bool periodic, Dtype) { return cosines(b, periodic, 0.54, 0.46); });
  t.def("hamming_window.periodic_alpha",
        [](B &b, Int, bool periodic, double alpha, Dtype) { return cosines(b, periodic, alpha, 0.46); });
  t.def("hamming_window.periodic_alpha_beta", [](B &b, Int, bool periodic, double alpha, double beta, Dtype) {
    return cosines(b, periodic, alpha, beta);
  });
  t.def("blackman_window", [](B &b, Int, Dtype) { return cosines(b, true, 0.42, 0.5, 0.08); });
  t.def("blackman_window.periodic",
        [](B &b, Int, bool periodic, Dtype) { return cosines(b, periodic, 0.42, 0.5, 0.08); });
  auto triangle = [](B &b, bool periodic) {
    return window(b, periodic, [&](T place) { return 1.0 - b.abs(place * 2.0 - 1.0); });
  };
  t.def("bartlett_window", [=](B &b, Int, Dtype) { return triangle(b, true); });
  t.def("bartlett_window.periodic", [=](B &b, Int, bool periodic, Dtype) { return triangle(b, periodic); });
  t.def("kaiser_window", [](B &b, Int, Dtype) { return kaiser(b, true, 12); });
  t.def("kaiser_window.periodic", [](B &b, Int, bool periodic, Dtype) { return kaiser(b, periodic, 12); });
  t.def("kaiser_window.beta",
        [](B &b, Int, bool periodic, double beta, Dtype) { return kaiser(b, periodic, beta); });
}

} // namespace ptc::decompose
