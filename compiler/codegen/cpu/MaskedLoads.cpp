#include "compiler/codegen/cpu/MaskedLoads.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace ptc::cpu {

/// How many operations lie between a mask and the constants in it; emitters write two.
constexpr unsigned kDepth = 6;

/// What lane `i` of a mask is in every call; nothing where calls differ.
static std::optional<bool> knownLane(Value *mask, unsigned i, unsigned depth = kDepth) {
  if (auto *constant = dyn_cast<Constant>(mask)) {
    Constant *lane = constant->getAggregateElement(i);
    if (lane && isa<ConstantInt>(lane))
      return lane->isOneValue();
    return std::nullopt;
  }
  if (!depth)
    return std::nullopt;
  Value *x, *y;
  auto lane = [&](Value *of) { return knownLane(of, i, depth - 1); };
  if (match(mask, m_And(m_Value(x), m_Value(y)))) {
    if (lane(x) == false || lane(y) == false)
      return false;
    return lane(x) == true ? lane(y) : std::nullopt;
  }
  if (match(mask, m_Or(m_Value(x), m_Value(y)))) {
    if (lane(x) == true || lane(y) == true)
      return true;
    return lane(x) == false ? lane(y) : std::nullopt;
  }
  if (match(mask, m_Xor(m_Value(x), m_Value(y))) && lane(x) && lane(y))
    return *lane(x) != *lane(y);
  if (match(mask, m_Select(m_Value(), m_Value(x), m_Value(y))) && lane(x) == lane(y))
    return lane(x);
  return std::nullopt;
}

/// Lanes `begin` to `begin` + `count` of a vector. Constants are cut apart here: code generation for the parts shall
/// not find what it does not understand of the whole.
static Value *lanesOf(IRBuilder<> &b, Value *vector, unsigned begin, unsigned count, unsigned depth = kDepth) {
  auto *binary = dyn_cast<BinaryOperator>(vector);
  if (binary && depth)
    return b.CreateBinOp(binary->getOpcode(), lanesOf(b, binary->getOperand(0), begin, count, depth - 1),
                         lanesOf(b, binary->getOperand(1), begin, count, depth - 1));
  auto *select = dyn_cast<SelectInst>(vector);
  if (select && depth && !select->getCondition()->getType()->isVectorTy())
    return b.CreateSelect(select->getCondition(), lanesOf(b, select->getTrueValue(), begin, count, depth - 1),
                          lanesOf(b, select->getFalseValue(), begin, count, depth - 1));
  return b.CreateShuffleVector(vector, to_vector_of<int>(seq(begin, begin + count)));
}

/// What lanes `begin` to `begin` + `count` of a mask are in every call, all of them; nothing where they differ.
static std::optional<bool> knownLanes(Value *mask, unsigned begin, unsigned count) {
  std::optional<bool> first = knownLane(mask, begin);
  return all_of(seq(begin, begin + count), [&](unsigned i) { return knownLane(mask, i) == first; }) ? first
                                                                                                    : std::nullopt;
}

static void split(IntrinsicInst &load, unsigned lanes) {
  IRBuilder<> b(&load);
  Value *address = load.getArgOperand(0), *mask = load.getArgOperand(1), *otherwise = load.getArgOperand(2);
  auto *type = cast<FixedVectorType>(load.getType());
  Type *element = type->getElementType(), *part = FixedVectorType::get(element, lanes);
  uint64_t bytes = load.getDataLayout().getTypeStoreSize(element);
  SmallVector<Value *> parts;
  for (unsigned begin = 0; begin < type->getNumElements(); begin += lanes) {
    std::optional<bool> known = knownLanes(mask, begin, lanes);
    Value *unread = b.CreateShuffleVector(otherwise, to_vector_of<int>(seq(begin, begin + lanes)));
    if (known == false) {
      parts.push_back(unread);
      continue;
    }
    Value *from = b.CreateConstInBoundsGEP1_64(element, address, begin);
    Align align = commonAlignment(load.getParamAlign(0).valueOrOne(), begin * bytes);
    Instruction *read = known ? static_cast<Instruction *>(b.CreateAlignedLoad(part, from, align))
                              : b.CreateMaskedLoad(part, from, align, lanesOf(b, mask, begin, lanes), unread);
    read->setAAMetadata(load.getAAMetadata());
    parts.push_back(read);
  }
  load.replaceAllUsesWith(concatenateVectors(b, parts));
  load.eraseFromParent();
}

void splitMaskedLoads(Function &function, unsigned registerBits) {
  for (Instruction &instruction : make_early_inc_range(instructions(function))) {
    auto *load = dyn_cast<IntrinsicInst>(&instruction);
    if (!load || load->getIntrinsicID() != Intrinsic::masked_load)
      continue;
    auto *type = cast<FixedVectorType>(load->getType());
    unsigned count = type->getNumElements(), lanes = registerBits / type->getScalarSizeInBits();
    if (count <= lanes || count % lanes != 0)
      continue;
    if (any_of(seq(count / lanes), [&](unsigned i) { return knownLanes(load->getArgOperand(1), i * lanes, lanes); }))
      split(*load, lanes);
  }
}

} // namespace ptc::cpu
