//===- ToLoopTemplate.cpp - contraction, convolution and others -----------===//

#include "compiler/schedule/Lowering.h"
#include "dialects/loop/Reasons.h"
#include "dialects/prims/Compute.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

using Predicate = arith::CmpIPredicate;

Type accumulatorOf(Builder &b, Value operand) {
  Type element = elementType(operand);
  return element.isF64() ? Type(b.getF64Type()) : element.isInteger() ? Type(b.getI32Type()) : b.getF32Type();
}

void buildEpilogue(Builder &b, Operation *op) {
  Value result = op->getResult(0);
  buildRegion(b, op->getRegion(0), tensorType(result).getRank(), accumulatorOf(b, op->getOperand(0)),
              [&](ValueRange args) { return SmallVector<Value>{narrow(b, args.back(), elementType(result))}; });
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

namespace {
/// Which dimension of the domain (batch, m, n, k) each operand's dimension is.
struct ContractDims {
  explicit ContractDims(prims::ContractOp op) : lhs(getShape(op.getLhs()).size()), rhs(getShape(op.getRhs()).size()) {
    MLIRContext *context = op.getContext();
    unsigned next = 0;
    auto pair = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
      for (auto [l, r] : llvm::zip(left, right))
        lhs[l] = rhs[r] = getAffineDimExpr(next++, context);
    };
    auto rest = [&](Shape &places, unsigned &count) {
      for (AffineExpr &place : places)
        if (!place) {
          place = getAffineDimExpr(next++, context);
          ++count;
        }
    };
    pair(op.getLhsBatch(), op.getRhsBatch());
    // Contracted dimensions come last; mark them so that they do not count as free.
    Shape sizes = getShape(op.getLhs());
    unsigned outer = getShape(op.getResult()).size(), k = outer;
    for (auto [l, r] : llvm::zip(op.getLhsContract(), op.getRhsContract())) {
      lhs[l] = rhs[r] = getAffineDimExpr(k++, context);
      kSizes.push_back(sizes[l]);
    }
    rest(lhs, m);
    rest(rhs, n);
  }
  Shape lhs, rhs, kSizes;
  unsigned m = 0, n = 0;
};
} // namespace

/// Integers, and matrix times vector, gain nothing from register tiles.
static Value contractByReduction(Builder &b, prims::ContractOp op, const ContractDims &dims) {
  bool isFloat = llvm::isa<FloatType>(elementType(op.getLhs()));
  Value result = createReduce(b, tensorType(op.getResult()), "sum", dims.kSizes, [&](ValueRange ids) -> Value {
    Value x = widen(b, read(b, op.getLhs(), dims.lhs, ids)), y = widen(b, read(b, op.getRhs(), dims.rhs, ids));
    if (isFloat)
      return arith::MulFOp::create(b, x, y);
    return arith::MulIOp::create(b, x, y);
  });
  addReason(result.getDefiningOp(), isFloat ? "a product with a vector gains nothing from register tiles"
                                            : "a product of integers, for which there are no register tiles");
  return result;
}

/// The tensor of `element` that `value` is, converted element by element and nothing else; null if it is not.
static Value convertedFrom(Value value, Type element) {
  auto map = value.getDefiningOp<loop::MapOp>();
  if (!map)
    return {};
  Block &body = map.getBody().front();
  auto read = llvm::dyn_cast<loop::ReadOp>(body.front());
  bool converts = read && llvm::hasNItems(body, 3) &&
                  llvm::isa<arith::SIToFPOp, arith::ExtSIOp, arith::ExtUIOp>(*std::next(body.begin()));
  if (!converts || !read.getMap().isIdentity() || read.getWhere() || elementType(read.getTensor()) != element)
    return {};
  return read.getTensor();
}

/// Quantized operands as they lie in memory, where there is a kernel that converts or multiplies them so.
static bool skipConversions(Value &lhs, Value &rhs) {
  MLIRContext *context = lhs.getContext();
  Value bytes = convertedFrom(rhs, IntegerType::get(context, 8));
  bool isFloat = elementType(lhs).isF32();
  Value other = isFloat ? lhs : convertedFrom(lhs, IntegerType::get(context, 8, IntegerType::Unsigned));
  if (!bytes || !other)
    return false;
  lhs = other;
  rhs = bytes;
  return true;
}

