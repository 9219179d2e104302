#include "compiler/graph/FoldConstants.h"

#include "compiler/graph/Bytes.h"
#include "compiler/graph/ConstantValues.h"
#include "compiler/graph/ConstantView.h"
#include "compiler/support/FunctionPass.h"
#include "compiler/weights/WeightStore.h"
#include "dialects/control/Control.h"
#include "dialects/core/TensorBytes.h"
#include "dialects/prims/Compute.h"
#include "dialects/prims/Elementwise.h"
#include "dialects/prims/Structure.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>

using namespace mlir;

namespace ptc {

namespace {

/// A value may become so much larger than the weights, or the product, that it is made of.
constexpr int64_t kGrowth = 2;
/// ... or so large from constants alone, in bytes.
constexpr int64_t kFree = 16 << 10;
/// What is made on the way to a value is no larger than all weights, or than so many bytes.
constexpr int64_t kLargestStep = 64 << 20;
/// Keys of folded weights begin with this.
constexpr char kFolded[] = "folded.";
/// Up to so many bytes stand in the IR.
constexpr size_t kInlineBytes = 64;

class Folder {
public:
  Folder(func::FuncOp function, WeightStore &weights) : function(function), weights(weights) {}

  LogicalResult run();

private:
  void collect(Value value);
  bool isWorthFolding(Value value);
  int64_t getLeafBytes(Value value);
  bool isAvailable(Value value);
  const ConstantView *compute(Value value);
  void replace(Value value);
  Value makeValue(OpBuilder &b, Value old, const ConstantView &view);
  std::string findMade(RankedTensorType type, ArrayRef<char> bytes) const;
  void giveWeights();
  void dropUnusedWeights();

  func::FuncOp function;
  WeightStore &weights;
  ConstantValues constants;
  llvm::SetVector<Value> wanted;
  DenseMap<Value, int64_t> leafBytes;
  DenseMap<Value, bool> available;
  DenseMap<Value, ConstantView> computed;
  llvm::StringSet<> ownKeys; ///< of what was folded
  int64_t nextKey = 0;
  bool failed = false;
};

} // namespace

static int64_t countBytes(Value value) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  return type.getNumElements() * getElementBytes(type.getElementType());
}

//===----------------------------------------------------------------------===//
// What to fold
//===----------------------------------------------------------------------===//

