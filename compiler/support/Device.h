//===- Device.h - the kinds of machines that kernels run on ---------------===//
#pragma once

namespace ptc {

enum class Device { Cpu, Cuda };

} // namespace ptc