static Value lowerContract(Builder &b, prims::ContractOp op, const Limits &limits) {
  ContractDims dims(op);
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (dims.n > 0 && limits.multipliesBytes && skipConversions(lhs, rhs)) {
    op.getLhsMutable().set(lhs);
    op.getRhsMutable().set(rhs);
  }
  bool isQuantized = elementType(op.getRhs()) != elementType(op.getLhs());
  if ((!llvm::isa<FloatType>(elementType(op.getLhs())) && !isQuantized) || dims.n == 0)
    return contractByReduction(b, op, dims);
  unsigned rank = getShape(op.getResult()).size() + dims.kSizes.size();
  auto contract = loop::ContractOp::create(
      b, TypeRange(op.getResult().getType()), op.getLhs(), op.getRhs(), makeIndexMap(rank, dims.lhs, b.getContext()),
      makeIndexMap(rank, dims.rhs, b.getContext()), static_cast<uint64_t>(op.getLhsBatch().size()),
      static_cast<uint64_t>(dims.m), static_cast<uint64_t>(dims.n), makeSizesAttr(dims.kSizes, b.getContext()));
  buildEpilogue(b, contract);
  return contract.getResult(0);
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

static Value createTranspose(Builder &b, Value x, ArrayRef<unsigned> permutation) {
  Shape sizes = getShape(x), places(sizes.size()), result;
  for (auto [i, dim] : llvm::enumerate(permutation)) {
    result.push_back(sizes[dim]);
    places[dim] = getAffineDimExpr(i, b.getContext());
  }
  return createMap(b, makeTensorType(result, elementType(x)), [&](ValueRange ids) { return read(b, x, places, ids); });
}

/// [first, second, spatial...] -> [first, spatial..., second] and, with the roles swapped, back.
static SmallVector<unsigned> channelsLast(unsigned rank) {
  SmallVector<unsigned> permutation{0};
  for (unsigned i = 2; i < rank; ++i)
    permutation.push_back(i);
  permutation.push_back(1);
  return permutation;
}
static SmallVector<unsigned> channelsFirst(unsigned rank) {
  SmallVector<unsigned> permutation{0, rank - 1};
  for (unsigned i = 1; i + 1 < rank; ++i)
    permutation.push_back(i);
  return permutation;
}
static SmallVector<unsigned> kernelFirst(unsigned rank) {
  SmallVector<unsigned> permutation;
  for (unsigned i = 2; i < rank; ++i)
    permutation.push_back(i);
  permutation.append({1, 0});
  return permutation;
}

/// Zeros between the elements of the spatial dimensions: a transposed convolution is one over this.
static Value dilateInput(Builder &b, Value x, ArrayRef<int64_t> dilations) {
  MLIRContext *context = b.getContext();
  Shape sizes = getShape(x), dilated = sizes, places = makeDims(sizes.size(), context);
  for (auto [i, d] : llvm::enumerate(dilations))
    dilated[i + 1] = (sizes[i + 1] - 1) * d + 1;
  return createMap(b, makeTensorType(dilated, elementType(x)), [&](ValueRange ids) -> Value {
    Value onElement;
    for (auto [i, d] : llvm::enumerate(dilations)) {
      if (d == 1)
        continue;
      AffineExpr place = getAffineDimExpr(i + 1, context);
      onElement =
          logicalAnd(b, onElement, compare(b, Predicate::eq, place % d, getAffineConstantExpr(0, context), ids));
      places[i + 1] = place.floorDiv(d);
    }
    return readWhere(b, x, places, ids, onElement, constantInt(b, loop::getScalarType(x), 0));
  });
}

/// The tensor with channels first that `value` is, with channels last and nothing else; null if it is not.
static Value movedFrom(Value value) {
  auto map = value.getDefiningOp<loop::MapOp>();
  constexpr unsigned kReadAndYield = 2;
  if (!map || !llvm::hasNItems(map.getBody().front(), kReadAndYield))
    return {};
  auto read = llvm::dyn_cast<loop::ReadOp>(map.getBody().front().front());
  unsigned rank = getShape(value).size();
  if (!read || read.getWhere() || read.getIndices() != ValueRange(map.getBody().getArguments()))
    return {};
  return read.getMap() == AffineMap::getPermutationMap(channelsFirst(rank), value.getContext()) ? read.getTensor()
                                                                                                : Value();
}

static Value createConvolution(Builder &b, prims::ConvolutionOp op, Value x, Value w, RankedTensorType type,
                               ArrayRef<int64_t> kernel, const Limits &limits) {
  int64_t channels = getConstant(getShape(x).back()).value_or(limits.fewChannels + 1);
  bool hasFewChannels = channels > 1 && channels <= limits.fewChannels;
  Value planes = hasFewChannels && op.getGroups() == 1 ? movedFrom(x) : Value();
  if (planes)
    x = planes;
  auto convolution = loop::ConvolutionOp::create(b, TypeRange(type), x, w, op.getStrides(), op.getLow(), op.getHigh(),
                                                 op.getDilations(), static_cast<uint64_t>(op.getGroups()), kernel,
                                                 uint64_t(0));
  convolution.setXChannelsFirst(bool(planes));
  buildEpilogue(b, convolution);
  return convolution.getResult(0);
}

static bool isPointwise(prims::ConvolutionOp op, ArrayRef<int64_t> kernel) {
  auto all = [](ArrayRef<int64_t> list, int64_t value) {
    return llvm::all_of(list, [=](int64_t v) { return v == value; });
  };
  return all(kernel, 1) && all(op.getLow(), 0) && all(op.getHigh(), 0) && op.getGroups() == 1;
}

/// A 1x1 convolution is a contraction of all pixels, or of every so many.
static Value createPointwise(Builder &b, Value x, Value w, ArrayRef<int64_t> strides, RankedTensorType type) {
  MLIRContext *context = b.getContext();
  unsigned rank = type.getRank(), k = rank;
  Shape lhs = makeDims(rank - 1, context);
  for (auto [i, stride] : llvm::enumerate(strides))
    lhs[i + 1] = lhs[i + 1] * stride;
  Shape rhs(rank - 2, getAffineConstantExpr(0, context));
  lhs.push_back(getAffineDimExpr(k, context));
  rhs.push_back(getAffineDimExpr(k, context));
  rhs.push_back(getAffineDimExpr(rank - 1, context));
  auto contract = loop::ContractOp::create(
      b, TypeRange(type), x, w, makeIndexMap(rank + 1, lhs, context), makeIndexMap(rank + 1, rhs, context), uint64_t(0),
      uint64_t(rank - 1), uint64_t(1), makeSizesAttr(getShape(x).back(), context));
  addReason(contract, "a pointwise (1x1) convolution is a product of pixels by weights");
  buildEpilogue(b, contract);
  return contract.getResult(0);
}

/// Zeros around the spatial dimensions.
static Value padInput(Builder &b, Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  MLIRContext *context = b.getContext();
  Shape sizes = getShape(x), padded = sizes, places = makeDims(sizes.size(), context);
  for (auto [i, l] : llvm::enumerate(low)) {
    padded[i + 1] = sizes[i + 1] + (l + high[i]);
    places[i + 1] = places[i + 1] - l;
  }
  return createMap(b, makeTensorType(padded, elementType(x)), [&](ValueRange ids) -> Value {
    Value inside;
    for (size_t i = 1; i <= low.size(); ++i) {
      inside = logicalAnd(b, inside, compare(b, Predicate::sge, places[i], getAffineConstantExpr(0, context), ids));
      inside = logicalAnd(b, inside, compare(b, Predicate::slt, places[i], sizes[i], ids));
    }
    return readWhere(b, x, places, ids, inside, constantInt(b, loop::getScalarType(x), 0));
  });
}

/// Where there is no kernel (of integers, with a weight of dynamic size): a contraction over the kernel's places and
/// channels, whose rows of the padded input overlap. Groups are its batch.
static Value createGeneralConvolution(Builder &b, prims::ConvolutionOp op, Value x, Value w, RankedTensorType type) {
  MLIRContext *context = b.getContext();
  auto isNonzero = [](int64_t v) { return v != 0; };
  if (llvm::any_of(op.getLow(), isNonzero) || llvm::any_of(op.getHigh(), isNonzero))
    x = padInput(b, x, op.getLow(), op.getHigh());
  unsigned rank = type.getRank(), spatial = rank - 2, batch = op.getGroups() > 1, outer = batch + rank;
  Shape sizes = getShape(type), weight = getShape(w), summed(weight.begin(), weight.end() - 1);
  AffineExpr outputs = weight.back().floorDiv(op.getGroups());
  auto dim = [&](unsigned i) { return getAffineDimExpr(i, context); };
  Shape from{dim(batch)}, tap;
  for (unsigned i = 0; i < spatial; ++i) {
    from.push_back(dim(batch + 1 + i) * op.getStrides()[i] + dim(outer + i) * op.getDilations()[i]);
    tap.push_back(dim(outer + i));
  }
  AffineExpr channel = dim(outer + spatial), output = dim(outer - 1);
  from.push_back(batch ? dim(0) * summed.back() + channel : channel);
  tap.append({channel, batch ? dim(0) * outputs + output : output});
  if (batch) {
    sizes.back() = outputs;
    sizes.insert(sizes.begin(), getAffineConstantExpr(op.getGroups(), context));
  }
  RankedTensorType grouped = makeTensorType(sizes, type.getElementType());
  Value result;
  if (llvm::isa<FloatType>(elementType(x))) {
    auto contract = loop::ContractOp::create(
        b, TypeRange(grouped), x, w, makeIndexMap(outer + spatial + 1, from, context),
        makeIndexMap(outer + spatial + 1, tap, context), uint64_t(batch), uint64_t(rank - 1), uint64_t(1),
        makeSizesAttr(summed, context));
    addReason(contract, "a weight of dynamic size: the convolution is a product over taps and channels");
    buildEpilogue(b, contract);
    result = contract.getResult(0);
  } else {
    result = createReduce(b, grouped, "sum", summed, [&](ValueRange ids) -> Value {
      return arith::MulIOp::create(b, read(b, x, from, ids), read(b, w, tap, ids));
    });
  }
  if (!batch)
    return result;
  Shape places{dim(rank - 1).floorDiv(outputs)};
  places.append(makeDims(rank - 1, context));
  places.push_back(dim(rank - 1) % outputs);
  return createMap(b, type, [&](ValueRange ids) { return read(b, result, places, ids); });
}

/// Whether the value is a weight as the model's file has it, moved at most.
static bool isWeight(Value value) {
  while (auto map = value.getDefiningOp<loop::MapOp>()) {
    auto reads = llvm::to_vector(map.getBody().front().getOps<loop::ReadOp>());
    if (reads.size() != 1)
      return false;
    value = reads.front().getTensor();
  }
  auto argument = llvm::dyn_cast<BlockArgument>(value);
  auto function = argument ? llvm::dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function && function.getArgAttr(argument.getArgNumber(), "ptc.weight");
}

/// Whether there are more taps than places of the result, as of the derivative by a convolution's weight: its taps are
/// the pixels of that one's result.
static bool hasManyTaps(prims::ConvolutionOp op, Value w, RankedTensorType type, ArrayRef<int64_t> kernel) {
  ArrayRef<int64_t> places = type.getShape().drop_front().drop_back();
  if (op.getGroups() != 1 || !type.hasStaticShape() || isWeight(w))
    return false;
  auto count = [](ArrayRef<int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<int64_t>());
  };
  return count(kernel) > count(places);
}

