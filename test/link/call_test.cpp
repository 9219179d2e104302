// Calls of models made by hand: sizes, strides, states, faults, threads.
#include "test/link/Loaded.h"
#include "test/link/TestModel.h"

#include <atomic>
#include <numeric>
#include <thread>

using namespace ptc::test;
using Catch::Contains;

static Models &models() {
  static Models instance;
  return instance;
}

/// x[i] = i, and what the model `affine` makes of it.
static void checkAffine(Loaded &model, int64_t rows) {
  Tensor<float> x({rows, 8}), y({rows, 8});
  std::iota(x.values.begin(), x.values.end(), 0.0f);
  INFO(model.error());
  REQUIRE(model.call({&x.view}, {&y.view}) == PTC_OK);
  for (int64_t i = 0; i < rows * 8; ++i)
    REQUIRE(y.values[i] == x.values[i] * (i % 8 + 1) + 10 * (i % 8 + 1));
}

TEST_CASE("one library serves every size, in any order") {
  Loaded model(build(models().affine()));
  for (int64_t rows : {2, 1024, 7, 7, 3, 1000})
    checkAffine(model, rows);
}

TEST_CASE("the arena follows the largest call, and trim gives it back") {
  Loaded model(build(models().affine()));
  ptc_memory memory;
  checkAffine(model, 4);
  REQUIRE(model->memory(model.context, &memory) == PTC_OK);
  CHECK(memory.arena == 4 * 32);
  checkAffine(model, 1024);
  checkAffine(model, 2);
  model->memory(model.context, &memory);
  CHECK(memory.arena == 1024 * 32);
  CHECK(memory.reserved >= 1024 * 32);
  CHECK(memory.weights == 128);
  model->trim(model.context);
  model->memory(model.context, &memory);
  CHECK(memory.reserved == 0);
  CHECK(memory.peak >= 1024 * 32);
  checkAffine(model, 5);
}

TEST_CASE("new outputs have the sizes that the inputs ask for") {
  Loaded model(build(models().affine()));
  Tensor<float> x({3, 8});
  const DLTensor *inputs[] = {&x.view};
  DLManagedTensor *outputs[1];
  REQUIRE(model->call_new(model.context, inputs, 1, outputs, 1) == PTC_OK);
  const DLTensor &y = outputs[0]->dl_tensor;
  CHECK((y.ndim == 2 && y.shape[0] == 3 && y.shape[1] == 8 && y.strides[0] == 8 && y.strides[1] == 1));
  CHECK(reinterpret_cast<uintptr_t>(y.data) % 64 == 0);
  CHECK(static_cast<float *>(y.data)[9] == 20);
  outputs[0]->deleter(outputs[0]);

  int64_t shape[2];
  REQUIRE(model->output_shape(model.context, inputs, 1, 0, shape, 2) == PTC_OK);
  CHECK((shape[0] == 3 && shape[1] == 8));
}

TEST_CASE("inputs that are left out are as in the model's file") {
  Loaded model(build(models().optional()));
  Tensor<float> x({2, 8}, std::vector<float>(16, 1)), y({2, 8}), w({8}, std::vector<float>(8, 3)),
      b({8}, std::vector<float>(8, 5));
  auto answer = [&](std::vector<const DLTensor *> inputs) {
    INFO(model.error());
    REQUIRE(model.call(std::move(inputs), {&y.view}) == PTC_OK);
    return y.values[9]; // of column 1, where w is 2 and b is 20
  };
  CHECK(answer({&x.view}) == 22);
  CHECK(answer({&x.view, &w.view, &b.view}) == 8);
  CHECK(answer({&x.view, &w.view}) == 23);
  CHECK(answer({&x.view, nullptr, &b.view}) == 7);
  CHECK(answer({&x.view, nullptr, nullptr}) == 22);
  Tensor<float> wide({8}, std::vector<float>(16, 4));
  wide.setStrides({2});
  CHECK(answer({&x.view, &wide.view}) == 24);
  DLTensor inOutput = w.view; // it is overwritten before it is read last
  inOutput.data = y.values.data() + 8;
  std::fill(y.values.begin(), y.values.end(), 6.0f);
  CHECK(answer({&x.view, nullptr, &inOutput}) == 8);

  int64_t shape[2];
  const DLTensor *inputs[] = {&x.view, nullptr};
  REQUIRE(model->output_shape(model.context, inputs, 2, 0, shape, 2) == PTC_OK);
  CHECK((shape[0] == 2 && shape[1] == 8));
  DLManagedTensor *made;
  REQUIRE(model->call_new(model.context, inputs, 1, &made, 1) == PTC_OK);
  CHECK(static_cast<float *>(made->dl_tensor.data)[9] == 22);
  made->deleter(made);
}

