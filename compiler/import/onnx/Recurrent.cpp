//===- Recurrent.cpp - RNN, GRU, LSTM -----------------------------------------------===//
//
// ONNX's cells have more forms than PyTorch's: other activations, peepholes,
// lengths of sequences. Those that PyTorch has too are its operators; the rest
// is a scan over the steps, and so is ONNX Runtime's LSTM of quantized weights.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Quantization.h"
#include "compiler/import/onnx/Regions.h"
#include "compiler/import/onnx/Table.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

struct Activation {
  std::string name;
  double alpha, beta;
};

/// What one direction multiplies by: numbers, [gates * hidden, input], or bytes, [input, gates * hidden], of one scale
/// or one a column.
struct Weight {
  Value numbers, scale, zero;
};

class Network {
public:
  Network(Builder &b, const Node &n, unsigned gates, bool isQuantized = false)
      : b(b), n(n), gates(gates), isQuantized(isQuantized) {}

  Values build();

private:
  bool read();
  Weight readWeight(unsigned d, unsigned input, unsigned scale);
  void readActivations();
  bool isPlain() const;
  Values plain();
  Value product(const Value &x, const Weight &w);
  Value reversed(const Value &all);
  Values direction(unsigned d);
  Value step(unsigned d, const Value &gatesOfX, Value &hidden, Value &cell);
  Value apply(unsigned d, unsigned which, Value x);
  Value limit(const Value &x) { return clip > 0 ? b.clamp(x, -clip, clip) : x; }
  /// Rows `i * hidden` to `(i + 1) * hidden` of the first dimension.
  Value rows(const Value &x, int64_t i) { return b.slice(x, 0, b.constant(i * hidden), b.constant((i + 1) * hidden)); }
  Value part(const Value &x, int64_t i) {
    return b.slice(x, -1 + b.rank(x), b.constant(i * hidden), b.constant((i + 1) * hidden));
  }

  Builder &b;
  const Node &n;
  unsigned gates;         ///< 1: RNN, 3: GRU, 4: LSTM.
  const bool isQuantized; ///< weights are bytes, and so is what they are multiplied by
  Value x, initial, initialCell, lengths;
  AffineExpr steps;
  int64_t hidden = 0;
  unsigned directions = 1;
  double clip = 0;
  std::string way;
  std::vector<Activation> activations;
  Weight weights[2], recurrent[2];
  Value biasX[2], biasH[2], peepholes[2];
};

Weight Network::readWeight(unsigned d, unsigned input, unsigned scale) {
  if (!isQuantized)
    return {b.row(n[input], d), b.none(), b.none()};
  return {b.row(n[input], d), b.row(n[scale], d), n.has(scale + 1) ? b.row(n[scale + 1], d) : b.none()};
}

bool Network::read() {
  x = n[0];
  if (n.integer("layout", 0))
    x = b.permute(x, {1, 0, 2});
  way = n.text("direction", "forward");
  directions = way == "bidirectional" ? 2 : 1;
  steps = b.size(x, 0);
  unsigned inputDim = isQuantized ? 1 : 2, gateDim = isQuantized ? 2 : 1;
  bool areMatrices = !b.hasFailed() && b.rank(x) == 3 && b.rank(n[1]) == 3 && b.rank(n[2]) == 3;
  hidden = n.integer("hidden_size", areMatrices ? b.staticSize(n[2], inputDim) : 1);
  clip = n.real("clip", 0);
  if (!areMatrices || hidden <= 0 || b.staticSize(n[1], 0) != directions ||
      b.staticSize(n[1], gateDim) != int64_t(gates) * hidden) {
    b.fail("operands do not fit hidden_size and direction");
    return false;
  }
  auto state = [&](unsigned input) {
    if (!n.has(input))
      return b.full({b.constant(directions), b.size(x, 1), b.constant(hidden)}, 0, b.element(x));
    return n.integer("layout", 0) ? b.permute(n[input], {1, 0, 2}) : n[input];
  };
  initial = state(5);
  initialCell = gates == 4 ? state(6) : b.none();
  lengths = n.has(4) ? b.to(n[4], b.i64()) : b.none();
  if (auto known = lengths ? b.knownInts(n[4]) : std::nullopt;
      known && llvm::all_of(*known, [&](int64_t length) { return getConstant(steps) == length; }))
    lengths = b.none();
  for (unsigned d = 0; d < directions; ++d) {
    weights[d] = readWeight(d, 1, 8);
    recurrent[d] = readWeight(d, 2, 10);
    Value both = n.has(3) ? b.select(n[3], 0, d) : b.full(b.constant(2 * gates * hidden), 0, b.element(x));
    AffineExpr half = b.constant(gates * hidden);
    biasX[d] = b.slice(both, 0, b.constant(0), half);
    biasH[d] = b.slice(both, 0, half, half * 2);
    peepholes[d] = gates == 4 && n.has(7) ? b.select(n[7], 0, d) : b.none();
  }
  readActivations();
  return !b.hasFailed();
}

