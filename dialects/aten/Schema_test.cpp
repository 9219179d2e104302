#include "dialects/aten/Schema.h"

#include <catch2/catch.hpp>

using namespace ptc::aten;

TEST_CASE("every row of the table is found by its name and parses") {
  std::vector<llvm::StringRef> names = allNames();
  CHECK(names.size() > 3000);
  for (llvm::StringRef name : names) {
    INFO(name.str());
    const Schema *schema = lookup(name);
    REQUIRE(schema);
    CHECK(schema->name == name);
  }
}

TEST_CASE("a name may carry the dialect's prefix") {
  REQUIRE(lookup("aten.add.Tensor"));
  CHECK(lookup("aten.add.Tensor") == lookup("add.Tensor"));
}

TEST_CASE("operators of other libraries have the library's name in theirs") {
  const Schema *nms = lookup("torchvision.nms.default");
  REQUIRE(nms);
  CHECK(lookup("aten.torchvision.nms.default") == nms);
  CHECK(nms->baseName() == "torchvision.nms");
  CHECK(nms->overload() == "default");
  CHECK(nms->has(Mark::DynamicShape));
  CHECK(suggest("torchvision.nmss.default").front() == "torchvision.nms.default");
  CHECK_FALSE(lookup("torchvision.nms"));
}

TEST_CASE("names that are no operator find nothing") {
  for (const char *name : {"", "add", "add.", "add.Tensor2", "#", "zzz.default", "aaa.default", "add.Tensor|cp|"})
    CHECK_FALSE(lookup(name));
}

TEST_CASE("a signature says kinds, defaults, lists and keyword-only arguments") {
  const Schema &conv = *lookup("conv2d.default");
  REQUIRE(conv.arguments.size() == 7);
  CHECK(conv.arguments[0].isTensor());
  CHECK(conv.find("bias")->isOptional);
  CHECK(conv.find("stride")->isList);
  CHECK(conv.find("stride")->listSize == 2);
  CHECK(conv.find("stride")->defaultText == "1");
  CHECK(conv.indexOf("groups") == 6);
  CHECK_FALSE(conv.find("group"));

  const Schema &add = *lookup("add.Tensor");
  CHECK(add.find("alpha")->isKeywordOnly);
  CHECK_FALSE(add.find("other")->isKeywordOnly);
  CHECK(add.str() == "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");

  const Argument &indices = *lookup("index.Tensor")->find("indices");
  CHECK(indices.isList);
  CHECK(indices.areElementsOptional);
  CHECK_FALSE(indices.isOptional);
}

TEST_CASE("enumerators in defaults are numbers") {
  CHECK(lookup("binary_cross_entropy.default")->find("reduction")->defaultText == "1");
}

TEST_CASE("aliasing tells views from mutation") {
  CHECK(lookup("view.default")->isView());
  CHECK(lookup("split.Tensor")->isView());
  CHECK(lookup("split.Tensor")->returns[0].isList);
  CHECK_FALSE(lookup("add.Tensor")->isView());
  CHECK(lookup("add_.Tensor")->mutates());
  CHECK_FALSE(lookup("add_.Tensor")->isView());
  CHECK_FALSE(lookup("add_.Tensor")->isOut());
  CHECK(lookup("add.out")->isOut());
}

TEST_CASE("marks come from PyTorch's tags") {
  CHECK(lookup("add.Tensor")->has(Mark::Pointwise));
  CHECK(lookup("add.Tensor")->has(Mark::Core));
  CHECK_FALSE(lookup("add.Tensor")->has(Mark::Composite));
  CHECK(lookup("reshape.default")->has(Mark::Composite));
  CHECK(lookup("dropout.default")->has(Mark::MaybeAliases));
  CHECK(lookup("t_.default")->has(Mark::InplaceView));
}

TEST_CASE("a misspelt name has suggestions") {
  CHECK(suggest("aten.relus.default").front() == "relu.default");
  CHECK(suggest("add.Tensors").size() == 3);
  CHECK(suggest("add.Tensors").front().starts_with("add."));
  CHECK(suggest("utterly.unlike").empty());
}

TEST_CASE("a row that makes no sense is refused") {
  for (const char *row : {"f.default||", "f.default||(", "f.default||(Tensor) -> Tensor", "f.default||(Tensor x",
                          "f.default||(Tensor x)", "f.default||(Tensor x) -> ", "f.default|?|(Tensor x) -> Tensor",
                          "f.default||(Tensor( x) -> Tensor", "f.default||(int[ x) -> ()", "f.default||(str x=\"a",
                          "f.default||(int[] x=[1, 2", "f.default||(Tensor x) -> Tensor, Tensor"}) {
    INFO(row);
    auto schema = parseRow(row);
    CHECK_FALSE(bool(schema));
    llvm::consumeError(schema.takeError());
  }
}
