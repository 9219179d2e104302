#include "compiler/weights/ByteSource.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstring>

using namespace llvm;

namespace ptc {

void ByteSource::read(uint64_t begin, MutableArrayRef<char> to) const {
  SmallVector<char, 1024> cut;
  while (!to.empty()) {
    uint64_t skip = begin % unit, count = to.size() / unit * unit;
    if (skip == 0 && count > 0) {
      make(begin / unit, to.take_front(count));
    } else { // a unit of which `to` has only some
      count = std::min<uint64_t>(unit - skip, to.size());
      cut.resize_for_overwrite(unit);
      make(begin / unit, cut);
      std::memcpy(to.data(), cut.data() + skip, count);
    }
    begin += count;
    to = to.drop_front(count);
  }
}

} // namespace ptc
