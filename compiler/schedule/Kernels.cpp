//===- Kernels.cpp - groups become loop.kernel ----------------------------===//

#include "compiler/schedule/Groups.h"
#include "dialects/loop/Bodies.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static void collectNames(Location loc, llvm::SetVector<StringRef> &names) {
  if (auto fused = llvm::dyn_cast<FusedLoc>(loc)) {
    for (Location inner : fused.getLocations())
      collectNames(inner, names);
  } else if (auto name = llvm::dyn_cast<NameLoc>(loc)) {
    // "layer_norm_3": the number tells nodes apart, not what they do.
    StringRef text = name.getName().getValue().rtrim("0123456789");
    names.insert(text.size() == name.getName().size() ? text : text.rtrim('_'));
  }
}

std::string describe(ArrayRef<Operation *> members) {
  static constexpr size_t kMostNames = 4, kMostLetters = 48;
  llvm::SetVector<StringRef> names;
  for (Operation *member : members)
    collectNames(member->getLoc(), names);
  std::string text;
  for (StringRef name : names.getArrayRef().take_back(kMostNames)) {
    if (name.empty() || text.size() + name.size() > kMostLetters)
      continue;
    text += (text.empty() ? "" : "_") + name.str();
  }
  if (text.empty())
    text = members.front()->getName().stripDialect().str();
  for (char &c : text)
    if (!llvm::isAlnum(c))
      c = '_';
  return text;
}

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

namespace {
class KernelBuilder {
public:
  KernelBuilder(Block &block) : block(block) {}
  void create(const Group &group, unsigned number);

private:
  Block &block;
};
} // namespace

static Location fuseLocations(ArrayRef<Operation *> members) {
  SmallVector<Location> locations;
  for (Operation *member : members)
    locations.push_back(member->getLoc());
  return FusedLoc::get(members.front()->getContext(), locations);
}

void KernelBuilder::create(const Group &group, unsigned number) {
  llvm::SmallPtrSet<Operation *, 8> inside(group.members.begin(), group.members.end());
  llvm::SetVector<Value> inputs;
  SmallVector<OpOperand *> uses;
  for (Operation *member : group.members)
    member->walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands()) {
        bool isOuter = operand.get().getParentBlock() == &block;
        if (!isOuter || (operand.get().getDefiningOp() && inside.contains(operand.get().getDefiningOp())))
          continue;
        inputs.insert(operand.get());
        uses.push_back(&operand);
      }
    });
  SmallVector<Value> results;
  for (Operation *member : group.members)
    for (Value result : member->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !inside.contains(block.findAncestorOpInBlock(*user)); }))
        results.push_back(result);

  Builder b(fuseLocations(group.members), block.getTerminator());
  std::string name = "k" + std::to_string(number) + "_" + describe(group.members);
  loop::KernelOp kernel =
      createKernel(b, name, group.outer.size(), ValueRange(results).getTypes(), inputs.getArrayRef());
  Block *body = b.getBlock();
  for (OpOperand *use : uses) {
    unsigned place = llvm::find(inputs, use->get()) - inputs.begin();
    use->set(body->getArgument(place));
  }
  for (auto [result, outer] : llvm::zip(results, kernel.getResults()))
    result.replaceUsesWithIf(outer, [&](OpOperand &use) {
      return !inside.contains(block.findAncestorOpInBlock(*use.getOwner()));
    });
  for (Operation *member : group.members)
    member->moveBefore(body, body->end());
  b.setInsertionPointToEnd(body);
  loop::YieldOp::create(b, results);
}

void createKernels(Block &block, ArrayRef<Group> groups, unsigned &number) {
  KernelBuilder builder(block);
  for (const Group &group : groups)
    if (isControl(group.members.front()))
      group.members.front()->moveBefore(block.getTerminator());
    else
      builder.create(group, number++);
}

} // namespace ptc::schedule
