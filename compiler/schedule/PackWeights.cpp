//===- PackWeights.cpp ----------------------------------------------------===//

#include "compiler/schedule/PackWeights.h"

#include "compiler/import/Weights.h"
#include "compiler/schedule/Winograd.h"
#include "dialects/loop/Loop.h"
#include "dialects/loop/StridedAccess.h"
#include "dialects/loop/Tuning.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <thread>

using namespace mlir;

namespace ptc {

namespace {

/// A weight seen as [batch][column][k...] with a stride (in elements) for each:
/// what packing reads.
struct Source {
  const char *bytes;
  int64_t elementBytes, offset;
  int64_t batches, columns;
  SmallVector<int64_t> columnSizes, columnStrides; ///< of the dimensions behind a column index
  SmallVector<int64_t> batchSizes, batchStrides;
  SmallVector<int64_t> kSizes, kStrides;

  int64_t group = 1; ///< elements of the innermost k that lie side by side

  int64_t kCount() const {
    int64_t count = 1;
    for (int64_t size : kSizes)
      count *= size;
    return count;
  }
  int64_t innerSize() const { return kSizes.empty() ? 1 : kSizes.back(); }
  /// With the innermost k padded to whole groups.
  int64_t packedCount() const { return kCount() / innerSize() * llvm::alignTo(innerSize(), group); }
};

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// The place of a row-major index over these sizes and strides.
int64_t placeOf(int64_t index, ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  int64_t place = 0;
  for (unsigned i = sizes.size(); i-- > 0; index /= sizes[i])
    place += index % sizes[i] * strides[i];
  return place;
}

/// Writes panel `panel` of batch `batch`: [k / group][panelWidth][group], but for zeros beyond the last column and k.
template <typename Element>
void packPanel(const Source &source, int64_t batch, int64_t panel, int64_t panelWidth, Element *to) {
  const auto *from = reinterpret_cast<const Element *>(source.bytes);
  int64_t base = source.offset + placeOf(batch, source.batchSizes, source.batchStrides);
  int64_t first = panel * panelWidth, count = std::min(panelWidth, source.columns - first), k = source.kCount();
  SmallVector<int64_t> columns(count);
  for (int64_t i = 0; i < count; ++i)
    columns[i] = base + placeOf(first + i, source.columnSizes, source.columnStrides);
  // The innermost k is cut so that the lines read down the columns stay in L1.
  constexpr int64_t kBlock = 64;
  int64_t inner = source.innerSize(), group = source.group, groups = llvm::divideCeil(inner, group);
  int64_t innerStride = source.kStrides.empty() ? 0 : source.kStrides.back();
  ArrayRef<int64_t> outerSizes = ArrayRef(source.kSizes).drop_back(source.kSizes.empty() ? 0 : 1);
  ArrayRef<int64_t> outerStrides = ArrayRef(source.kStrides).drop_back(source.kStrides.empty() ? 0 : 1);
  for (int64_t outer = 0; outer < k / inner; ++outer) {
    int64_t outerPlace = placeOf(outer, outerSizes, outerStrides);
    for (int64_t block = 0; block < inner; block += kBlock)
      for (int64_t i = 0; i < count; ++i)
        for (int64_t j = block; j < std::min(inner, block + kBlock); ++j) {
          Element value;
          std::memcpy(&value, from + columns[i] + outerPlace + j * innerStride, sizeof value);
          to[((outer * groups + j / group) * panelWidth + i) * group + j % group] = value;
        }
  }
}

std::vector<char> pack(const Source &source, int64_t panelWidth) {
  int64_t panels = llvm::divideCeil(source.columns, panelWidth), panelSize = source.packedCount() * panelWidth;
  std::vector<char> packed(source.batches * panels * panelSize * source.elementBytes);
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      char *to = packed.data() + i * panelSize * source.elementBytes;
      switch (source.elementBytes) {
      case 8:
        packPanel(source, i / panels, i % panels, panelWidth, reinterpret_cast<uint64_t *>(to));
        break;
      case 4:
        packPanel(source, i / panels, i % panels, panelWidth, reinterpret_cast<uint32_t *>(to));
        break;
      case 2:
        packPanel(source, i / panels, i % panels, panelWidth, reinterpret_cast<uint16_t *>(to));
        break;
      default:
        packPanel(source, i / panels, i % panels, panelWidth, reinterpret_cast<uint8_t *>(to));
      }
    }
  };
  int64_t count = source.batches * panels;
  // Packing is bound by memory; a second thread is worth its start only for large weights.
  if (packed.size() < (1 << 20)) {
    run(0, count);
    return packed;
  }
  std::thread other(run, 0, count / 2);
  run(count / 2, count);
  other.join();
  return packed;
}

