//===- DeviceLibrary.h - libm and the special functions for GPUs ----------===//
#pragma once

namespace llvm {
class Module;
}

namespace ptc::cuda {

/// Adds the functions that are called and have no body, as far as there are any: of libm in double precision, sine,
/// cosine and tangent of float, runtime/special and runtime/Matrix.cpp.
void linkDeviceLibrary(llvm::Module &kernels);

} // namespace ptc::cuda
