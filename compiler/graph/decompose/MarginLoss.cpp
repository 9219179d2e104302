//===- MarginLoss.cpp - losses of classes that must be apart --------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Loss.h"
#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

/// One sample is a batch of one.
static T asBatch(B &b, T x) {
  T batch = x.rank() == 2 ? x : b.reshape(x, {b.size(1), x.rank() ? x.size(0) : b.size(1)});
  b.requireElements(batch, {1});
  return batch;
}

/// Without derivative where it is 0.
static T positivePart(B &b, T x) {
  return b.withGradient(b.maximum(x, 0.0), x, [&](T grad) { return b.where(x > 0, grad, 0.0); });
}

/// The mean over classes j other than the target's of max(0, margin - x[target] + x[j])^p.
static T multiMargin(B &b, T x, T target, int64_t p, double margin, OptT weight, int64_t reduction) {
  x = asBatch(b, x);
  target = b.reshape(target, x.size(0));
  T column = b.unsqueeze(target, 1);
  T own = b.gather(x, elementIndices(b, column, 1), {0, 1});
  T distance = positivePart(b, margin - own + x);
  distance = p == 2 ? b.square(distance) : distance;
  if (weight)
    distance = distance * b.gather(*weight, {column}, {0});
  T isOther = b.iota(x.sizes(), 1, target.dtype()) != column;
  T loss = b.mean(b.where(isOther, distance, 0.0), {1});
  return b.reshape(reduced(b, loss, reduction), b.declared());
}

/// target: class indices, up to the first -1. The loss, and which classes are targets.
static TList multilabelMargin(B &b, T x, T target, int64_t reduction) {
  T rows = asBatch(b, x), labels = asBatch(b, target);
  T isLabel = b.scan("prod", b.to(labels >= 0, b.i32()), 1) != 0; // [n, labels]
  T place = b.where(isLabel, labels, 0);
  T classes = b.iota(rows.sizes(), 1, labels.dtype()); // [n, classes]
  T matches = (b.unsqueeze(place, 2) == b.unsqueeze(classes, 1)) & b.unsqueeze(isLabel, 2);
  T isTarget = b.any(matches, {1});
  T own = b.gather(rows, elementIndices(b, place, 1), {0, 1});
  T distance = positivePart(b, 1.0 - (b.unsqueeze(own, 2) - b.unsqueeze(rows, 1))); // [n, labels, classes]
  T counts = b.unsqueeze(isLabel, 2) & b.unsqueeze(~isTarget, 1);
  T loss = b.sum(b.where(counts, distance, 0.0), {1, 2}) / T(rows.size(1));
  T total = b.reshape(reduced(b, loss, reduction), b.declared());
  return {total, b.hasDeclared(1) ? b.reshape(b.to(isTarget, x.dtype()), b.declared(1)) : T()};
}

void addMarginLoss(Table &t) {
  t.opmath("multi_margin_loss", [](B &b, T x, T target, T p, T margin, OptT weight, int64_t reduction) {
    return multiMargin(b, x, target, p.integer(), margin.real(), weight, reduction);
  });
  t.opmath("multilabel_margin_loss",
           [](B &b, T x, T target, int64_t reduction) { return multilabelMargin(b, x, target, reduction)[0]; });
  t.opmath("multilabel_margin_loss_forward",
           [](B &b, T x, T target, int64_t reduction) { return multilabelMargin(b, x, target, reduction); });
}

} // namespace ptc::decompose
