//===- AutocastPolicy.h - which types torch.autocast gives operators ------===//
#pragma once

#include "compiler/support/Device.h"
#include "dialects/aten/AtenOp.h"

namespace ptc {

enum class AutocastPolicy {
  AsGiven,   ///< no opinion: its result has the type that its operands promote to
  Lower,     ///< takes the type of 16 bits
  Full,      ///< takes float32
  Widest,    ///< takes the widest type among its operands
  LikeFirst, ///< takes what it is given, answers in the type of its first operand
};

/// As PyTorch 2.11 registers operators for AutocastCPU or AutocastCUDA; of those that consist of such operators, and of
/// those that such operators consist of, what they come to.
AutocastPolicy getAutocastPolicy(const aten::AtenOp &op, Device device);

} // namespace ptc
