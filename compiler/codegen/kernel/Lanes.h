//===- Lanes.h - values in the lanes of a vector --------------------------===//
//
// Scalar code is emitted for `width` neighbouring points at once. What is the
// same at all of them stays scalar, an index that runs linearly over them is
// kept as its first value and a stride: so that reads know, without analysis
// of the emitted code, whether they are a broadcast, a vector load or a gather.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Metadata.h"

namespace ptc::kernel {

using Ir = llvm::IRBuilder<>;

/// A value in every lane: a scalar `value` (the same in all lanes), a scalar i64
/// `value` and a `stride` (lane l has value + l * stride), or a vector.
struct Lanes {
  llvm::Value *value = nullptr;
  llvm::Value *stride = nullptr;
  unsigned zeros = 0; ///< of the first lane's number, so many low bits are known to be zero

  bool isVector() const { return value->getType()->isVectorTy(); }
  bool isUniform() const { return !stride && !isVector(); }
  /// The stride if it is known: 0 for uniform values.
  std::optional<int64_t> constantStride() const;
};

/// Memory of one element type. `alias` tells apart what different buffers hold.
struct Memory {
  llvm::Type *element;
  llvm::Value *base;
  llvm::AAMDNodes alias;
  unsigned alignment = 1; ///< bytes: the base is at a multiple of them
  bool streaming = false; ///< stores bypass the caches
};

/// Emits operations on lanes. `mask` (a vector of i1, or null for all) tells
/// which lanes may touch memory.
class LaneBuilder {
public:
  LaneBuilder(Ir &b, unsigned width, llvm::Value *mask = nullptr) : b(b), width(width), mask(mask) {}

  llvm::Type *type(llvm::Type *scalar) const;
  /// All lanes as one vector; a scalar when the width is 1.
  llvm::Value *vector(const Lanes &lanes) const;
  /// first, first + 1, first + 2, ...
  Lanes consecutive(llvm::Value *first) const;
  /// The same from a multiple of the width on, which is a power of two.
  Lanes aligned(llvm::Value *first) const;

  Lanes add(const Lanes &x, const Lanes &y) const;
  Lanes sub(const Lanes &x, const Lanes &y) const;
  Lanes mul(const Lanes &x, const Lanes &y) const;
  /// Rounded toward minus infinity; y > 0.
  Lanes floorDiv(const Lanes &x, const Lanes &y) const;
  Lanes mod(const Lanes &x, const Lanes &y) const;
  Lanes affine(mlir::AffineExpr expr, llvm::ArrayRef<Lanes> dims, llvm::ArrayRef<llvm::Value *> symbols) const;

  /// memory[place]. Lanes whose `where` (null: all) is unset read nothing and give `otherwise`.
  Lanes load(const Memory &memory, const Lanes &place, const Lanes *where = nullptr,
             const Lanes *otherwise = nullptr) const;
  void store(const Memory &memory, const Lanes &place, const Lanes &value) const;

  /// Whether the condition holds in an active lane; a scalar i1.
  llvm::Value *any(const Lanes &condition) const;

  Ir &b;
  const unsigned width;
  llvm::Value *const mask;

private:
  std::optional<std::pair<Lanes, Lanes>> divideLinear(const Lanes &x, const Lanes &y) const;
  Lanes loadLanes(const Memory &memory, const Lanes &place, llvm::Value *active, llvm::Value *otherwise) const;
};

} // namespace ptc::kernel