/// Such a convolution is a product over taps. Channels, which the derivative by a weight has samples as, are the
/// outermost of what is summed, and samples (channels there) the innermost of its rows: so both lie side by side where
/// the images have channels last. Sums over many taps are made channel by channel and added up, for the caches' sake.
static Value createProductOfTaps(Builder &b, prims::ConvolutionOp op, Value x, Value w, RankedTensorType type) {
  constexpr int64_t kManyTaps = 512;
  MLIRContext *context = b.getContext();
  unsigned rank = type.getRank(), spatial = rank - 2;
  auto dim = [&](unsigned i) { return getAffineDimExpr(i, context); };
  Shape sizes = getShape(x), result = getShape(type), taps(ShapeRef(getShape(w)).take_front(spatial));
  AffineExpr channels = sizes.back();
  // Padded, with channels first and samples last.
  Shape padded{channels}, source(rank);
  SmallVector<AffineExpr> places;
  for (unsigned i = 0; i < spatial; ++i)
    padded.push_back(sizes[i + 1] + (op.getLow()[i] + op.getHigh()[i]));
  padded.push_back(sizes.front());
  source.front() = dim(rank - 1);
  source.back() = dim(0);
  for (unsigned i = 0; i < spatial; ++i)
    source[i + 1] = dim(i + 1) - op.getLow()[i];
  bool isPadded = !isEqual(product(padded, context), product(sizes, context));
  Value images = createMap(b, makeTensorType(padded, elementType(x)), [&](ValueRange ids) -> Value {
    Value inside;
    for (unsigned i = 1; isPadded && i <= spatial; ++i) {
      inside = logicalAnd(b, inside, compare(b, Predicate::sge, source[i], getAffineConstantExpr(0, context), ids));
      inside = logicalAnd(b, inside, compare(b, Predicate::slt, source[i], sizes[i], ids));
    }
    return inside ? readWhere(b, x, source, ids, inside, constantInt(b, loop::getScalarType(x), 0))
                  : read(b, x, source, ids);
  });

  int64_t tapCount = *getConstant(product(taps, context));
  unsigned batch = tapCount >= kManyTaps && getConstant(channels) != 1, outer = batch + rank;
  Shape domain, kSizes, from, tap;
  if (batch)
    domain.push_back(channels);
  else
    kSizes.push_back(channels);
  domain.append(result.begin() + 1, result.end() - 1);
  domain.append({result.front(), result.back()});
  kSizes.append(taps.begin(), taps.end());
  unsigned firstTap = outer + !batch;
  AffineExpr channel = batch ? dim(0) : dim(outer);
  from.push_back(channel);
  for (unsigned i = 0; i < spatial; ++i) {
    from.push_back(dim(batch + i) * op.getStrides()[i] + dim(firstTap + i) * op.getDilations()[i]);
    tap.push_back(dim(firstTap + i));
  }
  from.push_back(dim(batch + spatial));
  tap.append({channel, dim(outer - 1)});
  unsigned all = outer + kSizes.size();
  Type partial = batch ? accumulatorOf(b, x) : type.getElementType();
  auto contract =
      loop::ContractOp::create(b, TypeRange(makeTensorType(domain, partial)), images, w,
                               makeIndexMap(all, from, context), makeIndexMap(all, tap, context), uint64_t(batch),
                               uint64_t(rank - 1), uint64_t(1), makeSizesAttr(kSizes, context));
  addReason(contract, "more taps than places of the result: the convolution is a product over taps");
  buildEpilogue(b, contract);
  Value product = contract.getResult(0);
  if (batch) {
    Shape summed = makeDims(rank, context);
    summed.insert(summed.begin(), dim(rank));
    product = createReduce(b, makeTensorType(ShapeRef(domain).drop_front(), type.getElementType()), "sum", channels,
                           [&](ValueRange ids) -> Value { return widen(b, read(b, product, summed, ids)); });
  }
  // [places..., samples, outputs] -> [samples, places..., outputs]
  Shape back;
  for (unsigned i = 0; i < spatial; ++i)
    back.push_back(dim(i + 1));
  back.append({dim(0), dim(rank - 1)});
  return createMap(b, type, [&](ValueRange ids) { return read(b, product, back, ids); });
}

