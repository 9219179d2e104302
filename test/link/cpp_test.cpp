// ptc.hpp on models made by hand.
#include "test/link/TestModel.h"

#include <ptc/ptc.hpp>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>

using Catch::Contains;
using Catch::StartsWith;
using ptc::view;

static ptc::test::Models &models() {
  static ptc::test::Models instance;
  return instance;
}

/// 2 x 8 numbers, and what the model `affine` makes of them.
static const std::vector<float> kInput = [] {
  std::vector<float> x(16);
  std::iota(x.begin(), x.end(), 0.0f);
  return x;
}();
static float affine(int i) { return kInput[size_t(i)] * float(i % 8 + 1) + 10 * float(i % 8 + 1); }

TEST_CASE("results are tensors of the model's own, and outlive it") {
  std::optional<ptc::Model> model(ptc::test::build(models().affine()));
  std::vector<ptc::Tensor> results = (*model)({view(kInput, {2, 8})});
  model.reset();
  REQUIRE(results.size() == 1);
  CHECK((results[0].shape()[0] == 2 && results[0].shape()[1] == 8));
  ptc::Span<float> values = results[0].values<float>();
  REQUIRE(values.size() == 16);
  for (int i = 0; i < 16; ++i)
    CHECK(values[size_t(i)] == affine(i));
  CHECK_THROWS_WITH(results[0].values<double>(), Contains("with 32 bits, read as 2 with 64"));
}

TEST_CASE("inputs may be left out where the model has a value for them") {
  ptc::Model model(ptc::test::build(models().optional()));
  REQUIRE((model.inputs().size() == 1 && model.optionalInputs().size() == 2));
  CHECK(model.optionalInputs()[1].name == std::string("b"));
  std::vector<float> b(8, 5);
  ptc::View x = view(kInput, {2, 8});
  CHECK(model({x})[0].values<float>()[1] == affine(1));
  CHECK(model({x, ptc::View(), view(b)})[0].values<float>()[1] == kInput[1] * 2 + 5);
  CHECK(model.outputShape({x, ptc::View()}, 0) == std::vector<int64_t>{2, 8});
  CHECK_THROWS_WITH(model({ptc::View()}), Contains("input 'x' (0): no tensor"));
  CHECK(ptc::Model(ptc::test::build(models().affine())).optionalInputs().empty());
}

TEST_CASE("one tensor is an argument by itself, and results have their outputs' names") {
  ptc::Model model(ptc::test::build(models().affine())), running(ptc::test::build(models().running()));
  ptc::View x = view(kInput, {2, 8});
  ptc::Results results = model(x);
  CHECK(results["y"].values<float>()[3] == affine(3));
  CHECK(results[0].name() == std::string("y"));
  CHECK_THROWS_WITH(results["z"], "the model has no output 'z' (its outputs: y)");
  CHECK(model.outputShape(x, 0) == std::vector<int64_t>{2, 8});
  std::vector<ptc::Tensor> list = model(std::vector<ptc::View>{x});
  CHECK(list[0].values<float>()[3] == affine(3));
  std::vector<float> ones(4, 1);
  const ptc::Results both = running(view(ones));
  for (size_t i = 0; i < both.size(); ++i)
    CHECK(&both[running.outputs()[i].name] == &both[i]);
}

TEST_CASE("inputs have names") {
  ptc::Model model(ptc::test::build(models().optional())), increment(ptc::test::build(models().increment()));
  std::vector<float> b(8, 5);
  ptc::View x = view(kInput, {2, 8});
  CHECK(model({{"x", x}})[0].values<float>()[1] == affine(1));
  CHECK(model({{"b", view(b)}, {"x", x}})[0].values<float>()[1] == kInput[1] * 2 + 5);
  CHECK(model(std::map<std::string, ptc::View>{{"x", x}, {"b", view(b)}})[0].values<float>()[1] == kInput[1] * 2 + 5);
  std::vector<float> y(16);
  std::vector<ptc::View> outputs{view(y, {2, 8})};
  model.run({{"x", x}}, outputs);
  CHECK(y[1] == affine(1));
  CHECK(model.outputShape({{"x", x}}, 0) == std::vector<int64_t>{2, 8});
  CHECK_THROWS_WITH(model({{"z", x}}), "the model has no input 'z' (its inputs: x, w, b)");
  CHECK_THROWS_WITH(model({{"x", x}, {"x", x}}), "input 'x' is given twice");
  CHECK_THROWS_WITH(model({{"b", view(b)}}), Contains("input 'x' (0): no tensor"));
  const std::vector<float> constant(4, 1);
  CHECK_THROWS_WITH(increment({{"x", view(constant)}}), Contains("input 0: its memory is const"));
}

