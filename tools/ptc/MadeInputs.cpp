#include "tools/ptc/MadeInputs.h"

#include "compiler/import/Expression.h"
#include "compiler/support/Format.h"
#include "compiler/support/OpenSizes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <random>

using namespace llvm;
using ptc::import::Expression;

namespace ptc {

/// Zeros for integers, which are mostly indices; small positive numbers else.
static std::string makeContent(DLDataType dtype, uint64_t bytes) {
  std::string content(bytes, '\0');
  std::minstd_rand random(1);
  std::uniform_real_distribution<double> distribution(0.0, 1.0);
  auto fill = [&](auto zero) {
    for (size_t at = 0; at + sizeof zero <= content.size(); at += sizeof zero) {
      auto value = static_cast<decltype(zero)>(distribution(random));
      std::memcpy(content.data() + at, &value, sizeof zero);
    }
  };
  if (dtype.code == kDLFloat && dtype.bits == 32)
    fill(0.0f);
  else if (dtype.code == kDLFloat && dtype.bits == 64)
    fill(0.0);
  return content;
}

/// Of a dimension's text, as compilers write it into libraries ("2*s0 + 1"); nothing where it is not of this form.
static std::optional<int64_t> evaluate(const Expression &expression, const StringMap<int64_t> &sizes) {
  if (expression.kind == Expression::Integer)
    return expression.integer;
  if (expression.kind == Expression::Symbol) {
    auto size = sizes.find(expression.name);
    return size == sizes.end() ? std::nullopt : std::optional(size->second);
  }
  if (expression.kind != Expression::Call || expression.arguments.size() != 2)
    return std::nullopt;
  std::optional<int64_t> a = evaluate(expression.arguments[0], sizes), b = evaluate(expression.arguments[1], sizes);
  if (!a || !b)
    return std::nullopt;
  int64_t result = 0;
  if (expression.name == "Add")
    return AddOverflow(*a, *b, result) ? std::nullopt : std::optional(result);
  if (expression.name == "Mul")
    return MulOverflow(*a, *b, result) ? std::nullopt : std::optional(result);
  if (*b <= 0)
    return std::nullopt;
  return expression.name == "FloorDiv"  ? std::optional(divideFloorSigned(*a, *b))
         : expression.name == "ceildiv" ? std::optional(divideCeilSigned(*a, *b))
         : expression.name == "Mod"     ? std::optional(mod(*a, *b))
                                        : std::nullopt;
}

static Expected<int64_t> evaluate(const ptc_dim &dim, const StringMap<int64_t> &sizes) {
  if (auto size = sizes.find(dim.text); size != sizes.end())
    return size->second;
  if (dim.min == dim.max)
    return dim.min;
  Expected<Expression> expression = import::parseExpression(dim.text);
  std::optional<int64_t> size = expression ? evaluate(*expression, sizes) : std::nullopt;
  if (!expression)
    consumeError(expression.takeError());
  if (size && *size >= 0)
    return *size;
  return createStringError(Twine("inputs of the size ") + dim.text + " cannot be made up (give them in a file)");
}

std::vector<OpenSize> findOpenSizes(const ptc_signature &model) {
  std::vector<OpenSize> open;
  for (const ptc_symbol &symbol : ArrayRef(model.symbols, model.symbol_count)) {
    OpenSize &size = open.emplace_back(OpenSize{symbol.name, symbol.min, symbol.max, {}});
    for (const ptc_tensor &input : ArrayRef(model.inputs, model.input_count))
      for (auto [d, dim] : enumerate(ArrayRef(input.dims, input.ndim)))
        if (dim.text == size.name)
          size.places.push_back(fmt::format("{}.{}", input.name, d));
  }
  return open;
}

Expected<Tensors> makeInputs(const ptc_signature &model, StringRef chosen) {
  std::vector<OpenSize> open = findOpenSizes(model);
  Expected<SmallVector<int64_t>> values = chooseSizes(open, chosen);
  if (!values)
    return values.takeError();
  StringMap<int64_t> sizes;
  for (auto [symbol, value] : zip_equal(open, *values))
    sizes[symbol.name] = value;
  Tensors inputs;
  for (const ptc_tensor &input : ArrayRef(model.inputs, model.input_count)) {
    std::vector<int64_t> shape;
    int64_t bytes = input.dtype.bits / 8;
    for (const ptc_dim &dim : ArrayRef(input.dims, input.ndim)) {
      Expected<int64_t> size = evaluate(dim, sizes);
      if (!size)
        return size.takeError();
      shape.push_back(*size);
      if (MulOverflow(bytes, std::max<int64_t>(*size, 1), bytes))
        return createStringError(Twine("input '") + input.name + "' would be larger than memory");
    }
    inputs.push_back(std::make_unique<OwnedTensor>());
    uint64_t content = getByteSize(input.dtype, shape);
    inputs.back()->assign(input.dtype, std::move(shape), makeContent(input.dtype, content));
  }
  return inputs;
}

} // namespace ptc
