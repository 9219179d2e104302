#include "dialects/aten/AtenDialect.h"
#include "dialects/aten/AtenOp.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace ptc;
using namespace ptc::aten;

namespace {
struct Fixture {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  OpBuilder b{&context};
  Location loc{UnknownLoc::get(&context)};

  Fixture() {
    context.getOrLoadDialect<AtenDialect>();
    module = ModuleOp::create(loc);
    b.setInsertionPointToEnd(module->getBody());
  }
  Type tensor(ArrayRef<int64_t> sizes) { return RankedTensorType::get(sizes, b.getF32Type()); }
  Value input(ArrayRef<int64_t> sizes) {
    return Call("zeros.default").set("size", b.getDenseI64ArrayAttr(sizes)).create(b, loc, tensor(sizes))->getResult(0);
  }
};
} // namespace

TEST_CASE_METHOD(Fixture, "an accessor answers the schema's default") {
  Value x = input({1, 3, 8, 8}), w = input({4, 3, 3, 3});
  AtenOp conv(Call("conv2d.default").set("input", x).set("weight", w).create(b, loc, tensor({1, 4, 6, 6})));
  CHECK(succeeded(verify(conv.operation())));
  CHECK(conv.name() == "conv2d.default");
  CHECK(conv.tensor("input") == x);
  CHECK(conv.tensor("weight") == w);
  CHECK_FALSE(conv.tensor("bias"));
  CHECK(conv.isNone("bias"));
  CHECK(conv.integers("stride") == SmallVector<int64_t>{1, 1});
  CHECK(conv.symInts("padding") == makeShape({0, 0}, &context));
  CHECK(conv.integer("groups") == 1);
  CHECK_FALSE(conv.isGiven("groups"));
  CHECK_FALSE(conv.hasArgument("colour"));
}

TEST_CASE_METHOD(Fixture, "numbers take the argument's own form") {
  Value x = input({8});
  AtenOp pool(Call("max_pool2d.default")
                  .set("self", x)
                  .set("kernel_size", b.getI64IntegerAttr(3))
                  .create(b, loc, tensor({8})));
  CHECK(pool.integers("kernel_size") == SmallVector<int64_t>{3, 3});
  CHECK(pool.integers("stride").empty());
  AtenOp drop(Call("dropout.default")
                  .set("input", x)
                  .set("p", b.getI64IntegerAttr(0))
                  .set("train", b.getBoolAttr(true))
                  .create(b, loc, tensor({8})));
  CHECK(drop.real("p") == 0.0);
  CHECK(drop.boolean("train"));
}

TEST_CASE_METHOD(Fixture, "symbolic integers are expressions") {
  AffineExpr s0 = getAffineSymbolExpr(0, &context);
  AtenOp view(Call("view.default")
                  .set("self", input({8}))
                  .set("size", {s0 * 2, b.getAffineConstantExpr(4)}, &context)
                  .create(b, loc, tensor({8})));
  CHECK(succeeded(verify(view.operation())));
  CHECK(view.symInts("size") == Shape{s0 * 2, b.getAffineConstantExpr(4)});
  CHECK_FALSE(view.optionalInts("size"));
}

TEST_CASE_METHOD(Fixture, "a list of optional tensors keeps its holes") {
  Value x = input({4, 4}), i = input({2});
  AtenOp index(Call("index.Tensor")
                   .set("self", x)
                   .set("indices", ArrayRef<Value>{Value(), i})
                   .create(b, loc, tensor({4, 2})));
  CHECK(succeeded(verify(index.operation())));
  CHECK(index.tensors("indices") == SmallVector<Value>{Value(), i});
}

TEST_CASE_METHOD(Fixture, "None is told from absent where the default is something else") {
  AtenOp op(Call("mean.dim")
                .set("self", input({4}))
                .set("dim", Attribute(b.getUnitAttr()))
                .create(b, loc, tensor({})));
  CHECK(op.isNone("dim"));
  CHECK(op.isGiven("dim"));
  CHECK(op.isNone("dtype"));
  CHECK_FALSE(op.dtype("dtype"));
}

TEST_CASE_METHOD(Fixture, "scalars know their kind") {
  Value x = input({4});
  auto other = [&](Attribute attr) {
    AtenOp add(Call("add.Scalar").set("self", x).set("other", attr).create(b, loc, tensor({4})));
    return *add.scalar("other");
  };
  CHECK(other(b.getI64IntegerAttr(3)).kind == Scalar::Int);
  CHECK(other(b.getI64IntegerAttr(3)).real == 3.0);
  CHECK(other(b.getF64FloatAttr(0.5)).kind == Scalar::Float);
  CHECK(other(b.getBoolAttr(true)).kind == Scalar::Bool);
  Scalar complex = other(b.getDenseF64ArrayAttr({1.0, -2.0}));
  CHECK(complex.kind == Scalar::Complex);
  CHECK(complex.imaginary == -2.0);
}

TEST_CASE_METHOD(Fixture, "a call copies the arguments that both schemas have") {
  AtenOp op(Call("add_.Tensor")
                .set("self", input({4}))
                .set("other", input({4}))
                .set("alpha", b.getI64IntegerAttr(2))
                .create(b, loc, tensor({4})));
  AtenOp functional(Call("add.Tensor").copyArguments(op).create(b, loc, tensor({4})));
  CHECK(functional.tensor("other") == op.tensor("other"));
  CHECK(functional.scalar("alpha")->real == 2.0);
}

TEST_CASE_METHOD(Fixture, "every default in the table is understood") {
  for (llvm::StringRef name : allNames())
    for (const Argument &argument : lookup(name)->arguments) {
      if (!argument.hasDefault || argument.defaultText == "None" || argument.isTensor())
        continue;
      INFO(name.str() << ": " << argument.str());
      Attribute attr = parseDefault(argument, &context);
      REQUIRE(attr);
      CHECK(accepts(argument, attr));
    }
}

TEST_CASE_METHOD(Fixture, "an unknown operator is no AtenOp, but verifies") {
  Operation *op = createUnknown(b, loc, "aten.custom.mylib.scale.default", input({4}), {}, tensor({4}));
  CHECK(AtenOp::isAten(op));
  CHECK_FALSE(AtenOp::isKnown(op));
  CHECK(succeeded(verify(op)));
}