TEST_CASE("a model runs into the caller's memory, strided or not") {
  ptc::Model model(ptc::test::build(models().affine()));
  std::array<float, 32> wide{};
  std::vector<ptc::View> outputs{ptc::View(wide.data(), ptc::typeOf<float>(), {2, 8}, {16, 2})};
  model.run({view(kInput, {2, 8})}, outputs);
  for (int i = 0; i < 16; ++i)
    CHECK((wide[size_t(i) * 2] == affine(i) && wide[size_t(i) * 2 + 1] == 0));
  CHECK(model.outputShape({view(kInput, {2, 8})}, 0) == std::vector<int64_t>{2, 8});
}

TEST_CASE("what is refused is an exception with the status and the message") {
  CHECK_THROWS_WITH(ptc::Model("/nothing.so"), Contains("/nothing.so"));
  CHECK_THROWS_WITH(ptc::Model(ptc::test::build(models().affine()), 2), Contains("no such flags: 2"));
  CHECK(ptc::Model(ptc::test::build(models().affine()), PTC_CHECK_FILE).inputs().size() == 1);
  ptc::Model model(ptc::test::build(models().affine()));
  try {
    model({view(kInput, {4, 4})});
    FAIL("no exception");
  } catch (const ptc::Error &error) {
    CHECK(error.status() == PTC_MISMATCH);
    CHECK_THAT(error.what(), Contains("input 'x' (0): dimension 1 has size 4"));
  }
  CHECK_THROWS_WITH(view(kInput, {2, 9}), Contains("16 elements whose sizes say 18"));
  CHECK_THROWS_WITH(model.outputShape({view(kInput, {2, 8})}, 1), Contains("no output 1"));
}

TEST_CASE("const memory is read, and never written") {
  ptc::Model affine(ptc::test::build(models().affine())), increment(ptc::test::build(models().increment()));
  const std::vector<float> constant(16, 1);
  std::vector<ptc::View> outputs{view(constant, {2, 8})};
  CHECK_THROWS_WITH(affine.run({view(kInput, {2, 8})}, outputs), Contains("output 0: its memory is const"));
  CHECK_THROWS_WITH(increment({view(constant.data(), 4, {4})}), Contains("input 0: its memory is const"));
  std::vector<float> updated(4, 1);
  increment({view(updated)});
  CHECK((updated[0] == 2 && constant[0] == 1));
  ptc::Model running(ptc::test::build(models().running()));
  CHECK_THROWS_WITH(running.getState(0, view(constant.data(), 1, {1})), Contains("state 0: its memory is const"));
}

TEST_CASE("a file that was written anew is another model, and one that was not is the same") {
  std::string path = ptc::test::build(models().affine());
  ptc::Model first(path);
  ptc::test::build(models().running(), path);
  ptc::Model second(path), third(path);
  CHECK(first({view(kInput, {2, 8})})[0].values<float>()[3] == affine(3));
  CHECK(second.states().size() == 1);
  CHECK(&second.signature() == &third.signature());
  ptc::test::build(models().running(), path);
  ptc::Model relative(std::filesystem::proximate(path).string());
  Dl_info info;
  REQUIRE(dladdr(relative.signature().model, &info));
  CHECK(info.dli_fname[0] == '/');
  std::ofstream(path + ".text") << "no library";
  CHECK_THROWS_WITH(ptc::Model(path + ".text"), StartsWith(path + ".text: "));
}

TEST_CASE("states are read, set and reset") {
  ptc::Model model(ptc::test::build(models().running()));
  std::vector<float> ones(4, 1), total(1);
  model({view(ones)});
  model.getState(0, view(total));
  CHECK(total[0] == 104);
  total[0] = 1;
  model.setState(0, view(total));
  CHECK(model({view(ones)})[1].values<float>()[0] == 5);
  model.resetStates();
  model.getState(0, view(total));
  CHECK(total[0] == 100);
  CHECK(model.states()[0].name == std::string("total"));
}