void Network::readActivations() {
  unsigned each = gates == 4 ? 3 : gates == 3 ? 2 : 1;
  auto names = n.texts("activations");
  auto alphas = n.reals("activation_alpha").value_or(llvm::SmallVector<double>());
  auto betas = n.reals("activation_beta").value_or(llvm::SmallVector<double>());
  size_t alpha = 0, beta = 0;
  for (unsigned i = 0; i < each * directions; ++i) {
    unsigned kind = i % each;
    std::string name = i < names.size()         ? llvm::StringRef(names[i]).lower()
                       : gates > 1 && kind == 0 ? "sigmoid"
                                                : "tanh";
    Activation a{name, 0, 0};
    bool hasBeta = name == "hardsigmoid" || name == "scaledtanh" || name == "affine";
    bool hasAlpha = hasBeta || name == "leakyrelu" || name == "thresholdedrelu" || name == "elu";
    a.alpha = name == "leakyrelu" ? 0.01 : name == "hardsigmoid" ? 0.2 : 1;
    a.beta = name == "hardsigmoid" ? 0.5 : name == "affine" ? 0 : 1;
    if (hasAlpha && alpha < alphas.size())
      a.alpha = alphas[alpha++];
    if (hasBeta && beta < betas.size())
      a.beta = betas[beta++];
    activations.push_back(a);
  }
}

Value Network::apply(unsigned d, unsigned which, Value x) {
  const Activation &a = activations[d * (gates == 4 ? 3 : gates == 3 ? 2 : 1) + which];
  if (a.name == "sigmoid" || a.name == "tanh" || a.name == "relu")
    return b.call((a.name + ".default"), {x});
  if (a.name == "leakyrelu")
    return b.call("leaky_relu.default", {x, a.alpha});
  if (a.name == "hardsigmoid")
    return b.clamp(x * a.alpha + a.beta, 0, 1);
  if (a.name == "affine")
    return x * a.alpha + a.beta;
  if (a.name == "scaledtanh")
    return b.call("tanh.default", {x * a.beta}) * a.alpha;
  if (a.name == "elu")
    return b.call("elu.default", {x, a.alpha});
  if (a.name == "thresholdedrelu")
    return b.call("threshold.default", {x, a.alpha, 0.0});
  if (a.name == "softsign")
    return x / (b.call("abs.default", {x}) + 1.0);
  if (a.name == "softplus")
    return b.call("softplus.default", {x});
  return b.fail("activation '" + a.name + "' is not known");
}

bool Network::isPlain() const {
  unsigned each = gates == 4 ? 3 : gates == 3 ? 2 : 1;
  for (auto [i, a] : llvm::enumerate(activations))
    if (a.name != (gates > 1 && i % each == 0 ? "sigmoid" : "tanh"))
      return false;
  return !isQuantized && way != "reverse" && clip == 0 && !lengths && !n.has(7) && !n.integer("input_forget", 0) &&
         (gates != 3 || n.integer("linear_before_reset", 0));
}

