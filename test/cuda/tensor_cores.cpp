// The arithmetic of tensor cores: mma.sync, whose operands the lanes of a warp have, and wgmma, which reads them from
// shared memory while the threads go on.

#include "test/cuda/emulator_block.h"

#include <cmath>
#include <cstring>

namespace races = ptc::test::races;
using namespace ptc::test::emulator;

namespace {
float toFloat(uint16_t bits, bool isBfloat) {
  uint32_t word = static_cast<uint32_t>(bits) << 16;
  float value;
  if (!isBfloat) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    value = exponent == 31  ? (fraction ? NAN : INFINITY)
            : exponent == 0 ? ldexpf(static_cast<float>(fraction), -24)
                            : ldexpf(static_cast<float>(fraction + 1024), exponent - 25);
    return bits >> 15 ? -value : value;
  }
  memcpy(&value, &word, sizeof(value));
  return value;
}

/// An element of a matrix in shared memory, as its descriptor says: address, distances between blocks of 64 rows and
/// between eight lines, in units of 16 bytes; lines of 128 bytes, whose units are exchanged by the address' bits 7
/// to 9.
const char *findElement(const char *memory, uint64_t descriptor, int bytes, bool isTransposed, int row, int depth) {
  constexpr uint64_t kSpan = 1 << 18; // that an address in a descriptor tells apart
  uint64_t begin = (descriptor & 0x3fff) << 4, block = (descriptor >> 16 & 0x3fff) << 4;
  uint64_t lines = (descriptor >> 32 & 0x3fff) << 4, place = begin;
  place += isTransposed ? row / 64 * block + depth / 8 * lines + depth % 8 * 128 + row % 64 * 2
                        : row / 8 * lines + row % 8 * 128 + depth * bytes;
  uint64_t offset = (place - reinterpret_cast<uintptr_t>(memory)) % kSpan;
  return memory + (offset ^ (offset >> 7 & 7) << 4);
}

int bytesOf(Product::Element element) { return element == Product::Tf32 ? 4 : element < Product::Tf32 ? 2 : 1; }

const char *findLhs(const Product &product, int row, int k) {
  return findElement(product.memory, product.lhs, bytesOf(product.ofLhs), product.transposesLhs, row, k);
}
const char *findRhs(const Product &product, int column, int k) {
  return findElement(product.memory, product.rhs, bytesOf(product.ofRhs), product.transposesRhs, column, k);
}

double readElement(const char *at, Product::Element element) {
  if (element == Product::Signed)
    return static_cast<signed char>(*at);
  if (element == Product::Unsigned)
    return static_cast<unsigned char>(*at);
  if (element == Product::Tf32) {
    uint32_t bits;
    memcpy(&bits, at, sizeof(bits));
    if (bits & 0x1fff)
      block.fail("a float that is not of tf32 is multiplied");
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }
  uint16_t bits;
  memcpy(&bits, at, sizeof(bits));
  return toFloat(bits, element == Product::Bfloat);
}

/// A unit of 16 bytes of an operand: of the left one 128, of the right one twice the number of columns.
const char *findUnit(const Product &product, bool isLhs, int unit) {
  int across = isLhs ? 8 : product.columns / 8, each = 16 / bytesOf(product.ofLhs);
  if (isLhs)
    return product.transposesLhs ? findLhs(product, unit % across * 8, unit / across)
                                 : findLhs(product, unit / 2, unit % 2 * each);
  return product.transposesRhs ? findRhs(product, unit % across * 8, unit / across)
                               : findRhs(product, unit / 2, unit % 2 * each);
}

} // namespace

bool ptc::test::emulator::readsFrom(const Product &product, const char *begin, size_t bytes) {
  for (bool isLhs : {true, false})
    for (int unit = isLhs && product.hasRegisters ? 128 : 0; unit < (isLhs ? 128 : product.columns * 2); ++unit)
      if (const char *at = findUnit(product, isLhs, unit); at >= begin && at < begin + bytes)
        return true;
  return false;
}