TEST_CASE("states by name, and as a file") {
  std::string library = ptc::test::build(models().running()), path = library + ".safetensors";
  ptc::Model model(library), other(library);
  std::vector<float> x = {1, 2, 3, 4};
  model({view(x)});
  ptc::State total = model.state("total");
  CHECK(total.shape() == std::vector<int64_t>{1});
  CHECK(total.values<float>() == std::vector<float>{110});
  CHECK_THROWS_WITH(total.values<double>(), Contains("float64") || Contains("bits"));
  CHECK_THROWS_WITH(total.number(), Contains("state 'total' is not a number"));
  CHECK_THROWS_WITH(model.state("sum"), Contains("the model has no state 'sum'"));
  model.save(path);
  CHECK(other.state("total").values<float>()[0] == 100);
  other.load(path);
  CHECK(other.state("total").values<float>()[0] == 110);
  total.set(std::vector<float>{7});
  auto *live = static_cast<float *>(total.view().tensor()->data);
  CHECK(*live == 7);
  *live = 8;
  CHECK(model({view(x)})[0].values<float>()[0] == 8);
  std::ofstream(path) << "????";
  CHECK_THROWS_WITH(other.load(path), Contains("is no safetensors file"));
  CHECK(other.state("total").values<float>()[0] == 110);
  ptc::Model stateless(ptc::test::build(models().affine()));
  CHECK_THROWS_WITH(stateless.save(path), Contains("the model keeps no states between calls"));
  CHECK_THROWS_WITH(stateless.load(path), Contains("the model keeps no states between calls"));
}

TEST_CASE("numbers are inputs without dimensions") {
  ptc::Model model(ptc::test::build(models().scalar()));
  std::vector<float> x(7 * 8);
  int64_t n = 3;
  CHECK(model({view(x, {7, 8}), ptc::scalar(n)})[0].shape()[0] == 7);
}

TEST_CASE("functions of the caller's are C++ functions, and their exceptions are errors") {
  ptc::Model model(ptc::test::build(models().external()));
  REQUIRE(model.externals().size() == 2);
  float factor = 2;
  model.setFunction("mylib::twice.default", [&](const ptc::Call &call) {
    if (factor == 0)
      throw std::runtime_error("no factor");
    ptc::Span<const float> x = ptc::Call::values<const float>(*call.inputs[0]);
    ptc::Span<float> y = ptc::Call::values<float>(*call.outputs[call.outputs.size() - 1]);
    for (size_t i = 0; i < x.size(); ++i)
      y[i] = factor * x[i];
  });
  ptc::Model copy = model;
  CHECK(copy({view(kInput, {2, 8})})[0].values<float>()[3] == 2 * (2 * affine(3) - 40));
  factor = 0;
  CHECK_THROWS_WITH(model({view(kInput, {2, 8})}), Contains("failed with 1: no factor, called at net.py:5"));
  CHECK_THROWS_WITH(model.setFunction("mylib::x.default", nullptr), Contains("'mylib::x.default'"));
  ptc::Model affine(ptc::test::build(models().affine()));
  CHECK_THROWS_WITH(affine.setFunction("a::b.c", nullptr), Contains("'a::b.c'"));
}

TEST_CASE("a model for the CPU says so") {
  std::string path = ptc::test::build(models().affine());
  ptc::Model model(path, 0, 0);
  CHECK(model.device().device_type == kDLCPU);
  CHECK_THROWS_WITH(ptc::Model(path, 0, 1), Contains("the model runs on the CPU: there is no device 1 for it"));
  CHECK_THROWS_WITH(model.setStream(nullptr), Contains("the model runs on the CPU, which has no streams"));
  model.useOwnStream();
  model.synchronize();
  model.setOutputDevice({kDLCPU, 0});
  CHECK_THROWS_WITH(model.setOutputDevice({kDLCUDA, 0}),
                    Contains("outputs cannot be made on DLPack device 2:0: the model runs on 1:0"));
  std::vector<float> columns(16);
  for (size_t i = 0; i < 16; ++i)
    columns[i % 8 * 2 + i / 8] = kInput[i];
  ptc::Tensor copy = model.toDevice(ptc::View(columns.data(), ptc::typeOf<float>(), {2, 8}, {1, 2}));
  CHECK(copy.device().device_type == kDLCPU);
  CHECK(std::equal(kInput.begin(), kInput.end(), copy.values<float>().begin()));
  CHECK(model({copy.view()})[0].values<float>()[9] == affine(9));
  CHECK_THROWS_WITH(model.toDevice(ptc::View()), Contains("no tensor to copy"));
  CHECK_THROWS_WITH(model.toDevice(view(kInput).on({kDLCUDA, 0})), Contains("is on DLPack device 2, but the model"));
}

TEST_CASE("moved models and copies of them work on") {
  ptc::Model first(ptc::test::build(models().affine()));
  ptc::Model copy = first, moved = std::move(first);
  moved.setThreads(1);
  moved.setWaiting(PTC_WAIT_PASSIVE);
  CHECK(copy({view(kInput, {2, 8})})[0].values<float>()[3] == affine(3));
  CHECK(copy.activity().calls == 1);
  CHECK(copy.memory().reserved > 0);
  moved.trim();
  CHECK(copy.memory().reserved == 0);
}