class PackWeightsPass : public PassWrapper<PackWeightsPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PackWeightsPass)

  PackWeightsPass(WeightStore &weights, PackingRules rules, bool usesWinograd)
      : weights(weights), rules(rules), usesWinograd(usesWinograd) {}
  PackWeightsPass(const PackWeightsPass &) = default;

  StringRef getArgument() const override { return "pack-weights"; }
  StringRef getDescription() const override { return "weights in the order that kernels read them"; }

  void runOnOperation() override {
    getOperation().walk([&](loop::ContractOp op) { packContract(op); });
    getOperation().walk([&](loop::ConvolutionOp op) { packConvolution(op); });
    for (auto function : getOperation().getOps<func::FuncOp>())
      dropUnusedWeights(function);
  }

private:
  void dropUnusedWeights(func::FuncOp function);
  void packContract(loop::ContractOp op);
  void packConvolution(loop::ConvolutionOp op);
  void packComputedWeight(loop::ConvolutionOp op, int64_t panel, int64_t group);
  BlockArgument weightArgument(Value value);
  bool packWinograd(loop::ConvolutionOp op, int64_t panel);
  void replaceWeight(OpOperand &use, const Source &source, int64_t panel, ArrayRef<int64_t> shape);
  void replaceWeight(OpOperand &use, StringRef suffix, ArrayRef<int64_t> shape,
                     llvm::function_ref<std::vector<char>()> pack);

  int64_t panelOf(Operation *op, Type element, int64_t vectorsByRule = 2) const {
    int64_t vectors = loop::getTuning(op, loop::Knob::Vectors).value_or(vectorsByRule);
    return vectors * rules.vectorBytes / (element.isF64() ? 8 : 4);
  }
  int64_t panelOfContract(loop::ContractOp op, int64_t columns, Type element) const;
  /// A single k has no neighbour.
  int64_t groupOf(Type lhs, Type rhs, int64_t innerSize) const {
    bool isBytes = lhs.isInteger(8) && rhs.isInteger(8);
    return innerSize == 1 ? 1 : rhs.isBF16() ? rules.bf16Group : isBytes ? rules.int8Group : 1;
  }

  WeightStore &weights;
  PackingRules rules;
  bool usesWinograd;
};

} // namespace

/// The artifact holds what @forward names: not also the unpacked form.
void PackWeightsPass::dropUnusedWeights(func::FuncOp function) {
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty() && function.getArgAttr(argument.getArgNumber(), "ptc.weight"))
      unused.set(argument.getArgNumber());
  if (failed(function.eraseArguments(unused)))
    signalPassFailure();
}

/// The function argument that a kernel's block argument stands for, if it is a
/// weight that only this kernel reads in this way.
BlockArgument PackWeightsPass::weightArgument(Value value) {
  if (auto inner = llvm::dyn_cast<BlockArgument>(value))
    if (auto kernel = llvm::dyn_cast<loop::KernelOp>(inner.getOwner()->getParentOp()))
      value = kernel.getInputs()[inner.getArgNumber()];
  auto argument = llvm::dyn_cast<BlockArgument>(value);
  auto function = argument ? llvm::dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function || !function.getArgAttr(argument.getArgNumber(), "ptc.weight"))
    return {};
  return argument;
}

