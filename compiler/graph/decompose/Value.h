//===- Value.h - T: a tensor or a number inside a decomposition -----------===//
//
// Rows of the decomposition table compute with T as Python code computes with
// tensors and numbers: operators broadcast and promote types as PyTorch does.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/Twine.h"

#include <iterator>
#include <optional>
#include <string>
#include <type_traits>

namespace ptc::decompose {

class B;

/// What a row throws where the graph breaks what PyTorch would have checked.
struct Misfit {
  std::string why;
};
[[noreturn]] void throwMisfit(const llvm::Twine &why);

[[noreturn]] inline void throwTooShort(size_t size) {
  throwMisfit("a list of " + llvm::Twine(size) + " elements is too short");
}
/// `count`; a Misfit where a list of `size` elements has fewer.
inline size_t checkLength(size_t count, size_t size) { return count <= size ? count : (throwTooShort(size), 0); }
/// i; a Misfit where a list of `size` elements has no i-th.
inline size_t checkPlace(size_t i, size_t size) { return i < size ? i : (throwTooShort(size), 0); }

/// How many operations a row makes one by one, and how many numbers it lists, where an argument or a size says it.
constexpr int64_t kMostUnrolled = 1 << 14, kMostListed = 1 << 24;
/// `count`; a Misfit where it is more than `most`, which would take all time and memory.
inline int64_t checkMost(int64_t count, int64_t most) {
  if (count > most)
    throwMisfit(llvm::Twine(count) + " are too many; at most " + llvm::Twine(most) + " are supported");
  return count;
}

/// Elements of a list as rows take them: as many as PyTorch has checked, or it is a Misfit.
template <class E> class ListRef : public llvm::ArrayRef<E> {
  using Base = llvm::ArrayRef<E>;

public:
  using Base::Base;
  ListRef(Base other) : Base(other) {}

  const E &operator[](size_t i) const { return this->data()[checkPlace(i, this->size())]; }
  const E &front() const { return (*this)[0]; }
  const E &back() const { return (*this)[this->size() - 1]; }
  ListRef drop_front(size_t count = 1) const { return Base::drop_front(checkLength(count, this->size())); }
  ListRef drop_back(size_t count = 1) const { return Base::drop_back(checkLength(count, this->size())); }
  ListRef take_front(size_t count = 1) const { return Base::take_front(count); }
  ListRef take_back(size_t count = 1) const { return Base::take_back(count); }
  ListRef slice(size_t first, size_t count) const {
    ListRef rest = drop_front(first);
    return ListRef(rest.data(), checkLength(count, rest.size()));
  }
};

/// A list as rows take it: as long as PyTorch has checked, or it is a Misfit.
template <class E> class List : public llvm::SmallVector<E, 4> {
  using Base = llvm::SmallVector<E, 4>;
  template <class Count> using IfSigned = std::enable_if_t<std::is_integral_v<Count> && std::is_signed_v<Count>>;
  template <class Iterator> using IfIterator = typename std::iterator_traits<Iterator>::iterator_category;

public:
  using Base::Base;
  List(const Base &other) : Base(other) {}
  List(Base &&other) : Base(std::move(other)) {}
  template <class Count, class = IfSigned<Count>> explicit List(Count count) : Base(checkedCount(count)) {}
  template <class Count, class = IfSigned<Count>>
  List(Count count, const E &element) : Base(checkedCount(count), element) {}
  // A difference of a size and a number is unsigned.
  explicit List(size_t count) : Base(checkedCount(count)) {}
  List(size_t count, const E &element) : Base(checkedCount(count), element) {}
  template <class Iterator, class = IfIterator<Iterator>>
  List(Iterator begin, Iterator end) : Base(begin, begin + checkedCount(end - begin)) {}

  E &operator[](size_t i) { return this->data()[checkPlace(i, this->size())]; }
  const E &operator[](size_t i) const { return this->data()[checkPlace(i, this->size())]; }
  const E &front() const { return (*this)[0]; }
  E &back() { return (*this)[this->size() - 1]; }
  const E &back() const { return (*this)[this->size() - 1]; }
  using Base::assign;
  void assign(int64_t count, E element) { Base::assign(checkedCount(count), element); }
  using Base::resize;
  void resize(int64_t count, E element) { Base::resize(checkedCount(count), element); }
  void pop_back() { Base::truncate(checkPlace(this->size() - 1, this->size())); }
  void pop_back_n(size_t count) { Base::pop_back_n(checkLength(count, this->size())); }
  void erase(const E *at) { Base::erase(this->begin() + checkPlace(at - this->begin(), this->size())); }
  void insert(const E *at, E element) { Base::insert(checkedEnd(at), element); }
  void insert(const E *at, int64_t count, E element) { Base::insert(checkedEnd(at), checkedCount(count), element); }
  template <class Iterator, class = IfIterator<Iterator>> void insert(const E *at, Iterator begin, Iterator end) {
    Base::insert(checkedEnd(at), begin, end);
  }

private:
  E *checkedEnd(const E *at) { return this->begin() + checkLength(at - this->begin(), this->size()); }
  /// No rank is larger than PyTorch's limit.
  static size_t checkedCount(int64_t count) {
    if (count < 0 || count > 1024)
      throwMisfit("a tensor has too few dimensions");
    return count;
  }
};
using ShapeRef = ListRef<mlir::AffineExpr>;
using Shape = List<mlir::AffineExpr>;

/// A tensor, or a number that is no tensor yet: it becomes one of whatever
/// shape and type the operation needs that first meets a tensor.
class T {
public:
  enum class Kind { Nothing, Tensor, Bool, Int, Float, Complex };

