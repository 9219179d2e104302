// copy_engine.h - boxes of tensors that go to shared memory, and the barriers that are told of them
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ptc::test {

/// What the fake driver writes in place of CUtensorMap: of 16-bit elements, or floats that become tf32, in lines of 128
/// bytes of shared memory whose units of 16 are exchanged.
struct FakeTensorMap {
  static constexpr uint32_t kMark = 0x70616d74;
  uint32_t mark, rank;
  const char *data;
  uint64_t sizes[5], strides[4];
  uint16_t box[5];
  bool isTf32;

  size_t elementBytes() const { return isTf32 ? 4 : 2; }
  size_t bytes() const;
};

/// Of the block that runs. What is done wrong is told by an error; nothing where all is well.
class CopyEngine {
public:
  void beginBlock();
  std::string endBlock() const;

  std::string init(const void *barrier, int arrivals);
  std::string arrive(const void *barrier, int64_t expectedBytes);
  /// Whether the phase of that parity has ended. What comes for it comes now, as late as may be.
  bool hasEnded(const void *barrier, int parity);
  std::string checkBarrier(const void *barrier) const;

  /// The box is on its way; until it is there its place is full of NaNs.
  std::string copy(char *to, const void *barrier, const FakeTensorMap &map, const int *coordinates);

  /// Whether boxes have been copied to such a place, and whether one is on its way there.
  bool writes(const char *at) const;
  bool isOnItsWay(const char *at) const;

private:
  struct Barrier {
    int arrivals, pending;
    int64_t bytes; ///< that are expected and not there
    int phase;
  };
  struct Copy {
    char *to;
    const void *barrier;
    FakeTensorMap map;
    std::vector<int> coordinates;
  };
  void land(const Copy &copy);
  void settle(Barrier &barrier);

  std::map<const void *, Barrier> barriers;
  std::vector<Copy> copies;         ///< on their way
  std::map<char *, size_t> written; ///< places of boxes, by their begin
};

} // namespace ptc::test
