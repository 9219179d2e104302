//===- Jit.h - runs the kernels of a loop module in this process ----------===//
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ptc::test {

/// A module of loop.kernels, compiled for this machine.
class Jit {
public:
  /// Aborts where the text cannot be compiled: tests want no such text.
  explicit Jit(const std::string &mlir);
  ~Jit();

  /// Runs kernel number `kernel` on buffers (operands, then results); answers the fault code.
  int32_t run(const std::vector<void *> &buffers, const std::vector<int64_t> &symbols = {}, unsigned kernel = 0);
  int64_t tasks(const std::vector<int64_t> &symbols = {}, unsigned kernel = 0) const;
  /// Distinct functions that the kernels became.
  unsigned functions() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace ptc::test