static Value lowerConvolution(Builder &b, prims::ConvolutionOp op, const Limits &limits) {
  Value x = op.getX(), w = op.getW();
  unsigned rank = tensorType(x).getRank();
  if (!op.getChannelsLast()) {
    x = createTranspose(b, x, channelsLast(rank));
    w = createTranspose(b, w, kernelFirst(rank));
  }
  if (llvm::any_of(op.getInputDilations(), [](int64_t d) { return d != 1; }))
    x = dilateInput(b, x, op.getInputDilations());
  Shape sizes = getShape(op.getResult());
  if (!op.getChannelsLast()) {
    AffineExpr channels = sizes[1];
    sizes.erase(sizes.begin() + 1);
    sizes.push_back(channels);
  }
  RankedTensorType type = makeTensorType(sizes, elementType(op.getResult()));
  bool isOfBytes = elementType(x).isInteger() && limits.convolvesBytes && skipConversions(x, w);
  bool hasKernel = (llvm::isa<FloatType>(elementType(x)) || isOfBytes) && tensorType(w).hasStaticShape();
  ArrayRef<int64_t> kernel = tensorType(w).getShape().drop_back(2);
  Value result = !hasKernel                         ? createGeneralConvolution(b, op, x, w, type)
                 : isPointwise(op, kernel)          ? createPointwise(b, x, w, op.getStrides(), type)
                 : hasManyTaps(op, w, type, kernel) ? createProductOfTaps(b, op, x, w, type)
                                                    : createConvolution(b, op, x, w, type, kernel, limits);
  return op.getChannelsLast() ? result : createTranspose(b, result, channelsFirst(rank));
}

