//===- Lifetimes.cpp ---------------------------------------------===//
//
// Where launches wait for others, and how long each buffer is needed.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/ProgramBuilder.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ptc {

using host::BufferSpec;

/// A barrier stands where a launch touches what one since the last barrier wrote.
void ProgramBuilder::placeBarriers() {
  llvm::SmallSetVector<int64_t, 16> read, written;
  int64_t group = 0;
  for (auto [launch, kernel] : llvm::enumerate(kernels)) {
    auto id = [&](Value value) { return root(buffers.lookup(value)); };
    bool depends =
        llvm::any_of(spec.controls, [&, at = int64_t(launch)](auto &c) { return c.launch == at; }) ||
        llvm::any_of(kernel.getInputs(), [&](Value v) { return written.contains(id(v)); }) ||
        llvm::any_of(kernel.getResults(), [&](Value v) { return read.contains(id(v)) || written.contains(id(v)); });
    if (depends) {
      ++group;
      read.clear();
      written.clear();
    }
    groups.push_back(group);
    for (Value value : kernel.getInputs())
      read.insert(id(value));
    for (Value value : kernel.getResults())
      written.insert(id(value));
  }
}

/// Launches between two barriers may run at once: what one of them needs lives through all of them.
void ProgramBuilder::setLifetimes() {
  int64_t count = kernels.size();
  SmallVector<int64_t> groupBegin(count), groupEnd(count);
  for (int64_t i = 0; i < count; ++i)
    groupBegin[i] = i && groups[i] == groups[i - 1] ? groupBegin[i - 1] : i;
  for (int64_t i = count; i-- > 0;)
    groupEnd[i] = i + 1 < count && groups[i] == groups[i + 1] ? groupEnd[i + 1] : i;
  auto extend = [&](Value value, int64_t launch) {
    BufferSpec &buffer = spec.buffers[root(buffers.lookup(value))];
    buffer.first = buffer.first < 0 ? groupBegin[launch] : std::min(buffer.first, groupBegin[launch]);
    buffer.last = std::max(buffer.last, groupEnd[launch]);
  };
  for (auto [launch, kernel] : llvm::enumerate(kernels)) {
    for (Value value : kernel.getInputs())
      extend(value, launch);
    for (Value value : kernel.getResults())
      extend(value, launch);
  }
  for (const host::CopySpec &copy : spec.copies)
    if (count)
      spec.buffers[root(copy.from)].last = count - 1;
  setLifetimesByControl();
}

/// What a control touches is there between the launches around it; what a loop reads is there for all iterations.
void ProgramBuilder::setLifetimesByControl() {
  int64_t count = std::max<int64_t>(kernels.size(), 1);
  auto touch = [&](int64_t id, int64_t launch) {
    BufferSpec &buffer = spec.buffers[root(id)];
    int64_t before = std::clamp<int64_t>(launch - 1, 0, count - 1), behind = std::clamp<int64_t>(launch, 0, count - 1);
    buffer.first = buffer.first < 0 ? before : std::min(buffer.first, before);
    buffer.last = std::max(buffer.last, behind);
  };
  for (const host::ControlSpec &one : spec.controls) {
    if (one.condition >= 0)
      touch(one.condition, one.launch);
    for (const host::CopySpec &copy : one.copies) {
      touch(copy.from, one.launch);
      touch(copy.to, one.launch);
    }
    if (one.external < 0)
      continue;
    const host::ExternalSpec &external = spec.externals[one.external];
    for (const std::vector<host::ExternalTensor> &tensors : {external.inputs, external.outputs})
      for (const host::ExternalTensor &tensor : tensors)
        if (tensor.buffer >= 0)
          touch(tensor.buffer, one.launch);
  }
  for (auto [begin, end] : loops)
    for (BufferSpec &buffer : spec.buffers)
      if (buffer.first >= 0 && buffer.first < begin && buffer.last >= begin)
        buffer.last = std::max(buffer.last, end - 1);
}

} // namespace ptc
