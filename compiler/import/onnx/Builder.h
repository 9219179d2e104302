//===- Builder.h - what the table of ONNX's operators is written with ----------===//
//
// Rows call ATen operators by name. The types of results are those that the
// decomposition table computes: nothing about shapes is said twice. Rows do not
// check after every step: the first failure is kept, what follows builds
// nothing, and every accessor answers something harmless.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Import.h"
#include "compiler/import/SymbolTable.h"
#include "compiler/import/onnx/Value.h"
#include "compiler/import/onnx/WeightNames.h"
#include "dialects/aten/AtenOp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptc::import::onnx {

using Ints = llvm::SmallVector<int64_t>;
using Values = std::vector<Value>;
using IntsRef = llvm::ArrayRef<int64_t>;

/// An argument of an ATen operator: by position, or by name with `named`.
struct Arg {
  enum Kind : uint8_t { None, Tensor, Tensors, Int, Real, Bool, Size, Sizes, Type, Text };
  Kind kind = None;
  llvm::StringRef name;
  Value value;
  Values values;
  int64_t integer = 0;
  double real = 0;
  mlir::AffineExpr size;
  Shape sizes;
  Ints ints;
  mlir::Type type;
  llvm::StringRef text;

  Arg() = default;
  Arg(const Value &v) : kind(v ? Tensor : None), value(v) {}
  Arg(const Values &v) : kind(Tensors), values(v) {}
  Arg(int64_t v) : kind(Int), integer(v) {}
  Arg(int v) : kind(Int), integer(v) {}
  Arg(double v) : kind(Real), real(v) {}
  Arg(bool v) : kind(Bool), integer(v) {}
  Arg(mlir::AffineExpr v) : kind(Size), size(v) {}
  Arg(const Shape &v) : kind(Sizes), sizes(v) {}
  Arg(const Ints &v) : kind(Sizes), ints(v) {}
  Arg(mlir::Type v) : kind(Type), type(v) {}
  Arg(const char *v) : kind(Text), text(v) {}
};

inline Arg named(llvm::StringRef name, Arg arg) {
  arg.name = name;
  return arg;
}

/// So many steps, parts or elements that a file asks for are written out one by one, and no more.
constexpr int64_t kMostWritten = 4096;

/// What sizes are to each other that are broadcast, and of which nobody says that they are equal.
enum class Broadcasting : uint8_t {
  Equal,  ///< equal, or a call is refused
  General ///< equal, or one of them is 1 in a call
};

class Builder {
public:
  Builder(mlir::ModuleOp module, mlir::func::FuncOp function, SymbolTable &symbols, WeightStore &weights,
          WeightNames &names, FindTypes findTypes, Broadcasting broadcasting)
      : context(module.getContext()), module(module), function(function), symbols(symbols), weights(weights),
        builder(module.getContext()), location(builder.getUnknownLoc()), broadcasting(broadcasting), names(names),
        findTypes(findTypes) {}

  // Failure. The first one stays; `fail` answers nothing.
  Value fail(const llvm::Twine &what);
  bool hasFailed() const { return !error.empty(); }
  std::string takeError() { return std::exchange(error, std::string()); }

  // ATen operators: the only result, or all of them. `types` says what the table cannot tell.
  Value call(llvm::StringRef name, llvm::ArrayRef<Arg> args, mlir::RankedTensorType type = {});
  Values calls(llvm::StringRef name, llvm::ArrayRef<Arg> args, llvm::ArrayRef<mlir::Type> types = {});