TEST_CASE("a program that knows nothing of optional inputs sees none of them") {
  Loaded model(build(models().optional()));
  const ptc_signature &signature = *model->signature();
  CHECK(signature.input_count == 1);
  int32_t count = -1;
  const ptc_tensor *optional = model->optional_inputs(&count);
  REQUIRE(count == 2);
  CHECK((std::string(optional[0].name) == "w" && std::string(optional[1].name) == "b"));
  CHECK((optional[1].ndim == 1 && optional[1].dims[0].min == 8 && optional[1].dtype.bits == 32));
  CHECK(std::string(signature.outputs[0].name) == "y");
  Loaded none(build(models().affine()));
  CHECK((!none->optional_inputs(&count) && count == 0));
}

TEST_CASE("new outputs get the memory of deleted ones, and never that of another") {
  Loaded model(build(models().affine()));
  Tensor<float> x({1024, 8}), small({600, 8});
  auto call = [&](Tensor<float> &from) {
    const DLTensor *inputs[] = {&from.view};
    DLManagedTensor *output;
    REQUIRE(model->call_new(model.context, inputs, 1, &output, 1) == PTC_OK);
    return output;
  };
  DLManagedTensor *first = call(x), *second = call(x);
  void *place = first->dl_tensor.data, *other = second->dl_tensor.data;
  CHECK(place != other);
  first->deleter(first);
  DLManagedTensor *third = call(x), *fourth = call(x);
  CHECK(third->dl_tensor.data == place);
  CHECK((fourth->dl_tensor.data != place && fourth->dl_tensor.data != other));
  CHECK(static_cast<float *>(third->dl_tensor.data)[9] == 20);
  third->deleter(third);
  fourth->deleter(fourth);
  second->deleter(second);
  DLManagedTensor *fifth = call(small); // less than what is kept, too
  CHECK(static_cast<float *>(fifth->dl_tensor.data)[9] == 20);
  model->trim(model.context); // not what is in use
  CHECK(static_cast<float *>(fifth->dl_tensor.data)[9] == 20);
  fifth->deleter(fifth);
}

TEST_CASE("inputs and outputs may be strided, reversed, misaligned or broadcast") {
  Loaded model(build(models().affine()));
  Tensor<float> dense({3, 8}), expected({3, 8});
  std::iota(dense.values.begin(), dense.values.end(), 1.0f);
  REQUIRE(model.call({&dense.view}, {&expected.view}) == PTC_OK);

  Tensor<float> turned({3, 8}), result({3, 8}, std::vector<float>(64));
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 8; ++c)
      turned.values[(7 - c) * 3 + r] = dense.values[r * 8 + c];
  turned.setStrides({1, -3});
  turned.view.data = turned.values.data() + 7 * 3;
  result.setStrides({16, 2});
  REQUIRE(model.call({&turned.view}, {&result.view}) == PTC_OK);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 8; ++c)
      CHECK(result.values[r * 16 + c * 2] == expected.values[r * 8 + c]);

  std::vector<char> bytes(3 * 8 * 4 + 1);
  std::copy_n(reinterpret_cast<char *>(dense.values.data()), bytes.size() - 1, bytes.data() + 1);
  DLTensor odd = dense.view;
  odd.data = bytes.data();
  odd.byte_offset = 1;
  Tensor<float> y({3, 8});
  REQUIRE(model.call({&odd}, {&y.view}) == PTC_OK);
  CHECK(y.values == expected.values);

  Tensor<float> row({3, 8});
  row.setStrides({0, 1});
  REQUIRE(model.call({&row.view}, {&y.view}) == PTC_OK);
  CHECK(y.values[23] == 80);
}

TEST_CASE("an output may be the input's own memory") {
  Loaded model(build(models().affine()));
  Tensor<float> x({4, 8}), expected({4, 8});
  std::iota(x.values.begin(), x.values.end(), 0.0f);
  REQUIRE(model.call({&x.view}, {&expected.view}) == PTC_OK);
  REQUIRE(model.call({&x.view}, {&x.view}) == PTC_OK);
  CHECK(x.values == expected.values);
}

