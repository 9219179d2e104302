// Wrong tensors: an error with a message, never a crash.
#include "test/link/Loaded.h"
#include "test/link/TestModel.h"

using namespace ptc::test;

namespace {
struct Fixture {
  Models models;
  Loaded model{build(models.affine())};
  Tensor<float> x{{4, 8}}, y{{4, 8}};

  void refuses(const DLTensor *input, DLTensor *output, ptc_status status, const std::string &message) {
    CHECK(model.call({input}, {output}) == status);
    CHECK(model.error() == message);
  }
  void refuses(ptc_status status, const std::string &message) { refuses(&x.view, &y.view, status, message); }
};
} // namespace

TEST_CASE_METHOD(Fixture, "sizes outside of the range") {
  Tensor<float> small({1, 8}), large({1025, 8}), wide({4, 9});
  refuses(&small.view, &y.view, PTC_MISMATCH,
          "input 'x' (0): dimension 0 has size 1, allowed: 2..1024 (s0); its shape is [1, 8], the model's [s0, 8]");
  refuses(
      &large.view, &y.view, PTC_MISMATCH,
      "input 'x' (0): dimension 0 has size 1025, allowed: 2..1024 (s0); its shape is [1025, 8], the model's [s0, 8]");
  refuses(&wide.view, &y.view, PTC_MISMATCH,
          "input 'x' (0): dimension 1 has size 9, but the model was compiled for 8; its shape is [4, 9], the model's "
          "[s0, 8]");
  refuses(
      &x.view, &large.view, PTC_MISMATCH,
      "output 'y' (0): dimension 0 has size 1025, but must be s0 = 4 (allowed: 2..1024); its shape is [1025, 8], the "
      "model's [s0, 8]");
}

TEST_CASE_METHOD(Fixture, "other ranks, types and devices") {
  Tensor<float> flat({32});
  Tensor<double> doubles({4, 8});
  refuses(&flat.view, &y.view, PTC_MISMATCH,
          "input 'x' (0): has 1 dimensions, but the model was compiled for 2; its shape is [32], the model's [s0, 8]");
  refuses(&doubles.view, &y.view, PTC_MISMATCH,
          "input 'x' (0): has type float64, but the model was compiled for float32");
  x.view.dtype.lanes = 4;
  refuses(PTC_MISMATCH, "input 'x' (0): has type float32x4, but the model was compiled for float32");
  x.view.dtype.lanes = 1;
  x.view.device.device_type = kDLCUDA;
  refuses(PTC_MISMATCH, "input 'x' (0): is on DLPack device 2, but the model runs on the CPU");
}

TEST_CASE_METHOD(Fixture, "inputs that may be left out must fit as well") {
  Loaded optional(build(models.optional()));
  auto refuses = [&](std::vector<const DLTensor *> inputs, ptc_status status, const std::string &message) {
    CHECK(optional.call(std::move(inputs), {&y.view}) == status);
    CHECK(optional.error() == message);
  };
  Tensor<float> wide({9}), row({8});
  Tensor<double> doubles({8});
  refuses({&x.view, &wide.view}, PTC_MISMATCH,
          "input 'w' (1): dimension 0 has size 9, but the model was compiled for 8; its shape is [9], the model's [8]");
  refuses({&x.view, nullptr, &doubles.view}, PTC_MISMATCH,
          "input 'b' (2): has type float64, but the model was compiled for float32");
  refuses({nullptr, &row.view}, PTC_INVALID_ARGUMENT, "input 'x' (0): no tensor");
  refuses({}, PTC_INVALID_ARGUMENT, "0 inputs were given, but the model takes 1 to 3");
  refuses({&x.view, &row.view, &row.view, &row.view}, PTC_INVALID_ARGUMENT,
          "4 inputs were given, but the model takes 1 to 3");
}

TEST_CASE_METHOD(Fixture, "broken tensors") {
  refuses(nullptr, &y.view, PTC_INVALID_ARGUMENT, "input 'x' (0): no tensor");
  refuses(&x.view, nullptr, PTC_INVALID_ARGUMENT, "output 'y' (0): no tensor");
  x.view.data = nullptr;
  refuses(PTC_INVALID_ARGUMENT, "input 'x' (0): its data is null");
  x.shape[0] = -4;
  refuses(PTC_INVALID_ARGUMENT, "input 'x' (0): dimension 0 has the negative size -4");
  x.shape[0] = int64_t(1) << 62;
  refuses(PTC_MISMATCH, "input 'x' (0): is larger than memory");
  x.view.shape = nullptr;
  refuses(PTC_INVALID_ARGUMENT, "input 'x' (0): has no shape");
  x.view.ndim = -1;
  refuses(PTC_MISMATCH, "input 'x' (0): has -1 dimensions, but the model was compiled for 2");
}

