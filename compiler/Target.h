//===- Target.h - one machine of one device, as the driver sees it --------===//
//
// Data that tells machines apart, and the few functions that each device has its own of. Which passes run for a device
// is said by Pipeline.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/KernelCode.h"
#include "compiler/support/Device.h"

#include "llvm/Support/Error.h"

#include <string>

namespace mlir {
class ModuleOp;
class Operation;
} // namespace mlir

namespace ptc {

class Cache;
namespace host {
struct ProgramSpec;
}

struct Target {
  Device device = Device::Cpu;
  std::string name;         ///< for people: "znver5"
  std::string description;  ///< all that decides code, as one line: part of kernel symbols, cache and tuning keys
  std::string loopKey;      ///< targets with equal ones share a module at the end of stage Loop
  unsigned vectorBytes = 0; ///< of one vector register; 0: the device has none
  bool multipliesBytes = false; ///< products of bytes are faster than those of float32
  std::string assembler;    ///< of images, with its version: "ptxas 13.0.88"; empty: none. Part of a library's key

  virtual ~Target() = default;

  /// Compiles all kernels of the module, objects on all cores. Fails for a kernel that cannot be compiled, with its
  /// location's name. The files do not depend on the number of cores, nor on what is in the cache (null: none).
  virtual llvm::Expected<KernelCode> emitKernels(mlir::ModuleOp module, CodeForm form, const Cache *cache,
                                                 ShowKernel show) const = 0;

  /// Machine code of an image (KernelCode::image) by the assembler, which is another program. From any thread.
  virtual llvm::Expected<std::string> assemble(llvm::StringRef image) const {
    return llvm::createStringError("there is no assembler for '" + name + "'");
  }

  /// Which algorithm a loop.kernel runs, and why. Empty for a kernel that cannot be compiled, which emitKernels
  /// reports.
  virtual Algorithm getAlgorithm(mlir::Operation *kernel) const = 0;

  /// Whether this machine has all that the code needs.
  virtual bool runsHere() const = 0;

  /// Says in the program's tables which machines it is for.
  virtual void require(host::ProgramSpec &spec) const = 0;
};

} // namespace ptc
