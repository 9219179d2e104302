//===- FunctionalizeOrder.h - how operators' results lie in memory --------===//
//
// As PyTorch's CPU operators allocate them. Found by calls with transposed,
// permuted and channels-last operands; where an operator is not told of here
// and its operands do not lie in rows, nothing is known of its result.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/aten/AtenOp.h"

namespace ptc {

/// In rows (contiguous), in columns (each matrix transposed), dense in the order of all operands or of the first, with
/// channels innermost where the first operand has them so.
enum class Order { Unknown, Rows, Columns, Operands, First, Format };

/// Of results whose operands do not lie in rows, all of them.
Order orderOf(const aten::AtenOp &op);

/// Whether results of operands in rows need not lie in rows.
bool hasOwnOrder(const aten::AtenOp &op);

} // namespace ptc
