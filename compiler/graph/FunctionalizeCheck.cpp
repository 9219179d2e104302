#include "compiler/graph/FunctionalizeViews.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using llvm::StringRef;
using ptc::aten::AtenOp;

namespace ptc {

static InFlightDiagnostic fail(const AtenOp &view) { return view->emitError() << view->getName() << ": "; }

/// dim, dims, dim0, axis1, dimension, source, destination.
static bool isDimension(const aten::Argument &argument) {
  StringRef name = argument.name;
  return argument.kind == aten::Kind::Int &&
         (name.starts_with("dim") || name.starts_with("axis") || name == "source" || name == "destination");
}

/// Numbers that name dimensions must be known, in range, and different.
static LogicalResult checkDimensions(const AtenOp &view, StringRef argument, int64_t rank) {
  SmallVector<int64_t> dims;
  if (auto list = view.optionalInts(argument))
    dims = *list;
  else if (auto dim = view.optionalInt(argument))
    dims = {*dim};
  else
    return view.isNone(argument) ? success()
                                 : LogicalResult(fail(view) << "'" << argument << "' must be known at compile time");
  llvm::SmallSet<int64_t, 4> seen;
  for (int64_t dim : dims) {
    int64_t bound = std::max<int64_t>(rank, 1);
    if (dim < -bound || dim >= bound)
      return fail(view) << "'" << argument << "' is " << dim << ", but the tensor has " << rank << " dimensions";
    if (!seen.insert(dim < 0 ? dim + bound : dim).second)
      return fail(view) << "'" << argument << "' names dimension " << dim << " twice";
  }
  if (view.schema().baseName().starts_with("permute") && int64_t(dims.size()) != rank)
    return fail(view) << "'" << argument << "' must name all " << rank << " dimensions";
  return success();
}

static int64_t wrapped(const AtenOp &view, StringRef argument, int64_t rank) {
  int64_t dim = view.integer(argument);
  return dim < 0 ? dim + rank : dim;
}

LogicalResult checkView(const AtenOp &view) {
  StringRef base = view.schema().baseName();
  base.consume_back("_");
  int64_t rank = getShape(view->getOperand(0)).size();
  bool isList = !view.schema().returns.empty() && view.schema().returns[0].isList;
  auto isOneOf = [&](std::initializer_list<StringRef> names) { return llvm::is_contained(names, base); };

  int64_t needed = isOneOf({"mT", "mH", "adjoint", "matrix_H", "diagonal", "linalg_diagonal", "vsplit"}) ? 2
                   : base == "dsplit"                                                                 ? 3
                   : isList || isOneOf({"slice", "select", "narrow", "unfold"})                       ? 1
                                                                                                      : 0;
  if (rank < needed)
    return fail(view) << "needs a tensor of " << needed << " or more dimensions, not " << rank;
  for (const aten::Argument &argument : view.schema().arguments) {
    if (argument.kind == aten::Kind::Other && !view.isNone(argument.name))
      return fail(view) << "dimensions with names are not supported";
    if (isDimension(argument) &&
        failed(checkDimensions(view, argument.name, base == "unsqueeze" ? rank + 1 : rank)))
      return failure();
  }
  if (base.ends_with("diagonal") && wrapped(view, "dim1", rank) == wrapped(view, "dim2", rank))
    return fail(view) << "'dim1' and 'dim2' must differ";
  // The importer gives these types; a text of MLIR may say anything.
  bool keepsRank = isOneOf({"slice", "narrow"}) || (isList && base != "unbind");
  for (Type type : view->getResultTypes()) {
    if (!isa<RankedTensorType>(type)) {
      if (isList)
        continue; // A part that nobody uses.
      return fail(view) << "returns a tensor, not " << type;
    }
    int64_t resultRank = getShape(type).size();
    if ((keepsRank && resultRank != rank) || (base.starts_with("expand") && resultRank < rank))
      return fail(view) << "cannot return " << type;
  }
  return success();
}

} // namespace ptc
