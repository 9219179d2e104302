#include "compiler/codegen/host/Bindings.h"

#include "runtime/Program.h"

using namespace mlir;

namespace ptc::host {

namespace {
/// symbol * scale + offset. symbol -1: a constant.
struct Linear {
  int64_t symbol, scale, offset;
};
} // namespace

/// Derived dimensions of an export (2*s0 + 1) are linear; anything else cannot be solved for its symbol.
static std::optional<Linear> asLinear(AffineExpr expr) {
  if (auto constant = llvm::dyn_cast<AffineConstantExpr>(expr))
    return Linear{-1, 0, constant.getValue()};
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr))
    return Linear{symbol.getPosition(), 1, 0};
  auto binary = llvm::dyn_cast<AffineBinaryOpExpr>(expr);
  auto lhs = binary ? asLinear(binary.getLHS()) : std::nullopt, rhs = binary ? asLinear(binary.getRHS()) : std::nullopt;
  if (!lhs || !rhs || (lhs->symbol >= 0 && rhs->symbol >= 0 && lhs->symbol != rhs->symbol))
    return std::nullopt;
  int64_t symbol = std::max(lhs->symbol, rhs->symbol);
  if (binary.getKind() == AffineExprKind::Add)
    return Linear{symbol, lhs->scale + rhs->scale, lhs->offset + rhs->offset};
  if (binary.getKind() != AffineExprKind::Mul || (lhs->scale != 0 && rhs->scale != 0))
    return std::nullopt;
  if (rhs->scale == 0)
    return Linear{symbol, lhs->scale * rhs->offset, lhs->offset * rhs->offset};
  return Linear{symbol, rhs->scale * lhs->offset, rhs->offset * lhs->offset};
}

llvm::Expected<std::vector<Binding>> bindSymbols(const ProgramSpec &spec, llvm::ArrayRef<AffineExpr> expressions) {
  std::vector<Binding> bindings(spec.symbols.size());
  // A symbol as such is a better source than one in an expression: its message is simpler.
  auto consider = [&](const Binding &candidate, int64_t symbol) {
    if (symbol < 0 || symbol >= static_cast<int64_t>(bindings.size()) || candidate.scale == 0)
      return;
    Binding &best = bindings[symbol];
    if (best.input < 0 || (best.scale != 1 && candidate.scale == 1))
      best = candidate;
  };
  for (auto [index, input] : llvm::enumerate(spec.inputs)) {
    int64_t at = index;
    if (input.bindsSymbol >= 0)
      consider({at, -1, 1, 0}, input.bindsSymbol);
    for (auto [dim, size] : llvm::enumerate(getShape(input.type)))
      if (auto linear = asLinear(size))
        consider({at, static_cast<int64_t>(dim), linear->scale, linear->offset}, linear->symbol);
  }

  llvm::SmallBitVector isUsed = spec.kernelSymbols;
  isUsed.resize(spec.symbols.size());
  for (AffineExpr expression : expressions)
    if (expression)
      markSymbols(expression, isUsed);
  for (auto [symbol, binding] : llvm::zip(spec.symbols, bindings))
    if (symbol.extremum) { // always computed
      binding = {runtime::kFollows, -1, 1, 0};
      markSymbols(symbol.extremum->a, isUsed);
      markSymbols(symbol.extremum->b, isUsed);
    }
  for (const SizeDefinitionSpec &definition : spec.sizeDefinitions)
    isUsed[definition.symbol] = false;
  for (auto [symbol, binding] : llvm::enumerate(bindings))
    if (binding.input < 0 && binding.input != runtime::kFollows && isUsed[symbol])
      return llvm::createStringError("the size " + spec.symbols[symbol].name +
                                     " does not follow from any input's shape or value");
  return bindings;
}

} // namespace ptc::host