  // What is known of a value.
  mlir::Value tensor(const Value &x); ///< In the graph; null after a failure.
  mlir::Value weight(Stored &stored); ///< Its argument of the function.
  mlir::RankedTensorType type(const Value &x);
  mlir::Type element(const Value &x) { return type(x).getElementType(); }
  int64_t rank(const Value &x) { return type(x).getRank(); }
  Shape shape(const Value &x) { return getShape(type(x)); }
  mlir::AffineExpr size(const Value &x, int64_t dim);
  /// Fails where it is not static.
  int64_t staticSize(const Value &x, int64_t dim);
  bool isFloat(const Value &x) { return llvm::isa<mlir::FloatType>(element(x)); }
  bool isBool(const Value &x) { return element(x).isInteger(1); }
  /// The elements where they are known while importing. Of a value that would be known but for initializers that the
  /// caller may give, it is remembered that somebody asked.
  const Literal *known(const Value &x);
  llvm::SmallVector<std::shared_ptr<const Usual>> asked;
  /// As numbers, or expressions over sizes.
  std::optional<Shape> knownSizes(const Value &x);
  std::optional<Ints> knownInts(const Value &x);
  std::optional<llvm::SmallVector<double>> knownReals(const Value &x);
  std::optional<bool> knownBool(const Value &x);
  /// As above, and a failure that says which operand must be known.
  Shape sizes(const Value &x, llvm::StringRef what);
  Ints ints(const Value &x, llvm::StringRef what);
  double real(const Value &x, llvm::StringRef what);
  /// Counted from 0; fails where there is no such dimension.
  int64_t dim(int64_t dim, int64_t rank);
  Ints dims(IntsRef dims, int64_t rank);

  // Making values.
  Value wrap(mlir::Value tensor) { return Value{this, tensor, nullptr, nullptr, nullptr, nullptr}; }
  Value none() { return wrap({}); }
  Value literal(Literal literal);
  Value literal(IntsRef numbers); ///< int64, one dimension
  /// A literal as a tensor of the graph, made once however often it is used.
  Value constantTensor(Literal numbers) { return wrap(tensor(literal(std::move(numbers)))); }
  Value constantTensor(IntsRef numbers) { return wrap(tensor(literal(numbers))); }
  Value number(double value, mlir::Type element, ShapeRef sizes = {});
  Value sequence(Values values);
  Value full(ShapeRef sizes, double value, mlir::Type element);
  /// A size as a tensor without dimensions.
  Value size(mlir::AffineExpr size, mlir::Type element);
  Value iota(mlir::AffineExpr count, mlir::Type element);
  mlir::AffineExpr constant(int64_t value) { return mlir::getAffineConstantExpr(value, context); }
  Shape staticShape(IntsRef sizes) { return makeShape(sizes, context); }
  mlir::AffineExpr affine(const Expression &expression);
  /// A symbol for a size that data decide; the operation that makes it has it in its result's type. Fails where
  /// somebody asked for what is `usual`: with it, the size may be known.
  mlir::AffineExpr freshSize();

  /// Both sizes are one: proved, or a condition that a call must meet. Fails where they differ.
  void require(mlir::AffineExpr a, mlir::AffineExpr b);
  /// The size is not this one: known, or a condition that a call must meet.
  void requireOther(mlir::AffineExpr size, int64_t value);

  // Broadcasting (Broadcast.cpp).
  /// The size of the result, under the condition that these two are broadcast.
  mlir::AffineExpr broadcast(mlir::AffineExpr a, mlir::AffineExpr b);
  Shape broadcastShape(llvm::ArrayRef<Value> values);
  /// x as large as `sizes`, which are those of its dimensions before the last `kept`: along one that is 1 in a call its
  /// elements are repeated. Where a constant 1 says so, ATen's operators do that.
  Value stretch(Value x, ShapeRef sizes, size_t kept = 0);
  /// Conditions that stand for nothing but that sizes of inputs which are broadcast are equal.
  std::vector<Expression> assumed;