  T() = default;
  T(B &b, mlir::Value tensor, bool isWrapped = false)
      : b(&b), tensor_(tensor), kind(Kind::Tensor), isWrapped_(isWrapped) {}
  T(bool number) : integer_(number), kind(Kind::Bool) {}
  T(int number) : integer_(number), kind(Kind::Int) {}
  T(int64_t number) : integer_(number), kind(Kind::Int) {}
  T(double number) : real_(number), kind(Kind::Float) {}
  /// A size: an integer that may be symbolic.
  T(mlir::AffineExpr size);
  static T complex(double real, double imaginary);

  /// False for the result of a row that failed, and for results not computed.
  explicit operator bool() const { return kind != Kind::Nothing; }
  bool isTensor() const { return kind == Kind::Tensor; }
  bool isNumber() const { return kind > Kind::Tensor; }
  /// A 0-d tensor that stands for a Python number: weakest in type promotion.
  bool isWrapped() const { return isWrapped_; }

  /// A Misfit where there is none: a number, or an argument that is None and needed.
  mlir::Value tensor() const {
    if (!isTensor())
      throwMisfit("a tensor that is needed is not there");
    return tensor_;
  }
  Kind number() const { return kind; }
  /// A Misfit where the number is symbolic.
  int64_t integer() const { return known().integer_; }
  double real() const { return kind == Kind::Float || kind == Kind::Complex ? real_ : double(known().integer_); }
  double imaginary() const { return imaginary_; }
  /// Null unless the number is a symbolic size.
  mlir::AffineExpr symbolic() const { return symbolic_; }

  mlir::Type dtype() const; ///< Element type of a tensor.
  int64_t rank() const;     ///< 0 for numbers.
  Shape sizes() const;
  mlir::AffineExpr size(int64_t dim) const; ///< Negative counts from the end.
  mlir::AffineExpr numel() const;
  B &builder() const { return *b; }

private:
  const T &known() const {
    if (symbolic_)
      throwMisfit("a number must be known at compile time");
    return *this;
  }

  friend class B;
  B *b = nullptr;
  mlir::Value tensor_;
  mlir::AffineExpr symbolic_;
  int64_t integer_ = 0;
  double real_ = 0, imaginary_ = 0;
  Kind kind = Kind::Nothing;
  bool isWrapped_ = false;
};

using OptT = std::optional<T>;
using TList = List<T>;
using OptTList = List<OptT>;

// Arithmetic of a promoted type. At least one side is a tensor.
T operator+(T x, T y);
T operator-(T x, T y);
T operator*(T x, T y);
/// True division: integers become the default floating type.
T operator/(T x, T y);
T operator-(T x);
// Bits of integers, logic of bools.
T operator&(T x, T y);
T operator|(T x, T y);
T operator^(T x, T y);
T operator~(T x);
// Tensors of bools.
T operator<(T x, T y);
T operator<=(T x, T y);
T operator>(T x, T y);
T operator>=(T x, T y);
T operator==(T x, T y);
T operator!=(T x, T y);

} // namespace ptc::decompose
