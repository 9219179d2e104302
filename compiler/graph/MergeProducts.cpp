#include "compiler/graph/MergeProducts.h"

#include "compiler/graph/ConstantValues.h"
#include "compiler/support/FunctionPass.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Prims.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <vector>

using namespace mlir;
using namespace ptc::prims;

namespace ptc {

namespace {

/// A product by a constant matrix, to which constant numbers of the columns are added, and which is rounded then.
struct Branch {
  ContractOp product;
  Value bias;      ///< [columns]; null: none
  ConvertOp round; ///< null: none
  Value result;    ///< of all that
  SmallVector<Operation *, 3> ops = {product};

  Type dtype() { return llvm::cast<RankedTensorType>(result.getType()).getElementType(); }
};

class Merging {
public:
  explicit Merging(func::FuncOp function) : function(function) {}
  void run();

private:
  std::optional<Branch> getBranch(ContractOp product);
  Value join(OpBuilder &b, Location loc, ArrayRef<Value> parts, int64_t dim);
  void merge(ArrayRef<Branch> branches);

  func::FuncOp function;
  ConstantValues constants;
  std::map<std::pair<int64_t, std::vector<const void *>>, Value> joined; ///< by dimension and parts
};

} // namespace

static unsigned rankOf(Value value) { return llvm::cast<RankedTensorType>(value.getType()).getRank(); }

static Operation *onlyUser(Value value) { return value.hasOneUse() ? *value.user_begin() : nullptr; }

/// The operand of an addition to `value` that has a number for each of the last dimension.
static Value getBias(AddOp sum, Value value) {
  Value other = sum.getLhs() == value ? sum.getRhs() : sum.getLhs();
  auto broadcast = other.getDefiningOp<BroadcastInDimOp>();
  bool isOfColumns = broadcast && rankOf(broadcast.getX()) == 1 && broadcast.getDims().front() == rankOf(value) - 1 &&
                     getShape(broadcast.getX()) == ShapeRef(getShape(value).back());
  return isOfColumns ? broadcast.getX() : Value();
}

std::optional<Branch> Merging::getBranch(ContractOp product) {
  if (!product.getLhsBatch().empty() || product.getLhsContract().size() != 1 || rankOf(product.getRhs()) != 2 ||
      !constants.contains(product.getRhs()) || constants.contains(product.getLhs()))
    return std::nullopt;
  Branch branch{product, {}, {}, product.getResult()};
  if (auto sum = llvm::dyn_cast_or_null<AddOp>(onlyUser(branch.result))) {
    branch.bias = getBias(sum, branch.result);
    if (!branch.bias || !constants.contains(branch.bias))
      return std::nullopt;
    branch.result = sum.getResult();
    branch.ops.push_back(sum);
  }
  branch.round = llvm::dyn_cast_or_null<ConvertOp>(onlyUser(branch.result));
  if (branch.round) {
    branch.result = branch.round.getResult();
    branch.ops.push_back(branch.round);
  }
  bool isViewed = llvm::all_of(branch.result.getUsers(), llvm::IsaPred<ReshapeOp, TransposeOp, SliceOp>);
  return isViewed && !branch.result.use_empty() ? std::optional(branch) : std::nullopt;
}

/// Whether one product can have both: of one tensor by matrices that lie alike, with results of one type.
static bool canMerge(Branch a, Branch b) {
  return a.product.getLhs() == b.product.getLhs() && a.product.getLhsContract() == b.product.getLhsContract() &&
         a.product.getRhsContract() == b.product.getRhsContract() &&
         a.product.getRhs().getType().getElementType() == b.product.getRhs().getType().getElementType() &&
         bool(a.bias) == bool(b.bias) && bool(a.round) == bool(b.round) && a.dtype() == b.dtype();
}

/// Layers that share weights share them side by side, too.
Value Merging::join(OpBuilder &b, Location loc, ArrayRef<Value> parts, int64_t dim) {
  std::vector<const void *> pointers;
  for (Value part : parts)
    pointers.push_back(part.getAsOpaquePointer());
  Value &found = joined[{dim, pointers}];
  if (!found)
    found = ConcatenateOp::create(b, loc, parts, dim);
  return found;
}

void Merging::merge(ArrayRef<Branch> branches) {
  Branch first = branches.front();
  OpBuilder b(first.product);
  MLIRContext *context = b.getContext();
  SmallVector<Location> locations;
  SmallVector<Value> weights, biases;
  for (Branch branch : branches) {
    locations.push_back(branch.product.getLoc());
    weights.push_back(branch.product.getRhs());
    biases.push_back(branch.bias);
  }
  Location loc = FusedLoc::get(context, locations);
  ContractOp one = first.product;
  Value weight = join(b, loc, weights, 1 - one.getRhsContract().front());
  Value result = ContractOp::create(b, loc, one.getLhs(), weight, one.getLhsBatch(), one.getRhsBatch(),
                                    one.getLhsContract(), one.getRhsContract());
  Shape sizes = getShape(result);
  int64_t last = sizes.size() - 1;
  if (first.bias) {
    Value bias = join(b, loc, biases, 0);
    bias = BroadcastInDimOp::create(b, loc, bias, makeSizesAttr(sizes, context), ArrayRef<int64_t>(last));
    result = AddOp::create(b, loc, result, bias);
  }
  if (first.round)
    result = ConvertOp::create(b, loc, result, first.dtype());
  Shape starts(sizes.size(), getAffineConstantExpr(0, context)), limits = sizes;
  SmallVector<int64_t> ones(sizes.size(), 1);
  limits.back() = starts.back();
  for (Branch branch : branches) {
    starts.back() = limits.back();
    limits.back() = starts.back() + getShape(branch.result).back();
    Value columns =
        SliceOp::create(b, loc, result, makeSizesAttr(starts, context), makeSizesAttr(limits, context), ones);
    branch.result.replaceAllUsesWith(columns);
  }
  for (Branch branch : branches)
    for (Operation *op : llvm::reverse(branch.ops))
      op->erase();
}

void Merging::run() {
  SmallVector<SmallVector<Branch>> groups;
  for (auto product : function.getOps<ContractOp>())
    if (std::optional<Branch> branch = getBranch(product)) {
      auto *group = llvm::find_if(groups, [&](ArrayRef<Branch> group) { return canMerge(group.front(), *branch); });
      if (group == groups.end())
        group = &groups.emplace_back();
      group->push_back(*branch);
    }
  for (ArrayRef<Branch> group : groups)
    if (group.size() > 1)
      merge(group);
  sortTopologically(&function.front()); // constants may stand behind the first product
}

std::unique_ptr<Pass> createMergeProductsPass() {
  return makeFunctionPass("merge-products", "products of one tensor by constants are one", [](func::FuncOp function) {
    Merging(function).run();
    return success();
  });
}

} // namespace ptc
