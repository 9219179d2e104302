//===- Gain.h - whether small calls are faster on several threads ----------===//
//
// Handing a step over to another thread takes 0.1 us where two cores share a cache, and several where the system moves
// virtual processors about; a call of 50 us has a dozen steps. Nothing tells beforehand. So where calls on several
// threads take about as long as the pace of one thread says, the next calls run on one, and the faster way is kept: for
// as many calls as make the comparison cheap, and for longer where it comes out the same again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ptc::runtime {

/// Of the calls of one frame. Paces are nanoseconds for an estimated one. Zeroed memory has calls on several threads.
class Gain {
public:
  /// Whether the next call is to run on one thread.
  bool isAlone() const { return alone; }

  /// A call on threads that were awake took so much; the best that was seen of one thread.
  void noteShared(double pace, double best);
  /// A call on one thread, which isAlone has asked for.
  void noteAlone(double pace, double best);

private:
  /// Adds to the sample; its mean when it is complete, else 0.
  double add(double pace, double best);
  void keep(bool alone);

  bool alone;
  int32_t left;      ///< calls until the next comparison
  int32_t kept;      ///< calls that what came out last was kept for
  bool keptAlone;
  int32_t sampled;
  double sum;        ///< of the sample's paces
  double sharedPace; ///< that calls on one thread are compared with
};

} // namespace ptc::runtime
