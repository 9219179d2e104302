#include "compiler/graph/train/RepetitionCost.h"

#include "dialects/core/SymbolicShape.h"
#include "dialects/core/TensorBytes.h"
#include "dialects/prims/Compute.h"
#include "dialects/prims/Elementwise.h"
#include "dialects/prims/Structure.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace ptc {

Repetition getRepetition(Operation *op) {
  if (!isa<prims::PrimInterface>(op) || op->getNumRegions())
    return Repetition::Never;
  // What makes numbers of places makes them in its readers.
  if (!op->getNumOperands() ||
      isa<prims::ReshapeOp, prims::TransposeOp, prims::BroadcastInDimOp, prims::SliceOp, prims::ReverseOp>(op))
    return Repetition::Free;
  bool isCheap = prims::isElementwise(op) && !isa<prims::SpecialOp>(op);
  if (isCheap || isa<prims::PadOp, prims::ConcatenateOp, prims::GatherOp, prims::RandomBitsOp, prims::ReduceOp,
                     prims::ArgReduceOp>(op))
    return Repetition::Cheap;
  return Repetition::Dear;
}

static double estimate(AffineExpr size, ArrayRef<Symbol> symbols) {
  SmallVector<int64_t> typical;
  for (const Symbol &symbol : symbols)
    typical.push_back(symbol.max == Symbol::kUnbounded ? std::max<int64_t>(symbol.min, 64)
                                                       : std::clamp<int64_t>(64, symbol.min, symbol.max));
  evaluateExtrema(symbols, typical);
  return double(evaluate(size, typical));
}

double estimateElements(Value tensor) {
  Operation *op = tensor.getParentBlock()->getParentOp();
  return estimate(product(getShape(tensor), tensor.getContext()), getSymbols(op));
}

double estimateBytes(Value tensor) { return estimateElements(tensor) * double(getElementBytes(elementOf(tensor))); }

/// Operands' elements that one element of the result is a sum over.
static double estimateTerms(Operation *op) {
  double result = std::max(1.0, estimateElements(op->getResult(0)));
  if (isa<prims::ContractOp>(op)) // sqrt(m k * k n / (m n)), batches apart
    return std::sqrt(std::max(1.0, estimateElements(op->getOperand(0)) * estimateElements(op->getOperand(1)) / result));
  if (auto convolution = dyn_cast<prims::ConvolutionOp>(op)) {
    Shape result = getShape(convolution.getResult());
    AffineExpr outputs = convolution.getChannelsLast() ? result.back() : result[1];
    return estimateElements(convolution.getW()) / std::max(1.0, estimate(outputs, getSymbols(op)));
  }
  // Scores, and the sum that they weigh: for each query, all keys.
  auto attention = cast<prims::AttentionOp>(op);
  Shape keys = getShape(attention.getK());
  return 2 * estimate(keys[keys.size() - 2], getSymbols(op));
}

double estimateTime(Operation *op) {
  constexpr double kFlops = 100, kElement = 0.3, kRandom = 2, kSpecial = 20, kOther = 5; // flop/ns, ns
  if (getRepetition(op) == Repetition::Free)
    return 0;
  if (isa<prims::ContractOp, prims::ConvolutionOp, prims::AttentionOp>(op))
    return 2 * estimateElements(op->getResult(0)) * estimateTerms(op) / kFlops;
  double elements = 0;
  for (Value value : op->getResults())
    elements = std::max(elements, estimateElements(value));
  if (isa<prims::RandomBitsOp>(op))
    return elements * kRandom;
  for (Value value : op->getOperands())
    elements = std::max(elements, estimateElements(value));
  if (getRepetition(op) == Repetition::Cheap)
    return elements * kElement;
  return elements * (isa<prims::SpecialOp>(op) ? kSpecial : kOther);
}

} // namespace ptc