TEST_CASE("states start with their first value, belong to a context, and can be read, set and reset") {
  std::string path = build(models().running());
  Loaded model(path), other(path);
  Tensor<float> x({4}, {1, 2, 3, 4}), before({1}), after({1}), state({1});
  for (float expected : {100.0f, 110.0f, 120.0f}) {
    REQUIRE(model.call({&x.view}, {&before.view, &after.view}) == PTC_OK);
    CHECK(before.values[0] == expected);
    CHECK(after.values[0] == expected + 10);
  }
  REQUIRE(model->state_get(model.context, 0, &state.view) == PTC_OK);
  CHECK(state.values[0] == 130);
  REQUIRE(other->state_get(other.context, 0, &state.view) == PTC_OK);
  CHECK(state.values[0] == 100);

  state.values[0] = 5;
  REQUIRE(model->state_set(model.context, 0, &state.view) == PTC_OK);
  REQUIRE(model.call({&x.view}, {&before.view, &after.view}) == PTC_OK);
  CHECK(after.values[0] == 15);
  model->state_reset(model.context);
  REQUIRE(model->state_get(model.context, 0, &state.view) == PTC_OK);
  CHECK(state.values[0] == 100);
}

TEST_CASE("an updated input is the caller's memory, strided or not") {
  Loaded model(build(models().increment()));
  CHECK(model->signature()->inputs[0].flags == PTC_TENSOR_WRITTEN);
  Tensor<float> x({4}, {1, 2, 3, 4, 5, 6, 7, 8}), y({4});
  x.setStrides({2});
  REQUIRE(model.call({&x.view}, {&y.view}) == PTC_OK);
  CHECK(x.values == std::vector<float>{2, 2, 4, 4, 6, 6, 8, 8});
  CHECK(y.values == std::vector<float>{2, 4, 6, 8});
  x.setStrides({0});
  CHECK(model.call({&x.view}, {&y.view}) == PTC_INVALID_ARGUMENT);
  CHECK_THAT(model.error(), Contains("input 'x' (0): the model updates it, but it shares memory with itself"));
}

TEST_CASE("an index out of range is an error that says where, and the next call works") {
  Loaded model(build(models().lookUp()));
  Tensor<int64_t> index({4}, {3, 9, 10, 0});
  Tensor<float> y({4});
  CHECK(model.call({&index.view}, {&y.view}) == PTC_INDEX_ERROR);
  CHECK(model.error() == "look_up: index out of range in aten.embedding: 10 is not from 0 to 9, at net.py:7");
  index.values = {3, 9, 1, 0};
  index.view.data = index.values.data();
  REQUIRE(model.call({&index.view}, {&y.view}) == PTC_OK);
  CHECK(y.values == std::vector<float>{3, 9, 1, 0});
}

static std::vector<int64_t> runNeighbours(Loaded &model, int threads, int64_t size) {
  Tensor<int64_t> x({size}), y({size});
  std::iota(x.values.begin(), x.values.end(), 1);
  REQUIRE(model->set_threads(model.context, threads) == PTC_OK);
  REQUIRE(model->set_waiting(model.context, PTC_WAIT_ACTIVE) == PTC_OK); // with as many as that
  INFO(model.error());
  REQUIRE(model.call({&x.view}, {&y.view}) == PTC_OK);
  return y.values;
}

TEST_CASE("any number of threads gives the same bits, more than processors too") {
  Loaded model(build(models().neighbours(40, 1 << 20)));
  for (int64_t size : {1, 2, 3, 1000, 4097}) {
    auto expected = runNeighbours(model, 1, size);
    for (int threads : {2, 3, 4, 16})
      for (int repeat = 0; repeat < 5; ++repeat)
        REQUIRE(runNeighbours(model, threads, size) == expected);
  }
}

TEST_CASE("small launches between large ones keep their order") {
  Model mixed = models().neighbours(30, 1 << 20);
  for (size_t i = 0; i < mixed.spec.launches.size(); ++i)
    if (i % 3 != 0)
      mixed.spec.launches[i].bytes = {};
  Loaded model(build(mixed));
  auto expected = runNeighbours(model, 1, 777);
  for (int repeat = 0; repeat < 200; ++repeat)
    REQUIRE(runNeighbours(model, 3, 777) == expected);
}

