//===- PackComputedWeight.cpp - a kernel that packs a weight --------------===//

#include "compiler/codegen/cpu/pack/Packer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace ptc::cpu {

void packComputedWeight(loop::ConvolutionOp op, int64_t groups, int64_t panel, int64_t group) {
  auto kernel = op->getParentOfType<loop::KernelOp>();
  auto type = llvm::cast<RankedTensorType>(op.getW().getType());
  int64_t outputs = type.getShape().back() / groups;
  auto packed = RankedTensorType::get(packedShape(type, groups, panel, group), type.getElementType());
  unsigned taps = type.getRank() - 1; // kernel and input channels
  Location loc = op.getLoc();
  OpBuilder b(kernel);
  auto argument = llvm::cast<BlockArgument>(op.getW());
  auto pack =
      loop::KernelOp::create(b, loc, TypeRange(packed), kernel.getInputs()[argument.getArgNumber()],
                             (kernel.getName() + "_pack").str(), int64_t(packed.getRank()), b.getDenseI64ArrayAttr({}));
  Block &body = pack.getBody().emplaceBlock();
  Value weight = body.addArgument(type, loc);
  b.setInsertionPointToStart(&body);
  auto map = loop::MapOp::create(b, loc, TypeRange(packed));
  Block &point = map.getBody().emplaceBlock();
  point.addArguments(SmallVector<Type>(packed.getRank(), b.getIndexType()),
                     SmallVector<Location>(packed.getRank(), loc));
  loop::YieldOp::create(b, loc, map.getResults());

  // Place (group, panel, taps..., lane) holds column panel * width + lane of the group; with groups of channels,
  // (group, panel, kernel..., channel / g, lane, channel % g).
  b.setInsertionPointToStart(&point);
  AffineExpr column = b.getAffineDimExpr(1) * panel + b.getAffineDimExpr(2 + taps);
  SmallVector<AffineExpr> place;
  for (unsigned i = 0; i < taps; ++i)
    place.push_back(b.getAffineDimExpr(2 + i));
  if (group > 1)
    place.back() = place.back() * group + b.getAffineDimExpr(3 + taps);
  AffineExpr channel = place.back();
  place.push_back(b.getAffineDimExpr(0) * outputs + column);
  auto mapOf = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMapAttr::get(AffineMap::get(packed.getRank(), 0, exprs, op.getContext()));
  };
  auto below = [&](AffineExpr expr, int64_t size) -> Value {
    Value index = loop::IndexOp::create(b, loc, b.getIndexType(), point.getArguments(), mapOf(expr));
    Value limit = arith::ConstantIndexOp::create(b, loc, size);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index, limit);
  };
  Value inside = below(column, outputs);
  if (int64_t channels = type.getShape()[taps - 1]; channels % group)
    inside = arith::AndIOp::create(b, loc, inside, below(channel, channels));
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  Value read =
      loop::ReadOp::create(b, loc, type.getElementType(), weight, point.getArguments(), inside, zero, mapOf(place));
  loop::YieldOp::create(b, loc, read);
  kernel.getInputsMutable()[argument.getArgNumber()].set(pack.getResult(0));
  argument.setType(packed);
  op.setWPanel(panel);
  op.setWGroup(group);
}

} // namespace ptc::cpu
