//===- Matrix.cpp - the algorithms on matrices, for kernels to call -------===//
//
// ptc_matrix_NAME_f32 and _f64, ptc_matrix_complex_NAME_f32 and _f64; the linker drops those that no kernel calls.
//
//===----------------------------------------------------------------------===//

#include "runtime/matrix/Algorithms.h"
#include "runtime/matrix/Boxes.h"
#include "runtime/matrix/Factor.h"
#include "runtime/matrix/Fourier.h"
#include "runtime/matrix/Schur.h"
#include "runtime/matrix/Sequence.h"
#include "runtime/matrix/Spectrum.h"

#define PTC_MATRIX_DEFINE(name, signature)                                                                             \
  extern "C" void ptc_matrix_##name##_f32(float *const *tensors, const int64_t *sizes) {                               \
    ptc::matrix::name<float>(tensors, sizes);                                                                          \
  }                                                                                                                    \
  extern "C" void ptc_matrix_##name##_f64(double *const *tensors, const int64_t *sizes) {                              \
    ptc::matrix::name<double>(tensors, sizes);                                                                         \
  }
PTC_MATRIX_ALGORITHMS(PTC_MATRIX_DEFINE)

namespace {
/// Pairs of real numbers as what they stand for.
template <class Real>
void callComplex(ptc::matrix::Function<ptc::matrix::Complex<Real>> function, Real *const *tensors,
                 const int64_t *sizes) {
  function(reinterpret_cast<ptc::matrix::Complex<Real> *const *>(tensors), sizes);
}
} // namespace

#define PTC_COMPLEX_DEFINE(name, signature)                                                                            \
  extern "C" void ptc_matrix_complex_##name##_f32(float *const *tensors, const int64_t *sizes) {                       \
    callComplex<float>(&ptc::matrix::name, tensors, sizes);                                                            \
  }                                                                                                                    \
  extern "C" void ptc_matrix_complex_##name##_f64(double *const *tensors, const int64_t *sizes) {                      \
    callComplex<double>(&ptc::matrix::name, tensors, sizes);                                                           \
  }
PTC_COMPLEX_ALGORITHMS(PTC_COMPLEX_DEFINE)

