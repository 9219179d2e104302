#include "dialects/loop/KernelCost.h"

#include "dialects/core/TensorBytes.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace ptc::loop {

AffineExpr getTensorBytes(Type tensor) {
  Type element = llvm::cast<RankedTensorType>(tensor).getElementType();
  return product(getShape(tensor), tensor.getContext()) * getElementBytes(element);
}

/// Arithmetic of one point of a body: its operations but reads and indices.
static int64_t countOperations(Region &region) {
  int64_t count = 0;
  region.walk([&](Operation *op) {
    bool isIndex = op->getNumResults() == 1 && op->getResult(0).getType().isIndex();
    bool computes = op->getName().getDialectNamespace() == "arith" || op->getName().getDialectNamespace() == "math";
    count += computes && !isIndex && op->getName().getStringRef() != "arith.constant";
  });
  return count;
}

static AffineExpr memberFlops(Operation *member) {
  MLIRContext *context = member->getContext();
  AffineExpr domain = product(getDomain(member), context);
  if (llvm::isa<ContractOp>(member))
    return domain * 2;
  if (auto convolution = llvm::dyn_cast<ConvolutionOp>(member)) {
    Shape x = getShape(convolution.getX());
    AffineExpr channels = convolution.getXChannelsFirst() ? x[1] : x.back();
    AffineExpr taps = channels.floorDiv(convolution.getGroups());
    for (int64_t size : convolution.getKernel())
      taps = taps * size;
    return domain * taps * 2;
  }
  if (auto attention = llvm::dyn_cast<AttentionOp>(member)) {
    // Scores over head_size features, then their products with the values.
    AffineExpr keys = getSizeFromAttr(attention.getKeySize()), rows = product(getDomain(member), context);
    AffineExpr features = getSizeFromAttr(attention.getHeadSize());
    return rows * keys * 2 + rows.floorDiv(getDomain(member).back()) * features * keys * 2;
  }
  if (auto gradient = llvm::dyn_cast<AttentionGradientOp>(member)) {
    // Scores, dq and dk over the features of q, and derivatives of weights and dv over those of v.
    Shape queries = getShape(gradient.getDq()), keys = getShape(gradient.getDk());
    queries.erase(queries.begin()); // the parts
    AffineExpr features = queries.back() * 3 + getShape(gradient.getDv()).back() * 2;
    queries.pop_back();
    return product(queries, context) * keys[keys.size() - 2] * features * 2;
  }
  if (auto matrix = llvm::dyn_cast<MatrixOp>(member)) // of the order of a product
    return product(getShape(matrix.getInputs()[0]), context) * getShape(matrix.getInputs()[0]).back() * 2;
  int64_t operations = llvm::isa<ReduceOp, ScanOp, ScatterOp>(member);
  for (Region &region : member->getRegions())
    operations += countOperations(region);
  return domain * operations;
}

KernelCost getKernelCost(KernelOp kernel) {
  MLIRContext *context = kernel.getContext();
  KernelCost cost{getAffineConstantExpr(0, context), getAffineConstantExpr(0, context)};
  llvm::DenseSet<Value> seen;
  for (Value input : kernel.getInputs())
    if (seen.insert(input).second)
      cost.bytes = cost.bytes + getTensorBytes(input.getType());
  for (Value result : kernel.getResults())
    cost.bytes = cost.bytes + getTensorBytes(result.getType());
  for (Operation &member : kernel.getBody().front().without_terminator())
    if (isMember(&member))
      cost.flops = cost.flops + memberFlops(&member);
  return cost;
}

} // namespace ptc::loop