namespace {
/// What the copy engine brings is ordered by barriers in memory, which the thread has waited for if it is there.
void readUnit(const char *at) {
  if (!block.engine.writes(at))
    access(races::Access::Read, at, 16);
  else if (block.engine.isOnItsWay(at))
    block.fail("a product reads a box that is on its way");
}

/// The thread's part of a product, whose sums are `Sum`s in the place of floats. What it reads is told of by units of
/// 16 bytes, each by one thread of the group.
template <typename Sum> void multiplyAs(const Product &product, float *sums) {
  int thread = block.current % 128, lane = thread % kWarp, depth = 32 / bytesOf(product.ofLhs);
  auto lhs = [&](int row, int k) -> double {
    return product.hasRegisters ? product.rows[row / 8 % 2][k] : readElement(findLhs(product, row, k), product.ofLhs);
  };
  auto rhs = [&](int column, int k) { return readElement(findRhs(product, column, k), product.ofRhs); };
  if (!product.hasRegisters)
    readUnit(findUnit(product, true, thread)); // of 64 rows, two units each
  for (int unit = thread; unit < product.columns * 2; unit += 128)
    readUnit(findUnit(product, false, unit));
  for (int i = 0; i < product.columns / 2; ++i) {
    int row = thread / kWarp * 16 + lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    Sum sum = 0;
    if (product.isMore)
      memcpy(&sum, sums + i, sizeof(sum));
    for (int k = 0; k < depth; ++k)
      sum += static_cast<Sum>(lhs(row, k) * rhs(column, k));
    memcpy(sums + i, &sum, sizeof(sum));
  }
}

void multiply(const Product &product, float *sums) {
  if (product.ofLhs >= Product::Signed)
    multiplyAs<int32_t>(product, sums);
  else
    multiplyAs<float>(product, sums);
}
} // namespace

/// While their products are on their way, sums are NaNs that say which they are.
constexpr uint32_t kOnTheirWay = 0x7ff00000, kNumber = 0xfffff;

/// 0 for sums that are there.
static uint32_t numberOf(const float *sums) {
  uint32_t bits;
  memcpy(&bits, sums, sizeof(bits));
  return (bits & ~kNumber) == kOnTheirWay ? bits & kNumber : 0;
}

/// The product is done when the thread waits for it.
static void start(Product product, float *sums) {
  Fiber &fiber = block.fiber();
  int count = product.columns / 2;
  product.sums = numberOf(sums);
  if (fiber.sums.find(product.sums) == fiber.sums.end()) {
    product.sums = ++fiber.lastSums;
    fiber.sums[product.sums].assign(sums, sums + count);
  }
  fiber.products.back().push_back(product);
  uint32_t bits = kOnTheirWay | product.sums;
  for (int i = 0; i < count; ++i)
    memcpy(sums + i, &bits, sizeof(bits));
}

static void loadMatrices(const void *row, bool transposes, uint32_t *result) {
  access(races::Access::Read, row, sizeof(Given::row));
  Given mine;
  memcpy(mine.row, row, sizeof(mine.row));
  Exchange all(mine);
  int lane = block.current % kWarp, outer = lane / 4, inner = lane % 4 * 2;
  for (int matrix = 0; matrix < 4; ++matrix) {
    auto element = [&](int i, int j) -> uint32_t { return all[matrix * 8 + i].row[j]; };
    uint32_t first = transposes ? element(inner, outer) : element(outer, inner);
    uint32_t second = transposes ? element(inner + 1, outer) : element(outer, inner + 1);
    result[matrix] = first | second << 16;
  }
}

/// What the warp multiplies: 16 rows by 8 columns, 32 bytes deep, of which a thread has words.
class Words {
public:
  explicit Words(const uint32_t *words) : all(give(words)) {}
  uint32_t left(int row, int byte) const { return all[row % 8 * 4 + byte % 16 / 4].words[row / 8 + byte / 16 * 2]; }
  uint32_t right(int column, int byte) const { return all[column * 4 + byte % 16 / 4].words[4 + byte / 16]; }

private:
  static Given give(const uint32_t *words) {
    Given mine;
    memcpy(mine.words, words, sizeof(mine.words));
    return mine;
  }
  Exchange all;
};

