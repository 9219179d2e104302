#include "runtime/checkpoint/CheckpointHeader.h"
#include "runtime/checkpoint/Checkpoint.h"

namespace ptc::runtime {

//===----------------------------------------------------------------------===//
// Strings
//===----------------------------------------------------------------------===//

static int digitOf(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/// Of the four digits behind "\u", which readString has seen.
static uint32_t readUnit(const char *digits) {
  uint32_t unit = 0;
  for (int i = 0; i < 4; ++i)
    unit = unit << 4 | digitOf(digits[i]);
  return unit;
}

/// One character of a string to UTF-8; answers where the next one begins.
static const char *decode(const char *at, const char *end, char (&bytes)[4], int &count) {
  count = 1;
  bytes[0] = *at++;
  if (bytes[0] != '\\')
    return at;
  char kind = *at++;
  if (kind != 'u') {
    bytes[0] = kind == 'b'   ? '\b'
               : kind == 'f' ? '\f'
               : kind == 'n' ? '\n'
               : kind == 'r' ? '\r'
               : kind == 't' ? '\t'
                             : kind;
    return at;
  }
  uint32_t code = readUnit(at);
  at += 4;
  if (code >> 10 == 0x36 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' && readUnit(at + 2) >> 10 == 0x37) {
    code = 0x10000 + ((code & 0x3ff) << 10 | (readUnit(at + 2) & 0x3ff));
    at += 6;
  }
  count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (int i = count - 1; i > 0; --i, code >>= 6)
    bytes[i] = static_cast<char>(0x80 | (code & 0x3f));
  constexpr unsigned char kFirst[] = {0, 0, 0xc0, 0xe0, 0xf0};
  bytes[0] = static_cast<char>(kFirst[count] | code);
  return at;
}

bool HeaderText::equals(const char *text) const {
  size_t left = strlen(text);
  char bytes[4];
  int count;
  for (const char *at = begin; at < end; text += count, left -= count) {
    at = decode(at, end, bytes, count);
    if (static_cast<size_t>(count) > left || memcmp(bytes, text, count) != 0)
      return false;
  }
  return left == 0;
}

void HeaderText::print(char *to, size_t size) const {
  for (const char *at = begin; at < end && size > 1; ++at, --size)
    *to++ = *at >= 0x20 && *at < 0x7f ? *at : '?';
  *to = 0;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

bool HeaderReader::fail(const char *what) {
  if (!problem)
    problem = what;
  return false;
}

void HeaderReader::skipSpaces() {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
    ++at;
}

bool HeaderReader::take(char c) {
  skipSpaces();
  if (at == end || *at != c)
    return false;
  ++at;
  return true;
}

bool HeaderReader::readString(HeaderText &text) {
  if (!take('"'))
    return fail("has no string where one must be");
  text.begin = at;
  while (at < end && *at != '"') {
    if (static_cast<unsigned char>(*at) < 0x20)
      return fail("has a control character in a string");
    if (*at++ != '\\')
      continue;
    if (at == end || !strchr("\"\\/bfnrtu", *at) || !*at)
      return fail("has an escape that JSON does not know");
    if (*at++ != 'u')
      continue;
    for (int i = 0; i < 4; ++i, ++at)
      if (at == end || digitOf(*at) < 0)
        return fail("has an escape that JSON does not know");
  }
  if (at == end)
    return fail("ends in a string");
  text.end = at++;
  return true;
}

bool HeaderReader::readNumber(int64_t &number) {
  skipSpaces();
  const char *first = at;
  for (number = 0; at < end && *at >= '0' && *at <= '9'; ++at)
    if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *at - '0', &number))
      return fail("has a number that is too large");
  bool isWhole = at == end || !strchr(".eE+-", *at) || !*at;
  return (at > first && isWhole) || fail("has no size or offset where one must be");
}

template <typename ReadMember> bool HeaderReader::readMembers(ReadMember readMember) {
  if (!take('{'))
    return fail("has no object where one must be");
  if (take('}'))
    return true;
  do {
    HeaderText key;
    if (!readString(key))
      return false;
    if (!take(':'))
      return fail("has no ':' behind a name");
    if (!readMember(key))
      return false;
  } while (take(','));
  return take('}') || fail("has an object without an end");
}

/// What nobody asks for.
bool HeaderReader::skipValue(int depth) {
  constexpr int kDeepest = 8;
  if (depth > kDeepest)
    return fail("is nested too deeply");
  skipSpaces();
  char first = at < end ? *at : 0;
  HeaderText text;
  if (first == '"')
    return readString(text);
  if (first == '{')
    return readMembers([&](const HeaderText &) { return skipValue(depth + 1); });
  if (first == '[') {
    ++at;
    if (take(']'))
      return true;
    do
      if (!skipValue(depth + 1))
        return false;
    while (take(','));
    return take(']') || fail("has a list without an end");
  }
  const char *begin = at; // a number, true, false or null
  while (at < end && ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') || strchr("+-.E", *at)) && *at)
    ++at;
  return at > begin || fail("has no value where one must be");
}

//===----------------------------------------------------------------------===//
// What the header says
//===----------------------------------------------------------------------===//

bool HeaderReader::readMetadata() {
  if (hasMetadata)
    return fail("has __metadata__ twice");
  hasMetadata = true;
  return readMembers([&](const HeaderText &key) {
    if (!key.equals("ptc.hash"))
      return skipValue(0);
    HeaderText digits;
    if (!readString(digits))
      return false;
    bool isHash = !hash && digits.end - digits.begin == kHashDigits;
    for (const char *digit = digits.begin; isHash && digit < digits.end; ++digit)
      isHash = digitOf(*digit) >= 0;
    hash = digits.begin;
    return isHash || fail("has a hash that is none");
  });
}

bool HeaderReader::readTensor(HeaderTensor &tensor) {
  enum { Type = 1, Sizes = 2, Range = 4, All = 7 };
  int seen = 0;
  auto once = [&](int what) {
    bool isFirst = !(seen & what);
    seen |= what;
    return isFirst || fail("says something of a tensor twice");
  };
  bool isRead = readMembers([&](const HeaderText &key) {
    if (key.equals("dtype"))
      return once(Type) && readString(tensor.type);
    if (key.equals("data_offsets"))
      return once(Range) && (take('[') || fail("has offsets that are no list")) && readNumber(tensor.begin) &&
             (take(',') || fail("has offsets that are no two")) && readNumber(tensor.end) &&
             (take(']') || fail("has offsets that are no two"));
    if (!key.equals("shape"))
      return skipValue(0);
    if (!once(Sizes) || !(take('[') || fail("has a shape that is no list")))
      return false;
    tensor.rank = 0;
    if (take(']'))
      return true;
    do {
      if (tensor.rank == kMaxRank)
        return fail("has a tensor of too many dimensions");
      if (!readNumber(tensor.sizes[tensor.rank++]))
        return false;
    } while (take(','));
    return take(']') || fail("has a list without an end");
  });
  return isRead && (seen == All || fail("has a tensor without dtype, shape or data_offsets"));
}

bool HeaderReader::next(HeaderTensor &tensor) {
  while (!problem) {
    if (!isBegun) {
      isBegun = true;
      if (!take('{'))
        return fail("is no object");
      if (take('}'))
        break;
    } else if (!take(',')) {
      if (!take('}'))
        return fail("has an object without an end");
      break;
    }
    if (!readString(tensor.name))
      return false;
    if (!take(':'))
      return fail("has no ':' behind a name");
    if (!tensor.name.equals("__metadata__"))
      return readTensor(tensor);
    readMetadata();
  }
  skipSpaces();
  if (!problem && at < end)
    fail("goes on behind its end");
  return false;
}

} // namespace ptc::runtime