TEST_CASE_METHOD(Fixture, "wrong counts and null pointers") {
  CHECK(model.call({}, {&y.view}) == PTC_INVALID_ARGUMENT);
  CHECK(model.error() == "0 inputs were given, but the model takes 1");
  CHECK(model.call({&x.view}, {}) == PTC_INVALID_ARGUMENT);
  CHECK(model.error() == "0 outputs were given, but the model has 1");
  CHECK(model->call(model.context, nullptr, 1, nullptr, 1) == PTC_INVALID_ARGUMENT);
  CHECK(model->call(nullptr, nullptr, 0, nullptr, 0) == PTC_INVALID_ARGUMENT);
  CHECK(model->context_create(nullptr) == PTC_INVALID_ARGUMENT);
  CHECK(model->state_get(model.context, 0, &y.view) == PTC_INVALID_ARGUMENT);
  CHECK(model.error() == "there is no state 0; the model has 0");
  CHECK(model->set_threads(model.context, -1) == PTC_INVALID_ARGUMENT);
  CHECK(model->profile_stop(model.context, nullptr) == PTC_INVALID_ARGUMENT);
  CHECK(model->profile_stop(model.context, "/nowhere/trace.json") == PTC_IO_ERROR);
  model->context_destroy(nullptr);
  DLManagedTensor *outputs[] = {reinterpret_cast<DLManagedTensor *>(1)};
  const DLTensor *inputs[] = {nullptr};
  CHECK(model->call_new(model.context, inputs, 1, outputs, 1) == PTC_INVALID_ARGUMENT);
  CHECK(outputs[0] == nullptr);
}

TEST_CASE_METHOD(Fixture, "outputs whose elements share memory") {
  y.setStrides({0, 1});
  refuses(PTC_INVALID_ARGUMENT, "output 'y' (0): its strides let elements share memory");
}

TEST_CASE("derived sizes and guards") {
  Models models;
  Loaded model(build(models.derived()));
  Tensor<float> x({7, 8}), y({7, 8}), even({6, 8}), nine({9, 8}), five({5, 8});
  Tensor<int64_t> n({3}), two({2});
  CHECK(model.call({&x.view, &n.view}, {&y.view}) == PTC_OK);
  CHECK(model.call({&five.view, &n.view}, {&y.view}) == PTC_MISMATCH);
  CHECK(model.error() ==
        "input 'x' (0): dimension 0 has size 5, but must be 2*s0 + 1 = 7, with s0 = 3 (allowed: 3..201); its shape is "
        "[5, 8], the model's [2*s0 + 1, 8]");
  Tensor<float> turned({8, 5});
  CHECK(model.call({&turned.view, &n.view}, {&y.view}) == PTC_MISMATCH);
  CHECK(model.error() == "input 'x' (0): dimension 0 has size 8, but must be 2*s0 + 1 = 7, with s0 = 3 (allowed: "
                         "3..201); its shape is [8, 5], the model's [2*s0 + 1, 8] (transposed? transpose(1, 0) fits)");
  CHECK(model.call({&five.view, &two.view}, {&five.view}) == PTC_MISMATCH);
  CHECK(model.error() == "the inputs' sizes break a condition that the model was compiled for: s0 is odd, with s0 = 2");
}

TEST_CASE("a guard may exclude a value") {
  Models models;
  Model affine = models.affine();
  affine.spec.guards.push_back(
      {ptc::getShape(affine.spec.inputs[0].type)[0] - 5, 0, 0, "s0 is not 5", /*isExcluded=*/true});
  Loaded model(build(affine));
  Tensor<float> four({4, 8}), five({5, 8}), y({4, 8});
  CHECK(model.call({&four.view}, {&y.view}) == PTC_OK);
  CHECK(model.call({&five.view}, {&y.view}) == PTC_MISMATCH);
  CHECK(model.error() ==
        "the inputs' sizes break a condition that the model was compiled for: s0 is not 5, with s0 = 5");
}

TEST_CASE_METHOD(Fixture, "strides that lead out of memory") {
  for (int64_t stride : {INT64_MIN, INT64_MAX, -INT64_MAX, INT64_MAX / 8}) {
    x.setStrides({stride, 1});
    refuses(PTC_INVALID_ARGUMENT,
            "input 'x' (0): dimension 0 has the stride " + std::to_string(stride) + ", which leads out of memory");
    x.setStrides({8, 1});
    y.setStrides({stride, 1});
    refuses(PTC_INVALID_ARGUMENT,
            "output 'y' (0): dimension 0 has the stride " + std::to_string(stride) + ", which leads out of memory");
    y.setStrides({8, 1});
  }
}

TEST_CASE_METHOD(Fixture, "an output that is too small, and two that share memory") {
  Tensor<float> small({3, 8});
  refuses(&x.view, &small.view, PTC_MISMATCH,
          "output 'y' (0): dimension 0 has size 3, but must be s0 = 4 (allowed: 2..1024); its shape is [3, 8], the "
          "model's [s0, 8]");
  Tensor<float> state({1}), one({4}), after({1});
  Models models;
  Loaded running(build(models.running()));
  CHECK(running.call({&one.view}, {&after.view, &after.view}) == PTC_INVALID_ARGUMENT);
  CHECK(running.error().find("share memory") != std::string::npos);
}

TEST_CASE("a symbol is solved for from a derived size") {
  Models models;
  Model derived = models.derived();
  derived.spec.inputs.pop_back();
  Loaded model(build(derived));
  Tensor<float> x({7, 8}), y({7, 8}), even({6, 8}), huge({203, 8});
  CHECK(model.call({&x.view}, {&y.view}) == PTC_OK);
  CHECK(model.call({&even.view}, {&y.view}) == PTC_MISMATCH);
  CHECK(model.error() == "input 'x' (0): dimension 0 has size 6, but must be 2*s0 + 1 for an integer s0 in 1..100; its "
                         "shape is [6, 8], the model's [2*s0 + 1, 8]");
  CHECK(model.call({&huge.view}, {&y.view}) == PTC_MISMATCH);
  CHECK(model.error() == "input 'x' (0): dimension 0 has size 203, allowed: 3..201 (2*s0 + 1); its shape is [203, 8], "
                         "the model's [2*s0 + 1, 8]");
}