/// Of the thread's four sums of a product of 16 x 8: visit(number, row, column).
template <typename Visit> static void forSums(Visit visit) {
  int lane = block.current % kWarp;
  for (int i = 0; i < 4; ++i)
    visit(i, lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
}

extern "C" {
void fake_rows_of_matrices(const void *row, uint32_t *result) { loadMatrices(row, false, result); }
void fake_columns_of_matrices(const void *row, uint32_t *result) { loadMatrices(row, true, result); }

/// mma.m16n8k16: adds 16 x 16 by 16 x 8 to the thread's four sums.
void fake_multiply(const float *fragment, float *sums) {
  Given mine;
  memcpy(mine.fragment, fragment, sizeof(mine.fragment));
  Exchange all(mine);
  auto left = [&](int row, int k) { return all[row % 8 * 4 + k % 8 / 2].fragment[(row / 8 + k / 8 * 2) * 2 + k % 2]; };
  auto right = [&](int k, int column) { return all[column * 4 + k % 8 / 2].fragment[8 + k / 8 * 2 + k % 2]; };
  forSums([&](int i, int row, int column) {
    for (int k = 0; k < 16; ++k)
      sums[i] += left(row, k) * right(k, column);
  });
}

/// cvt.rna.tf32.f32: to the nearest of 10 bits of fraction, ties away from zero.
uint32_t fake_round_to_tf32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return std::isfinite(value) ? (bits + 0x1000) & ~0x1fffu : bits & ~0x1fffu;
}

/// mma.m16n8k8 of tf32.
void fake_multiply_tf32(const uint32_t *words, float *sums) {
  for (int i = 0; i < 6; ++i)
    if (words[i] & 0x1fff)
      block.fail("a float that is not of tf32 is multiplied");
  Words all(words);
  auto number = [](uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  };
  forSums([&](int i, int row, int column) {
    for (int k = 0; k < 8; ++k)
      sums[i] += number(all.left(row, 4 * k)) * number(all.right(column, 4 * k));
  });
}

/// mma.m16n8k32 of bytes.
void fake_multiply_bytes(const uint32_t *words, int32_t *sums, int isLhsUnsigned, int isRhsUnsigned) {
  Words all(words);
  auto number = [](uint32_t word, int k, int isUnsigned) {
    uint8_t byte = word >> 8 * (k % 4);
    return isUnsigned ? static_cast<int>(byte) : static_cast<int>(static_cast<int8_t>(byte));
  };
  forSums([&](int i, int row, int column) {
    for (int k = 0; k < 32; ++k)
      sums[i] += number(all.left(row, k), k, isLhsUnsigned) * number(all.right(column, k), k, isRhsUnsigned);
  });
}

/// mma.m8n8k4 of doubles: adds 8 x 4 by 4 x 8 to the thread's two sums.
void fake_multiply_double(const double *numbers, double *sums) {
  Given mine;
  memcpy(mine.numbers, numbers, sizeof(mine.numbers));
  Exchange all(mine);
  int lane = block.current % kWarp;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 4; ++k)
      sums[i] += all[lane / 4 * 4 + k].numbers[0] * all[(lane % 4 * 2 + i) * 4 + k].numbers[1];
}

void fake_fence_for_products() {}
void fake_begin_products() {}
void fake_commit_products() { block.fiber().products.emplace_back(); }

/// Elements by their numbers in Product::Element.
void fake_start_product(float *sums, int columns, uint64_t lhs, uint64_t rhs, int isMore, int ofLhs, int ofRhs,
                        int transposesLhs, int transposesRhs, const char *memory) {
  start({memory, lhs, rhs, columns, isMore != 0, static_cast<Product::Element>(ofLhs),
         static_cast<Product::Element>(ofRhs), transposesLhs != 0, transposesRhs != 0, 0},
        sums);
}

/// The left operand is what the lanes of each warp have of 16 x 16.
void fake_start_product_of_registers(float *sums, int columns, const uint32_t *registers, uint64_t rhs, int element,
                                     int transposesRhs, const char *memory) {
  auto type = static_cast<Product::Element>(element);
  Product product{memory, 0, rhs, columns, true, type, type, false, transposesRhs != 0, 0};
  product.hasRegisters = true;
  Given mine;
  memcpy(mine.words, registers, 4 * sizeof(uint32_t));
  Exchange all(mine);
  int lane = block.current % kWarp;
  for (int half = 0; half < 2; ++half)
    for (int k = 0; k < 16; ++k) {
      uint32_t word = all[lane / 4 * 4 + k % 8 / 2].words[half + k / 8 * 2];
      product.rows[half][k] = toFloat(static_cast<uint16_t>(word >> k % 2 * 16), type == Product::Bfloat);
    }
  start(product, sums);
}

void fake_wait_for_products(float *sums, int count, int groups) {
  Fiber &fiber = block.fiber();
  for (; static_cast<int>(fiber.products.size()) - 1 > groups; fiber.products.pop_front())
    for (const Product &product : fiber.products.front())
      multiply(product, fiber.sums.at(product.sums).data());
  for (int i = 0; i < count;) {
    auto found = fiber.sums.find(numberOf(sums + i));
    if (found == fiber.sums.end()) { // it is there
      ++i;
      continue;
    }
    auto &[number, values] = *found;
    auto isOfThese = [&, number = number](const Product &product) { return product.sums == number; };
    auto isAny = [&](const std::vector<Product> &group) { return std::any_of(group.begin(), group.end(), isOfThese); };
    int each = static_cast<int>(values.size());
    if (std::none_of(fiber.products.begin(), fiber.products.end(), isAny)) {
      std::copy_n(values.data(), each, sums + i);
      fiber.sums.erase(found);
    }
    i += each;
  }
  Exchange all({}); // it is an instruction of all threads of the warp
}

void fake_raise_registers(int) {}
void fake_lower_registers(int) {}
}
