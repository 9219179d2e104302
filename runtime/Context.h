//===- Context.h - states, frames and settings of one user of a model -----===//
#pragma once

#include "runtime/Execute.h"
#include "runtime/device/DeviceStates.h"

#include <algorithm>

namespace ptc::runtime {

/// The stream that calls give their work to: one of the caller's, or else their own.
struct StreamChoice {
  void *stream;
  bool isCallers;
};

/// Where call_new makes outputs, if the caller has said so.
struct OutputPlace {
  DLDevice device;
  bool isChosen;
};

} // namespace ptc::runtime

/// Zeroed memory is a valid one, but for what create() sets.
struct ptc_context {
  using Program = ptc::runtime::Program;
  using Frame = ptc::runtime::Frame;
  using Error = ptc::runtime::Error;

  const Program *program;       ///< the first entry
  ptc::runtime::Device *device; ///< null: the CPU
  ptc::runtime::ErrorLog errors;
  ptc::runtime::Profile profile;
  ptc::runtime::Array<ptc::runtime::Function> functions; ///< one for each of all entries' externals

  /// `number`: of the device, or kAnyDevice.
  static ptc_status create(const ptc::runtime::Programs &programs, int32_t number, ptc_context **context, Error &error);
  static void destroy(ptc_context *context);

  /// Null where there is no such entry.
  const Program *findEntry(int32_t entry) const;
  /// One for each of the entry's externals.
  const ptc::runtime::Function *functionsOf(const Program &entry) const {
    return functions.data + entry.externalsBefore;
  }

  /// A frame of the entry's that no other call uses; null when out of memory.
  Frame *acquireFrame(const Program &entry);
  void releaseFrame(Frame *frame);
  /// A frame that no call uses and whose work nobody has waited for; null when there is none. Then the work of those
  /// that calls have taken since is waited for, as far as it was given before.
  Frame *acquirePendingFrame(Error &error);
  void trim();
  ptc_memory memory();

  /// Copies the states' first values. Nobody else uses states meanwhile; the thread is in a DeviceScope.
  ptc_status resetStates(Error &error);
  /// In the device's memory where there is one.
  char *stateData(int32_t state) const {
    return (device ? deviceStates.values.data : stateBlock.data) + stateOffsets[state];
  }

  /// Of a state, as many as it has dimensions.
  int64_t *stateSizes(int32_t state) {
    int64_t first = 0;
    for (int32_t i = 0; i < state; ++i)
      first += program->states[i].rank;
    return allStateSizes.data + first;
  }

  /// Held while a call runs that may read or write states, so that it sees and leaves whole ones.
  ptc::runtime::Mutex stateMutex;
  ptc::runtime::DeviceStates deviceStates; ///< their values on a device

  /// False when no entry calls a function of that name.
  bool setFunction(const char *name, ptc::runtime::Function function);

  void setThreads(int32_t count) { __atomic_store_n(&threads, count, __ATOMIC_RELAXED); }
  void setWaiting(int32_t mode) { __atomic_store_n(&waiting, mode, __ATOMIC_RELAXED); }
  ptc::runtime::ThreadTerms threadTerms() const;

  DLDevice place() const { return device ? device->place : DLDevice{kDLCPU, 0}; }
  ptc::runtime::StreamChoice streamChoice();
  void setStreamChoice(ptc::runtime::StreamChoice choice);
  ptc::runtime::OutputPlace outputPlace();
  void setOutputPlace(ptc::runtime::OutputPlace place);

  ptc::runtime::Activity activity;

  /// What symbols that data decide and nothing bounds may be, so that calls like those before need not start over.
  int64_t room() const { return std::max(__atomic_load_n(&knownRoom, __ATOMIC_RELAXED), kFirstRoom); }
  void keepRoom(int64_t room) { __atomic_store_n(&knownRoom, room, __ATOMIC_RELAXED); }

private:
  static constexpr int64_t kFirstRoom = 1024;
  int64_t knownRoom;
  ptc::runtime::Mutex frameMutex; ///< guards the six below
  Frame *freeFrames;
  Frame *takenFrames; ///< whose last work nobody had waited for
  int32_t frameCount;
  int64_t reservedBytes, peakBytes, largestArena;

  /// Opens the device of a program for one, and takes memory for the states.
  ptc_status prepare(int32_t number, Error &error);
  /// Of a frame that was free; under frameMutex.
  void noteTaken(Frame *frame);

  ptc::runtime::Block stateBlock;
  ptc::runtime::Array<int64_t> stateOffsets, allStateSizes;
  int32_t threads;                 ///< 0: as many as the process gives a call
  int32_t waiting;                 ///< 0: as the environment says, else ptc_waiting
  ptc::runtime::Mutex choiceMutex; ///< guards the two below
  ptc::runtime::StreamChoice chosenStream;
  ptc::runtime::OutputPlace chosenPlace;
};

namespace ptc::runtime {

/// A frame for the length of one call.
class FrameLease {
public:
  FrameLease(ptc_context &context, const Program &entry) : context(context), frame(context.acquireFrame(entry)) {}
  ~FrameLease() {
    if (frame)
      context.releaseFrame(frame);
  }
  FrameLease(const FrameLease &) = delete;
  Frame *operator->() const { return frame; }
  Frame &operator*() const { return *frame; }
  explicit operator bool() const { return frame != nullptr; }

private:
  ptc_context &context;
  Frame *frame;
};

/// States have static sizes.
int64_t stateBytes(const TensorEntry &state);

} // namespace ptc::runtime
