#include "compiler/graph/decompose/Sample.h"

namespace ptc::decompose {

using mlir::AffineExpr;

/// A whole place inside, wherever `place` is.
static T indexOf(B &b, T place, AffineExpr size) {
  return b.clamp(b.to(b.where(b.isFinite(place), place, 0.0), b.i64()), T(0), T(size - 1));
}

T samplePixels(B &b, T image, llvm::ArrayRef<T> places, OptT of) {
  T inside;
  TList indices{T()};
  Dims dims{0};
  for (auto [d, place] : llvm::enumerate(places)) {
    AffineExpr size = image.size(d + 2);
    T within = (place >= 0.0) & (place < b.tensor(T(size), place.dtype()));
    inside = inside ? inside & within : within;
    indices.push_back(indexOf(b, place, size));
    dims.push_back(d + 2);
  }
  Shape sizes = indices.back().sizes();
  indices[0] = of ? b.broadcastInDim(*of, sizes, {0}) : b.iota(sizes, 0, b.i64());
  return b.where(b.unsqueeze(inside, -1), b.gather(image, indices, dims), 0.0);
}

T weightedPixels(B &b, T pixels, T weight) { return pixels * b.unsqueeze(weight, -1); }

T sampleLinear(B &b, T image, llvm::ArrayRef<T> places, OptT of) {
  T sum;
  for (unsigned corner = 0; corner < 1u << places.size(); ++corner) {
    TList whole(places.size());
    T weight;
    for (unsigned d = places.size(); d-- > 0;) { // x first, as PyTorch rounds
      T place = places[d], low = b.floor(place);
      bool isUpper = corner >> (places.size() - 1 - d) & 1;
      T part = isUpper ? place - low : places.size() == 3 ? low + 1.0 - place : 1.0 - (place - low);
      whole[d] = isUpper ? low + 1.0 : low;
      weight = weight ? weight * part : part;
    }
    T term = weightedPixels(b, samplePixels(b, image, whole, of), weight);
    sum = sum ? sum + term : term;
  }
  return sum;
}

} // namespace ptc::decompose