  // What rows need most.
  Value to(const Value &x, mlir::Type element);
  Value reshape(const Value &x, ShapeRef sizes);
  Value expand(const Value &x, ShapeRef sizes);
  Value permute(const Value &x, IntsRef permutation);
  Value unsqueeze(const Value &x, int64_t dim);
  Value squeeze(const Value &x, int64_t dim);
  Value slice(const Value &x, int64_t dim, mlir::AffineExpr start, mlir::AffineExpr end, int64_t step = 1);
  Value select(const Value &x, int64_t dim, int64_t index);
  /// x[index]. Of a constant it is a constant too, which a loop can pack.
  Value row(const Value &x, int64_t index);
  /// Parts of these sizes, which must be all of the dimension.
  Values split(const Value &x, int64_t dim, ShapeRef sizes);
  Value cat(Values values, int64_t dim);
  Value where(const Value &condition, const Value &yes, const Value &no);
  Value sum(const Value &x, Ints dims, bool keepdim);
  Value amax(const Value &x, Ints dims, bool keepdim);
  Value matmul(const Value &x, const Value &y);
  Value clamp(const Value &x, double low, double high);
  /// x of a vector along dimension `dim` of a tensor of this rank.
  Value along(const Value &x, int64_t dim, int64_t rank);
  /// Half types as float32; others unchanged.
  Value toOpmath(const Value &x);

  mlir::Type i64() { return builder.getI64Type(); }
  mlir::Type i32() { return builder.getI32Type(); }
  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Type f64() { return builder.getF64Type(); }
  mlir::Type boolean() { return builder.getI1Type(); }

  mlir::MLIRContext *context;
  mlir::ModuleOp module;
  mlir::func::FuncOp function;
  SymbolTable &symbols;
  WeightStore &weights;
  mlir::OpBuilder builder;
  mlir::Location location;
  const Broadcasting broadcasting;

private:
  mlir::Attribute attribute(const aten::Argument &argument, const Arg &arg);
  mlir::Value materialise(const Value &x);
  bool isMadeByData(mlir::AffineExpr size) const;
  bool mayBeOne(mlir::AffineExpr size) const;
  bool isOfInput(mlir::AffineExpr size) const;
  void assumeEqual(mlir::AffineExpr a, mlir::AffineExpr b);
  void requireExpandable(mlir::AffineExpr from, mlir::AffineExpr to);
  Shape partsOf(mlir::AffineExpr size) const;
  std::vector<Arg> stretchOperands(const aten::Schema &schema, llvm::ArrayRef<Arg> args);

  WeightNames &names;
  FindTypes findTypes;
  std::string error;
  llvm::SmallVector<mlir::AffineExpr> sizesMade; ///< By data.
  std::vector<std::pair<Shape, mlir::AffineExpr>> joined; ///< What several sizes are when they are broadcast.
};

/// What is built while it lives can be taken away again.
class Trial {
public:
  explicit Trial(Builder &b) : block(b.builder.getInsertionBlock()), last(block->empty() ? nullptr : &block->back()) {}
  void undo() {
    while (!block->empty() && &block->back() != last)
      block->back().erase();
  }

private:
  mlir::Block *block;
  mlir::Operation *last;
};

// Arithmetic as ATen's: operands have one type already, or one is a number.
Value operator+(const Value &x, const Value &y);
Value operator-(const Value &x, const Value &y);
Value operator*(const Value &x, const Value &y);
Value operator/(const Value &x, const Value &y);
Value operator+(const Value &x, double y);
Value operator-(const Value &x, double y);
Value operator*(const Value &x, double y);
Value operator/(const Value &x, double y);
Value operator-(double x, const Value &y);
Value operator-(const Value &x);
Value operator<(const Value &x, const Value &y);
Value operator&(const Value &x, const Value &y);

/// The bytes of a constant in memory: a tensor of no more than `most` numbers.
std::optional<Literal> decodeLiteral(const StoredTensor &stored, mlir::MLIRContext *context,
                                     int64_t most = kLargestLiteral);
/// A literal of numbers as a tensor of a file; nullopt where it has expressions.
std::optional<StoredTensor> encodeLiteral(const Literal &literal, WeightStore &weights);
/// The number as an element of this type would hold it.
Expression roundTo(const Expression &number, mlir::Type element);
std::optional<DType> dtypeOfType(mlir::Type element);
/// float16 or bfloat16.
inline bool isHalf(mlir::Type element) { return element.isF16() || element.isBF16(); }

} // namespace ptc::import::onnx
