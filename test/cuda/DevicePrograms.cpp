#include "test/cuda/DevicePrograms.h"

#include "runtime/include/ptc/ptc.h"

namespace ptc::test {

using namespace runtime;

DeviceEntry deviceEntry = {kDLCUDA, 8, 0, 0, 0, "no PTX"};

namespace {
constexpr char kNoText[] = "";
/// w, then the first value of 'total'.
alignas(64) const float kWeights[] = {1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100};
constexpr int64_t kTotalPlace = 64;
} // namespace

//===----------------------------------------------------------------------===//
// The gathering program
//===----------------------------------------------------------------------===//

namespace gathering {
enum : ValueId { Rows, Four, One, MatrixBytes, IndexBytes, RowBytes, FloatBytes, Blocks, Zero, ValueCount };

static bool evaluate(int64_t *symbols, int64_t *values) {
  int64_t rows = symbols[0];
  const int64_t all[ValueCount] = {rows, 4, 1, rows * 16, rows * 8, 16, 4, (rows * 4 + 63) / 64, 0};
  for (int i = 0; i < ValueCount; ++i)
    values[i] = all[i];
  return true;
}

static const SymbolEntry symbols[] = {{"s0", 0, 1024, 1, 0, 0, 0}};
static const DimEntry rowsByFour[] = {{"s0", 0, 1024, Rows}, {"4", 4, 4, Four}};
static const DimEntry one[] = {{"1", 1, 1, One}};
static const TensorEntry inputs[] = {{"x", rowsByFour, 0, MatrixBytes, 2, kDLFloat, 32, 0},
                                     {"index", rowsByFour, 0, IndexBytes, 1, kDLInt, 64, 0}};
static const TensorEntry outputs[] = {{"y", rowsByFour, 0, MatrixBytes, 2, kDLFloat, 32, 0}};
static const TensorEntry states[] = {{"total", one, kTotalPlace, FloatBytes, 1, kDLFloat, 32, 0}};
enum : int32_t { X, Index, Weight, T, Y, Total, Next };
static const BufferEntry buffers[] = {
    {Storage::Input, 0, 0, MatrixBytes, 0, 0, -1},  {Storage::Input, 1, 0, IndexBytes, 0, 0, -1},
    {Storage::Weight, 0, 0, RowBytes, 0, 0, -1},    {Storage::Arena, 0, 0, MatrixBytes, 0, 1, -1},
    {Storage::Output, 0, 0, MatrixBytes, 0, 0, -1}, {Storage::State, 0, 0, FloatBytes, 0, 0, -1},
    {Storage::Arena, 0, 0, FloatBytes, 1, 2, -1}};
static const FaultEntry faults[] = {{"one thing", Four, 0}, {"index out of range in a dimension", Rows, 0}};
static const int32_t scaleArgs[] = {X, Weight, T}, gatherArgs[] = {T, Index, Y}, countArgs[] = {Total, Next};
static const GridEntry scaleGrid[] = {{"scale", Blocks, 64, 0}}, gatherGrid[] = {{"gather", Blocks, 64, 0}},
                       countGrid[] = {{"count", One, 1, 64 << 10}};
static const LaunchEntry launches[] = {{nullptr, scaleArgs, nullptr, "scale", kNoText, kNoText, kNoText, 3, 0, Zero,
                                        Zero, MatrixBytes, Zero, 0, 1, scaleGrid},
                                       {nullptr, gatherArgs, faults, "gather", kNoText, "net.py:7", kNoText, 3, 2, Zero,
                                        Zero, MatrixBytes, Zero, 1, 1, gatherGrid},
                                       {nullptr, countArgs, nullptr, "count", kNoText, kNoText, kNoText, 2, 0, Zero,
                                        Zero, FloatBytes, Zero, 0, 1, countGrid}};
static const CopyEntry copies[] = {{Next, Total, 0}};
} // namespace gathering

Program makeGatherProgram() {
  Program program = {};
  program.tablesVersion = kTablesVersion;
  program.entry = kOnlyEntry;
  program.valueCount = gathering::ValueCount;
  program.name = "gathering";
  program.compiler = "test";
  program.target = "cuda";
  program.machine = "sm_80";
  program.weights = reinterpret_cast<const char *>(kWeights);
  program.weightBytes = sizeof(kWeights);
  program.arenaBytes = -1;
  program.evaluate = gathering::evaluate;
  program.symbols = gathering::symbols;
  program.inputs = gathering::inputs;
  program.outputs = gathering::outputs;
  program.states = gathering::states;
  program.buffers = gathering::buffers;
  program.launches = gathering::launches;
  program.copies = gathering::copies;
  program.device = &deviceEntry;
  program.symbolCount = 1;
  program.inputCount = program.requiredCount = 2;
  program.outputCount = program.stateCount = 1;
  program.bufferCount = 7;
  program.launchCount = 3;
  program.copyCount = 1;
  return program;
}

//===----------------------------------------------------------------------===//
// The looping program
//===----------------------------------------------------------------------===//

namespace looping {
enum : ValueId { Size, One, SizeBytes, NumberBytes, FlagBytes, Blocks, Zero, ValueCount };

static bool evaluate(int64_t *symbols, int64_t *values) {
  int64_t size = symbols[0];
  const int64_t all[ValueCount] = {size, 1, size * 8, 8, 1, (size + 31) / 32, 0};
  for (int i = 0; i < ValueCount; ++i)
    values[i] = all[i];
  return true;
}

static const SymbolEntry symbols[] = {{"u0", 0, -1, 1, 0, -1, 0}};
static const DimEntry one[] = {{"1", 1, 1, One}}, size[] = {{"u0", 0, -1, Size}};
static const TensorEntry inputs[] = {{"n", one, 0, NumberBytes, 1, kDLInt, 64, 0}};
static const TensorEntry outputs[] = {{"y", size, 0, SizeBytes, 1, kDLInt, 64, 0}};
enum : int32_t { N, I, Count, GoesOn, Y, Count2 };
static const BufferEntry buffers[] = {
    {Storage::Input, 0, 0, NumberBytes, 0, 0, -1}, {Storage::Arena, 0, 0, NumberBytes, 0, 2, -1},
    {Storage::Arena, 0, 0, NumberBytes, 0, 2, -1}, {Storage::Arena, 0, 0, FlagBytes, 0, 2, -1},
    {Storage::Output, 0, 0, SizeBytes, 0, 0, -1},  {Storage::Arena, 0, 0, NumberBytes, 1, 3, -1}};
static const int32_t loopArgs[] = {N, I, Count, GoesOn}, fillArgs[] = {Y}, kept[] = {Count, Count2};
static const GridEntry startGrid[] = {{"start", One, 1, 0}}, stepGrid[] = {{"step", One, 1, 0}},
                       fillGrid[] = {{"fill", Blocks, 32, 0}};
static const LaunchEntry launches[] = {
    {nullptr, loopArgs, nullptr, "start", kNoText, kNoText, kNoText, 4, 0, Zero, Zero, Zero, Zero, 0, 1, startGrid},
    {nullptr, loopArgs, nullptr, "step", kNoText, kNoText, kNoText, 4, 0, Zero, Zero, Zero, Zero, 0, 1, stepGrid},
    {nullptr, fillArgs, nullptr, "nothing", kNoText, kNoText, kNoText, 1, 0, Zero, Zero, Zero, Zero, 0, 0, nullptr},
    {nullptr, fillArgs, nullptr, "fill", kNoText, kNoText, kNoText, 1, 0, Zero, Zero, SizeBytes, Zero, 0, 1, fillGrid}};
static const ControlEntry controls[] = {{nullptr, 0, 1, GoesOn, 2, 2, -1}, // while: goes on with the step
                                        {nullptr, 0, 2, -1, 1, 0, -1},     // and back
                                        {kept, 1, 2, -1, 2, 3, -1}};       // what is left of the loop
static const SizeDefinitionEntry sizeDefinitions[] = {{0, Count2, 3, -1}};
} // namespace looping

Program makeLoopProgram() {
  Program program = makeGatherProgram();
  program.valueCount = looping::ValueCount;
  program.name = "looping";
  program.evaluate = looping::evaluate;
  program.symbols = looping::symbols;
  program.inputs = looping::inputs;
  program.outputs = looping::outputs;
  program.states = nullptr;
  program.buffers = looping::buffers;
  program.launches = looping::launches;
  program.copies = nullptr;
  program.sizeDefinitions = looping::sizeDefinitions;
  program.controls = looping::controls;
  program.inputCount = program.requiredCount = 1;
  program.stateCount = 0;
  program.bufferCount = 6;
  program.launchCount = 4;
  program.copyCount = 0;
  program.sizeDefinitionCount = 1;
  program.controlCount = 3;
  return program;
}

//===----------------------------------------------------------------------===//
// The filling program
//===----------------------------------------------------------------------===//

namespace filling {
static const SymbolEntry symbols[] = {{"s0", 0, 1024, 1, 0, 0, -1}};
static const DimEntry size[] = {{"s0", 0, 1024, looping::Size}};
static const TensorEntry inputs[] = {{"n", nullptr, 0, looping::NumberBytes, 0, kDLInt, 64, 0}};
static const TensorEntry outputs[] = {{"y", size, 0, looping::SizeBytes, 1, kDLInt, 64, 0}};
static const BufferEntry buffers[] = {{Storage::Output, 0, 0, looping::SizeBytes, 0, 0, -1}};
static const int32_t args[] = {0};
static const LaunchEntry launches[] = {{nullptr, args, nullptr, "fill", kNoText, kNoText, kNoText, 1, 0, looping::Zero,
                                        looping::Zero, looping::SizeBytes, looping::Zero, 0, 1, looping::fillGrid}};
} // namespace filling

Program makeFillProgram() {
  Program program = makeLoopProgram();
  program.name = "filling";
  program.symbols = filling::symbols;
  program.inputs = filling::inputs;
  program.outputs = filling::outputs;
  program.buffers = filling::buffers;
  program.launches = filling::launches;
  program.sizeDefinitions = nullptr;
  program.controls = nullptr;
  program.bufferCount = program.launchCount = 1;
  program.sizeDefinitionCount = program.controlCount = 0;
  return program;
}

} // namespace ptc::test
