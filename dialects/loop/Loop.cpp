//===- Loop.cpp - the dialect, and what holds for every operation ---------===//

#include "dialects/loop/Functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "dialects/loop/LoopDialect.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/loop/Loop.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/loop/Functions.cpp.inc"

namespace ptc::loop {

void LoopDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/loop/Loop.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/loop/Functions.cpp.inc"
      >();
}

Type getScalarType(Type element) {
  auto integer = llvm::dyn_cast<IntegerType>(element);
  return integer && integer.isUnsigned() ? IntegerType::get(element.getContext(), integer.getWidth()) : element;
}

bool isTemplate(Operation *op) { return llvm::isa<ContractOp, ConvolutionOp, AttentionOp, AttentionGradientOp>(op); }

bool isMember(Operation *op) {
  return llvm::isa<MapOp, ReduceOp, ScanOp, ScatterOp, SortOp, MatrixOp>(op) || isTemplate(op);
}

bool isGrouped(ConvolutionOp op) {
  Shape x = getShape(op.getX()), w = getShape(op.getW()), result = getShape(op.getResult(0));
  if (x.size() < 3 || result.size() != x.size() || w.empty() || op.getGroups() < 1) // of unverified text
    return false;
  auto channels = getConstant(op.getXChannelsFirst() ? x[1] : x.back());
  bool isInOrder = !op.getXChannelsFirst() || channels == 1;
  // Packed, its channels are panels of one group.
  bool isPackedSo = op.getWPanel() == 0 || (op.getGroups() > 1 && getConstant(w.front()) == 1);
  return isInOrder && channels && channels == getConstant(result.back()) && *channels % op.getGroups() == 0 &&
         llvm::isPowerOf2_64(*channels / op.getGroups()) && isPackedSo;
}

/// All sizes but the first are static.
static bool isF32OfStaticPixels(Value value) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  ShapeRef sizes = ShapeRef(getShape(type)).drop_front();
  return type.getElementType().isF32() && llvm::all_of(sizes, [](AffineExpr e) { return getConstant(e); });
}

bool canFuseConvolution(ContractOp product, ConvolutionOp convolution) {
  bool isOfPixels = product.getBatchRank() == 0 && product.getMRank() == 3 && product.getNRank() == 1;
  bool isPacked = product.getRhsPanel() > 0 && !product.getRhsBf16x3();
  return isOfPixels && isPacked && product->getNumResults() == 1 && isF32OfStaticPixels(product.getLhs()) &&
         isF32OfStaticPixels(product.getRhs()) && isF32OfStaticPixels(product.getResult(0)) &&
         convolution.getKernel().size() == 2 && !convolution.getXChannelsFirst() && isGrouped(convolution);
}

std::optional<FusedConvolution> getFusedConvolution(KernelOp kernel) {
  Block &members = kernel.getBody().front();
  auto product = llvm::dyn_cast<ContractOp>(members.front());
  auto convolution = product ? llvm::dyn_cast<ConvolutionOp>(product->getNextNode()) : ConvolutionOp();
  if (!convolution || convolution->getNextNode() != members.getTerminator() ||
      !canFuseConvolution(product, convolution) || convolution.getX() != product.getResult(0) ||
      !product.getResult(0).hasOneUse())
    return std::nullopt;
  return FusedConvolution{product, convolution};
}

Shape getDomain(Operation *member) {
  Shape domain;
  if (auto scatter = llvm::dyn_cast<ScatterOp>(member))
    return *getSizesFromAttr(scatter.getSizes());
  if (auto sort = llvm::dyn_cast<SortOp>(member))
    return getShape(sort.getX());
  domain = getShape(member->getResult(0));
  if (auto reduce = llvm::dyn_cast<ReduceOp>(member))
    llvm::append_range(domain, *getSizesFromAttr(reduce.getSizes()));
  if (auto contract = llvm::dyn_cast<ContractOp>(member))
    llvm::append_range(domain, *getSizesFromAttr(contract.getKSizes()));
  return domain;
}

Shape getHeadsFirst(AttentionOp op) {
  Shape shape = getShape(op.getResult(0));
  if (op.getQueriesFirst())
    std::swap(shape[shape.size() - 3], shape[shape.size() - 2]);
  return shape;
}

Region *getResultRegion(Operation *member) {
  if (auto reduce = llvm::dyn_cast<ReduceOp>(member))
    return reduce.getFinish().empty() ? nullptr : &reduce.getFinish();
  bool yields = llvm::isa<MapOp>(member) || (isTemplate(member) && !llvm::isa<AttentionGradientOp>(member));
  return yields ? &member->getRegion(0) : nullptr;
}

ResultRange getYieldedResults(Operation *member) {
  auto attention = llvm::dyn_cast<AttentionOp>(member);
  return member->getResults().drop_back(attention && attention.getWithLogsumexp());
}

/// An index map composed of constants folds to one; the rest stays symbolic.
OpFoldResult IndexOp::fold(FoldAdaptor adaptor) {
  AffineExpr expr = getMap().getResult(0);
  if (auto constant = llvm::dyn_cast<AffineConstantExpr>(expr))
    return IntegerAttr::get(IndexType::get(getContext()), constant.getValue());
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr))
    return getIndices()[dim.getPosition()];
  return {};
}

Operation *LoopDialect::materializeConstant(OpBuilder &b, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(b, value, type, loc);
}

std::string getContent(KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream out(text);
  kernel->print(out, OpPrintingFlags().useLocalScope().assumeVerified());
  text.erase(0, text.find(kernel.getName()) + kernel.getName().size());
  // Operands have no names here; but one may be passed twice.
  llvm::DenseMap<Value, size_t> first;
  for (auto [i, input] : llvm::enumerate(kernel.getInputs()))
    out << ' ' << first.try_emplace(input, i).first->second;
  return text;
}

llvm::StringRef getPlainName(KernelOp kernel) {
  llvm::StringRef rest = kernel.getName();
  bool hasNumber = rest.consume_front("k") && !rest.take_while(llvm::isDigit).empty();
  rest = rest.drop_while(llvm::isDigit);
  return hasNumber && rest.consume_front("_") ? rest : kernel.getName();
}

} // namespace ptc::loop