/// Whether the bytes are at hand (tests of single passes run without weights) and no step to the value takes too many.
bool Folder::isAvailable(Value value) {
  auto it = available.find(value);
  if (it != available.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  auto isSmall = [&](int64_t bytes) { return bytes <= kLargestStep || bytes <= int64_t(weights.totalBytes()); };
  bool answer = constants.contains(value) && isSmall(countBytes(value)) &&
                (op ? llvm::all_of(op->getOperands(), [&](Value v) { return isAvailable(v); })
                    : weights.find(getWeightKey(value)) != nullptr);
  return available[value] = answer;
}

int64_t Folder::getLeafBytes(Value value) {
  auto it = leafBytes.find(value);
  if (it != leafBytes.end())
    return it->second;
  constexpr int64_t kPlenty = int64_t(1) << 60;
  int64_t bytes = 0;
  Operation *op = value.getDefiningOp();
  if (op)
    for (Value operand : op->getOperands()) // counted once for each way that leads there
      bytes = std::min(bytes + getLeafBytes(operand), kPlenty);
  // A product is not computed where it is read: each call would write and read all of it.
  if (!op || llvm::isa<prims::ContractOp, prims::ConvolutionOp>(op))
    bytes = std::max(bytes, countBytes(value));
  return leafBytes[value] = bytes;
}

/// Kernels read bytes as they are: products of both kinds of numbers, convolutions of whole ones.
static bool isReadAsBytes(OpOperand &use) {
  auto convert = use.get().getDefiningOp<prims::ConvertOp>();
  if (!convert || !llvm::cast<RankedTensorType>(convert.getX().getType()).getElementType().isInteger(8))
    return false;
  Type element = llvm::cast<RankedTensorType>(convert.getType()).getElementType();
  return llvm::isa<prims::ContractOp>(use.getOwner()) ||
         (llvm::isa<prims::ConvolutionOp>(use.getOwner()) && element.isInteger());
}

/// What a call makes of a weight it would pack as well: that of a convolution, and of a product of what bytes stand
/// for. Where the weight alone is of bytes, that is for a small library's sake.
static bool isReadPacked(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  return (llvm::isa<prims::ConvolutionOp>(op) && index == 1) ||
         (llvm::isa<prims::ContractOp>(op) && isOfBytes(op->getOperand(1 - index)));
}

bool Folder::isWorthFolding(Value value) {
  if (llvm::isa<prims::ConstantOp, prims::FullOp, prims::IotaOp, prims::BroadcastInDimOp>(value.getDefiningOp()))
    return false;
  if (llvm::all_of(value.getUses(), isReadAsBytes))
    return false;
  if (llvm::all_of(value.getUses(), isReadPacked))
    return true;
  return countBytes(value) <= std::max(kGrowth * getLeafBytes(value), kFree);
}

/// Wants a constant, or those that it is made of.
void Folder::collect(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (isWorthFolding(value) && isAvailable(value)) {
    wanted.insert(value);
    return;
  }
  for (Value operand : op->getOperands())
    collect(operand);
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

const ConstantView *Folder::compute(Value value) {
  auto it = computed.find(value);
  if (it != computed.end())
    return &it->second;
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto type = llvm::cast<RankedTensorType>(value.getType());
    return &(computed[value] = ConstantView::ofBytes(type, weights.find(getWeightKey(value))->bytes.data()));
  }
  SmallVector<ConstantView> operands;
  for (Value operand : op->getOperands()) {
    const ConstantView *view = compute(operand);
    if (!view)
      return nullptr;
    operands.push_back(*view);
  }
  auto results = evaluateConstant(op, operands);
  if (!results) {
    emitError(op->getLoc()) << llvm::toString(results.takeError());
    failed = true;
    return nullptr;
  }
  for (auto [result, view] : llvm::zip(op->getResults(), *results))
    computed[result] = view;
  return &computed[value];
}

static DenseElementsAttr makeElements(RankedTensorType type, ArrayRef<char> bytes) {
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  SmallVector<bool> bools(bytes.begin(), bytes.end());
  return DenseElementsAttr::get(type, bools);
}

static bool isSplat(ArrayRef<char> bytes, int64_t width) {
  for (int64_t i = width; i < int64_t(bytes.size()); i += width)
    if (std::memcmp(bytes.data(), bytes.data() + i, width) != 0)
      return false;
  return !bytes.empty();
}

/// Two versions of a model have much in common: the key of what another function had folded, and that is the same.
std::string Folder::findMade(RankedTensorType type, ArrayRef<char> bytes) const {
  for (const auto &[key, weight] : weights.all())
    if (StringRef(key).starts_with(kFolded) && !ownKeys.contains(key) && weight.type == type && weight.bytes == bytes)
      return key;
  return "";
}

Value Folder::makeValue(OpBuilder &b, Value old, const ConstantView &view) {
  Type element = view.type.getElementType();
  int64_t width = getElementBytes(element);
  // The same bytes in another shape need no copy.
  bool isView = view.isContiguous() && !view.owner;
  std::vector<char> made = isView ? std::vector<char>() : view.materialize();
  ArrayRef<char> bytes = isView ? ArrayRef(view.data + view.offset * width, view.type.getNumElements() * width)
                                : ArrayRef(made);
  if (isSplat(bytes, width) && !prims::isComplex(element)) {
    auto one = makeElements(RankedTensorType::get({}, element), bytes.take_front(width));
    return prims::FullOp::create(b, old.getLoc(), one.getSplatValue<Attribute>(),
                                 b.getDenseI64ArrayAttr(view.type.getShape()));
  }
  if (bytes.size() <= kInlineBytes)
    return prims::ConstantOp::create(b, old.getLoc(), makeElements(view.type, bytes));
  std::string key = findMade(view.type, bytes);
  bool isNew = key.empty();
  while (key.empty() || (isNew && weights.find(key)))
    key = kFolded + std::to_string(nextKey++);
  ownKeys.insert(key);
  if (isNew && isView)
    weights.addView(key, view.type, bytes);
  else if (isNew)
    weights.add(key, view.type, std::move(made));
  unsigned index = function.getNumArguments();
  auto role = b.getDictionaryAttr(b.getNamedAttr("ptc.weight", b.getStringAttr(key)));
  (void)function.insertArgument(index, view.type, role, old.getLoc());
  return function.getArgument(index);
}

void Folder::replace(Value value) {
  const ConstantView *view = compute(value);
  if (!view)
    return;
  OpBuilder b(value.getDefiningOp());
  value.replaceAllUsesWith(makeValue(b, value, *view));
}

/// A weight that a control operation hands to its functions is a weight of theirs, so that they fold and pack it.
void Folder::giveWeights() {
  function.walk([&](Operation *op) {
    SmallVector<func::FuncOp> functions = control::getFunctions(op);
    if (functions.empty())
      return;
    unsigned first = op->getNumOperands() - control::getInputArguments(functions.front()).size();
    // What a loop updates may begin as a weight, and does not stay one.
    unsigned updated = llvm::isa<control::WhileOp>(op) ? op->getNumResults() : 0;
    for (unsigned i = op->getNumOperands(); i-- > first + updated;) {
      llvm::StringRef key = getWeightKey(op->getOperand(i));
      if (key.empty())
        continue;
      for (func::FuncOp callee : functions)
        callee.setArgAttr(control::getInputArguments(callee)[i - first].getArgNumber(), "ptc.weight",
                          StringAttr::get(op->getContext(), key));
      op->eraseOperand(i);
    }
  });
}

void Folder::dropUnusedWeights() {
  eraseDead(function);
  // Functions of control operations have weights of their own.
  auto isReadElsewhere = [&](llvm::StringRef key) {
    auto functions = function->getParentOfType<ModuleOp>().getOps<func::FuncOp>();
    return llvm::any_of(functions, [&](func::FuncOp other) {
      return other != function && llvm::any_of(other.getArguments(), [&](BlockArgument argument) {
               return getWeightKey(argument) == key && !argument.use_empty();
             });
    });
  };
  llvm::BitVector unused(function.getNumArguments());
  llvm::StringSet<> read;
  for (BlockArgument argument : function.getArguments()) {
    llvm::StringRef key = getWeightKey(argument);
    if (!key.empty() && argument.use_empty())
      unused.set(argument.getArgNumber());
    else if (!key.empty())
      read.insert(key);
  }
  for (unsigned i : unused.set_bits())
    if (llvm::StringRef key = getWeightKey(function.getArgument(i)); !read.contains(key) && !isReadElsewhere(key))
      weights.remove(key);
  (void)function.eraseArguments(unused);
}

LogicalResult Folder::run() {
  for (Operation &op : function.front())
    for (Value operand : op.getOperands()) {
      bool folded = op.getNumResults() && constants.contains(op.getResult(0));
      if (!folded && constants.contains(operand))
        collect(operand);
    }
  for (Value value : wanted)
    replace(value);
  if (failed)
    return failure();
  giveWeights();
  dropUnusedWeights();
  return success();
}

namespace {
class FoldConstantsPass : public PassWrapper<FoldConstantsPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldConstantsPass)

  explicit FoldConstantsPass(WeightStore &weights) : weights(weights) {}

  StringRef getArgument() const final { return "fold-constants"; }
  StringRef getDescription() const final { return "what weights alone decide"; }

  /// A function before those that it calls: these get weights of it.
  void runOnOperation() final {
    llvm::SetVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function.isPrivate())
        functions.insert(function);
    for (size_t i = 0; i < functions.size(); ++i) { // more are found meanwhile
      func::FuncOp function = functions[i];
      if (failed(Folder(function, weights).run()))
        return signalPassFailure();
      function.walk([&](Operation *op) {
        for (func::FuncOp callee : control::getFunctions(op))
          functions.insert(callee);
      });
    }
  }

private:
  WeightStore &weights;
};
} // namespace

std::unique_ptr<Pass> createFoldConstantsPass(WeightStore &weights) {
  return std::make_unique<FoldConstantsPass>(weights);
}

} // namespace ptc