/// PyTorch's operator; its gates are in another order: i f g o of i o f c, r z n of z r h.
Values Network::plain() {
  Ints order = gates == 4 ? Ints{0, 2, 3, 1} : gates == 3 ? Ints{1, 0, 2} : Ints{0};
  auto reorder = [&](const Value &x) {
    Values parts;
    for (int64_t i : order)
      parts.push_back(rows(x, i));
    return b.cat(std::move(parts), 0);
  };
  Values parameters;
  for (unsigned d = 0; d < directions; ++d)
    for (const Value &p : {weights[d].numbers, recurrent[d].numbers, biasX[d], biasH[d]})
      parameters.push_back(reorder(p));
  Type element = b.element(x);
  AffineExpr batch = b.size(x, 1);
  Type all = makeTensorType({steps, batch, b.constant(directions * hidden)}, element);
  Type state = makeTensorType({b.constant(directions), batch, b.constant(hidden)}, element);
  bool isBoth = directions == 2;
  Values results =
      gates == 4
          ? b.calls("lstm.input", {x, Values{initial, initialCell}, parameters, true, 1, 0.0, false, isBoth, false},
                    {all, state, state})
          : b.calls(gates == 3 ? "gru.input" : "rnn_tanh.input",
                    {x, initial, parameters, true, 1, 0.0, false, isBoth, false}, {all, state});
  if (b.hasFailed())
    return results;
  Value y = b.reshape(results[0], {steps, batch, b.constant(directions), b.constant(hidden)});
  results[0] = b.permute(y, {0, 2, 1, 3});
  return results;
}

/// ONNX Runtime rounds all that it multiplies at once to bytes of one scale.
Value Network::product(const Value &x, const Weight &w) {
  if (!isQuantized)
    return b.matmul(x, b.permute(w.numbers, {1, 0}));
  Values bytes = quantizeDynamically(b, x);
  return multiplyDequantized(b, bytes[0], bytes[1], bytes[2], w.numbers, w.scale, w.zero);
}

Value Network::step(unsigned d, const Value &ofX, Value &h, Value &c) {
  if (gates == 1)
    return apply(d, 0, limit(ofX + product(h, recurrent[d]) + biasH[d]));
  auto recurrentPart = [&](const Value &state, int64_t first, int64_t count) {
    Value w = b.slice(recurrent[d].numbers, 0, b.constant(first * hidden), b.constant((first + count) * hidden));
    return b.matmul(state, b.permute(w, {1, 0}));
  };
  if (gates == 3) {
    Value zr = b.slice(ofX, 1, b.constant(0), b.constant(2 * hidden)) + recurrentPart(h, 0, 2) +
               b.slice(biasH[d], 0, b.constant(0), b.constant(2 * hidden));
    zr = apply(d, 0, limit(zr));
    Value z = part(zr, 0), r = part(zr, 1), xh = part(ofX, 2), bh = rows(biasH[d], 2);
    Value mixed =
        n.integer("linear_before_reset", 0) ? r * (recurrentPart(h, 2, 1) + bh) : recurrentPart(r * h, 2, 1) + bh;
    Value next = apply(d, 1, limit(xh + mixed));
    return (1.0 - z) * next + z * h;
  }
  Value all = ofX + product(h, recurrent[d]) + biasH[d];
  Value i = part(all, 0), o = part(all, 1), f = part(all, 2), g = part(all, 3);
  Value p = peepholes[d];
  if (p) {
    i = i + rows(p, 0) * c;
    f = f + rows(p, 2) * c;
  }
  i = apply(d, 0, limit(i));
  f = n.integer("input_forget", 0) ? 1.0 - i : apply(d, 0, limit(f));
  c = f * c + i * apply(d, 1, limit(g));
  if (p)
    o = o + rows(p, 1) * c;
  return apply(d, 0, limit(o)) * apply(d, 2, c);
}

