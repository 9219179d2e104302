// A loss is one floating number: what is none is refused, with the outputs to choose from.
// RUN: not ptc-opt %s --add-loss 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not ptc-opt %s --add-loss=loss=output:1 2>&1 | FileCheck %s --check-prefix=INTEGER
// RUN: not ptc-opt %s --add-loss=loss=output:2 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not ptc-opt %s --add-loss=loss=output:-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not ptc-opt %s --add-loss=loss=mes 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// NONE: error: output 0 is no loss, which is a floating number without dimensions
// NONE: note: --loss names a loss or another output; its outputs are 0: 'y' f32[4], 1: 'n' i64[]
// INTEGER: error: output 1 is no loss, which is a floating number without dimensions
// INTEGER: note: its outputs are 0: 'y' f32[4], 1: 'n' i64[]
// MISSING: error: there is no output 2 to be the loss
// NEGATIVE: error: there is no output -1 to be the loss
// UNKNOWN: error: there is no loss 'mes'
// UNKNOWN: note: cross_entropy, nll, mse, l1, smooth_l1, bce_with_logits, kl_div, or output:K
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %n: tensor<i64> {ptc.input = "n"})
    -> (tensor<4xf32> {ptc.output = "y"}, tensor<i64> {ptc.output = "n"}) {
  return %x, %n : tensor<4xf32>, tensor<i64>
}
