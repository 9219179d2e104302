//===- ExpandRecurrent.h - long recurrent networks as scans ----------------===//
//
// Before: aten.lstm.input, gru.input, rnn_tanh.input, rnn_relu.input over steps
//         that are many, or as many as a call says.
// After:  for each layer and direction a product for the inputs of all steps and
//         an aten.higher_order.scan. Few steps are left to the decomposition,
//         which writes them out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: expand-recurrent.
std::unique_ptr<mlir::Pass> createExpandRecurrentPass();

} // namespace ptc
