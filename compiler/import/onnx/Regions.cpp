#include "compiler/import/onnx/Regions.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ptc::import::onnx {

/// Tensors from around the regions.
static llvm::SetVector<mlir::Value> capturesOf(llvm::MutableArrayRef<Region> regions) {
  llvm::SetVector<mlir::Value> captured;
  for (Region &region : regions)
    region.walk([&](Operation *op) {
      for (mlir::Value operand : op->getOperands())
        if (!region.isAncestor(operand.getParentRegion()))
          captured.insert(operand);
    });
  return captured;
}

RegionBuilder::RegionBuilder(Builder &b, llvm::StringRef name, unsigned regions) : b(b), name(name) {
  OperationState state(b.location, name);
  for (unsigned i = 0; i < regions; ++i)
    state.addRegion();
  holder = b.builder.create(state);
}

RegionBuilder::~RegionBuilder() {
  if (!holder)
    return;
  b.builder.setInsertionPointAfter(holder);
  holder->erase();
}

Values RegionBuilder::begin(unsigned i, TypeRange types) {
  Block *block = b.builder.createBlock(&holder->getRegion(i));
  Values arguments;
  for (Type type : types)
    arguments.push_back(b.wrap(block->addArgument(type, b.location)));
  return arguments;
}

std::optional<llvm::SmallVector<Type>> RegionBuilder::end(const Values &results) {
  llvm::SmallVector<mlir::Value> values;
  for (const Value &result : results)
    values.push_back(b.tensor(result));
  if (b.hasFailed())
    return std::nullopt;
  aten::createUnknown(b.builder, b.location, "aten.yield", values, {}, {});
  b.builder.setInsertionPointAfter(holder);
  return llvm::map_to_vector(values, [](mlir::Value v) { return v.getType(); });
}

bool RegionBuilder::isEmpty() const {
  return llvm::all_of(holder->getRegions(), [](Region &region) { return llvm::hasSingleElement(region.front()); });
}

llvm::SmallVector<mlir::Value> RegionBuilder::answers(unsigned i) {
  return llvm::to_vector(holder->getRegion(i).front().back().getOperands());
}

Values RegionBuilder::finish(llvm::ArrayRef<mlir::Value> operands, TypeRange results) {
  auto captured = capturesOf(holder->getRegions());
  OperationState state(b.location, name);
  state.addOperands(operands);
  state.addOperands(captured.getArrayRef());
  state.addTypes(results);
  for (Region &region : holder->getRegions()) {
    for (mlir::Value value : captured) {
      BlockArgument argument = region.front().addArgument(value.getType(), value.getLoc());
      region.walk([&](Operation *op) { op->replaceUsesOfWith(value, argument); });
    }
    state.addRegion()->takeBody(region);
  }
  holder->erase();
  holder = nullptr;
  Values values;
  for (mlir::Value result : b.builder.create(state)->getResults())
    values.push_back(b.wrap(result));
  return values;
}

Values buildWhile(Builder &b, const Values &begin, llvm::function_ref<Value(const Values &)> condition,
                  llvm::function_ref<Values(const Values &)> body) {
  llvm::SmallVector<mlir::Value> operands;
  for (const Value &value : begin)
    operands.push_back(b.tensor(value));
  if (b.hasFailed())
    return {};
  auto types = llvm::map_to_vector(operands, [](mlir::Value v) { return v.getType(); });
  RegionBuilder regions(b, "aten.higher_order.while_loop", 2);
  Values at = regions.begin(0, types);
  if (!regions.end({condition(at)}))
    return {};
  at = regions.begin(1, types);
  auto found = regions.end(body(at));
  if (!found)
    return {};
  if (*found != types) {
    b.fail("a state changes its shape or type from trip to trip, and the number of trips is not known at compile time");
    return {};
  }
  return regions.finish(operands, types);
}

Values buildScan(Builder &b, const Values &begin, const Values &over, size_t rows,
                 llvm::function_ref<std::optional<Values>(const Values &)> step) {
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<Type> types;
  for (const Value &value : begin) {
    operands.push_back(b.tensor(value));
    types.push_back(b.type(value));
  }
  AffineExpr length = b.size(over.front(), 0);
  for (const Value &value : over) {
    b.require(b.size(value, 0), length);
    if (b.hasFailed())
      return {};
    operands.push_back(b.tensor(value));
    types.push_back(makeTensorType(ShapeRef(b.shape(value)).drop_front(), b.element(value)));
  }
  RegionBuilder regions(b, "aten.higher_order.scan", 1);
  std::optional<Values> answers = step(regions.begin(0, types));
  auto found = answers && answers->size() == begin.size() + rows ? regions.end(*answers) : std::nullopt;
  if (!found)
    return {};
  for (auto [i, type] : llvm::enumerate(*found)) {
    if (i < begin.size() && type != types[i]) {
      b.fail("a state changes its shape or type from step to step");
      return {};
    }
    if (i < begin.size())
      continue;
    Shape sizes = getShape(type);
    sizes.insert(sizes.begin(), length);
    type = makeTensorType(sizes, cast<RankedTensorType>(type).getElementType());
  }
  return regions.finish(operands, *found);
}

} // namespace ptc::import::onnx
