//===- TestModel.h - models made by hand, without the compiler ------------===//
#pragma once

#include "compiler/codegen/host/ProgramSpec.h"

#include "mlir/IR/MLIRContext.h"

#include <map>
#include <string>

namespace ptc::test {

struct Model {
  host::ProgramSpec spec;
  std::vector<host::ProgramSpec> better; ///< the same for machines with more

  std::vector<host::ProgramSpec> programs() const;
  std::map<std::string, std::vector<char>> weights;
  std::map<std::string, llvm::ArrayRef<char>> mapped; ///< weights that are somewhere else
};

/// Makes the models of kernels.c. `work` is how many bytes a launch claims to move: with much, calls use threads.
class Models {
public:
  Models();

  Model affine(int64_t work = 0);             ///< y[s0, 8] = x[s0, 8] * w + b, 2 <= s0 <= 1024
  Model derived();                            ///< the same, for x[2 * s0 + 1, 8] and a second input n that is s0
  Model scalar();                             ///< the same, where the second input is a number that is s0
  Model neighbours(int launches, int64_t work); ///< i64[s0], `launches` times add_neighbours
  Model running();                            ///< state total += sum(x[4]); answers the old total and the new one
  Model lookUp();                             ///< f32[10] weights at i64[4]
  Model digits();                             ///< f32[s0, 1, 8, 8] -> f32[s0, 10]
  Model increment();                          ///< updates its input x[4]
  /// f32[s0, 8] -> f32[s0, 8]: `affine` of what the caller's "mylib::twice.default" makes of x; it is also called in
  /// the end, on that.
  Model external();
  Model optional();                           ///< affine, whose w and b a call may give: f32[8] each
  Model large(int64_t bytes);                 ///< affine with a weight of so many bytes besides
  Model withMapped(llvm::ArrayRef<char> bytes); ///< affine with its weights after these

  mlir::RankedTensorType type(ShapeRef sizes, mlir::Type element) { return makeTensorType(sizes, element); }
  mlir::MLIRContext *get() { return &context; }

private:
  mlir::AffineExpr constant(int64_t value);
  mlir::AffineExpr s0();
  mlir::Type f32();
  mlir::Type i64();

  mlir::MLIRContext context;
};

/// The object with the model's tables alone.
void emitHostObject(const Model &model, const std::string &path);

/// Emits, links and writes the model to `path`; throws what failed.
void build(const Model &model, const std::string &path);

/// build() to a new file of the test's own folder.
std::string build(const Model &model);

/// What a shell command prints, of tools that look at a library.
std::string outputOf(const std::string &command);

} // namespace ptc::test
