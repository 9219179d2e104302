// Functions of the caller's in a call on a GPU, under the fake driver: they get copies on the host.
#include "test/cuda/FakeGpu.h"

#include <cstring>

using namespace ptc::test;
using namespace ptc::runtime;
using Catch::Contains;

namespace {
/// The gathering program, with a function of the caller's between its first two launches, and the same one behind them.
namespace calling {
enum : ValueId { Rows, Four, One, MatrixBytes, IndexBytes, RowBytes, FloatBytes, Blocks, Zero };
const DimEntry rowsByFour[] = {{"s0", 0, 1024, Rows}, {"4", 4, 4, Four}};
enum : int32_t { X, Index, Weight, T, Y, Total, Next, Changed, Gathered };
const BufferEntry buffers[] = {
    {Storage::Input, 0, 0, MatrixBytes, 0, 0, -1},  {Storage::Input, 1, 0, IndexBytes, 0, 0, -1},
    {Storage::Weight, 0, 0, RowBytes, 0, 0, -1},    {Storage::Arena, 0, 0, MatrixBytes, 0, 3, -1},
    {Storage::Output, 0, 0, MatrixBytes, 0, 0, -1}, {Storage::State, 0, 0, FloatBytes, 0, 0, -1},
    {Storage::Arena, 0, 0, FloatBytes, 0, 3, -1},   {Storage::Arena, 0, 0, MatrixBytes, 0, 3, -1},
    {Storage::Arena, 0, 0, MatrixBytes, 0, 3, -1}};
const int32_t scaleArgs[] = {X, Weight, T}, gatherArgs[] = {Changed, Index, Gathered};
const char kNoText[] = "";
const FaultEntry faults[] = {{"one thing", Four, 0}, {"index out of range in a dimension", Rows, 0}};
const GridEntry scaleGrid[] = {{"scale", Blocks, 64, 0}}, gatherGrid[] = {{"gather", Blocks, 64, 0}};
const LaunchEntry launches[] = {{nullptr, scaleArgs, nullptr, "scale", kNoText, kNoText, kNoText, 3, 0, Zero, Zero,
                                 MatrixBytes, Zero, 0, 1, scaleGrid},
                                {nullptr, gatherArgs, faults, "gather", kNoText, "net.py:7", kNoText, 3, 2, Zero, Zero,
                                 MatrixBytes, Zero, 1, 1, gatherGrid}};
const TensorEntry tensors[] = {{"", rowsByFour, 0, MatrixBytes, 2, kDLFloat, 32, 0},
                               {"", rowsByFour, 0, MatrixBytes, 2, kDLFloat, 32, 0}};
const int32_t first[] = {T, Changed}, second[] = {Gathered, Y};
const ExternalEntry externals[] = {{"mylib::change", "{}", "net.py:6", tensors, first, 1, 1},
                                   {"mylib::change", "{}", "net.py:8", tensors, second, 1, 1}};
const ControlEntry controls[] = {{nullptr, 0, 1, -1, 1, 1, 0}, {nullptr, 0, 2, -1, 2, 2, 1}};

Program makeProgram() {
  Program program = makeGatherProgram();
  program.name = "calling";
  program.states = nullptr;
  program.buffers = buffers;
  program.launches = launches;
  program.copies = nullptr;
  program.controls = controls;
  program.externals = externals;
  program.stateCount = program.copyCount = 0;
  program.bufferCount = 9;
  program.launchCount = program.controlCount = program.externalCount = 2;
  return program;
}
} // namespace calling

Program program = calling::makeProgram();

/// Adds `data` to all elements; fails where that is negative.
int32_t change(void *data, const ptc_external *, DLTensor *const *inputs, DLTensor *const *outputs, char *message,
               size_t size) {
  float added = *static_cast<float *>(data);
  if (added < 0) {
    strncpy(message, "less than nothing", size);
    return 5;
  }
  CHECK(inputs[0]->device.device_type == kDLCPU);
  for (int64_t i = 0; i < inputs[0]->shape[0] * 4; ++i)
    static_cast<float *>(outputs[0]->data)[i] = static_cast<float *>(inputs[0]->data)[i] + added;
  return 0;
}
} // namespace

extern "C" const Programs ptc_programs = {&program, 1};

TEST_CASE("a function gets copies on the host of what kernels have written, and kernels what it has written") {
  Context context;
  float added = 100;
  REQUIRE(ptc_set_function(context.handle, "mylib::change", change, &added) == PTC_OK);
  for (int64_t count : {3, 200, 1, 0}) {
    Rows rows(count);
    Tensor<float> y({count, 4});
    REQUIRE(context.call({&rows.x.view, &rows.index.view}, {&y.view}) == PTC_OK);
    for (float &value : y.values)
      value -= 2 * added; // which is exact
    CHECK(rows.isRight(y.values.data()));
  }
}

TEST_CASE("what a function answers, and that there is none, are errors; the next call works") {
  Context context;
  Rows rows(7);
  Tensor<float> y({7, 4});
  CHECK(context.call({&rows.x.view, &rows.index.view}, {&y.view}) == PTC_EXTERNAL_ERROR);
  CHECK_THAT(context.error(), Contains("'mylib::change' is not registered"));
  float added = -1;
  REQUIRE(ptc_set_function(context.handle, "mylib::change", change, &added) == PTC_OK);
  CHECK(context.call({&rows.x.view, &rows.index.view}, {&y.view}) == PTC_EXTERNAL_ERROR);
  CHECK_THAT(context.error(), Contains("failed with 5: less than nothing, called at net.py:6"));
  added = 1;
  CHECK(context.call({&rows.x.view, &rows.index.view}, {&y.view}) == PTC_OK);
}

TEST_CASE("copies are given back with the context") {
  int64_t before = Driver::get().fake_live_allocations();
  {
    Context context;
    float added = 1;
    REQUIRE(ptc_set_function(context.handle, "mylib::change", change, &added) == PTC_OK);
    Rows rows(50);
    Tensor<float> y({50, 4});
    REQUIRE(context.call({&rows.x.view, &rows.index.view}, {&y.view}) == PTC_OK);
  }
  CHECK(Driver::get().fake_live_allocations() == before);
}
