#include "test/link/TestModel.h"

#include "compiler/codegen/host/Host.h"
#include "compiler/link/Link.h"
#include "compiler/link/WeightSegment.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <unistd.h>

using namespace llvm;
using namespace ptc::host;

namespace ptc::test {

std::vector<ProgramSpec> Model::programs() const {
  std::vector<ProgramSpec> all = better;
  all.push_back(spec);
  return all;
}

static void check(Error error) {
  if (error)
    throw std::runtime_error(toString(std::move(error)));
}

static SmallVector<char, 0> emitObject(Module &module) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(module.getTargetTriple(), error);
  TargetOptions options;
  options.DataSections = options.FunctionSections = true;
  std::unique_ptr<TargetMachine> machine(
      target->createTargetMachine(module.getTargetTriple(), "x86-64", "", options, Reloc::PIC_));
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile);
  passes.run(module);
  return bytes;
}

static SmallVector<char, 0> emitHostObject(const Model &model) {
  LLVMContext context;
  auto module = emitHost(model.programs(), R"({"name":"test"})", context);
  if (!module)
    check(module.takeError());
  return emitObject(**module);
}

void emitHostObject(const Model &model, const std::string &path) {
  SmallVector<char, 0> bytes = emitHostObject(model);
  std::error_code error;
  raw_fd_ostream stream(path, error);
  check(errorCodeToError(error));
  stream.write(bytes.data(), bytes.size());
}

void build(const Model &model, const std::string &path) {
  SmallVector<char, 0> host = emitHostObject(model);
  auto kernels = MemoryBuffer::getFile("test/link/kernels.o");
  if (!kernels)
    throw std::runtime_error("no kernels.o");

  WeightLayout layout = layoutWeights(model.programs());
  std::vector<link::WeightPiece> pieces;
  for (auto [weight, offset] : zip_equal(layout.weights, layout.offsets))
    pieces.push_back({offset, model.mapped.count(weight.key) ? model.mapped.at(weight.key)
                                                             : ArrayRef<char>(model.weights.at(weight.key))});
  StringRef objects[] = {StringRef(host.data(), host.size()), (*kernels)->getBuffer()};
  check(link::linkModel(objects, path, {model.spec.device.has_value(), !model.spec.states.empty()}));
  check(link::completeLibrary(path, pieces));
}

std::string build(const Model &model) {
  static int number = 0;
  const char *folder = std::getenv("TEST_TMPDIR");
  std::string path = std::string(folder ? folder : "/tmp") + "/" + model.spec.name + std::to_string(getpid()) + "_" +
                     std::to_string(number++) + ".so";
  build(model, path);
  return path;
}

//===----------------------------------------------------------------------===//
// The models
//===----------------------------------------------------------------------===//

Models::Models() = default;
mlir::AffineExpr Models::constant(int64_t value) { return mlir::getAffineConstantExpr(value, &context); }
mlir::AffineExpr Models::s0() { return mlir::getAffineSymbolExpr(0, &context); }
mlir::Type Models::f32() { return mlir::Float32Type::get(&context); }
mlir::Type Models::i64() { return mlir::IntegerType::get(&context, 64); }

template <typename T> static void addWeight(Model &model, const std::string &key, std::vector<T> values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  model.spec.weights.push_back({key, bytes.size()});
  model.weights[key] = std::move(bytes);
}

static BufferSpec buffer(host::Storage storage, int64_t index) {
  BufferSpec spec;
  spec.storage = storage;
  spec.index = index;
  return spec;
}

static BufferSpec arena(mlir::AffineExpr bytes, int64_t first, int64_t last) {
  BufferSpec spec;
  spec.bytes = bytes;
  spec.first = first;
  spec.last = last;
  return spec;
}

static LaunchSpec launch(const std::string &kernel, std::vector<int64_t> args, mlir::AffineExpr tasks) {
  LaunchSpec spec;
  spec.kernel = spec.name = kernel;
  spec.args = std::move(args);
  spec.tasks = tasks;
  spec.operators = "aten." + kernel;
  spec.source = "net.py:7";
  return spec;
}