void PackWeightsPass::replaceWeight(OpOperand &use, const Source &source, int64_t panel, ArrayRef<int64_t> shape) {
  // The name says what it holds: uses that pack alike share it.
  std::string suffix = "packed";
  llvm::raw_string_ostream stream(suffix);
  for (auto sizes : {ArrayRef(source.columnStrides), ArrayRef(source.kStrides), ArrayRef(source.batchStrides)})
    for (int64_t stride : sizes)
      stream << '.' << stride;
  stream << '.' << source.offset << '.' << panel;
  if (source.group > 1)
    stream << ".by" << source.group;
  replaceWeight(use, suffix, shape, [&] { return pack(source, panel); });
}

/// Adds the packed weight as an argument of the function and makes `use` read it.
void PackWeightsPass::replaceWeight(OpOperand &use, StringRef suffix, ArrayRef<int64_t> shape,
                                    llvm::function_ref<std::vector<char>()> pack) {
  BlockArgument argument = weightArgument(use.get());
  auto function = llvm::cast<func::FuncOp>(argument.getOwner()->getParentOp());
  StringRef key = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptc.weight").getValue();
  Type element = llvm::cast<RankedTensorType>(argument.getType()).getElementType();
  auto type = RankedTensorType::get(shape, element);
  std::string name = (key + "." + suffix).str();
  BlockArgument packed;
  for (BlockArgument other : function.getArguments()) {
    auto attr = function.getArgAttrOfType<StringAttr>(other.getArgNumber(), "ptc.weight");
    if (attr && attr.getValue() == name && other.getType() == type)
      packed = other;
  }
  if (!packed) {
    if (!weights.find(name)) // packed already for another target
      weights.add(name, type, pack());
    unsigned index = function.getNumArguments();
    Builder builder(&getContext());
    auto attrs = builder.getDictionaryAttr(builder.getNamedAttr("ptc.weight", builder.getStringAttr(name)));
    if (failed(function.insertArgument(index, type, attrs, argument.getLoc())))
      return signalPassFailure();
    packed = function.getArgument(index);
  }
  auto inner = llvm::dyn_cast<BlockArgument>(use.get());
  if (auto kernel = llvm::dyn_cast<loop::KernelOp>(inner.getOwner()->getParentOp())) {
    kernel.getInputsMutable()[inner.getArgNumber()].set(packed);
    inner.setType(type);
  } else {
    use.set(packed);
  }
}

/// Static strides of dimensions [first, first + count) of an access.
static bool staticPart(const loop::StridedAccess &access, ShapeRef sizes, unsigned first, unsigned count,
                       SmallVector<int64_t> &sizesOut, SmallVector<int64_t> &stridesOut) {
  for (unsigned i = first; i < first + count; ++i) {
    auto size = getConstant(sizes[i]), stride = getConstant(access.strides[i]);
    if (!size || !stride)
      return false;
    sizesOut.push_back(*size);
    stridesOut.push_back(*stride);
  }
  return true;
}

/// Tiles of 2 vectors have the most rows in 32 registers. In the 16 of AVX2, 4 rows by 3 vectors need fewer loads for
/// each product than 6 by 2, which pays (5 % of BERT-base) where padding the last panel does not matter.
int64_t PackWeightsPass::panelOfContract(loop::ContractOp op, int64_t columns, Type element) const {
  constexpr unsigned kAvx2Bytes = 32;
  constexpr int64_t kManyPanels = 8;
  bool isWide = rules.vectorBytes == kAvx2Bytes && columns >= kManyPanels * panelOf(op, element, 3);
  return panelOf(op, element, isWide ? 3 : 2);
}

