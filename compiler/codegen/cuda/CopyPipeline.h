//===- CopyPipeline.h - a ring of tiles between the copy engine and warps -===//
//
// A warp has the copy engine fill the ring's stages, one after the other; other warps take what lies there. Each stage
// has two barriers in shared memory: it is full once its bytes are there, and empty once all those warps are done.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cuda/GpuBuilder.h"

namespace ptc::cuda {

class CopyPipeline {
public:
  /// `barriers`: barrierBytes(stages) of shared memory. `consumers`: warps that take each stage.
  CopyPipeline(Ir &b, GpuBuilder &gpu, llvm::Value *barriers, unsigned stages, unsigned stageBytes, unsigned consumers)
      : b(b), gpu(gpu), barriers(barriers), stages(stages), stageBytes(stageBytes), consumers(consumers) {}

  static unsigned barrierBytes(unsigned stages) { return 2 * stages * kBarrierBytes; }

  /// By one thread, before a barrier of the block.
  void init();

  /// A stage, and how often the ring has been gone around: its parity.
  struct Place {
    llvm::Value *stage, *parity; ///< i32
  };
  Place first();
  Place next(Place place);
  /// So many stages (i32) behind it.
  Place behind(Place place, llvm::Value *count);
  /// Bytes from the ring's begin to the stage.
  llvm::Value *offsetOf(Place place);

  /// Waits until the stage is empty, and says that it will be filled. Copies are for the barrier that it answers.
  llvm::Value *beginToFill(Place place);
  /// Waits until the stage's bytes are there.
  void waitUntilFull(Place place);
  /// By a thread of each of the warps that take it, when the warp has.
  void release(llvm::Value *stage);

private:
  static constexpr unsigned kBarrierBytes = 8;
  llvm::Value *fullOf(llvm::Value *stage), *emptyOf(llvm::Value *stage);

  Ir &b;
  GpuBuilder &gpu;
  llvm::Value *barriers;
  unsigned stages, stageBytes, consumers;
};

} // namespace ptc::cuda
