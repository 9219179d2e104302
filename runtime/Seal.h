//===- Seal.h - whether a library's file is whole --------------------------===//
//
// The table of a library's segments is the end of its file, so a loader that is
// given a file that was cut off finds no table, and refuses it before it maps
// anything. In the table's usual place, behind the ELF header, there is a seal:
// the size of the whole file and a hash of its bytes, for those who ask.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ptc::runtime {

struct Seal {
  char mark[8];
  uint64_t size, hash; ///< of the file, whose hash is computed with zeros in place of this seal
};

constexpr char kSealMark[8] = {'p', 't', 'c', '-', 's', 'e', 'a', 'l'};
constexpr uint64_t kSealOffset = 64; ///< sizeof(Elf64_Ehdr)
constexpr uint64_t kSealedPiece = 2 << 20;

/// XXH64 (xxhash.com).
__attribute__((noinline)) inline uint64_t hashBytes(const char *data, uint64_t size, uint64_t seed) {
  constexpr uint64_t k1 = 0x9e3779b185ebca87, k2 = 0xc2b2ae3d27d4eb4f, k3 = 0x165667b19e3779f9,
                     k4 = 0x85ebca77c2b2ae63, k5 = 0x27d4eb2f165667c5;
  auto rotate = [](uint64_t value, int bits) { return value << bits | value >> (64 - bits); };
  auto round = [&](uint64_t lane, uint64_t input) { return rotate(lane + input * k2, 31) * k1; };
  const char *end = data + size;
  auto take = [&](auto word) {
    memcpy(&word, data, sizeof(word));
    data += sizeof(word);
    return uint64_t(word);
  };
  uint64_t hash = seed + k5;
  if (size >= 32) {
    uint64_t lanes[4] = {seed + k1 + k2, seed + k2, seed, seed - k1};
    while (end - data >= 32)
      for (uint64_t &lane : lanes)
        lane = round(lane, take(uint64_t()));
    hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
    for (uint64_t lane : lanes)
      hash = (hash ^ round(0, lane)) * k1 + k4;
  }
  hash += size;
  while (end - data >= 8)
    hash = rotate(hash ^ round(0, take(uint64_t())), 27) * k1 + k4;
  if (end - data >= 4)
    hash = rotate(hash ^ take(uint32_t()) * k1, 23) * k2 + k3;
  while (data < end)
    hash = rotate(hash ^ take(uint8_t()) * k5, 11) * k1;
  hash = (hash ^ hash >> 33) * k2;
  hash = (hash ^ hash >> 29) * k3;
  return hash ^ hash >> 32;
}

/// The hash of a file is made of those of its pieces in order, which can be computed at the same time.
inline uint64_t hashPiece(const char *data, uint64_t size) { return hashBytes(data, size, 0); }
inline uint64_t addPiece(uint64_t hash, uint64_t piece) {
  return hashBytes(reinterpret_cast<const char *>(&piece), sizeof(piece), hash);
}

/// What is wrong with the file of a library, read whole; "" for one that is as it was written, and for one without a
/// seal, as strip leaves it. `opened`: the seal that it had when it was loaded, if it was.
template <size_t Size> void checkSeal(const char *path, const Seal *opened, char (&what)[Size]) {
  what[0] = 0;
  FILE *file = fopen(path, "re");
  auto *piece = static_cast<char *>(malloc(kSealedPiece));
  uint64_t size = 0, hash = 0, count = 0;
  Seal seal = {};
  while (file && piece && (count = fread(piece, 1, kSealedPiece, file)) > 0) {
    if (size == 0 && count >= kSealOffset + sizeof(Seal)) {
      memcpy(&seal, piece + kSealOffset, sizeof(Seal));
      memset(piece + kSealOffset, 0, sizeof(Seal));
    }
    if (memcmp(seal.mark, kSealMark, sizeof(kSealMark)) != 0)
      break;
    hash = addPiece(hash, hashPiece(piece, count));
    size += count;
  }
  auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  if (!file || ferror(file))
    snprintf(what, Size, "the library's file cannot be read: %s", strerror(errno));
  else if (!piece)
    snprintf(what, Size, "no memory to read the library's file");
  else if (opened && memcmp(opened, &seal, sizeof(Seal)) != 0)
    snprintf(what, Size, "the library's file is another one than when it was opened");
  else if (count > 0 || size == 0) // no seal
    what[0] = 0;
  else if (size < seal.size)
    snprintf(what, Size, "the library is cut off: its file has %llu of %llu bytes", number(size), number(seal.size));
  else if (size > seal.size || hash != seal.hash)
    snprintf(what, Size, "the library's file was changed: its bytes do not have the hash that they were written with");
  if (file)
    fclose(file);
  free(piece);
}

} // namespace ptc::runtime
