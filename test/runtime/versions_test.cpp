// Of a model's two versions, a call's sizes choose.
#include "runtime/Program.h"

#include <catch2/catch.hpp>
#include <ptc/ptc.h>
#include <string>
#include <vector>

using namespace ptc::runtime;

//===----------------------------------------------------------------------===//
// A model of two inputs, x[n] and y[m], with hand-made tables
//===----------------------------------------------------------------------===//

// Values: n, m, n - m, 4 * max(n, m), 1 or 0 where neither is 1 and they differ, or where not; then what a step needs.
enum : ValueId { N, M, Difference, Larger, Bytes, Misfit, One, Zero, ValueCount };

static bool evaluate(int64_t *symbols, int64_t *values) {
  int64_t n = symbols[0], m = symbols[1], larger = n > m ? n : m;
  int64_t all[ValueCount] = {n, m, n - m, larger, 4 * larger, n != m && n != 1 && m != 1, 1, 0};
  for (int i = 0; i < ValueCount; ++i)
    values[i] = all[i];
  return true;
}

/// What the result's elements are tells which version has run.
template <int Version>
static void fill(void *const *args, const int64_t *symbols, ptc_worker *, int64_t begin, int64_t end) {
  for (int64_t i = 0; begin < end && i < (symbols[0] > symbols[1] ? symbols[0] : symbols[1]); ++i)
    static_cast<float *>(args[0])[i] = Version;
}

static const SymbolEntry kSymbols[] = {{"n", 0, -1, 1, 0, 0, 0}, {"m", 0, -1, 1, 0, 1, 0}};
static const DimEntry kN[] = {{"n", 0, -1, N}}, kM[] = {{"m", 0, -1, M}}, kLarger[] = {{"max(n, m)", 0, -1, Larger}};
static const TensorEntry kInputs[] = {{"x", kN, -1, Bytes, 1, kDLFloat, 32, 0},
                                      {"y", kM, -1, Bytes, 1, kDLFloat, 32, 0}};
static const TensorEntry kEqualOutput[] = {{"z", kN, 0, Bytes, 1, kDLFloat, 32, 0}};
static const TensorEntry kGeneralOutput[] = {{"z", kLarger, 0, Bytes, 1, kDLFloat, 32, 0}};
static const BufferEntry kBuffers[] = {{Storage::Output, 0, 0, Bytes, 0, 0, -1}};
static const int32_t kArguments[] = {0};
static const GuardEntry kEqual[] = {{"n == m", 0, 0, Difference, 0, 0}}, kFits[] = {{"n fits m", 0, 0, Misfit, 0, 0}};

static LaunchEntry makeLaunch(ptc_kernel kernel) {
  return {kernel, kArguments, nullptr, "fill", "", "", "", 1, 0, One, Zero, Bytes, Zero, 0, 0, nullptr};
}
static const LaunchEntry kEqualLaunch = makeLaunch(fill<1>), kGeneralLaunch = makeLaunch(fill<2>);

static Program makeProgram(const TensorEntry *output, const LaunchEntry &launch, const GuardEntry *guard) {
  Program program = {};
  program.tablesVersion = kTablesVersion;
  program.valueCount = ValueCount;
  program.name = "versions";
  program.compiler = "test";
  program.target = "cpu";
  program.machine = "x86-64";
  program.evaluate = evaluate;
  program.symbols = kSymbols, program.symbolCount = 2;
  program.inputs = kInputs, program.inputCount = program.requiredCount = 2;
  program.outputs = output, program.outputCount = 1;
  program.buffers = kBuffers, program.bufferCount = 1;
  program.launches = &launch, program.launchCount = 1;
  program.guards = guard, program.guardCount = 1;
  return program;
}

static const Program general = [] {
  Program program = makeProgram(kGeneralOutput, kGeneralLaunch, kFits);
  program.launchesBefore = 1;
  return program;
}();
static const Program equal = [] {
  Program program = makeProgram(kEqualOutput, kEqualLaunch, kEqual);
  program.entry = kOnlyEntry;
  program.nextEntry = program.general = &general;
  return program;
}();

extern "C" const Programs ptc_programs = {&equal, 1};

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {
struct Vector {
  std::vector<float> values;
  int64_t size;
  DLTensor tensor;
  explicit Vector(int64_t size)
      : values(size + 1), size(size),
        tensor{values.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &this->size, nullptr, 0} {}
  Vector(const Vector &) = delete;
};

struct Model {
  ptc_context *context = nullptr;
  Model() { REQUIRE(ptc_context_create(&context) == PTC_OK); }
  ~Model() { ptc_context_destroy(context); }
  Model(const Model &) = delete;

  /// The result of a new tensor: its first element, and how many it has.
  std::pair<float, int64_t> answer(int64_t n, int64_t m) {
    Vector x(n), y(m);
    const DLTensor *inputs[] = {&x.tensor, &y.tensor};
    DLManagedTensor *output = nullptr;
    int64_t told = -1;
    if (ptc_call_new(context, inputs, 2, &output, 1) != PTC_OK)
      return {0, -1};
    std::pair<float, int64_t> result = {*static_cast<float *>(output->dl_tensor.data), output->dl_tensor.shape[0]};
    CHECK(ptc_output_shape(context, inputs, 2, 0, &told, 1) == PTC_OK);
    CHECK(told == result.second);
    output->deleter(output);
    return result;
  }
};
} // namespace

TEST_CASE("sizes choose the version, call by call") {
  Model model;
  for (int i = 0; i < 2; ++i) {
    CHECK(model.answer(3, 3) == std::pair(1.f, int64_t(3)));
    CHECK(model.answer(1, 3) == std::pair(2.f, int64_t(3)));
    CHECK(model.answer(4, 1) == std::pair(2.f, int64_t(4)));
    CHECK(model.answer(1, 1) == std::pair(1.f, int64_t(1)));
  }
}

TEST_CASE("a call that neither version takes has the general one's error") {
  Model model;
  CHECK(model.answer(2, 3).second == -1);
  CHECK(std::string(ptc_last_error(model.context)) ==
        "the inputs' sizes break a condition that the model was compiled for: n fits m, with n = 2, m = 3");
}

TEST_CASE("the caller's tensors are as large as the version that runs says") {
  Model model;
  Vector x(1), y(3), small(1), z(3);
  const DLTensor *inputs[] = {&x.tensor, &y.tensor};
  DLTensor *output = &small.tensor;
  CHECK(ptc_call(model.context, inputs, 2, &output, 1) == PTC_MISMATCH);
  CHECK(std::string(ptc_last_error(model.context)).find("must be max(n, m) = 3") != std::string::npos);
  output = &z.tensor;
  CHECK(ptc_call(model.context, inputs, 2, &output, 1) == PTC_OK);
  CHECK(z.values == std::vector<float>{2, 2, 2, 0});
}

TEST_CASE("callers see one entry, with the sizes of the general version") {
  CHECK(ptc_entry_find(kOnlyEntry) == 0);
  CHECK(std::string(ptc_entry_name(0)) == kOnlyEntry);
  CHECK(ptc_entry_name(1) == nullptr);
  CHECK(ptc_entry_signature(1) == nullptr);
  CHECK(std::string(ptc_get_signature()->outputs[0].dims[0].text) == "max(n, m)");
  Model model;
  CHECK(ptc_call_entry(model.context, 1, nullptr, 0, nullptr, 0) == PTC_INVALID_ARGUMENT);
}
