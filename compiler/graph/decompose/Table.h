//===- Table.h - the decomposition table: a row an ATen operator ----------===//
//
//   pointwise("relu6", [](B &b, T x) { return b.clamp(x, T(0), T(6)); });
//
// A row's parameters are matched with the schema's arguments in their order
// (Bind.h says which type stands for which argument); those that change no
// value (device, layout, memory_format, ...) are passed over. A row that takes
// fewer arguments than that says so with a last parameter `Rest`.
//
// A row trusts what PyTorch has checked: dimensions exist, shapes fit. Where a
// graph breaks that, the builder throws a Misfit, which ends the row.
//
// Several names share a row when separated by spaces; a name without a dot is
// the default overload.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/decompose/Bind.h"
#include "compiler/graph/decompose/Builder.h"

#include "llvm/ADT/StringMap.h"

#include <functional>

namespace ptc::decompose {

/// What happens to the tensors (and numbers, for promotion) before a row sees
/// them. Results become the element types that the exporter declared.
enum class Mode {
  Plain,     ///< Nothing.
  Pointwise, ///< All become their promoted type, half types f32. Numbers stay as exact as they are.
  Operands,  ///< As Pointwise, but numbers are operands as tensors are, and rounded to a half type.
  Products,  ///< As Operands, but a second operand that is a number or has no dimensions is not rounded, as in PyTorch.
  Quotients, ///< As Products, and integers the default floating type: at once, and not by way of their promoted type.
  Floating,  ///< As Pointwise, and integers the default floating type.
  Opmath,    ///< Half types become f32, each on its own.
};

/// Runs `body`; a Misfit that it throws becomes the builder's failure.
void attempt(B &b, llvm::function_ref<void()> body);

struct Row {
  Mode mode;
  std::function<TList(B &, const aten::AtenOp &)> apply;
  /// Why the row does not fit the schema; empty when it does. For tests.
  std::string (*check)(const aten::Schema &schema);
};

class Table {
public:
  template <class F> void def(llvm::StringRef names, F row) { add(names, Mode::Plain, row); }
  template <class F> void pointwise(llvm::StringRef names, F row) { add(names, Mode::Pointwise, row); }
  template <class F> void operands(llvm::StringRef names, F row) { add(names, Mode::Operands, row); }
  template <class F> void products(llvm::StringRef names, F row) { add(names, Mode::Products, row); }
  template <class F> void quotients(llvm::StringRef names, F row) { add(names, Mode::Quotients, row); }
  template <class F> void floating(llvm::StringRef names, F row) { add(names, Mode::Floating, row); }
  template <class F> void opmath(llvm::StringRef names, F row) { add(names, Mode::Opmath, row); }

  /// What happens to tensors before a row of the mode sees them, for rows that choose it by an argument.
  static void prepare(Mode mode, B &b, llvm::ArrayRef<T *> tensors);

  /// "add.Tensor"; null when there is no such row.
  const Row *find(llvm::StringRef name) const {
    auto it = rows.find(name);
    return it == rows.end() ? nullptr : &it->second;
  }
  const llvm::StringMap<Row> &all() const { return rows; }

private:
  template <class F> void add(llvm::StringRef names, Mode mode, F row) {
    using Parameters = typename Signature<decltype(&F::operator())>::Parameters;
    auto apply = [mode, row](B &b, const aten::AtenOp &op) -> TList {
      TList results;
      attempt(b, [&] {
        Parameters arguments = bind<Parameters>(b, op);
        if (b.hasFailed())
          return;
        prepare(mode, b, tensorsOf(arguments));
        results = std::apply([&](auto &...a) { return toList(row(b, a...)); }, arguments);
      });
      return results;
    };
    insert(names, {mode, apply, &checkParameters<Parameters>});
  }
  void insert(llvm::StringRef names, Row row);

  llvm::StringMap<Row> rows;
};

/// The table, built when first asked for.
const Table &table();

// The families.
void addActivations(Table &table);
void addAttention(Table &table);
void addBackward(Table &table);
void addBinary(Table &table);
void addChoose(Table &table);
void addContraction(Table &table);
void addConvolution(Table &table);
void addCreation(Table &table);
void addDetection(Table &table);
void addDifferences(Table &table);
void addEmbedding(Table &table);
void addFactorization(Table &table);
void addFourier(Table &table);
void addGridSample(Table &table);
void addHistogram(Table &table);
void addIndexing(Table &table);
void addLinalg(Table &table);
void addLoss(Table &table);
void addMarginLoss(Table &table);
void addNormalization(Table &table);
void addPointwise(Table &table);
void addPad(Table &table);
void addPooling(Table &table);
void addQr(Table &table);
void addQuantized(Table &table);
void addRandom(Table &table);
void addRearrange(Table &table);
void addRecurrent(Table &table);
void addReduce(Table &table);
void addResize(Table &table);
void addScan(Table &table);
void addScatter(Table &table);
void addSort(Table &table);
void addSpecial(Table &table);
void addSpectrum(Table &table);
void addView(Table &table);
void addViewScatter(Table &table);
void addSignalWindows(Table &table);

} // namespace ptc::decompose
