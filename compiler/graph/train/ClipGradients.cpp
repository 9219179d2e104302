#include "compiler/graph/train/ClipGradients.h"

namespace ptc::train {

using decompose::B;
using decompose::T;

void clipNorm(StepFunction &f, double limit, llvm::MutableArrayRef<T> gradients) {
  B &b = f.b;
  f.startPart("clip_grad_norm");
  T sum;
  for (T gradient : gradients)
    for (T part : partsOf(gradient)) {
      T squares = b.sum(part * part, {});
      sum = sum ? sum + squares : squares;
    }
  T norm = b.sqrt(sum);
  f.output("grad_norm", norm);
  // A number by a tensor is the tensor's reciprocal times the number, in PyTorch.
  T factor = b.reciprocal(norm + 1e-6) * b.to(f.number("clip.norm", b.f64(), limit), norm.dtype());
  factor = b.clamp(factor, std::nullopt, 1.0);
  for (T &gradient : gradients)
    gradient = mapParts(gradient, [&](T part) { return b.to(part * factor, part.dtype()); });
}

void clipValue(StepFunction &f, double limit, llvm::MutableArrayRef<T> gradients) {
  B &b = f.b;
  f.startPart("clip_grad_value");
  T most = f.number("clip.value", b.f64(), limit);
  for (T &gradient : gradients)
    gradient = mapParts(gradient, [&](T part) {
      T high = b.to(most, part.dtype());
      return b.clamp(part, -high, high);
    });
}

} // namespace ptc::train
