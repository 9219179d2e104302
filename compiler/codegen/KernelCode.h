//===- KernelCode.h - what compiling a module's kernels makes -------------===//
//
// Of every device: the tables need to know of a kernel's function, and not how it came to be.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/TensorMap.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <vector>

namespace ptc {

/// A grid as `ptc explain` shows it.
struct GridShape {
  mlir::AffineExpr blocks;
  unsigned threads;    ///< of a block
  int64_t sharedBytes; ///< of a block
};

/// How a kernel computes what it does, and why so, in words for `ptc explain`.
struct Algorithm {
  std::string name;    ///< as the field calls it: "depthwise", "winograd F(4x4, 3x3)"
  std::string because; ///< sizes, facts of the machine, a tuning entry: what decided; "; " between clauses
  std::vector<GridShape> grids = {}; ///< on a GPU, one after the other
};

/// One grid of threads of a kernel on a GPU.
struct Grid {
  std::string function; ///< in the image
  mlir::AffineExpr blocks;
  unsigned threads, sharedBytes;    ///< of a block; the bytes beyond what the function declares
  unsigned perMultiprocessor = 0;   ///< no more blocks are started, which share the work; 0: as many as there are
  std::vector<TensorMap> maps = {}; ///< the function's last parameters
};

/// A check of an index in data.
struct Fault {
  std::string text;       ///< "index out of range in aten.embedding"
  mlir::AffineExpr size;  ///< indices are from 0 to below it
  bool isWrapped = false; ///< what the caller gave as -1 is the last index of all
};

/// What a launch of one kernel needs to know.
struct KernelInfo {
  std::string symbol;              ///< function in one of the objects; empty on a GPU
  mlir::AffineExpr tasks;          ///< how many tasks there are
  mlir::AffineExpr scratchBytes;   ///< for each thread
  std::vector<Fault> faults;       ///< of code c at c - 1
  std::vector<Grid> grids;         ///< on a GPU, one after the other
  mlir::AffineExpr workspaceBytes; ///< on a GPU: memory that the grids use beside their tensors; null: none
};

enum class CodeForm { Object, Assembly, Llvm };

/// What one function cost.
struct KernelTime {
  std::string symbol;
  double emit, llvm; ///< milliseconds until there was LLVM IR, and from there to the object
  bool isCached;
};

struct KernelCode {
  llvm::DenseMap<mlir::Operation *, KernelInfo> kernels; ///< by loop.kernel
  std::vector<llvm::SmallVector<char, 0>> files;         ///< objects to link, one for each function, or one text
  std::vector<KernelTime> times;                         ///< of objects
  std::string image;                                     ///< of a GPU: PTX of all kernels, or text of that form
};

/// Is told, from any thread, which kernel is done and how many of how many are.
using ShowKernel = llvm::function_ref<void(llvm::StringRef kernel, size_t done, size_t all)>;

} // namespace ptc
