#include "compiler/graph/LowerTransposedConvolution.h"

#include "compiler/support/FunctionPass.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Compute.h"
#include "dialects/prims/Structure.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ptc::prims;

namespace ptc {

namespace {

/// What one phase reads along one spatial dimension.
struct Phase {
  int64_t firstTap, taps, low, high;
};

class Lowering {
public:
  explicit Lowering(ConvolutionOp op) : op(op), b(op), loc(op.getLoc()) {}

  bool run();

private:
  int64_t kernelSize(size_t dim) const { return llvm::cast<RankedTensorType>(w.getType()).getDimSize(dim); }
  Phase getPhase(size_t dim, int64_t r);
  Value convolve(Value taps, ArrayRef<Phase> phases);
  Value convolvePhase(ArrayRef<Phase> phases);
  bool areOneConvolution();
  Value convolveAll();
  Value lower(size_t dim, SmallVector<Phase> phases);
  Value interleave(ArrayRef<Value> parts, int64_t dim);

  ConvolutionOp op;
  OpBuilder b;
  Location loc;
  Value w = op.getW();
};

} // namespace

/// All phases get as many outputs as the first one, which has most.
Phase Lowering::getPhase(size_t dim, int64_t r) {
  int64_t d = op.getInputDilations()[dim], low = op.getLow()[dim], high = op.getHigh()[dim], kernel = kernelSize(dim);
  int64_t extraOutputs = llvm::divideCeilSigned(low + high - kernel + 2 - d, d);
  Phase phase;
  phase.firstTap = llvm::mod(low - r, d);
  phase.taps = phase.firstTap < kernel ? llvm::divideCeilSigned(kernel - phase.firstTap, d) : 0;
  phase.low = (low - r - phase.firstTap) / d;
  phase.high = extraOutputs - phase.low + phase.taps - 1;
  return phase;
}

Value Lowering::convolve(Value taps, ArrayRef<Phase> phases) {
  SmallVector<int64_t> low, high, ones(phases.size(), 1);
  for (const Phase &phase : phases) {
    low.push_back(phase.low);
    high.push_back(phase.high);
  }
  return ConvolutionOp::create(b, loc, op.getX(), taps, ones, low, high, ones, ones, op.getGroups(),
                               /*channels_last=*/true);
}

Value Lowering::convolvePhase(ArrayRef<Phase> phases) {
  size_t rank = getShape(w).size();
  SmallVector<int64_t> starts(rank, 0), limits(llvm::cast<RankedTensorType>(w.getType()).getShape()), steps(rank, 1);
  for (auto [i, phase] : llvm::enumerate(phases)) {
    starts[i] = phase.firstTap;
    steps[i] = op.getInputDilations()[i];
  }
  Value taps = SliceOp::create(b, loc, w, b.getDenseI64ArrayAttr(starts), b.getDenseI64ArrayAttr(limits), steps);
  return convolve(taps, phases);
}

/// All phases read the same inputs, as where a kernel is as large as its stride and nothing is cropped. Products that
/// fill a register tile's columns are as fast apart, and their results interleave where they are read.
bool Lowering::areOneConvolution() {
  constexpr int64_t kColumns = 32; // of a tile
  for (auto [i, d] : llvm::enumerate(op.getInputDilations()))
    if (kernelSize(i) % d != 0 || (op.getLow()[i] + 1) % d != 0)
      return false;
  return op.getGroups() == 1 && llvm::cast<RankedTensorType>(w.getType()).getShape().back() < kColumns;
}

/// One convolution, whose output channels are those of all phases: [N, q..., r..., c], which becomes [N, (q r)..., c].
/// Phase r has elements d - 1 - r, 2 d - 1 - r, ... of a dimension's kernel.
Value Lowering::convolveAll() {
  ArrayRef<int64_t> d = op.getInputDilations();
  int64_t spatial = d.size();
  MLIRContext *context = b.getContext();
  auto reshape = [&](Value value, const Shape &sizes) {
    return ReshapeOp::create(b, loc, value, makeSizesAttr(sizes, context));
  };
  auto constant = [&](int64_t size) { return getAffineConstantExpr(size, context); };
  Shape kernel = getShape(w), cut, joined;
  SmallVector<int64_t> taps, residues;
  SmallVector<Phase> phases;
  for (int64_t i = 0; i < spatial; ++i) {
    phases.push_back(getPhase(i, 0));
    taps.push_back(2 * i);
    residues.push_back(2 * i + 1);
    cut.append({constant(phases[i].taps), constant(d[i])});
    joined.push_back(constant(phases[i].taps));
  }
  cut.append({kernel[spatial], kernel[spatial + 1]});
  joined.append({kernel[spatial], kernel[spatial + 1] * llvm::product_of(d)});
  SmallVector<int64_t> order = taps;
  order.push_back(2 * spatial);
  llvm::append_range(order, residues);
  order.push_back(2 * spatial + 1);
  Value weights = ReverseOp::create(b, loc, reshape(w, cut), residues);
  Value result = convolve(reshape(TransposeOp::create(b, loc, weights, order), joined), phases);

  Shape places = getShape(result), apart(places.begin(), places.end() - 1), together = {places[0]};
  order = {0};
  for (int64_t i = 0; i < spatial; ++i) {
    apart.push_back(constant(d[i]));
    together.push_back(places[1 + i] * d[i]);
    order.append({1 + i, 1 + spatial + i});
  }
  apart.push_back(kernel[spatial + 1]);
  together.push_back(kernel[spatial + 1]);
  order.push_back(1 + 2 * spatial);
  return reshape(TransposeOp::create(b, loc, reshape(result, apart), order), together);
}

/// [.., q, ..] of each part become [.., q * parts, ..].
Value Lowering::interleave(ArrayRef<Value> parts, int64_t dim) {
  if (parts.size() == 1)
    return parts.front();
  Shape shape = getShape(parts.front()), spread = shape, joined = shape;
  spread.insert(spread.begin() + dim + 1, getAffineConstantExpr(1, b.getContext()));
  joined[dim] = joined[dim] * int64_t(parts.size());
  SmallVector<Value> spreads;
  for (Value part : parts)
    spreads.push_back(ReshapeOp::create(b, loc, part, makeSizesAttr(spread, b.getContext())));
  Value stacked = ConcatenateOp::create(b, loc, spreads, dim + 1);
  return ReshapeOp::create(b, loc, stacked, makeSizesAttr(joined, b.getContext()));
}

/// The phases of spatial dimension `dim` and those behind it.
Value Lowering::lower(size_t dim, SmallVector<Phase> phases) {
  if (dim == op.getInputDilations().size())
    return convolvePhase(phases);
  SmallVector<Value> parts;
  for (int64_t r = 0; r < op.getInputDilations()[dim]; ++r) {
    SmallVector<Phase> chosen = phases;
    chosen.push_back(getPhase(dim, r));
    parts.push_back(lower(dim + 1, chosen));
  }
  return interleave(parts, dim + 1);
}

bool Lowering::run() {
  bool plain = op.getChannelsLast() && llvm::cast<RankedTensorType>(w.getType()).hasStaticShape() &&
               llvm::all_of(op.getStrides(), [](int64_t v) { return v == 1; }) &&
               llvm::all_of(op.getDilations(), [](int64_t v) { return v == 1; }) &&
               llvm::any_of(op.getInputDilations(), [](int64_t v) { return v != 1; });
  if (!plain)
    return false;
  // A phase without a kernel element is all zeros: rare enough to leave.
  for (size_t i = 0; i < op.getInputDilations().size(); ++i)
    if (kernelSize(i) < op.getInputDilations()[i])
      return false;
  Value result = areOneConvolution() ? convolveAll() : lower(0, {});
  Shape shape = getShape(op), zeros(shape.size(), getAffineConstantExpr(0, b.getContext()));
  if (result.getType() != op.getType()) {
    SmallVector<int64_t> ones(shape.size(), 1);
    result = SliceOp::create(b, loc, result, makeSizesAttr(zeros, b.getContext()), makeSizesAttr(shape, b.getContext()),
                             ones);
  }
  op.getResult().replaceAllUsesWith(result);
  return true;
}

std::unique_ptr<Pass> createLowerTransposedConvolutionPass() {
  return makeFunctionPass("lower-transposed-convolution", "no products with inserted zeros", [](func::FuncOp function) {
    for (auto op : llvm::make_early_inc_range(function.getOps<ConvolutionOp>()))
      if (Lowering(op).run())
        op.erase();
    return success();
  });
}

} // namespace ptc
