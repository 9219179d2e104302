#include "runtime/Gain.h"

#include <algorithm>

namespace ptc::runtime {

constexpr int32_t kSample = 16; // calls

double Gain::add(double pace, double best) {
  sum += std::min(pace, 2 * best); // a call that lost its processor counts as a slow one
  if (++sampled < kSample)
    return 0;
  double mean = sum / kSample;
  sampled = 0;
  sum = 0;
  return mean;
}

void Gain::keep(bool isAlone) {
  constexpr int32_t kFirst = 16 * kSample, kMost = 1024 * kSample;
  kept = kept > 0 && keptAlone == isAlone ? std::min(2 * kept, kMost) : kFirst;
  alone = keptAlone = isAlone;
  left = kept;
}

void Gain::noteShared(double pace, double best) {
  constexpr double kClear = 0.9;
  if (left > 0) {
    --left;
  } else if (double mean = add(pace, best)) {
    sharedPace = mean;
    if (mean < kClear * best)
      keep(false);
    else
      alone = true;
  }
}

void Gain::noteAlone(double pace, double best) {
  if (left > 0) {
    if (--left == 0)
      alone = false;
  } else if (double mean = add(pace, best)) {
    keep(mean < sharedPace);
  }
}

} // namespace ptc::runtime