/// All steps, or those of each sequence, from the last to the first.
Value Network::reversed(const Value &all) {
  return lengths ? buildAs(b, "ReverseSequence", n.with({all, lengths})).front()
                 : b.call("flip.default", {all, Ints{0}});
}

/// The last states, [batch, hidden], and behind them the outputs of all steps, [steps, batch, hidden].
Values Network::direction(unsigned d) {
  bool isBackward = way == "reverse" || d == 1;
  auto inOrder = [&](const Value &all) { return isBackward ? reversed(all) : all; };
  Values begin{b.select(initial, 0, d)};
  if (gates == 4)
    begin.push_back(b.select(initialCell, 0, d));
  Value zero = b.full({}, 0, b.element(x)), inputs = x, at = lengths ? b.iota(steps, b.i64()) : b.none();
  // What no sequence has is rounded with nothing.
  if (isQuantized && lengths)
    inputs = b.where(b.along(at < b.amax(lengths, {0}, false), 0, 3), x, zero);
  Values over{inOrder(product(inputs, weights[d]) + biasX[d])};
  if (lengths)
    over.push_back(at);
  Values ends = buildScan(b, begin, over, 1, [&](const Values &now) {
    Value h = now[0], c = gates == 4 ? now[1] : b.none();
    Value isIn = lengths ? b.unsqueeze(now.back() < lengths, 1) : b.none();
    // The outputs beyond the end of a sequence are what ONNX Runtime takes for its states.
    if (isQuantized && lengths)
      h = b.where(b.unsqueeze(now.back() - 1.0 < lengths, 1), h, zero);
    Value next = step(d, now[begin.size()], h, c), output = next;
    if (lengths) {
      // Beyond the end of a sequence its states stay, and it answers zero.
      output = b.where(isIn, next, zero);
      next = b.where(isIn, next, now[0]);
      c = gates == 4 ? b.where(isIn, c, now[1]) : c;
    }
    return std::optional(gates == 4 ? Values{next, c, output} : Values{next, output});
  });
  if (!ends.empty())
    ends.back() = inOrder(ends.back());
  return ends;
}

Values Network::build() {
  if (!read())
    return {b.none()};
  Values results;
  if (isPlain()) {
    results = plain();
  } else {
    Values ys, hs, cs;
    for (unsigned d = 0; d < directions; ++d) {
      Values ends = direction(d);
      if (b.hasFailed() || ends.empty())
        return {b.none()};
      hs.push_back(b.unsqueeze(ends.front(), 0));
      if (gates == 4)
        cs.push_back(b.unsqueeze(ends[1], 0));
      ys.push_back(b.unsqueeze(ends.back(), 1));
    }
    results = {b.cat(ys, 1), b.cat(hs, 0)};
    if (gates == 4)
      results.push_back(b.cat(cs, 0));
  }
  if (!n.integer("layout", 0) || b.hasFailed())
    return results;
  results[0] = b.permute(results[0], {2, 0, 1, 3});
  for (size_t i = 1; i < results.size(); ++i)
    results[i] = b.permute(results[i], {1, 0, 2});
  return results;
}

} // namespace

void addRecurrent(Table &t) {
  t.rows("RNN", [](Builder &b, const Node &n) { return Network(b, n, 1).build(); });
  t.rows("GRU", [](Builder &b, const Node &n) { return Network(b, n, 3).build(); });
  t.rows("LSTM", [](Builder &b, const Node &n) { return Network(b, n, 4).build(); });
  t.rows("com.microsoft.DynamicQuantizeLSTM", [](Builder &b, const Node &n) { return Network(b, n, 4, true).build(); });
}

} // namespace ptc::import::onnx
