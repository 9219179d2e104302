//===- CheckpointHeader.h - the JSON in front of a file's tensors -----------===//
#pragma once

#include "runtime/Strided.h"

namespace ptc::runtime {

/// A string of the JSON without its quotes, its escapes as they are.
struct HeaderText {
  const char *begin, *end;

  bool equals(const char *text) const;
  /// For messages: ASCII, and "?" for all else.
  void print(char *to, size_t size) const;
};

struct HeaderTensor {
  HeaderText name, type;
  int32_t rank;
  int64_t sizes[kMaxRank];
  int64_t begin, end; ///< of its bytes, behind the header
};

/// Reads what somebody else may have written: nothing is believed but that the memory is there.
class HeaderReader {
public:
  HeaderReader(const char *data, int64_t size)
      : hash(nullptr), problem(nullptr), start(data), at(data), end(data + size) {}

  /// The next tensor; false behind the last one, and where there is a `problem`.
  bool next(HeaderTensor &tensor);

  const char *hash;    ///< digits in the header, or null
  const char *problem; ///< with the header, or null
  int64_t place() const { return at - start; }

private:
  bool fail(const char *what);
  void skipSpaces();
  __attribute__((noinline)) bool take(char c); // headers are short, and libraries should be
  __attribute__((noinline)) bool readString(HeaderText &text);
  bool readNumber(int64_t &number);
  bool skipValue(int depth);
  bool readMetadata();
  bool readTensor(HeaderTensor &tensor);
  /// `readMember(key)` for each of an object.
  template <typename ReadMember> bool readMembers(ReadMember readMember);

  const char *start, *at, *end;
  bool isBegun = false, hasMetadata = false;
};

} // namespace ptc::runtime