Model Models::affine(int64_t work) {
  Model model;
  ProgramSpec &spec = model.spec;
  spec.name = "affine";
  spec.symbols = {{"s0", 2, 1024}};
  auto rows = type({s0(), constant(8)}, f32());
  spec.inputs = {{"x", rows}};
  spec.outputs = {{"y", rows}};
  addWeight<float>(model, "w", {1, 2, 3, 4, 5, 6, 7, 8});
  addWeight<float>(model, "b", {10, 20, 30, 40, 50, 60, 70, 80});
  spec.buffers = {buffer(host::Storage::Input, 0), buffer(host::Storage::Weight, 0), buffer(host::Storage::Weight, 1),
                  buffer(host::Storage::Output, 0), arena(s0() * 32, 0, 1)};
  spec.launches = {launch("scale_rows", {0, 1, 4}, s0()), launch("add_row", {4, 2, 3}, s0())};
  spec.launches[1].scratch = constant(32);
  for (LaunchSpec &each : spec.launches)
    each.bytes = constant(work);
  return model;
}

Model Models::derived() {
  Model model = affine();
  ProgramSpec &spec = model.spec;
  spec.name = "derived";
  spec.symbols = {{"s0", 1, 100}};
  mlir::AffineExpr rows = s0() * 2 + 1;
  spec.inputs[0].type = spec.outputs[0].type = type({rows, constant(8)}, f32());
  spec.inputs.push_back({"n", type({s0()}, i64())});
  spec.buffers[4].bytes = rows * 32;
  spec.launches[0].tasks = spec.launches[1].tasks = rows;
  spec.guards.push_back({s0() % 2, 1, 1, "s0 is odd"});
  return model;
}

Model Models::scalar() {
  Model model = derived();
  model.spec.name = "scalar";
  model.spec.inputs[1] = {"n", type({}, i64()), 0};
  return model;
}

Model Models::neighbours(int launches, int64_t work) {
  Model model;
  ProgramSpec &spec = model.spec;
  spec.name = "neighbours";
  spec.symbols = {{"s0", 1, Symbol::kUnbounded}};
  auto row = type({s0()}, i64());
  spec.inputs = {{"x", row}};
  spec.outputs = {{"y", row}};
  spec.buffers = {buffer(host::Storage::Input, 0), buffer(host::Storage::Output, 0)};
  for (int i = 0; i < launches; ++i) {
    int64_t from = i == 0 ? 0 : spec.buffers.size() - 1, to = 1;
    if (i + 1 < launches) {
      to = spec.buffers.size();
      spec.buffers.push_back(arena(s0() * 8, i, i + 1));
    }
    spec.launches.push_back(launch("add_neighbours", {from, to}, s0()));
    spec.launches.back().bytes = constant(work);
  }
  return model;
}

Model Models::running() {
  Model model;
  ProgramSpec &spec = model.spec;
  spec.name = "running";
  auto one = type({constant(1)}, f32());
  spec.inputs = {{"x", type({constant(4)}, f32())}};
  spec.outputs = {{"old", one}, {"new", one}};
  spec.states = {{"total", one, 0}};
  addWeight<float>(model, "total", {100});
  spec.buffers = {buffer(host::Storage::Input, 0), buffer(host::Storage::State, 0), buffer(host::Storage::Output, 0),
                  buffer(host::Storage::Output, 1)};
  spec.launches = {launch("accumulate", {1, 0, 3}, constant(1))};
  spec.copies = {{3, 1}, {1, 2}}; // the old total must be read before it is overwritten
  return model;
}