//===----------------------------------------------------------------------===//
// Random bits
//===----------------------------------------------------------------------===//

/// Philox4x32-10 of Salmon et al.: word i mod 4 of counter (i div 4, draws + stream).
Value lowerRandomBits(Builder &b, Value seed, int64_t stream, RankedTensorType type) {
  MLIRContext *context = b.getContext();
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  return createMap(b, type, [&](ValueRange ids) -> Value {
    AffineExpr linear = getAffineConstantExpr(0, context);
    for (auto [i, size] : llvm::enumerate(getShape(type)))
      linear = linear * size + getAffineDimExpr(i, context);
    Value place = arith::IndexCastOp::create(b, i64, index(b, linear, ids));
    auto word = [&](Value wide, int64_t shift) -> Value {
      return arith::TruncIOp::create(b, i32, arith::ShRUIOp::create(b, wide, constantInt(b, i64, shift)));
    };
    Value key = read(b, seed, {getAffineConstantExpr(0, context)}, ids);
    Value draws = read(b, seed, {getAffineConstantExpr(1, context)}, ids);
    Value block = arith::ShRUIOp::create(b, place, constantInt(b, i64, 2));
    Value draw = arith::AddIOp::create(b, draws, constantInt(b, i64, stream));
    Value x[4] = {word(block, 0), word(block, 32), word(draw, 0), word(draw, 32)};
    Value keys[2] = {word(key, 0), word(key, 32)};
    Value first = constantInt(b, i32, int32_t(0xD2511F53)), second = constantInt(b, i32, int32_t(0xCD9E8D57));
    Value weyl[2] = {constantInt(b, i32, int32_t(0x9E3779B9)), constantInt(b, i32, int32_t(0xBB67AE85))};
    for (int round = 0; round < 10; ++round) {
      auto p = arith::MulUIExtendedOp::create(b, first, x[0]), q = arith::MulUIExtendedOp::create(b, second, x[2]);
      Value mixed0 = arith::XOrIOp::create(b, arith::XOrIOp::create(b, q.getHigh(), x[1]), keys[0]);
      Value mixed2 = arith::XOrIOp::create(b, arith::XOrIOp::create(b, p.getHigh(), x[3]), keys[1]);
      x[0] = mixed0, x[1] = q.getLow(), x[2] = mixed2, x[3] = p.getLow();
      for (int i = 0; i < 2; ++i)
        keys[i] = arith::AddIOp::create(b, keys[i], weyl[i]);
    }
    Value which = word(arith::AndIOp::create(b, place, constantInt(b, i64, 3)), 0), result = x[3];
    for (int i = 2; i >= 0; --i)
      result = arith::SelectOp::create(b, arith::CmpIOp::create(b, Predicate::eq, which, constantInt(b, i32, i)), x[i],
                                       result);
    return result;
  });
}

