// What --shape makes of a model's open sizes.
#include "compiler/support/OpenSizes.h"

#include <catch2/catch.hpp>

using namespace ptc;
using Catch::Matchers::Contains;
using Sizes = llvm::SmallVector<int64_t>;

static const std::vector<OpenSize> kModel = {{"s0", 0, -1, {"x.0", "y.1"}}, {"n", 2, 64, {"x.1"}}, {"none", 0, 0, {}}};

static Sizes choose(llvm::StringRef text) {
  auto sizes = chooseSizes(kModel, text);
  REQUIRE(bool(sizes));
  return *sizes;
}

static std::string refuse(llvm::StringRef text) {
  auto sizes = chooseSizes(kModel, text);
  REQUIRE(!sizes);
  return llvm::toString(sizes.takeError());
}

TEST_CASE("sizes by name and by place; the smallest that is not 0 else") {
  CHECK(choose("") == Sizes{1, 2, 0});
  CHECK(choose("s0=7") == Sizes{7, 2, 0});
  CHECK(choose("y.1=7,n=64") == Sizes{7, 64, 0});
  CHECK(choose("s0=0,x.0=0") == Sizes{0, 2, 0});
}

TEST_CASE("what cannot be chosen") {
  CHECK(refuse("m=3") ==
        "no size is called 'm' (there are s0 or x.0 or y.1 (0 and up), n or x.1 (2 to 64), none (0 to 0))");
  CHECK(refuse("n=65") == "n is 65, allowed: 2 to 64");
  CHECK(refuse("x.1=1") == "x.1 is 1, allowed: 2 to 64");
  CHECK(refuse("x.0=3,y.1=4") == "y.1 is 4, but x.0 is the same size and was given as 3");
  auto none = chooseSizes({}, "n=3");
  CHECK_THAT(llvm::toString(none.takeError()), Contains("all sizes of the model are fixed"));
}

TEST_CASE("another form") {
  CHECK(checkSizes("s0=1,n=3").empty());
  for (llvm::StringRef text : {"s0", "s0=", "=3", "s0=-1", "s0=3,", "s0=99999999999999999999", "s0=1x8"})
    CHECK_THAT(checkSizes(text), Contains("is not NAME=SIZE"));
  CHECK(checkSizes("n=3,n=3") == "'n' is given twice");
}
