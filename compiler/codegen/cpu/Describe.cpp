#include "compiler/codegen/cpu/Describe.h"

#include "compiler/codegen/cpu/pack/Bf16x3Weights.h"
#include "dialects/loop/Reasons.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using ptc::cpu::matrixunit::Numbers;

namespace ptc::cpu {

std::string joinReasons(ArrayRef<std::string> reasons) {
  return join(make_filter_range(reasons, [](const std::string &reason) { return !reason.empty(); }), "; ");
}

/// Sizes, notes of passes, and what the plan decided.
static std::string joinReasons(StringRef sizes, mlir::Operation *op, ArrayRef<std::string> ofPlan) {
  std::vector<std::string> reasons = {sizes.str()};
  append_range(reasons, loop::getReasons(op));
  append_range(reasons, ofPlan);
  return joinReasons(reasons);
}

static std::string toText(mlir::AffineExpr size, mlir::Operation *op) { return toString(size, getSymbols(op)); }

static mlir::Type elementOf(mlir::Value tensor) {
  return cast<mlir::RankedTensorType>(tensor.getType()).getElementType();
}

//===----------------------------------------------------------------------===//
// Products and convolutions
//===----------------------------------------------------------------------===//

/// What multiplies: ", bf16 on AVX512-BF16"; empty for plain multiply-adds of f32 and f64. `group`: of k, in an
/// instruction.
static std::string describeUnit(mlir::Type lhs, mlir::Type rhs, unsigned group,
                                std::optional<Numbers> onUnit = std::nullopt) {
  if (onUnit == Numbers::SplitFloats)
    return formatv(", bf16x{0} on AMX", bf16x3::kTerms);
  if (onUnit)
    return onUnit == Numbers::Bytes ? ", int8 on AMX" : ", bf16 on AMX";
  if (lhs.isInteger(8))
    return group > 1 ? ", int8 on AVX512-VNNI" : ", int8 widened to int32";
  if (rhs.isInteger(8))
    return ", int8 weights widened to float32";
  if (lhs.isBF16() && group > 1)
    return ", bf16 on AVX512-BF16";
  return lhs.isBF16() || lhs.isF16() ? ", widened to float32" : "";
}

Algorithm describe(loop::ContractOp op, const ContractionPlan &plan) {
  std::string name = plan.rhsIsPacked ? "packed GEMM" : plan.packRhs ? "GEMM, packed by each task" : "small GEMM";
  std::optional<Numbers> onUnit;
  if (plan.arranged || plan.split)
    onUnit = plan.arranged ? plan.arranged->numbers : Numbers::SplitFloats;
  name += describeUnit(elementOf(op.getLhs()), elementOf(op.getRhs()), plan.group, onUnit);
  std::string m = toText(plan.mSize, op), n = toText(plan.nSize, op), k = toText(plan.reductionSize(), op);
  std::string sizes = m + " x " + k + " by " + k + " x " + n;
  if (getConstant(plan.batchCount) != 1)
    sizes = toText(plan.batchCount, op) + " times " + sizes;
  return {name, joinReasons(sizes, op, plan.because)};
}

/// "3x3, stride 2, 32 to 64 channels, 112x112 pixels"
static std::string describeSizes(loop::ConvolutionOp op) {
  auto describeAll = [](ArrayRef<int64_t> values) {
    return all_equal(values) ? std::to_string(values.front()) : loop::describeSizes(values);
  };
  Shape x = getShape(op.getX()), y = getShape(op.getResult(0));
  std::string text;
  raw_string_ostream out(text);
  out << loop::describeSizes(op.getKernel()) << ", stride " << describeAll(op.getStrides());
  if (!all_of(op.getDilations(), [](int64_t dilation) { return dilation == 1; }))
    out << ", dilation " << describeAll(op.getDilations());
  out << ", " << toText(op.getXChannelsFirst() ? x[1] : x.back(), op) << " to " << toText(y.back(), op) << " channels";
  if (op.getGroups() > 1)
    out << " in " << op.getGroups() << " groups";
  auto pixels = map_range(ArrayRef(y).drop_front().drop_back(), [&](mlir::AffineExpr e) { return toText(e, op); });
  out << ", " << join(pixels, "x") << " pixels";
  return text;
}

Algorithm describe(loop::ConvolutionOp op, const ConvolutionPlan &plan, std::optional<Numbers> onUnit,
                   StringRef because) {
  std::string name = plan.isGrouped && plan.groupInputs == 1 ? "depthwise"
                     : plan.isGrouped                        ? "grouped"
                     : plan.isDot                            ? "few outputs (dot products)"
                     : plan.groups > 1                       ? "grouped direct"
                                                             : "direct";
  name += describeUnit(elementOf(op.getX()), elementOf(op.getW()), plan.group, onUnit);
  std::string groups;
  if (plan.isGrouped)
    groups = formatv("{0} and as many outputs in a group: vectors of {1} lie along the channels",
                     plan.groupInputs == 1 ? "one input" : std::to_string(plan.groupInputs) + " inputs", plan.panel);
  return {name, joinReasons(describeSizes(op), op, {groups, because.str()})};
}

Algorithm describeWinograd(loop::ConvolutionOp op) {
  return {formatv("winograd F({0}x{0}, 3x3)", op.getWinograd()), joinReasons(describeSizes(op), op, {})};
}

Algorithm describe(const loop::FusedConvolution &fused, const FusedConvolutionPlan &plan) {
  Algorithm product = describe(fused.product, plan.product);
  Algorithm convolution = describe(fused.convolution, plan.convolution, std::nullopt, "");
  std::string bands =
      formatv("bands of {0} rows of the product, {1}, stay in L2", plan.rows, loop::describeBytes(plan.scratchBytes()));
  return {product.name + " and " + convolution.name + " convolution, band by band",
          joinReasons({product.because, convolution.because, bands})};
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Algorithm describe(loop::AttentionOp op, const AttentionPlan &plan) {
  std::string sizes = formatv("{0} queries and {1} keys of {2} features", toText(plan.queries, op),
                              toText(plan.keys, op), toText(plan.features, op));
  std::string blocks = formatv("scores of {0} queries by {1} keys at a time, {2} of scratch, stay in L2",
                               plan.queryBlock, plan.keyBlock, loop::describeBytes(plan.scratchSize));
  return {"flash attention" + describeUnit(elementOf(op.getQ()), elementOf(op.getK()), plan.group),
          joinReasons(sizes, op, {blocks})};
}

Algorithm describe(loop::AttentionGradientOp op, const AttentionGradientPlan &plan) {
  std::string sizes = formatv("{0} queries and {1} keys of {2} features", toText(plan.queries, op),
                              toText(plan.keys, op), plan.featureCount);
  std::string blocks =
      formatv("scores of {0} queries by {1} keys at a time, computed again, {2} of scratch, stay in L2",
              plan.queryBlock, plan.keyBlock, loop::describeBytes(plan.scratchSize));
  std::string parts =
      plan.parts > 1 ? formatv("keys in {0} parts, tasks enough for many threads", plan.parts).str() : "";
  return {"derivative of flash attention" + describeUnit(elementOf(op.getQ()), elementOf(op.getK()), plan.group),
          joinReasons(sizes, op, {blocks, parts})};
}

//===----------------------------------------------------------------------===//
// Loop nests
//===----------------------------------------------------------------------===//

/// All loops over results are the domain's; rows are what a stage reduces, or computes one after the other.
static std::string nameOf(const NestPlan &plan) {
  if (any_of(plan.stages, [](const Stage &stage) { return stage.isScan; }))
    return plan.lanesAlongOuter ? "scan of rows side by side" : "scan";
  auto reduction = find_if(plan.stages, [](const Stage &stage) { return stage.isReduction; });
  if (reduction != plan.stages.end())
    return plan.lanesAlongOuter || reduction->lanes == Stage::AlongParallel ? "reduction of columns"
           : reduction->lanes == Stage::AlongReduction                      ? "reduction of rows"
                                                                            : "scalar reduction";
  bool isScalar =
      !plan.lanesAlongOuter && all_of(plan.stages, [](const Stage &stage) { return stage.lanes == Stage::Nowhere; });
  return plan.transposes ? "loop nest, transposed in registers" : isScalar ? "scalar loop nest" : "loop nest";
}

/// Where the lanes lie.
static std::string describeLanes(loop::KernelOp kernel, const NestPlan &plan) {
  if (plan.transposes)
    return formatv("tiles of {0} by {0}, read along one loop and stored along the other", plan.width);
  if (plan.lanesAlongOuter)
    return formatv("vectors of {0} along a loop of {1} results", plan.width, toText(plan.outer.back().size, kernel));
  std::vector<std::string> stages;
  for (const Stage &stage : plan.stages) {
    if (stage.lanes == Stage::Nowhere)
      continue;
    bool isReduced = stage.lanes == Stage::AlongReduction;
    std::string text = formatv("vectors of {0} along {1} {2}", stage.width,
                               toText((isReduced ? stage.reduction : stage.parallel).back().size, kernel),
                               isReduced ? "reduced elements" : "results of a row");
    if (!is_contained(stages, text))
      stages.push_back(text);
  }
  return stages.empty() ? "no loop pays for vectors" : join(stages, ", ");
}

Algorithm describe(loop::KernelOp kernel, const NestPlan &plan) {
  if (plan.many) {
    Algorithm many = describe(kernel, *plan.many);
    std::string fewer = formatv("that where {0} is {1} or more, else {2}", toText(plan.size, kernel), plan.least,
                                describeLanes(kernel, plan));
    return {many.name, joinReasons({many.because, fewer})};
  }
  std::string name = nameOf(plan);
  if (plan.stages.size() > 1)
    name += formatv(", {0} stages", plan.stages.size());
  std::string costs;
  raw_string_ostream out(costs);
  out << "estimated vector accesses: ";
  ListSeparator comma;
  for (auto [cost, where] : {std::pair(plan.costs.own, "within a row or one by one"),
                             {plan.costs.outer, "across rows"},
                             {plan.costs.transposed, "transposed in registers"}})
    if (std::isfinite(cost))
      out << comma << format("%.3g ", cost) << where;
  std::vector<std::string> reasons = loop::getReasons(&kernel.getBody().front().front());
  reasons.insert(reasons.end(), {describeLanes(kernel, plan), costs});
  return {name, joinReasons(reasons)};
}

} // namespace ptc::cpu
