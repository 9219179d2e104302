//===- ProgramControl.cpp ---------------------------------------------===//
//
// The launches of all functions in one list, with copies and jumps between.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/ProgramBuilder.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;

namespace ptc {

void ProgramBuilder::addBody(Block &block) {
  auto commit = function->getAttrOfType<IntegerAttr>("ptc.commit");
  bool isEntry = &block == &function.front();
  for (auto [place, op] : llvm::enumerate(block)) {
    // Without copies and a jump a control is where all threads are done, and faults are seen.
    if (isEntry && commit && commit.getInt() == int64_t(place) && !kernels.empty())
      addControl(-1, {});
    if (auto kernel = llvm::dyn_cast<loop::KernelOp>(op)) {
      kernels.push_back(kernel);
      addKernelBuffers(kernel);
    } else if (auto branch = llvm::dyn_cast<control::IfOp>(op)) {
      addIf(branch);
    } else if (auto loop = llvm::dyn_cast<control::WhileOp>(op)) {
      addWhile(loop);
    } else if (auto external = llvm::dyn_cast<control::ExternalOp>(op)) {
      addExternal(external);
    }
  }
}

/// A control at this place, which goes on behind itself until it gets another target.
int64_t ProgramBuilder::addControl(int64_t condition, std::vector<host::CopySpec> copies) {
  spec.controls.push_back({here().launch, condition, std::move(copies), {}, -1});
  spec.controls.back().target = here();
  return spec.controls.size() - 1;
}

SmallVector<int64_t> ProgramBuilder::resultBuffers(Operation *op) {
  SmallVector<int64_t> ids;
  for (Value value : op->getResults()) {
    if (!buffers.contains(value))
      buffers[value] = addArenaBuffer(value.getType());
    ids.push_back(buffers[value]);
  }
  return ids;
}

void ProgramBuilder::bindArguments(func::FuncOp called, ArrayRef<int64_t> inputs) {
  for (BlockArgument argument : called.getArguments()) {
    if (auto weight = called.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptc.weight")) {
      buffers[argument] = addWeightBuffer(argument, weight.getValue());
    } else {
      buffers[argument] = inputs.front();
      inputs = inputs.drop_front();
    }
  }
}

/// The launches of a function whose results go to `results`: kernels write there; the rest is to be copied.
std::vector<host::CopySpec> ProgramBuilder::addBranch(func::FuncOp branch, ArrayRef<int64_t> inputs,
                                                      ArrayRef<int64_t> results) {
  bindArguments(branch, inputs);
  SmallVector<std::pair<Value, int64_t>> toCopy;
  for (auto [value, to] : llvm::zip(branch.front().getTerminator()->getOperands(), results))
    if (value.getDefiningOp() && !buffers.contains(value))
      buffers[value] = to;
    else
      toCopy.push_back({value, to});
  addBody(branch.front());
  std::vector<host::CopySpec> copies;
  for (auto [value, to] : toCopy)
    copies.push_back({buffers.lookup(value), to});
  return copies;
}

void ProgramBuilder::addIf(control::IfOp op) {
  SmallVector<int64_t> inputs, results = resultBuffers(op);
  for (Value input : op.getInputs())
    inputs.push_back(buffers.lookup(input));
  int64_t toFalse = addControl(buffers.lookup(op.getPredicate()), {});
  auto copies = addBranch(control::getFunction(op, op.getOnTrueAttr()), inputs, results);
  int64_t toEnd = addControl(-1, std::move(copies));
  spec.controls[toFalse].target = here();
  copies = addBranch(control::getFunction(op, op.getOnFalseAttr()), inputs, results);
  // Also without copies: what is jumped to begins a region.
  addControl(-1, std::move(copies));
  spec.controls[toEnd].target = here();
}

void ProgramBuilder::addWhile(control::WhileOp op) {
  SmallVector<int64_t> inputs, values = resultBuffers(op);
  for (Value input : op.getInputs())
    inputs.push_back(buffers.lookup(input));
  std::vector<host::CopySpec> first, next, aside;
  for (auto [from, to] : llvm::zip(inputs, values))
    first.push_back({from, to});
  llvm::copy(values, inputs.begin());
  addControl(-1, std::move(first));
  host::Position again = here();

  func::FuncOp condition = control::getFunction(op, op.getConditionAttr());
  bindArguments(condition, inputs);
  addBody(condition.front());
  int64_t toEnd = addControl(buffers.lookup(condition.front().getTerminator()->getOperand(0)), {});

  func::FuncOp body = control::getFunction(op, op.getBodyAttr());
  bindArguments(body, inputs);
  addBody(body.front());
  for (auto [value, to] : llvm::zip(body.front().getTerminator()->getOperands(), values)) {
    int64_t from = buffers.lookup(value);
    if (root(from) == root(to))
      continue;
    // Values that change places meet in a third.
    if (llvm::any_of(values, [&](int64_t other) { return root(other) == root(from); })) {
      int64_t between = addArenaBuffer(value.getType());
      aside.push_back({from, between});
      from = between;
    }
    next.push_back({from, to});
  }
  llvm::append_range(aside, next);
  int64_t repeat = addControl(-1, std::move(aside));
  spec.controls[repeat].target = again;
  spec.controls[toEnd].target = here();
  loops.push_back({again.launch, here().launch});
}

/// Results lie where they are needed: in the arena or in the memory of an output.
void ProgramBuilder::addExternal(control::ExternalOp op) {
  host::ExternalSpec external{op.getCallee().str(), op.getCall().str(), Place::of(op->getLoc()).source, {}, {}};
  FunctionType seen = op.getSeen();
  for (auto [input, type] : llvm::zip(op.getInputs(), seen.getInputs()))
    external.inputs.push_back({buffers.lookup(input), llvm::cast<RankedTensorType>(type)});
  for (auto [result, type] : llvm::zip(op->getResults(), seen.getResults())) {
    if (llvm::isa<NoneType>(result.getType())) {
      external.outputs.emplace_back();
      continue;
    }
    if (!buffers.contains(result))
      buffers[result] = addArenaBuffer(result.getType());
    external.outputs.push_back({buffers[result], llvm::cast<RankedTensorType>(type)});
  }
  int64_t control = addControl(-1, {});
  spec.controls[control].external = spec.externals.size();
  spec.externals.push_back(std::move(external));
}

} // namespace ptc
