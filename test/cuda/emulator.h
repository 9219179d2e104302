// emulator.h - a grid of threads on the host
#pragma once

#include <functional>
#include <string>

namespace ptc::test {

/// Runs `thread` for every thread of every block, with `beginBlock` before each block. The threads of a block are
/// fibers, which change where one waits for others; blocks and threads run in an order that the environment's FAKE_SEED
/// decides. What went wrong: threads that wait for one another, or accesses to memory that nothing orders (races.h);
/// nothing where all went well. Then the rest of the grid has not run.
///
/// One grid at a time.
std::string emulateGrid(int blocks, int threads, const std::function<void()> &beginBlock, std::function<void()> thread);

} // namespace ptc::test