void PackWeightsPass::packContract(loop::ContractOp op) {
  BlockArgument argument = weightArgument(op.getRhs());
  if (!argument || op.getRhsPanel() > 0 || !op.getRhs().hasOneUse())
    return;
  auto function = llvm::cast<func::FuncOp>(argument.getOwner()->getParentOp());
  const Weight *weight = weights.find(
      function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptc.weight").getValue());
  Shape domain = loop::getDomain(op);
  auto access = loop::getStridedAccess(op.getRhsMap(), getShape(op.getRhs()));
  if (!weight || !access || !getConstant(access->offset))
    return;
  unsigned batch = op.getBatchRank(), m = op.getMRank(), n = op.getNRank();
  Source source{weight->bytes.data(), 0, *getConstant(access->offset), 0, 0, {}, {}, {}, {}, {}, {}};
  if (!staticPart(*access, domain, 0, batch, source.batchSizes, source.batchStrides) ||
      !staticPart(*access, domain, batch + m, n, source.columnSizes, source.columnStrides) ||
      !staticPart(*access, domain, batch + m + n, domain.size() - batch - m - n, source.kSizes, source.kStrides))
    return;
  Type element = llvm::cast<RankedTensorType>(argument.getType()).getElementType();
  source.elementBytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  while (!source.kSizes.empty() && source.kSizes.back() == 1) {
    source.kSizes.pop_back();
    source.kStrides.pop_back();
  }
  source.group =
      groupOf(llvm::cast<RankedTensorType>(op.getLhs().getType()).getElementType(), element, source.innerSize());
  source.batches = product(source.batchSizes);
  source.columns = product(source.columnSizes);
  int64_t panel = panelOfContract(op, source.columns, element), panels = llvm::divideCeil(source.columns, panel);
  // A few columns would be mostly padding, read for nothing; they are read as they are.
  if (source.columns < panel / 4 || source.kCount() == 0)
    return;
  SmallVector<int64_t> shape(source.batchSizes);
  shape.append({panels, source.packedCount() / source.group, panel});
  if (source.group > 1)
    shape.push_back(source.group);
  replaceWeight(op.getRhsMutable(), source, panel, shape);
  op.setRhsPanel(panel);
  op.setRhsGroup(source.group);
}

/// Shape of the packed form of a weight [kernel..., C / groups, O].
static SmallVector<int64_t> packedShape(RankedTensorType weight, int64_t groups, int64_t panel, int64_t group) {
  int64_t outputs = weight.getShape().back() / groups;
  SmallVector<int64_t> shape = {groups, int64_t(llvm::divideCeil(outputs, panel))};
  llvm::append_range(shape, weight.getShape().drop_back());
  shape.back() = llvm::divideCeil(shape.back(), group);
  shape.push_back(panel);
  if (group > 1)
    shape.push_back(group);
  return shape;
}

void PackWeightsPass::packConvolution(loop::ConvolutionOp op) {
  auto type = llvm::cast<RankedTensorType>(op.getW().getType()); // [kernel..., C / groups, O]
  if (op.getWPanel() > 0)
    return;
  int64_t groups = op.getGroups(), outputs = type.getShape().back() / groups;
  bool isDepthwise = type.getShape()[type.getRank() - 2] == 1 && outputs == 1;
  if (isDepthwise)
    return;
  int64_t panel = panelOf(op, type.getElementType());
  int64_t group = groupOf(type.getElementType(), type.getElementType(), type.getShape()[type.getRank() - 2]);
  BlockArgument argument = weightArgument(op.getW());
  if (!argument || !op.getW().hasOneUse())
    return packComputedWeight(op, panel, group);
  auto function = llvm::cast<func::FuncOp>(argument.getOwner()->getParentOp());
  StringRef key = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptc.weight").getValue();
  const Weight *weight = weights.find(key);
  if (!weight) {
    op.emitError() << "weight '" << key << "' is missing";
    return signalPassFailure();
  }
  if (usesWinograd && packWinograd(op, panel))
    return;
  Source source{weight->bytes.data(), 0, 0, groups, outputs, {outputs}, {1}, {groups}, {outputs}, {}, {}};
  source.elementBytes = std::max(1u, type.getElementTypeBitWidth() / 8);
  int64_t stride = type.getShape().back();
  for (int64_t i = type.getRank() - 1; i-- > 0; stride *= type.getShape()[i]) {
    source.kSizes.insert(source.kSizes.begin(), type.getShape()[i]);
    source.kStrides.insert(source.kStrides.begin(), stride);
  }
  source.group = group;
  replaceWeight(op.getWMutable(), source, panel, packedShape(type, groups, panel, group));
  op.setWPanel(panel);
  op.setWGroup(group);
}

/// Whether the convolution becomes one by minimal filtering.
bool PackWeightsPass::packWinograd(loop::ConvolutionOp op, int64_t panel) {
  auto type = llvm::cast<RankedTensorType>(op.getW().getType()), x = llvm::cast<RankedTensorType>(op.getX().getType());
  auto y = llvm::cast<RankedTensorType>(op.getResult(0).getType());
  auto all = [](ArrayRef<int64_t> list, int64_t value) {
    return llvm::all_of(list, [&](int64_t i) { return i == value; });
  };
  if (op.getKernel().size() != 2 || !all(op.getKernel(), 3) || !all(op.getStrides(), 1) || !all(op.getDilations(), 1) ||
      op.getGroups() != 1 || !type.getElementType().isF32() || !x.hasStaticShape() || !y.hasStaticShape())
    return false;
  int64_t inputs = type.getDimSize(2), outputs = type.getDimSize(3), lanes = rules.vectorBytes / 4;
  int64_t byRule = chooseWinograd(y.getDimSize(0), y.getShape().slice(1, 2), inputs, outputs, lanes, rules.matrixUnit);
  int64_t m = loop::getTuning(op, loop::Knob::Winograd).value_or(byRule);
  if (!m || inputs % lanes || outputs % lanes)
    return false;
  BlockArgument argument = weightArgument(op.getW());
  auto function = llvm::cast<func::FuncOp>(argument.getOwner()->getParentOp());
  const Weight *weight =
      weights.find(function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptc.weight").getValue());
  const Winograd &winograd = Winograd::get(m);
  auto transform = [&] {
    // Bytes of a file may lie anywhere.
    std::vector<float> values(type.getNumElements());
    std::memcpy(values.data(), weight->bytes.data(), values.size() * sizeof(float));
    std::vector<float> packed = transformWeights(winograd, values.data(), inputs, outputs, panel);
    const char *bytes = reinterpret_cast<const char *>(packed.data());
    return std::vector<char>(bytes, bytes + packed.size() * sizeof(float));
  };
  SmallVector<int64_t> shape = {winograd.points(), int64_t(llvm::divideCeil(outputs, panel)), inputs, panel};
  replaceWeight(op.getWMutable(), "winograd." + std::to_string(m) + "." + std::to_string(panel), shape, transform);
  op.setWPanel(panel);
  op.setWinograd(m);
  return true;
}

/// A weight that the model computes, or is given, is packed by a kernel of its own.
void PackWeightsPass::packComputedWeight(loop::ConvolutionOp op, int64_t panel, int64_t group) {
  auto kernel = op->getParentOfType<loop::KernelOp>();
  auto type = llvm::cast<RankedTensorType>(op.getW().getType());
  int64_t groups = op.getGroups(), outputs = type.getShape().back() / groups;
  auto packed = RankedTensorType::get(packedShape(type, groups, panel, group), type.getElementType());
  unsigned taps = type.getRank() - 1; // kernel and input channels
  Location loc = op.getLoc();
  OpBuilder b(kernel);
  auto argument = llvm::cast<BlockArgument>(op.getW());
  auto pack = loop::KernelOp::create(b, loc, TypeRange(packed), kernel.getInputs()[argument.getArgNumber()],
                                     (kernel.getName() + "_pack").str(), int64_t(packed.getRank()),
                                     b.getDenseI64ArrayAttr({}));
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
    return AffineMapAttr::get(AffineMap::get(packed.getRank(), 0, exprs, &getContext()));
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

std::unique_ptr<Pass> createPackWeightsPass(WeightStore &weights, PackingRules rules, bool winograd) {
  return std::make_unique<PackWeightsPass>(weights, rules, winograd);
}

} // namespace ptc