/// Its last output is twice its input; it fails with `data` when that is not null.
static int32_t twice(void *data, const ptc_external *external, DLTensor *const *inputs, DLTensor *const *outputs,
                     char *message, size_t size) {
  if (data) {
    snprintf(message, size, "no more than %d", *static_cast<int *>(data));
    return 5;
  }
  const DLTensor &x = *inputs[0], &y = *outputs[external->output_count - 1];
  if (x.strides[0] != 8 || x.strides[1] != 1 || x.shape[0] != y.shape[0] || (external->output_count == 2 && outputs[0]))
    return 1;
  for (int64_t i = 0; i < x.shape[0] * 8; ++i)
    static_cast<float *>(y.data)[i] = 2 * static_cast<float *>(x.data)[i];
  return 0;
}

TEST_CASE("functions of the caller's run between launches, in every size") {
  Loaded model(build(models().external()));
  REQUIRE(model->set_function(model.context, "mylib::twice.default", twice, nullptr) == PTC_OK);
  for (int64_t rows : {2, 1024, 7}) {
    Tensor<float> x({rows, 8}), y({rows, 8});
    std::iota(x.values.begin(), x.values.end(), 0.0f);
    INFO(model.error());
    REQUIRE(model.call({&x.view}, {&y.view}) == PTC_OK);
    for (int64_t i = 0; i < rows * 8; ++i)
      REQUIRE(y.values[i] == 2 * (2 * x.values[i] * (i % 8 + 1) + 10 * (i % 8 + 1)));
  }
}

TEST_CASE("a model lists its external functions") {
  Loaded model(build(models().external()));
  int32_t count;
  const ptc_external *places = model->externals(&count);
  REQUIRE(count == 2);
  CHECK(places[0].name == std::string("mylib::twice.default"));
  CHECK(places[0].source == std::string("net.py:5"));
  CHECK((places[0].input_count == 1 && places[0].output_count == 1));
  CHECK((places[0].inputs[0].ndim == 2 && places[0].inputs[0].dims[0].text == std::string("s0")));
  CHECK((places[1].outputs[0].ndim == -1 && places[1].outputs[1].ndim == 2));
  Loaded none(build(models().affine()));
  CHECK((!none->externals(&count) && count == 0));
}

TEST_CASE("an external function that is missing or fails is an error that names it") {
  Loaded model(build(models().external()));
  Tensor<float> x({2, 8}), y({2, 8});
  CHECK(model.call({&x.view}, {&y.view}) == PTC_EXTERNAL_ERROR);
  CHECK(model.error() == "the external function 'mylib::twice.default' is not registered, called at net.py:5");
  CHECK(model->set_function(model.context, "mylib::other.default", twice, nullptr) == PTC_INVALID_ARGUMENT);
  CHECK_THAT(model.error(), Contains("'mylib::other.default'; the first that it calls is mylib::twice.default"));
  int limit = 3;
  REQUIRE(model->set_function(model.context, "mylib::twice.default", twice, &limit) == PTC_OK);
  CHECK(model.call({&x.view}, {&y.view}) == PTC_EXTERNAL_ERROR);
  CHECK(model.error() ==
        "the external function 'mylib::twice.default' failed with 5: no more than 3, called at net.py:5");
  REQUIRE(model->set_function(model.context, "mylib::twice.default", twice, nullptr) == PTC_OK);
  CHECK(model.call({&x.view}, {&y.view}) == PTC_OK);
}

TEST_CASE("calls from several threads on one context") {
  Loaded model(build(models().affine(1 << 20)));
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int64_t repeat = 0; repeat < 50; ++repeat) {
        int64_t rows = 2 + (repeat * 37 + t * 11) % 200;
        Tensor<float> x({rows, 8}, std::vector<float>(rows * 8, t)), y({rows, 8});
        bool isGood = model.call({&x.view}, {&y.view}) == PTC_OK;
        for (int64_t i = 0; isGood && i < rows * 8; ++i)
          isGood = y.values[i] == (t + 10) * (i % 8 + 1);
        Tensor<float> wrong({1, 8});
        isGood = isGood && model.call({&wrong.view}, {&y.view}) == PTC_MISMATCH &&
                 model.error().find("allowed: 2..1024") != std::string::npos;
        failures += !isGood;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(failures == 0);
}
