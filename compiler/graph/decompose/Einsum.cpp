#include "compiler/graph/decompose/Einsum.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

namespace ptc::decompose {

using mlir::AffineExpr;

namespace {

/// A tensor whose dimensions have letters. The dimensions of `...` are the
/// letters '\1', '\2', ... counted from the right.
struct Lettered {
  T x;
  std::string letters;
};

/// The letters of one operand's subscripts, `...` replaced.
std::string expandEllipsis(llvm::StringRef subscripts, int64_t ellipsisRank) {
  std::string ellipsis;
  for (int64_t i = ellipsisRank; i > 0; --i)
    ellipsis += char(i);
  auto [before, after] = subscripts.split("...");
  return subscripts.contains("...") ? (before + llvm::StringRef(ellipsis) + after).str() : subscripts.str();
}

bool contains(llvm::StringRef letters, char letter) { return letters.contains(letter); }

class Einsum {
public:
  Einsum(B &b, llvm::ArrayRef<T> operands) : b(b), operands(operands) {}

  T run(llvm::StringRef equation) {
    if (!parse(equation))
      return T();
    Lettered joined = prepare(0);
    for (size_t i = 1; i < terms.size(); ++i)
      joined = multiply(joined, prepare(i), i);
    return finish(joined);
  }

private:
  bool parse(llvm::StringRef equation);
  Lettered prepare(size_t i);
  Lettered multiply(Lettered x, Lettered y, size_t last);
  T finish(Lettered joined);
  /// Whether the output or an operand after the `last` needs the letter.
  bool isNeeded(char letter, size_t last) const {
    return contains(output, letter) || llvm::any_of(llvm::drop_begin(terms, last + 1),
                                                    [&](const std::string &t) { return contains(t, letter); });
  }

  B &b;
  llvm::ArrayRef<T> operands;
  std::vector<std::string> terms;
  std::string output;
  std::map<char, AffineExpr> sizes;
};

bool Einsum::parse(llvm::StringRef text) {
  std::string equation = llvm::join(llvm::split(text, ' '), "");
  auto [left, right] = llvm::StringRef(equation).split("->");
  int64_t widest = 0;
  llvm::SmallVector<llvm::StringRef> subscripts;
  left.split(subscripts, ',');
  if (subscripts.size() != operands.size()) {
    b.unsupported("the equation '" + text + "' does not fit the operands");
    return false;
  }
  for (auto [i, term] : llvm::enumerate(subscripts)) {
    int64_t named = term.contains("...") ? term.size() - 3 : term.size();
    int64_t rank = operands[i].rank() - named;
    terms.push_back(expandEllipsis(term, rank));
    widest = std::max(widest, term.contains("...") ? rank : 0);
    for (auto [d, letter] : llvm::enumerate(terms.back())) {
      AffineExpr &size = sizes[letter];
      if (!size || b.isOne(size))
        size = operands[i].size(d);
    }
  }
  if (llvm::StringRef(equation).contains("->")) {
    output = expandEllipsis(right, widest);
    return true;
  }
  // Without an arrow: `...`, then the letters that occur once, in order.
  output = expandEllipsis("...", widest);
  std::string all = llvm::join(terms, "");
  for (auto [letter, size] : sizes)
    if (letter > 31 && llvm::StringRef(all).count(letter) == 1)
      output += letter;
  return true;
}

/// One operand: diagonals of repeated letters, no dimensions of size 1 that
/// another operand makes larger, no letters that only it has.
Lettered Einsum::prepare(size_t i) {
  Lettered term{operands[i], terms[i]};
  for (size_t d = 0; d < term.letters.size();) {
    char letter = term.letters[d];
    size_t again = term.letters.find(letter, d + 1);
    if (again != std::string::npos) {
      T place = b.range(term.x.size(d), b.i64());
      T diagonal = b.gather(term.x, {place, place}, {int64_t(d), int64_t(again)});
      term.letters.erase(again, 1);
      term.x = b.moveDim(diagonal, 0, d);
      continue;
    }
    bool isStretched = b.isOne(term.x.size(d)) && !b.isOne(sizes[letter]);
    size_t uses = llvm::count_if(terms, [&](const std::string &t) { return contains(t, letter); });
    bool isOnlyHere = uses == 1 && !contains(output, letter);
    if (isStretched || isOnlyHere) {
      term.x = isStretched ? b.squeeze(term.x, d) : b.sum(term.x, {int64_t(d)});
      term.letters.erase(d, 1);
      continue;
    }
    ++d;
  }
  return term;
}

Lettered Einsum::multiply(Lettered x, Lettered y, size_t last) {
  Dims xBatch, yBatch, xContract, yContract;
  std::string batch, xFree, yFree;
  for (auto [d, letter] : llvm::enumerate(x.letters)) {
    size_t other = y.letters.find(letter);
    if (other == std::string::npos) {
      xFree += letter;
      continue;
    }
    bool isKept = isNeeded(letter, last);
    (isKept ? xBatch : xContract).push_back(d);
    (isKept ? yBatch : yContract).push_back(other);
    if (isKept)
      batch += letter;
  }
  for (char letter : y.letters)
    if (!contains(x.letters, letter))
      yFree += letter;
  T product = b.contract(x.x, y.x, xBatch, yBatch, xContract, yContract);
  return {b.to(product, x.x.dtype()), batch + xFree + yFree};
}

/// Letters that nobody needs are summed, the others put in order.
T Einsum::finish(Lettered joined) {
  for (size_t d = joined.letters.size(); d-- > 0;)
    if (!contains(output, joined.letters[d])) {
      joined.x = b.sum(joined.x, {int64_t(d)});
      joined.letters.erase(d, 1);
    }
  Dims order;
  for (char letter : output)
    if (contains(joined.letters, letter))
      order.push_back(joined.letters.find(letter));
  return b.reshape(b.permute(joined.x, order), b.declared());
}

} // namespace

T einsum(B &b, llvm::StringRef equation, llvm::ArrayRef<T> operands) { return Einsum(b, operands).run(equation); }

} // namespace ptc::decompose
