#include "compiler/codegen/cuda/Scatter.h"

#include "compiler/codegen/cuda/ScatterPlan.h"
#include "compiler/codegen/cuda/ThreadCode.h"
#include "compiler/codegen/kernel/Accumulator.h"
#include "compiler/codegen/kernel/BodyEmitter.h"
#include "compiler/codegen/kernel/BodyOps.h"
#include "compiler/codegen/kernel/IndexExpr.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/ScalarType.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::BodyEmitter;
using kernel::Carried;
using kernel::Combiner;
using kernel::emitAddress;
using kernel::emitIf;
using kernel::emitSize;
using kernel::forEach;
using kernel::Lanes;

static constexpr unsigned kThreads = 256;
static constexpr unsigned kRowThreads = 64; ///< where a thread has many updates: on more multiprocessors

namespace {

/// What an update is: the value and where it goes.
struct Update {
  Value *value;
  SmallVector<Value *> place;
};

/// One point of one of a scatter's grids.
class ScatterEmitter {
public:
  ScatterEmitter(GpuFrame &frame, const ScatterPlan &plan);
  void copy();
  void takeInOrder();
  void gather();
  void clearOwners();
  void claim();
  void storeOwned();
  void combineAtomically();
  void note();
  void link();
  void walk();

private:
  void atPoint(mlir::AffineExpr count, function_ref<void(Value *)> body);
  void copyPoint(Value *point);
  void setIndices(ArrayRef<unsigned> dims, Value *point);
  Carried overMoving(ArrayRef<unsigned> dims, ArrayRef<Value *> carried, function_ref<Carried(ArrayRef<Value *>)> body);
  Update emitUpdate();
  Value *combine(Value *old, Value *added);
  Value *load(mlir::Value tensor, ArrayRef<Value *> place);
  void store(ArrayRef<Value *> place, Value *value);
  Value *rowMajor(ArrayRef<Value *> indices, ArrayRef<unsigned> dims);
  Value *ownedPlace(const Update &update);
  Value *asInteger(Value *value);
  Value *fromInteger(Value *value);
  Value *ownerAt(Value *place) { return emitAddress(b, b.getInt64Ty(), f.workspace, place); }
  /// Of each moving point: where it goes, which one goes there before it, and which one after it (-1: none).
  enum Column { Places, Before, After };
  Value *columnAt(Column column, Value *i);

  GpuFrame &f;
  Ir &b;
  const ScatterPlan &plan;
  loop::ScatterOp op;
  Type *type;                   ///< of values
  SmallVector<Value *> indices; ///< of an update
};

} // namespace

