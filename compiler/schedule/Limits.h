//===- Limits.h - the numbers of a device that scheduling reads -----------===//
//
// The defaults are those of CPUs; getLimits has those of other devices. How much memory is near, how many threads there
// are and what an instruction costs decides them; which of the passes run is not said here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/support/Device.h"

#include <cstddef>
#include <cstdint>

namespace ptc::schedule {

struct Limits {
  // ToLoop
  int64_t fewChannels = 4; ///< pixels of so many channels or fewer are read one number at a time, from planes; 0: never
  bool multipliesBytes = true; ///< products of 8-bit integers are templates; else reductions of 32-bit products
  bool convolvesBytes = true;  ///< likewise convolutions

  // OperandViews
  bool exchangesHeads = false; ///< attention may store queries before heads

  // Inline
  int64_t inlinedOps = 320; ///< a body that grows beyond this compiles slowly and runs out of registers
  int64_t viewOps = 32;     ///< a view with more operations than this, as a concatenation of many, is written once
  int64_t cheapWork = 4;    ///< work that is cheaper to repeat than a round trip through memory
  int64_t repeatedWork = 2; ///< the same where a reader repeats it for several of its points

  // Work, in the time of one addition of vectors
  int64_t division = 4;         ///< and square roots, of floats
  int64_t integerDivision = 16; ///< and remainders
  int64_t function = 16;        ///< exp and its like
  int64_t special = 200;        ///< a call of runtime/special for each element

  // Epilogues: each result is a stream to memory; beyond these a tile's registers run out
  unsigned epilogueResults = 4;
  int64_t epilogueOps = 160;

  // SplitReductions
  bool splitsReductions = true;    ///< false where kernels reduce in parts themselves
  double enoughResults = 32;       ///< as many results as this keep enough threads busy
  double leastPart = 8192;         ///< elements of a part, which should be long against starting it
  double leastLength = 0;          ///< elements of one result that are worth parts
  int64_t parts = 64;              ///< of one reduction, at most
  double leastRowPoints = 1 << 15; ///< points of a reduction of rows that is worth parts
  double fewImages = 8;            ///< more than this keep enough threads busy without parts
  double enoughColumns = 1e18;     ///< as many results of rows as this, likewise
  int64_t leastRows = 0;           ///< of a part
  int64_t rowParts = 16;           ///< of a reduction of rows, at most

  // Groups
  double enoughOuter = 16;       ///< iterations of outer dimensions that keep threads and vectors busy
  double tinyDomain = 8192;      ///< a kernel of fewer points is over before a thread could be woken for it
  double localBytes = 512 << 10; ///< what members keep for one iteration of the outer dimensions stays near a core
  size_t mostMembers = 24;       ///< of a kernel

  // PlanMemory
  int64_t leastInPlace = 1 << 20; ///< bytes of an intermediate tensor that is worth to be written over (PlanMemory.h)
};

/// Of a device. A GPU has a block for each result of a reduction of rows, and hundreds of blocks are to run at once; a
/// part costs another launch, and its results another pass through memory. Arithmetic waits for memory there, and what
/// a kernel keeps for a later stage costs a barrier.
inline Limits getLimits(Device device) {
  Limits limits;
  if (device == Device::Cuda) {
    limits.convolvesBytes = false;
    limits.exchangesHeads = true;
    limits.cheapWork = 8;
    limits.repeatedWork = 16;
    limits.enoughResults = 512;
    limits.leastLength = 1 << 16;
    limits.parts = 1024;
    limits.leastRowPoints = 1 << 17;
    limits.fewImages = 64;
    limits.enoughColumns = 1 << 16;
    limits.leastRows = 128;
    limits.rowParts = 64;
    limits.leastInPlace = 0;
  }
  return limits;
}

} // namespace ptc::schedule
