//===- Network.cpp - convolutions and matrix products ----------------------------===//

#include "compiler/import/onnx/Quantization.h"
#include "compiler/import/onnx/Table.h"
#include "compiler/import/onnx/Windows.h"

#include <map>

using namespace mlir;

namespace ptc::import::onnx {

Windows readWindows(Builder &b, const Node &n, const Value &x, Ints kernel) {
  size_t count = kernel.size();
  Windows w{kernel, n.ints("strides", count, 1), n.ints("dilations", count, 1), Ints(count, 0), Ints(count, 0)};
  for (size_t i = 0; i < count; ++i)
    if (w.strides[i] <= 0 || w.dilations[i] <= 0 || kernel[i] <= 0) {
      b.fail("kernel, strides and dilations must be positive");
      w.strides[i] = w.dilations[i] = w.kernel[i] = 1;
    }
  std::string automatic = n.text("auto_pad", "NOTSET");
  if (automatic == "VALID")
    return w;
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (size_t i = 0; i < count; ++i) {
      int64_t size = b.staticSize(x, i + 2);
      int64_t results = (size + w.strides[i] - 1) / w.strides[i];
      int64_t total = std::max<int64_t>((results - 1) * w.strides[i] + w.extent(i) - size, 0);
      w.before[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.after[i] = total - w.before[i];
    }
    return w;
  }
  if (automatic != "NOTSET" && !automatic.empty())
    b.fail("auto_pad '" + automatic + "' is not known");
  Ints pads = n.ints("pads", 2 * count, 0);
  w.before.assign(pads.begin(), pads.begin() + count);
  w.after.assign(pads.begin() + count, pads.end());
  return w;
}

Value padSpatial(Builder &b, const Value &x, IntsRef before, IntsRef after, double value) {
  Ints pads;
  for (size_t i = before.size(); i-- > 0;) {
    pads.push_back(before[i]);
    pads.push_back(after[i]);
  }
  if (llvm::all_of(pads, [](int64_t p) { return p == 0; }))
    return x;
  return b.call("constant_pad_nd.default", {x, pads, b.isFloat(x) ? Arg(value) : Arg(int64_t(value))});
}

Value withChannelsFirst(Builder &b, const Value &x, bool areLast, llvm::function_ref<Value(const Value &)> compute) {
  if (!areLast)
    return compute(x);
  Ints toFirst{0, b.rank(x) - 1}, toLast{0};
  for (int64_t d = 2; d < b.rank(x); ++d) {
    toFirst.push_back(d - 1);
    toLast.push_back(d);
  }
  toLast.push_back(1);
  return b.permute(compute(b.permute(x, toFirst)), toLast);
}

Ints kernelOf(Builder &b, const Node &n, const Value &x, const Value &w) {
  int64_t rank = b.rank(x);
  if (rank < 3 || rank > 5 || b.rank(w) != rank) {
    b.fail("convolutions have one to three spatial dimensions, not those of operands of rank " + llvm::Twine(rank) +
           " and " + llvm::Twine(b.rank(w)));
    return {};
  }
  Ints kernel;
  for (int64_t i = 2; i < rank; ++i)
    kernel.push_back(b.staticSize(w, i));
  if (auto given = n.ints("kernel_shape"); given && *given != kernel)
    b.fail("kernel_shape is not the weights' shape");
  return kernel;
}

Value convolution(Builder &b, const Node &n, Value x, const Value &w, const Value &bias) {
  Ints kernel = kernelOf(b, n, x, w);
  if (b.hasFailed())
    return x;
  Windows windows = readWindows(b, n, x, kernel);
  if (!windows.isSymmetric()) {
    x = padSpatial(b, x, windows.before, windows.after, 0);
    windows.before.assign(kernel.size(), 0);
  }
  return b.call("convolution.default", {x, w, bias, windows.strides, windows.before, windows.dilations, false,
                                        Ints(kernel.size(), 0), n.integer("group", 1)});
}

namespace {

/// All that the weights reach, cut to where the result lies; what no weight reaches is zero.
Value convolveTransposed(Builder &b, const Node &n) {
  Value x = n[0], w = n[1], bias = n.input(2);
  Ints kernel = kernelOf(b, n, x, w);
  size_t count = kernel.size();
  auto shape = n.ints("output_shape");
  std::string automatic = n.text("auto_pad", "NOTSET");
  bool isSame = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  Ints strides = n.ints("strides", count, 1), dilations = n.ints("dilations", count, 1);
  Ints extra = n.ints("output_padding", count, 0), pads = n.ints("pads", 2 * count, 0);
  if (shape && shape->size() == count + 2)
    shape->erase(shape->begin(), shape->begin() + 2);
  if (b.hasFailed() || (shape && shape->size() != count))
    return b.fail("output_shape has not one number a spatial dimension");
  Ints before(count), after(count);
  for (size_t i = 0; i < count; ++i) {
    int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    before[i] = automatic == "VALID" ? 0 : pads[i];
    after[i] = (automatic == "VALID" ? 0 : pads[count + i]) - extra[i];
    if (!shape && !isSame)
      continue;
    int64_t size = b.staticSize(x, i + 2);
    int64_t wanted = shape ? (*shape)[i] : size * strides[i];
    int64_t total = strides[i] * (size - 1) + extent - wanted;
    int64_t half = total >= 0 ? total / 2 : -(-total / 2);
    before[i] = automatic == "SAME_UPPER" ? half : total - half;
    // Padding that is negative is at the end, as output_padding is.
    before[i] = std::max<int64_t>(before[i], 0);
    after[i] = total - before[i];
  }
  int64_t groups = n.integer("group", 1);
  bool fits = before == after && llvm::all_of(before, [](int64_t p) { return p >= 0; });
  Ints none(count, 0);
  if (fits)
    return b.call("convolution.default", {x, w, bias, strides, before, dilations, true, none, groups});
  Value full = b.call("convolution.default", {x, w, b.none(), strides, none, dilations, true, none, groups});
  for (size_t i = 0; i < count; ++i) {
    before[i] = -before[i];
    after[i] = -after[i];
  }
  Value result = padSpatial(b, full, before, after, 0);
  return bias ? result + b.along(bias, 1, count + 2) : result;
}

Value gemm(Builder &b, const Node &n) {
  Value x = n[0], y = n[1];
  double alpha = n.real("alpha", 1), beta = n.real("beta", 1);
  if (b.rank(x) != 2 || b.rank(y) != 2)
    return b.fail("operands of rank " + llvm::Twine(b.rank(x)) + " and " + llvm::Twine(b.rank(y)) + ", not 2");
  if (n.integer("transA", 0))
    x = b.permute(x, {1, 0});
  bool isLinear = n.integer("transB", 0) && alpha == 1 && beta == 1 && b.isFloat(x) && n.has(2) && b.rank(n[2]) == 1 &&
                  isEqual(b.size(n[2], 0), b.size(y, 0));
  if (isLinear)
    return b.call("linear.default", {x, y, n[2]});
  if (n.integer("transB", 0))
    y = b.permute(y, {1, 0});
  Value result = b.matmul(x, y);
  if (alpha != 1)
    result = b.to(b.isFloat(x) ? result * alpha : b.to(result, b.f32()) * alpha, b.element(x));
  if (!n.has(2) || beta == 0)
    return result;
  Value c = n[2];
  if (beta != 1)
    c = b.to(b.isFloat(x) ? c * beta : b.to(c, b.f32()) * beta, b.element(x));
  // The bias alone may be broadcast.
  return result + (b.broadcasting == Broadcasting::General ? b.expand(c, b.shape(result)) : c);
}

Shape broadcastShapes(Builder &b, Shape x, Shape y) {
  if (x.size() < y.size())
    std::swap(x, y);
  for (size_t i = 0, skipped = x.size() - y.size(); i < y.size(); ++i)
    if (getConstant(x[skipped + i]) == 1)
      x[skipped + i] = y[i];
  return x;
}

/// The sizes of an einsum's result, by its letters; "..." are the dimensions that are broadcast.
std::optional<Shape> einsumShape(Builder &b, llvm::StringRef equation, const Values &operands) {
  std::string plain;
  llvm::copy_if(equation, std::back_inserter(plain), [](char c) { return c != ' '; });
  auto [left, right] = llvm::StringRef(plain).split("->");
  bool isExplicit = llvm::StringRef(plain).contains("->");
  llvm::SmallVector<llvm::StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != operands.size())
    return std::nullopt;
  std::map<char, AffineExpr> sizes;
  std::map<char, int> uses;
  Shape dots;
  for (auto [term, operand] : llvm::zip(terms, operands)) {
    Shape all = b.shape(operand);
    auto [head, tail] = term.split("...");
    bool hasDots = term.contains("...");
    size_t letters = hasDots ? head.size() + tail.size() : term.size();
    if (letters > all.size() || (!hasDots && letters != all.size()))
      return std::nullopt;
    Shape middle(all.begin() + head.size(), all.end() - (hasDots ? tail.size() : 0));
    if (hasDots)
      dots = broadcastShapes(b, dots, middle);
    auto note = [&](char letter, AffineExpr size) {
      ++uses[letter];
      AffineExpr &known = sizes[letter];
      if (!known || getConstant(known) == 1)
        known = size;
    };
    for (size_t i = 0; i < head.size(); ++i)
      note(head[i], all[i]);
    for (size_t i = 0; hasDots && i < tail.size(); ++i)
      note(tail[i], all[all.size() - tail.size() + i]);
  }
  Shape result;
  std::string implied;
  if (!isExplicit) {
    implied = dots.empty() ? "" : "...";
    for (auto [letter, count] : uses)
      if (count == 1)
        implied += letter;
    right = implied;
  }
  for (size_t i = 0; i < right.size(); ++i) {
    if (right.substr(i).starts_with("...")) {
      result.append(dots.begin(), dots.end());
      i += 2;
    } else if (sizes.count(right[i])) {
      result.push_back(sizes[right[i]]);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

Value einsum(Builder &b, const Node &n) {
  std::string equation = n.text("equation", "");
  auto sizes = einsumShape(b, equation, n.all());
  if (!sizes)
    return b.fail("the equation '" + equation + "' does not fit the operands");
  return b.call("einsum.default", {equation.c_str(), n.all()}, makeTensorType(*sizes, b.element(n[0])));
}

} // namespace

void addNetwork(Table &t) {
  t.row("Conv", [](Builder &b, const Node &n) { return convolution(b, n, n[0], n[1], n.input(2)); });
  t.row("ConvTranspose", convolveTransposed);
  t.row("Gemm", gemm);
  t.row("MatMul", [](Builder &b, const Node &n) { return b.matmul(n[0], n[1]); });
  t.row("MatMulInteger", [](Builder &b, const Node &n) {
    Value x = shifted(b, n[0], n.input(2), b.rank(n[0]) - 2), y = shifted(b, n[1], n.input(3), b.rank(n[1]) - 1);
    return b.to(b.matmul(x, y), b.i32());
  });
  t.row("ConvInteger", [](Builder &b, const Node &n) {
    Value x = shifted(b, n[0], n.input(2), 1), w = shifted(b, n[1], n.input(3), 0);
    return b.to(convolution(b, n, x, w, b.none()), b.i32());
  });
  t.row("Einsum", einsum);
}

} // namespace ptc::import::onnx