/// while (condition(values)) values = body(values)
static Carried emitWhile(Ir &b, ArrayRef<Value *> carried, function_ref<Value *(ArrayRef<Value *>)> condition,
                         function_ref<Carried(ArrayRef<Value *>)> body) {
  Function *function = b.GetInsertBlock()->getParent();
  BasicBlock *before = b.GetInsertBlock(), *head = BasicBlock::Create(b.getContext(), "while", function);
  BasicBlock *step = BasicBlock::Create(b.getContext(), "do", function);
  BasicBlock *exit = BasicBlock::Create(b.getContext(), "done", function);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  Carried values;
  for (Value *value : carried) {
    PHINode *phi = b.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    values.push_back(phi);
  }
  b.CreateCondBr(condition(values), step, exit);
  b.SetInsertPoint(step);
  Carried next = body(values);
  for (auto [phi, value] : zip_equal(values, next))
    cast<PHINode>(phi)->addIncoming(value, b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(exit);
  return values;
}

/// condition ? then() : otherwise
static Value *emitWhere(Ir &b, Value *condition, Value *otherwise, function_ref<Value *()> then) {
  BasicBlock *before = b.GetInsertBlock(), *taken = nullptr;
  Value *value = nullptr;
  emitIf(b, condition, [&] {
    value = then();
    taken = b.GetInsertBlock();
  });
  if (isa<ConstantInt>(condition))
    return value ? value : otherwise;
  PHINode *phi = b.CreatePHI(otherwise->getType(), 2);
  phi->addIncoming(otherwise, before);
  phi->addIncoming(value, taken);
  return phi;
}

ScatterEmitter::ScatterEmitter(GpuFrame &frame, const ScatterPlan &plan)
    : f(frame), b(frame.b), plan(plan), op(plan.op), indices(plan.updates.size(), b.getInt64(0)) {
  type = kernel::valueType(b.getContext(), loop::getScalarType(op.getResult()));
  f.alias[op.getInit()] = f.alias[op.getResult()];
}

//===----------------------------------------------------------------------===//
// Updates and places
//===----------------------------------------------------------------------===//

/// body(point) for the thread's point of [0, count).
void ScatterEmitter::atPoint(mlir::AffineExpr count, function_ref<void(Value *)> body) {
  Value *block = b.CreateMul(f.gpu.blockIndex(b), b.getInt64(f.threads));
  Value *point = b.CreateAdd(block, f.gpu.threadIndex(b));
  emitIf(b, b.CreateICmpSLT(point, emitSize(f, count)), [&] { body(point); });
}

void ScatterEmitter::setIndices(ArrayRef<unsigned> dims, Value *point) {
  Shape sizes;
  for (unsigned dim : dims)
    sizes.push_back(plan.updates[dim]);
  for (auto [dim, index] : zip_equal(dims, kernel::delinearize(f, point, sizes)))
    indices[dim] = index;
}

Carried ScatterEmitter::overMoving(ArrayRef<unsigned> dims, ArrayRef<Value *> carried,
                                   function_ref<Carried(ArrayRef<Value *>)> body) {
  if (dims.empty())
    return body(carried);
  Value *size = emitSize(f, plan.updates[dims.front()]);
  return forEach(b, b.getInt64(0), size, 1, carried, [&](Value *index, ArrayRef<Value *> values) {
    indices[dims.front()] = index;
    return overMoving(dims.drop_front(), values, body);
  });
}

/// The update at `indices`. Who needs its place alone emits it again where the value is needed: dead code is removed.
Update ScatterEmitter::emitUpdate() {
  BodyEmitter body(f, 1);
  SmallVector<Value *> yielded;
  for (const Lanes &lanes : body.emit(op.getBody(), asLanes(indices)))
    yielded.push_back(body.lanes.vector(lanes));
  return {yielded.front(), SmallVector<Value *>(drop_begin(yielded))};
}

Value *ScatterEmitter::combine(Value *old, Value *added) {
  if (op.getCombine() == "set")
    return added;
  Type *wide = type->isIntegerTy() ? type : kernel::accumulatorType(type);
  auto widen = [&](Value *value) { return wide == type ? value : kernel::emitFloatCast(b, value, wide); };
  Value *combined = Combiner(op.getCombine(), wide).combine(b, {widen(old)}, {widen(added)}).value;
  return wide == type ? combined : kernel::emitFloatCast(b, combined, type);
}

Value *ScatterEmitter::load(mlir::Value tensor, ArrayRef<Value *> place) {
  BodyEmitter body(f, 1);
  return body.lanes.vector(body.load(tensor, asLanes(place)));
}

void ScatterEmitter::store(ArrayRef<Value *> place, Value *value) {
  BodyEmitter(f, 1).store(op.getResult(), asLanes(place), {value, nullptr});
}

/// Of these dimensions of the result.
Value *ScatterEmitter::rowMajor(ArrayRef<Value *> place, ArrayRef<unsigned> dims) {
  Value *result = b.getInt64(0);
  for (unsigned dim : dims)
    result = b.CreateAdd(b.CreateMul(result, emitSize(f, plan.result[dim])), place[dim]);
  return result;
}

Value *ScatterEmitter::ownedPlace(const Update &update) {
  SmallVector<unsigned> all = to_vector(seq<unsigned>(0, plan.result.size()));
  return rowMajor(update.place, plan.movesTogether ? plan.computed : all);
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

void ScatterEmitter::copyPoint(Value *point) {
  SmallVector<Value *> place = kernel::delinearize(f, point, plan.result);
  store(place, load(op.getInit(), place));
}

void ScatterEmitter::copy() {
  atPoint(plan.allPlaces(), [&](Value *point) { copyPoint(point); });
}

void ScatterEmitter::takeInOrder() {
  atPoint(plan.keptUpdates(), [&](Value *point) {
    setIndices(plan.kept, point);
    overMoving(plan.moving, {}, [&](ArrayRef<Value *>) -> Carried {
      Update update = emitUpdate();
      bool isSet = op.getCombine() == "set";
      store(update.place, isSet ? update.value : combine(load(op.getResult(), update.place), update.value));
      return {};
    });
  });
}

void ScatterEmitter::gather() {
  atPoint(plan.allPlaces(), [&](Value *point) {
    SmallVector<Value *> place = kernel::delinearize(f, point, plan.result);
    for (auto [dim, kept] : enumerate(plan.keptAs))
      if (kept)
        indices[*kept] = place[dim];
    Value *init = load(op.getInit(), place);
    Carried last = overMoving(plan.moving, {init}, [&](ArrayRef<Value *> value) -> Carried {
      Update update = emitUpdate();
      Value *isHere = b.getTrue();
      for (unsigned dim : plan.computed)
        isHere = b.CreateAnd(isHere, b.CreateICmpEQ(update.place[dim], place[dim]));
      return {emitWhere(b, isHere, value.front(), [&] { return combine(value.front(), emitUpdate().value); })};
    });
    store(place, last.front());
  });
}

/// Also copies what is not there yet: the kept elements of an owned place are not fewer than one.
void ScatterEmitter::clearOwners() {
  atPoint(plan.isInPlace ? plan.owned() : plan.allPlaces(), [&](Value *point) {
    if (!plan.isInPlace)
      copyPoint(point);
    Value *isOwned = plan.isInPlace ? b.getTrue() : b.CreateICmpSLT(point, emitSize(f, plan.owned()));
    emitIf(b, isOwned, [&] { b.CreateStore(b.getInt64(-1), ownerAt(point)); });
  });
}

/// Where there are no kept indices at all, there is no update, and no owner.
void ScatterEmitter::claim() {
  Value *isAny = b.CreateICmpSGT(emitSize(f, plan.keptUpdates()), b.getInt64(0));
  emitIf(b, isAny, [&] {
    atPoint(plan.owners(), [&](Value *point) {
      setIndices(plan.movesTogether ? plan.moving : to_vector(seq<unsigned>(0, plan.updates.size())), point);
      f.gpu.atomic(b, AtomicRMWInst::Max, ownerAt(ownedPlace(emitUpdate())), point);
    });
  });
}

void ScatterEmitter::storeOwned() {
  atPoint(plan.allUpdates(), [&](Value *point) {
    setIndices(to_vector(seq<unsigned>(0, plan.updates.size())), point);
    Value *number = point;
    if (plan.movesTogether) {
      number = b.getInt64(0);
      for (unsigned dim : plan.moving)
        number = b.CreateAdd(b.CreateMul(number, emitSize(f, plan.updates[dim])), indices[dim]);
    }
    Value *owner = b.CreateLoad(b.getInt64Ty(), ownerAt(ownedPlace(emitUpdate())));
    emitIf(b, b.CreateICmpEQ(owner, number), [&] {
      Update update = emitUpdate();
      store(update.place, update.value);
    });
  });
}

//===----------------------------------------------------------------------===//
// Atomic combination
//===----------------------------------------------------------------------===//

Value *ScatterEmitter::asInteger(Value *value) {
  if (value->getType()->isIntegerTy(1))
    return b.CreateZExt(value, b.getInt8Ty());
  return b.CreateBitCast(value, b.getIntNTy(value->getType()->getPrimitiveSizeInBits()));
}

Value *ScatterEmitter::fromInteger(Value *value) {
  return type->isIntegerTy(1) ? b.CreateICmpNE(value, b.getInt8(0)) : b.CreateBitCast(value, type);
}

/// The instruction that combines two values, if there is one.
static std::optional<AtomicRMWInst::BinOp> getAtomic(StringRef combine, Type *type) {
  if (!type->isIntegerTy())
    return std::nullopt;
  if (type->isIntegerTy(1)) // as Combiner: true is the greater
    return combine == "sum" || combine == "max" ? AtomicRMWInst::Or : AtomicRMWInst::And;
  return StringSwitch<std::optional<AtomicRMWInst::BinOp>>(combine)
      .Case("sum", AtomicRMWInst::Add)
      .Case("max", AtomicRMWInst::Max)
      .Case("min", AtomicRMWInst::Min)
      .Default(std::nullopt);
}

void ScatterEmitter::combineAtomically() {
  atPoint(plan.allUpdates(), [&](Value *point) {
    SmallVector<unsigned> places = to_vector(seq<unsigned>(0, plan.result.size()));
    setIndices(to_vector(seq<unsigned>(0, plan.updates.size())), point);
    Update update = emitUpdate();
    Value *added = asInteger(update.value);
    Value *address = emitAddress(b, added->getType(), f.pointers[op.getResult()], rowMajor(update.place, places));
    if (auto instruction = getAtomic(op.getCombine(), type)) {
      f.gpu.atomic(b, *instruction, address, added);
      return;
    }
    emitWhile(
        b, {f.gpu.loadRelaxed(b, added->getType(), address), b.getFalse()},
        [&](ArrayRef<Value *> carried) { return b.CreateNot(carried[1]); },
        [&](ArrayRef<Value *> carried) -> Carried {
          Value *next = asInteger(combine(fromInteger(carried[0]), update.value));
          Value *seen = f.gpu.compareAndSwap(b, address, carried[0], next);
          return {seen, b.CreateICmpEQ(seen, carried[0])};
        });
  });
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

Value *ScatterEmitter::columnAt(Column column, Value *i) {
  Value *points = emitSize(f, plan.movingUpdates());
  return emitAddress(b, b.getInt64Ty(), f.workspace, b.CreateAdd(b.CreateMul(points, b.getInt64(column)), i));
}

void ScatterEmitter::note() {
  Value *isAny = b.CreateICmpSGT(emitSize(f, plan.keptUpdates()), b.getInt64(0));
  emitIf(b, isAny, [&] {
    atPoint(plan.movingUpdates(), [&](Value *point) {
      setIndices(plan.moving, point);
      b.CreateStore(ownedPlace(emitUpdate()), columnAt(Places, point));
      b.CreateStore(b.getInt64(-1), columnAt(After, point));
    });
  });
}

/// Looks through all that come before, without an early way out: such a loop keeps many loads in flight.
void ScatterEmitter::link() {
  atPoint(plan.movingUpdates(), [&](Value *point) {
    Value *mine = b.CreateLoad(b.getInt64Ty(), columnAt(Places, point)), *none = b.getInt64(-1);
    Value *before = forEach(b, b.getInt64(0), point, 1, {none}, [&](Value *i, ArrayRef<Value *> last) -> Carried {
                      Value *isSame = b.CreateICmpEQ(b.CreateLoad(b.getInt64Ty(), columnAt(Places, i)), mine);
                      return {b.CreateSelect(isSame, i, last.front())};
                    }).front();
    b.CreateStore(before, columnAt(Before, point));
    emitIf(b, b.CreateICmpSGE(before, b.getInt64(0)), [&] { b.CreateStore(point, columnAt(After, before)); });
  });
}

void ScatterEmitter::walk() {
  atPoint(plan.allUpdates(), [&](Value *point) {
    Value *kept = emitSize(f, plan.keptUpdates()), *zero = b.getInt64(0);
    Value *first = b.CreateUDiv(point, kept);
    setIndices(plan.kept, b.CreateURem(point, kept));
    Value *before = b.CreateLoad(b.getInt64Ty(), columnAt(Before, first));
    emitIf(b, b.CreateICmpSLT(before, zero), [&] {
      setIndices(plan.moving, first);
      SmallVector<Value *> place = emitUpdate().place;
      Value *init = load(op.getResult(), place);
      Carried last = emitWhile(
          b, {first, init}, [&](ArrayRef<Value *> carried) { return b.CreateICmpSGE(carried[0], zero); },
          [&](ArrayRef<Value *> carried) -> Carried {
            setIndices(plan.moving, carried[0]);
            Value *value = combine(carried[1], emitUpdate().value);
            return {b.CreateLoad(b.getInt64Ty(), columnAt(After, carried[0])), value};
          });
      store(place, last[1]);
    });
  });
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

KernelPlan planScatter(loop::KernelOp kernel) {
  auto op = cast<loop::ScatterOp>(kernel.getBody().front().front());
  bool isInPlace = !kernel.getInPlace().empty() && kernel.getInPlace().front() >= 0;
  auto plan = std::make_shared<ScatterPlan>(planScatterForm(op, isInPlace));
  KernelPlan result;
  result.algorithm = describe(*plan);
  auto add = [&](mlir::AffineExpr points, void (ScatterEmitter::*emit)(), unsigned threads = kThreads) {
    result.grids.push_back(
        {points.ceilDiv(threads), threads, [plan, emit](GpuFrame &frame) { (ScatterEmitter(frame, *plan).*emit)(); }});
  };
  bool copiesFirst = !isInPlace && plan->form != ScatterForm::Gather && plan->form != ScatterForm::Owners;
  if (copiesFirst)
    add(plan->allPlaces(), &ScatterEmitter::copy);
  constexpr int64_t kNumber = sizeof(int64_t);
  switch (plan->form) {
  case ScatterForm::InOrder:
    add(plan->keptUpdates(), &ScatterEmitter::takeInOrder, kRowThreads);
    break;
  case ScatterForm::Gather:
    add(plan->allPlaces(), &ScatterEmitter::gather);
    break;
  case ScatterForm::Chains:
    result.workspaceBytes = plan->movingUpdates() * (3 * kNumber);
    add(plan->movingUpdates(), &ScatterEmitter::note);
    add(plan->movingUpdates(), &ScatterEmitter::link);
    add(plan->allUpdates(), &ScatterEmitter::walk);
    break;
  case ScatterForm::Owners:
    result.workspaceBytes = plan->owned() * kNumber;
    add(isInPlace ? plan->owned() : plan->allPlaces(), &ScatterEmitter::clearOwners);
    add(plan->owners(), &ScatterEmitter::claim);
    add(plan->allUpdates(), &ScatterEmitter::storeOwned);
    break;
  case ScatterForm::Atomics:
    add(plan->allUpdates(), &ScatterEmitter::combineAtomically);
    break;
  }
  return result;
}

} // namespace ptc::cuda
