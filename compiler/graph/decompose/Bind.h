//===- Bind.h - a row's parameters from an operation's arguments ----------===//
//
//   T         Tensor, and Scalar as a number     OptT       Tensor?, Scalar?
//   TList     Tensor[]                           OptTList   Tensor?[]
//   Int       int, SymInt (symbolic)             OptInt     (null when None)
//   Ints      int[], SymInt[] (symbolic)         OptInts
//   int64_t   int known at compile time          optional<int64_t>
//   Dims      int[] (or int) known at compile    optional<Dims>
//             time; empty when None
//   double    float                              optional<double>
//   bool      bool                               optional<bool>
//   Floats    float[]?                           Scalars    Scalar[]
//   Dtype     ScalarType? (null when None)       Str        str?
//   Any       one argument, whatever it is       Rest       all that follow
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"
#include "dialects/aten/AtenOp.h"

#include <tuple>

namespace ptc::decompose {

using Int = mlir::AffineExpr;
using Ints = Shape;
struct OptInt {
  mlir::AffineExpr value;
  explicit operator bool() const { return bool(value); }
  mlir::AffineExpr operator*() const { return value; }
};
using OptInts = std::optional<Shape>;
using Dtype = mlir::Type;
using Str = llvm::StringRef;
using Floats = std::optional<llvm::SmallVector<double>>;
using Scalars = llvm::SmallVector<T>;
struct Any {};
struct Rest {};

/// Reads one argument of an operation; `accepts` is for the table's test.
template <class P> struct Read;

#define PTC_READ(Type, condition, expression)                                                                          \
  template <> struct Read<Type> {                                                                                      \
    static bool accepts(const aten::Argument &a) { return condition; }                                                 \
    static Type get(B &b, const aten::AtenOp &op, const aten::Argument &a);                                            \
  };
#define PTC_READS                                                                                                      \
  PTC_READ(T, !a.isList && !a.isOptional && (a.isTensor() || a.kind == aten::Kind::Scalar), readT(b, op, a))           \
  PTC_READ(OptT, !a.isList && (a.isTensor() || a.kind == aten::Kind::Scalar), readOptT(b, op, a))                      \
  PTC_READ(TList, a.isTensor() && a.isList && !a.areElementsOptional, readTList(b, op, a))                             \
  PTC_READ(OptTList, a.isTensor() && a.isList, readOptTList(b, op, a))                                                 \
  PTC_READ(Int, a.kind == aten::Kind::Int && !a.isList && !a.isOptional, op.symInt(a.name))                            \
  PTC_READ(OptInt, a.kind == aten::Kind::Int && !a.isList, OptInt{op.symInt(a.name)})                                  \
  PTC_READ(Ints, a.kind == aten::Kind::Int && a.isList && !a.isOptional, op.symInts(a.name))                           \
  PTC_READ(OptInts, a.kind == aten::Kind::Int && a.isList, op.isNone(a.name) ? OptInts() : op.symInts(a.name))         \
  PTC_READ(int64_t, a.kind == aten::Kind::Int && !a.isList && !a.isOptional, readInt(b, op, a).value_or(0))            \
  PTC_READ(std::optional<int64_t>, a.kind == aten::Kind::Int && !a.isList, readInt(b, op, a))                          \
  PTC_READ(Dims, a.kind == aten::Kind::Int, readDims(b, op, a).value_or(Dims()))                           \
  PTC_READ(std::optional<Dims>, a.kind == aten::Kind::Int && a.isList, readDims(b, op, a))                             \
  PTC_READ(double, a.kind == aten::Kind::Float && !a.isOptional, op.real(a.name))                                      \
  PTC_READ(std::optional<double>, a.kind == aten::Kind::Float, op.optionalFloat(a.name))                               \
  PTC_READ(bool, a.kind == aten::Kind::Bool && !a.isList && !a.isOptional, op.boolean(a.name))                         \
  PTC_READ(std::optional<bool>, a.kind == aten::Kind::Bool && !a.isList, op.optionalBool(a.name))                      \
  PTC_READ(Floats, a.kind == aten::Kind::Float && a.isList, op.optionalFloats(a.name))                                 \
  PTC_READ(Scalars, a.kind == aten::Kind::Scalar && a.isList, readScalars(op, a))                                      \
  PTC_READ(Dtype, a.kind == aten::Kind::ScalarType, op.dtype(a.name))                                                  \
  PTC_READ(Str, a.kind == aten::Kind::String, op.string(a.name))                                                       \
  PTC_READ(Any, true, Any())
PTC_READS
#undef PTC_READ

/// Arguments that change no value of a result: rows never see them.
bool isPassedOver(const aten::Argument &argument);
/// The arguments that a row's parameters stand for, in order.
llvm::SmallVector<const aten::Argument *> argumentsOf(const aten::Schema &schema);

template <class F> struct Signature;
template <class F, class R, class... P> struct Signature<R (F::*)(B &, P...) const> {
  using Parameters = std::tuple<std::decay_t<P>...>;
};

template <class P>
P readNext(B &b, const aten::AtenOp &op, llvm::ArrayRef<const aten::Argument *> arguments, size_t i) {
  if constexpr (std::is_same_v<P, Rest>)
    return Rest();
  else
    return Read<P>::get(b, op, *arguments[i]);
}

template <class Parameters, size_t... I>
Parameters bindAt(B &b, const aten::AtenOp &op, std::index_sequence<I...>) {
  [[maybe_unused]] auto arguments = argumentsOf(op.schema());
  return Parameters{readNext<std::tuple_element_t<I, Parameters>>(b, op, arguments, I)...};
}

template <class Parameters> Parameters bind(B &b, const aten::AtenOp &op) {
  return bindAt<Parameters>(b, op, std::make_index_sequence<std::tuple_size_v<Parameters>>());
}

// The tensors and numbers among a row's arguments.
inline void collect(T &x, llvm::SmallVectorImpl<T *> &into) { into.push_back(&x); }
inline void collect(OptT &x, llvm::SmallVectorImpl<T *> &into) {
  if (x)
    into.push_back(&*x);
}
inline void collect(TList &list, llvm::SmallVectorImpl<T *> &into) {
  for (T &x : list)
    into.push_back(&x);
}
template <class Other> void collect(Other &, llvm::SmallVectorImpl<T *> &) {}

template <class Parameters> llvm::SmallVector<T *> tensorsOf(Parameters &parameters) {
  llvm::SmallVector<T *> tensors;
  std::apply([&](auto &...p) { (collect(p, tensors), ...); }, parameters);
  return tensors;
}

// What a row may return.
inline TList toList(T x) { return {x}; }
inline TList toList(TList list) { return list; }
inline TList toList(std::pair<T, T> pair) { return {pair.first, pair.second}; }
inline TList toList(std::tuple<T, T, T> three) { return {std::get<0>(three), std::get<1>(three), std::get<2>(three)}; }

template <class P> bool acceptsNext(llvm::ArrayRef<const aten::Argument *> arguments, size_t i, std::string &problem) {
  if constexpr (!std::is_same_v<P, Rest>) {
    if (i >= arguments.size())
      problem = "more parameters than arguments";
    else if (!Read<P>::accepts(*arguments[i]))
      problem = "parameter " + std::to_string(i) + " does not fit '" + arguments[i]->str() + "'";
  }
  return problem.empty();
}

template <class Parameters, size_t... I>
std::string checkAt(const aten::Schema &schema, std::index_sequence<I...>) {
  constexpr size_t count = sizeof...(I);
  auto arguments = argumentsOf(schema);
  std::string problem;
  (acceptsNext<std::tuple_element_t<I, Parameters>>(arguments, I, problem) && ...);
  bool takesAll = count == arguments.size();
  if constexpr (count != 0)
    takesAll |= std::is_same_v<std::tuple_element_t<count - 1, Parameters>, Rest>;
  return !problem.empty() || takesAll ? problem : "fewer parameters than arguments and no Rest";
}

template <class Parameters> std::string checkParameters(const aten::Schema &schema) {
  return checkAt<Parameters>(schema, std::make_index_sequence<std::tuple_size_v<Parameters>>());
}

} // namespace ptc::decompose
