//===- Matrix.cpp - prims.matrix: result types and evaluation -------------===//

#include "dialects/core/MatrixSignature.h"
#include "dialects/prims/Compute.h"
#include "dialects/prims/Inference.h"
#include "dialects/prims/reference/Evaluation.h"
#include "runtime/matrix/Algorithms.h"
#include "runtime/matrix/Boxes.h"
#include "runtime/matrix/Factor.h"
#include "runtime/matrix/Fourier.h"
#include "runtime/matrix/Schur.h"
#include "runtime/matrix/Sequence.h"
#include "runtime/matrix/Spectrum.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace ptc::prims {

LogicalResult MatrixOp::inferReturnTypes(MLIRContext *, MaybeLocation location, Adaptor a, InferredTypes &types) {
  StringRef name = getOperationName();
  auto signature = MatrixSignature::find(a.getAlgorithm());
  if (!signature || signature->operands.size() != a.getInputs().size())
    return emitOptionalError(location, name, ": no algorithm '", a.getAlgorithm(), "' of ", a.getInputs().size(),
                             " operands");
  SmallVector<Shape> shapes;
  Type element = cast<RankedTensorType>(a.getInputs().front().getType()).getElementType();
  for (Value input : a.getInputs()) {
    shapes.push_back(getShape(input));
    StringRef letters = signature->operands[shapes.size() - 1];
    if (shapes.back().size() < letters.size() ||
        shapes.back().size() - letters.size() != shapes.front().size() - signature->operands.front().size())
      return emitOptionalError(location, name, ": operand ", shapes.size() - 1, " has not the batch's dimensions");
    if (cast<RankedTensorType>(input.getType()).getElementType() != element || !(element.isF32() || element.isF64()))
      return emitOptionalError(location, name, ": elements must be all f32 or all f64");
  }
  AffineExpr smaller = getSizeFromAttr(a.getSmallerAttr());
  if (signature->hasSmaller() != bool(smaller))
    return emitOptionalError(location, name, ": 'smaller' is for algorithms whose results have that size");
  for (auto [letters, shape] : llvm::zip_equal(signature->operands, shapes))
    for (auto [expected, size] :
         llvm::zip_equal(signature->sizes(letters, shapes), ShapeRef(shape).take_back(letters.size())))
      if (!mayBeEqual(expected, size))
        return emitOptionalError(location, name, ": operands' sizes are not those of ", a.getAlgorithm());
  ShapeRef batch = ShapeRef(shapes.front()).drop_back(signature->operands.front().size());
  for (StringRef letters : signature->results) {
    Shape sizes(batch);
    llvm::append_range(sizes, signature->sizes(letters, shapes, smaller));
    types.push_back(makeTensorType(sizes, element));
  }
  return success();
}

using matrix::Function;
using Pair = matrix::Complex<double>;

static Function<double> realFunction(StringRef algorithm) {
  llvm::StringSwitch<Function<double>> function(algorithm);
#define PTC_MATRIX_CASE(name, signature) function.Case(#name, &matrix::name<double>);
  PTC_MATRIX_ALGORITHMS(PTC_MATRIX_CASE)
#undef PTC_MATRIX_CASE
  return function.Default(nullptr);
}

static Function<Pair> complexFunction(StringRef algorithm) {
  llvm::StringSwitch<Function<Pair>> function(algorithm);
#define PTC_COMPLEX_CASE(name, signature) function.Case(#name, &matrix::name<Pair>);
  PTC_COMPLEX_ALGORITHMS(PTC_COMPLEX_CASE)
#undef PTC_COMPLEX_CASE
  return function.Default(nullptr);
}

static void call(StringRef algorithm, ArrayRef<double *> tensors, const int64_t *sizes) {
  if (algorithm.consume_front("complex_"))
    complexFunction(algorithm)(reinterpret_cast<Pair *const *>(tensors.data()), sizes);
  else
    realFunction(algorithm)(tensors.data(), sizes);
}

llvm::Error MatrixOp::evaluate(Evaluation &e) {
  MatrixSignature signature = *MatrixSignature::find(getAlgorithm());
  SmallVector<Shape> shapes;
  std::vector<Tensor> tensors; // operands, results, scratch
  SmallVector<int64_t> counts; // elements a matrix
  auto add = [&](Tensor tensor, size_t rank) {
    counts.push_back(countElements(ArrayRef(tensor.shape).take_back(rank)));
    tensors.push_back(std::move(tensor));
  };
  for (size_t i = 0; i < e.size(); ++i) {
    shapes.push_back(makeShape(e[i].shape, getContext()));
    add(e[i], signature.operands[i].size());
  }
  for (size_t i = 0; i < getNumResults(); ++i)
    add(e.makeResult(i), signature.results[i].size());
  auto values = [](ShapeRef sizes) {
    return Sizes(llvm::map_range(sizes, [](AffineExpr size) { return *getConstant(size); }));
  };
  for (StringRef letters : signature.scratch)
    add(Tensor(e[0].element, values(signature.sizes(letters, shapes))), letters.size());
  Sizes sizes = values(signature.letterSizes(shapes));
  int64_t batch = countElements(ArrayRef(e[0].shape).drop_back(signature.operands[0].size()));
  for (int64_t i = 0; i < batch; ++i) {
    SmallVector<double *> pointers;
    for (size_t t = 0; t < tensors.size(); ++t)
      pointers.push_back(tensors[t].reals.data() + (t < e.size() + getNumResults() ? i * counts[t] : 0));
    call(getAlgorithm(), pointers, sizes.data());
  }
  for (size_t i = 0; i < getNumResults(); ++i)
    (void)e.set(std::move(tensors[e.size() + i]), i);
  return llvm::Error::success();
}

} // namespace ptc::prims
