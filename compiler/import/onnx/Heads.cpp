#include "compiler/import/onnx/Heads.h"

using namespace mlir;

namespace ptc::import::onnx {

Value splitHeads(Builder &b, const Value &x, int64_t heads) {
  Shape s = b.shape(x);
  if (s.size() != 3 || heads <= 0)
    return b.fail("needs three dimensions, and the number of heads");
  auto width = getConstant(s[2]);
  if (!width || *width % heads)
    return b.fail("the last dimension does not hold " + llvm::Twine(heads) + " heads");
  return b.permute(b.reshape(x, {s[0], s[1], b.constant(heads), b.constant(*width / heads)}), {0, 2, 1, 3});
}

Value joinHeads(Builder &b, const Value &x) {
  Value turned = b.permute(x, {0, 2, 1, 3});
  Shape s = b.shape(turned);
  return s.size() == 4 ? b.reshape(turned, {s[0], s[1], s[2] * s[3]}) : x;
}

Value repeatHeads(Builder &b, const Value &x, int64_t times) {
  if (times == 1 || b.rank(x) != 4)
    return x;
  Shape s = b.shape(x);
  Value wide = b.expand(b.unsqueeze(x, 2), {s[0], s[1], b.constant(times), s[2], s[3]});
  return b.reshape(wide, {s[0], s[1] * times, s[2], s[3]});
}

Value rowsAt(Builder &b, const Value &matrix, const Value &places) {
  Shape sizes = b.shape(places);
  Value rows = b.call("index_select.default", {matrix, 0, b.reshape(b.to(places, b.i64()), product(sizes, b.context))});
  sizes.push_back(b.size(matrix, 1));
  return b.reshape(rows, sizes);
}

Value rotate(Builder &b, const Value &x, Value cosine, Value sine, int64_t turned, bool alternates) {
  cosine = b.unsqueeze(cosine, 1);
  sine = b.unsqueeze(sine, 1);
  AffineExpr zero = b.constant(0), half = b.constant(turned / 2), all = b.constant(turned), width = b.size(x, 3);
  Value head = b.slice(x, 3, zero, all);
  Value one = alternates ? b.slice(head, 3, zero, all, 2) : b.slice(head, 3, zero, half);
  Value two = alternates ? b.slice(head, 3, b.constant(1), all, 2) : b.slice(head, 3, half, all);
  Value real = cosine * one - sine * two, imaginary = sine * one + cosine * two;
  Value result = alternates ? b.reshape(b.cat({b.unsqueeze(real, 4), b.unsqueeze(imaginary, 4)}, 4), b.shape(head))
                            : b.cat({real, imaginary}, 3);
  return isEqual(all, width) ? result : b.cat({result, b.slice(x, 3, all, width)}, 3);
}

} // namespace ptc::import::onnx
