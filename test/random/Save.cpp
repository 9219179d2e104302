#include "test/random/Save.h"

#include "test/random/DLTensors.h"
#include "test/random/Expect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace ptc::test {

using prims::Tensor;

/// The bounds as they are: no rounding to the type of the output.
static Tensor widen(const Tensor &bound) {
  Tensor wide = bound;
  Builder builder(bound.element.getContext());
  wide.element = llvm::isa<FloatType>(bound.element) ? Type(builder.getF64Type()) : builder.getI64Type();
  return wide;
}

static Tensor classesOf(const Span &span) {
  Tensor classes(IntegerType::get(span.low.element.getContext(), 8), span.low.shape);
  classes.integers.assign(span.classes.begin(), span.classes.end());
  return classes;
}

llvm::Error saveWithAnswers(const Case &program, const std::string &base) {
  constexpr int kRuns = 300;
  constexpr double kScale = 4;
  if (llvm::Error error = saveCase(program, base))
    return error;
  for (size_t i = 0; i < program.calls.size(); ++i) {
    auto expectation = expect(program, program.calls[i], kRuns, kScale, /*seed=*/kRuns, /*isForGpu=*/true);
    if (!expectation)
      return expectation.takeError();
    Tensors bounds;
    for (const Span &span : expectation->results) {
      bounds.push_back(widen(span.low));
      bounds.push_back(widen(span.high));
      bounds.push_back(classesOf(span));
    }
    DLTensors views(bounds);
    if (llvm::Error error = writeTensorFile(base + ".expect" + std::to_string(i) + ".safetensors", views.pointers()))
      return error;
  }
  return llvm::Error::success();
}

} // namespace ptc::test
