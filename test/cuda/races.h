// races.h - accesses to memory that nothing orders
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

/// What the emulator tells of a grid while it runs, block after block, and what is wrong with the accesses of its
/// threads to watched memory. Two accesses of one byte, of which one writes, must have a barrier between them, be both
/// atomic, or belong to one thread; between blocks of one grid there are no barriers. What threads find in shared
/// memory must have been written by their block. As on a GPU, an access lies at a multiple of its size.
namespace ptc::test::races {

/// Watches memory of the device, or shared memory, which has no contents where a block begins. That of stacks and of
/// the host is not watched: it may be used by anybody.
void watch(void *memory, size_t bytes, bool isShared = false);
void unwatch(void *memory);

void beginGrid();
void beginBlock();
/// All threads of the block have come to a barrier.
void passBarrier();

enum class Access : uint8_t { Read, Write, AtomicRead, Atomic };

/// A thread of the block, and how many barriers of its own its warp has passed.
struct Accessor {
  unsigned thread, warpBarriers;
};

/// What is wrong; nothing where all is well.
std::string check(Accessor accessor, Access access, const void *address, size_t bytes);

} // namespace ptc::test::races
