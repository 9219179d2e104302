#include "compiler/graph/LowerPatchConvolution.h"

#include "compiler/support/FunctionPass.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Compute.h"
#include "dialects/prims/Structure.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace ptc::prims;

namespace ptc {

static ArrayRef<int64_t> kernelOf(ConvolutionOp op) {
  return llvm::cast<RankedTensorType>(op.getW().getType()).getShape().drop_back(2);
}

static bool takesPatches(ConvolutionOp op) {
  auto all = [](ArrayRef<int64_t> list, int64_t value) {
    return llvm::all_of(list, [=](int64_t v) { return v == value; });
  };
  return op.getChannelsLast() && op.getGroups() == 1 &&
         llvm::cast<RankedTensorType>(op.getW().getType()).hasStaticShape() && all(op.getLow(), 0) &&
         all(op.getHigh(), 0) && all(op.getDilations(), 1) && all(op.getInputDilations(), 1) &&
         op.getStrides() == kernelOf(op) && !all(op.getStrides(), 1);
}

namespace {
class Lowering {
public:
  explicit Lowering(ConvolutionOp op)
      : op(op), b(op), loc(op.getLoc()), kernel(kernelOf(op)), spatial(kernel.size()), x(op.getX()) {
    auto moved = x.getDefiningOp<TransposeOp>();
    SmallVector<int64_t> channelsLast{0};
    llvm::append_range(channelsLast, llvm::seq<int64_t>(2, 2 + spatial));
    channelsLast.push_back(1);
    channelsFirst = moved && moved.getPermutation() == ArrayRef<int64_t>(channelsLast);
    if (channelsFirst)
      x = moved.getX();
  }

  void run() {
    int64_t first = 0, last = getShape(op).size() - 1;
    Value product = ContractOp::create(b, loc, getPatches(), getWeights(), ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                                       ArrayRef<int64_t>(last), ArrayRef<int64_t>(first));
    op.getResult().replaceAllUsesWith(product);
    op.erase();
  }

private:
  Value reshape(Value value, ShapeRef sizes) {
    return ReshapeOp::create(b, loc, value, makeSizesAttr(sizes, b.getContext()));
  }
  Value getPatches();
  Value getWeights();

  ConvolutionOp op;
  OpBuilder b;
  Location loc;
  ArrayRef<int64_t> kernel;
  unsigned spatial;
  Value x;
  bool channelsFirst; ///< of x
};
} // namespace

/// [N, places..., elements of a patch]. Pixels behind the last whole patch are left out.
Value Lowering::getPatches() {
  Shape sizes = getShape(x), places = getShape(op), used = sizes, cut;
  unsigned first = channelsFirst ? 2 : 1, channels = channelsFirst ? 1 : 1 + spatial;
  for (unsigned i = 0; i < spatial; ++i)
    used[first + i] = places[1 + i] * kernel[i];
  if (!llvm::equal(used, sizes, isEqual)) {
    Shape zeros(sizes.size(), getAffineConstantExpr(0, b.getContext()));
    SmallVector<int64_t> ones(sizes.size(), 1);
    x = SliceOp::create(b, loc, x, makeSizesAttr(zeros, b.getContext()), makeSizesAttr(used, b.getContext()), ones);
  }
  // The spatial dimensions are cut into places and taps, which then stand apart.
  SmallVector<int64_t> order{0}, taps;
  AffineExpr elements = sizes[channels];
  for (unsigned i = 0; i < sizes.size(); ++i) {
    bool isSpatial = i >= first && i < first + spatial;
    if (isSpatial) {
      order.push_back(cut.size());
      taps.push_back(cut.size() + 1);
      cut.append({places[1 + i - first], getAffineConstantExpr(kernel[i - first], b.getContext())});
      elements = elements * kernel[i - first];
      continue;
    }
    if (i == channels)
      taps.push_back(cut.size());
    cut.push_back(sizes[i]);
  }
  llvm::append_range(order, taps);
  Shape rows(places.begin(), places.end() - 1);
  rows.push_back(elements);
  return reshape(TransposeOp::create(b, loc, reshape(x, cut), order), rows);
}

/// [elements of a patch, outputs]
Value Lowering::getWeights() {
  Value w = op.getW();
  if (channelsFirst) {
    SmallVector<int64_t> order{spatial};
    llvm::append_range(order, llvm::seq<int64_t>(0, spatial));
    order.push_back(spatial + 1);
    w = TransposeOp::create(b, loc, w, order);
  }
  Shape sizes = getShape(w), elements = {product(ShapeRef(sizes).drop_back(), b.getContext()), sizes.back()};
  return reshape(w, elements);
}

std::unique_ptr<Pass> createLowerPatchConvolutionPass() {
  return makeFunctionPass("lower-patch-convolution", "convolutions of patches are products", [](func::FuncOp function) {
    for (auto op : llvm::make_early_inc_range(function.getOps<ConvolutionOp>()))
      if (takesPatches(op))
        Lowering(op).run();
    return success();
  });
}

} // namespace ptc