Model Models::lookUp() {
  Model model;
  ProgramSpec &spec = model.spec;
  spec.name = "look_up";
  spec.inputs = {{"index", type({constant(4)}, i64())}};
  spec.outputs = {{"y", type({constant(4)}, f32())}};
  addWeight<float>(model, "table", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  spec.buffers = {buffer(host::Storage::Weight, 0), buffer(host::Storage::Input, 0), buffer(host::Storage::Output, 0)};
  spec.launches = {launch("look_up", {0, 1, 2}, constant(4))};
  spec.launches[0].faults = {{"index out of range in aten.embedding", constant(10)}};
  return model;
}

Model Models::digits() {
  Model model;
  ProgramSpec &spec = model.spec;
  spec.name = "digits";
  spec.symbols = {{"s0", 1, 4096}};
  spec.inputs = {{"images", type({s0(), constant(1), constant(8), constant(8)}, f32())}};
  spec.outputs = {{"softmax", type({s0(), constant(10)}, f32())}};
  spec.buffers = {buffer(host::Storage::Input, 0), buffer(host::Storage::Output, 0)};
  spec.launches = {launch("count_lit", {0, 1}, s0())};
  return model;
}

Model Models::increment() {
  Model model;
  ProgramSpec &spec = model.spec;
  spec.name = "increment";
  auto four = type({constant(4)}, f32());
  spec.inputs = {{"x", four}};
  spec.inputs[0].isWritten = true;
  spec.outputs = {{"y", four}};
  spec.buffers = {buffer(host::Storage::Input, 0), buffer(host::Storage::Output, 0)};
  spec.launches = {launch("increment", {0}, constant(4))};
  spec.copies = {{0, 1}};
  return model;
}

Model Models::external() {
  Model model = affine();
  ProgramSpec &spec = model.spec;
  spec.name = "external";
  mlir::RankedTensorType rows = spec.inputs[0].type;
  // input 0, weights 1 and 2, output 3, between the launches 4, behind the first call 5, before the second 6
  spec.buffers.push_back(arena(s0() * 32, 0, 0));
  spec.buffers.push_back(arena(s0() * 32, 1, 1));
  spec.launches[0].args[0] = 5;
  spec.launches[1].args[2] = 6;
  const char *call = "{\"args\":[{\"tensor\":0}, 2.0],\"kwargs\":{}}";
  spec.externals = {{"mylib::twice.default", call, "net.py:5", {{0, rows}}, {{5, rows}}},
                    {"mylib::twice.default", call, "", {{6, rows}}, {{-1, {}}, {3, rows}}}};
  spec.controls = {{0, -1, {}, {0, 1}, 0}, {2, -1, {}, {2, 2}, 1}};
  return model;
}

Model Models::optional() {
  Model model = affine();
  ProgramSpec &spec = model.spec;
  spec.name = "optional";
  auto row = type({constant(8)}, f32());
  spec.inputs.push_back({"w", row, -1, false, 0});
  spec.inputs.push_back({"b", row, -1, false, 1});
  spec.buffers[1] = buffer(host::Storage::Input, 1);
  spec.buffers[2] = buffer(host::Storage::Input, 2);
  return model;
}

Model Models::large(int64_t bytes) {
  Model model = affine();
  model.spec.name = "large";
  std::vector<char> content(bytes);
  for (int64_t i = 0; i < bytes; ++i)
    content[i] = static_cast<char>(i * 7 + i / 4096);
  addWeight(model, "large", std::move(content));
  return model;
}

Model Models::withMapped(ArrayRef<char> bytes) {
  Model model = affine();
  model.spec.weights.insert(model.spec.weights.begin(), {"mapped", bytes.size()});
  model.mapped["mapped"] = bytes;
  for (BufferSpec &buffer : model.spec.buffers)
    buffer.index += buffer.storage == host::Storage::Weight;
  return model;
}

std::string outputOf(const std::string &command) {
  std::string text;
  FILE *pipe = popen(command.c_str(), "r");
  for (int c; (c = fgetc(pipe)) != EOF;)
    text += static_cast<char>(c);
  pclose(pipe);
  return text;
}

} // namespace ptc::test