Lowered lowerTemplate(Lowering &lowering, Operation *op) {
  Builder &b = lowering.b;
  if (auto random = llvm::dyn_cast<prims::RandomBitsOp>(op))
    return SmallVector<Value>{lowerRandomBits(b, random.getSeed(), random.getStream(), tensorType(random.getResult()))};
  if (auto matrix = llvm::dyn_cast<prims::MatrixOp>(op))
    return SmallVector<Value>(
        loop::MatrixOp::create(b, matrix.getResultTypes(), matrix.getInputs(), matrix.getAlgorithm()).getResults());
  if (!llvm::isa<prims::ContractOp, prims::ConvolutionOp, prims::AttentionOp, prims::AttentionGradientOp>(op))
    return std::nullopt;
  Type element = elementType(op->getOperand(0));
  bool isProduct = llvm::isa<prims::ContractOp, prims::ConvolutionOp>(op);
  if (!llvm::isa<FloatType>(element) && (!isProduct || llvm::isa<ComplexType>(element))) {
    op->emitError() << op->getName() << " of " << element << " is not supported";
    return SmallVector<Value>();
  }
  if (auto attention = llvm::dyn_cast<prims::AttentionOp>(op))
    return lowerAttention(b, attention);
  if (auto gradient = llvm::dyn_cast<prims::AttentionGradientOp>(op))
    return lowerAttentionGradient(b, gradient);
  Value value = llvm::TypeSwitch<Operation *, Value>(op)
                    .Case([&](prims::ContractOp op) { return lowerContract(b, op, lowering.limits); })
                    .Case([&](prims::ConvolutionOp op) { return lowerConvolution(b, op, lowering.limits); });
  return value ? SmallVector<Value>{value} : SmallVector<Value>();
}

} // namespace ptc::schedule
