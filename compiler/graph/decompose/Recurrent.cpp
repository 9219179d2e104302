//===- Recurrent.cpp - LSTM, GRU and plain recurrent networks -------------===//
//
// Steps are unrolled, so that the length must be known; what depends on the
// input alone is one contraction for all steps.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Random.h"
#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

namespace {

enum class Cell { Lstm, Gru, Tanh, Relu };

/// The weights of one direction of one layer.
struct Weights {
  T input, hidden;
  OptT inputBias, hiddenBias, projection;
};

struct State {
  T h, c; ///< c of LSTM alone.
};

struct Network {
  Cell cell;
  bool hasBiases, isBidirectional, batchFirst;
  int64_t layers;
  double dropout; ///< Between layers.
};

T affine(B &b, T x, T w, OptT bias) {
  T y = b.contract(x, w, {}, {}, {-1}, {1});
  return bias ? y + *bias : y;
}

/// Gate i of [..., gates * H].
T gate(B &b, T gates, int64_t i, int64_t count) {
  AffineExpr size = gates.size(-1).floorDiv(count);
  return b.slice(gates, -1, size * i, size * (i + 1));
}

/// One step from what the input contributes, [batch, gates * H].
State step(B &b, Cell cell, T input, State state, const Weights &w) {
  T hidden = affine(b, state.h, w.hidden, w.hiddenBias);
  if (cell == Cell::Gru) {
    auto part = [&](T gates, int64_t i) { return gate(b, gates, i, 3); };
    T reset = b.sigmoid(part(input, 0) + part(hidden, 0)), update = b.sigmoid(part(input, 1) + part(hidden, 1));
    T fresh = b.tanh(part(input, 2) + reset * part(hidden, 2));
    return {(state.h - fresh) * update + fresh, T()};
  }
  T sum = input + hidden;
  if (cell != Cell::Lstm)
    return {cell == Cell::Tanh ? b.tanh(sum) : b.maximum(sum, 0.0), T()};
  T in = b.sigmoid(gate(b, sum, 0, 4)), forget = b.sigmoid(gate(b, sum, 1, 4));
  T fresh = b.tanh(gate(b, sum, 2, 4)), out = b.sigmoid(gate(b, sum, 3, 4));
  T c = forget * state.c + in * fresh, h = out * b.tanh(c);
  return {w.projection ? affine(b, h, *w.projection, {}) : h, c};
}

/// Runs x [time, batch, features] through one direction; `state` becomes the
/// last one.
T run(B &b, Cell cell, T x, State &state, const Weights &w, bool isReverse) {
  int64_t length = *getConstant(x.size(0));
  T inputs = affine(b, x, w.input, w.inputBias);
  llvm::SmallVector<T> outputs(length);
  for (int64_t i = 0; i < length; ++i) {
    int64_t place = isReverse ? length - 1 - i : i;
    state = step(b, cell, b.select(inputs, 0, b.size(place)), state, w);
    outputs[place] = state.h;
  }
  return b.stack(outputs, 0);
}

/// y, final h and (LSTM) final c.
TList runNetwork(B &b, T x, T h0, OptT c0, const TList &params, Network net) {
  bool isBatched = x.rank() == 3;
  if (!isBatched) {
    x = b.unsqueeze(x, 1), h0 = b.unsqueeze(h0, 1);
    c0 = c0 ? OptT(b.unsqueeze(*c0, 1)) : c0;
  } else if (net.batchFirst) {
    x = b.transpose(x, 0, 1);
  }
  if (!getConstant(x.size(0)))
    return {b.unsupported("the length of the sequence must be known at compile time")};
  constexpr int64_t kMostSteps = 1 << 14; // they are unrolled, and take some 20 operations each
  if (*getConstant(x.size(0)) > kMostSteps / std::max<int64_t>(net.layers, 1))
    return {b.unsupported("a sequence of " + llvm::Twine(*getConstant(x.size(0))) + " steps is too long")};
  bool isProjected = c0 && !isEqual(h0.size(-1), c0->size(-1));
  size_t used = 0;
  auto next = [&] { return params[used++]; };
  TList finalH, finalC;
  for (int64_t layer = 0; layer < net.layers; ++layer) {
    TList directions;
    for (int64_t direction = 0; direction <= int64_t(net.isBidirectional); ++direction) {
      Weights w{next(), next(), {}, {}, {}};
      if (net.hasBiases)
        w.inputBias = next(), w.hiddenBias = next();
      if (isProjected)
        w.projection = next();
      AffineExpr place = b.size(finalH.size());
      State state{b.select(h0, 0, place), c0 ? b.select(*c0, 0, place) : T()};
      directions.push_back(run(b, net.cell, x, state, w, direction == 1));
      finalH.push_back(state.h);
      finalC.push_back(state.c);
    }
    x = b.cat(directions, 2);
    if (layer + 1 < net.layers)
      x = dropout(b, x, net.dropout, true).result;
  }
  auto finish = [&](T y) { return isBatched ? y : b.squeeze(y, 1); };
  T y = isBatched && net.batchFirst ? b.transpose(x, 0, 1) : finish(x);
  TList results{y, finish(b.stack(finalH, 0))};
  if (c0)
    results.push_back(finish(b.stack(finalC, 0)));
  return results;
}

void addNetwork(Table &t, llvm::StringRef name, Cell cell) {
  t.opmath(name, [cell](B &b, T x, T h0, TList params, bool hasBiases, int64_t layers, double dropout, bool train,
                        bool isBidirectional, bool batchFirst) {
    return runNetwork(b, x, h0, {}, params,
                      {cell, hasBiases, isBidirectional, batchFirst, layers, train ? dropout : 0});
  });
}

void addCell(Table &t, llvm::StringRef name, Cell cell) {
  t.opmath(name, [cell](B &b, T x, T h, T wInput, T wHidden, OptT inputBias, OptT hiddenBias) {
    return step(b, cell, affine(b, x, wInput, inputBias), {h, T()}, {wInput, wHidden, inputBias, hiddenBias, {}}).h;
  });
}

} // namespace

void addRecurrent(Table &t) {
  t.opmath("lstm.input", [](B &b, T x, TList state, TList params, bool hasBiases, int64_t layers, double dropout,
                            bool train, bool isBidirectional, bool batchFirst) {
    return runNetwork(b, x, state[0], state[1], params,
                      {Cell::Lstm, hasBiases, isBidirectional, batchFirst, layers, train ? dropout : 0});
  });
  t.opmath("lstm_cell", [](B &b, T x, TList state, T wInput, T wHidden, OptT inputBias, OptT hiddenBias) {
    State next = step(b, Cell::Lstm, affine(b, x, wInput, inputBias), {state[0], state[1]},
                      {wInput, wHidden, inputBias, hiddenBias, {}});
    return TList{next.h, next.c};
  });
  addNetwork(t, "gru.input", Cell::Gru);
  addNetwork(t, "rnn_tanh.input", Cell::Tanh);
  addNetwork(t, "rnn_relu.input", Cell::Relu);
  addCell(t, "gru_cell", Cell::Gru);
  addCell(t, "rnn_tanh_cell", Cell::Tanh);
  addCell(t, "rnn_relu_cell", Cell::Relu);
}

} // namespace ptc::decompose
