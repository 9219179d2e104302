//===- Heads.h - what every form of attention is built from ------------------------===//
#pragma once

#include "compiler/import/onnx/Node.h"

#include <cmath>

namespace ptc::import::onnx {

/// [batch, length, heads * size] as [batch, heads, length, size].
Value splitHeads(Builder &b, const Value &x, int64_t heads);

/// [batch, heads, length, size] as [batch, length, heads * size].
Value joinHeads(Builder &b, const Value &x);

/// Every head `times` times: [h0, h0, h1, h1, …].
Value repeatHeads(Builder &b, const Value &x, int64_t times);

/// What is added to the scores; nothing where nothing is.
class Bias {
public:
  Bias(Builder &b, mlir::Type element) : b(b), element(element) {}

  /// Where `allowed` is false, a key is not seen.
  void allow(const Value &allowed) { lower(allowed, -INFINITY); }
  /// Where `allowed` is false, `by` is added.
  void lower(const Value &allowed, double by) {
    add(b.where(allowed, b.full({}, 0, element), b.full({}, by, element)));
  }
  void add(const Value &more) { value = value ? value + more : more; }

  Value value;

private:
  Builder &b;
  mlir::Type element;
};

/// The rows of a matrix at these places: [places' sizes…, columns].
Value rowsAt(Builder &b, const Value &matrix, const Value &places);

/// Rotary position embedding (arXiv 2104.09864) of the first `turned` features of x [batch, heads, length, size];
/// cosine and sine are [batch or 1, length, turned / 2]. Pairs are features side by side where it alternates, else of
/// the two halves.
Value rotate(Builder &b, const Value &x, Value cosine, Value sine, int64_t turned, bool alternates);

} // namespace ptc::import::onnx
