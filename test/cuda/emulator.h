// emulator.h - a grid of threads on the host
#pragma once

#include <functional>

namespace ptc::test {

/// Runs `thread` for every thread of every block, with `beginBlock` before each block. The threads of a block are
/// fibers, which change where one waits for others; blocks and threads run in an order that the environment's FAKE_SEED
/// decides. False when threads wait for one another and none can go on.
///
/// One grid at a time.
bool emulateGrid(int blocks, int threads, const std::function<void()> &beginBlock, std::function<void()> thread);

} // namespace ptc::test
