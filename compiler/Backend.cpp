#include "compiler/Backend.h"

#include "compiler/Diagnostics.h"
#include "compiler/OutputFile.h"
#include "compiler/PassTrace.h"
#include "compiler/codegen/BuildProgram.h"
#include "compiler/codegen/cpu/Object.h"
#include "compiler/codegen/host/Host.h"
#include "compiler/import/Weights.h"
#include "compiler/link/Link.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <thread>

using namespace llvm;

namespace ptc {

namespace {
using File = SmallVector<char, 0>;

StringRef asText(const File &file) { return {file.data(), file.size()}; }

/// The weights' checksums, read beside code generation.
class WeightCheck {
public:
  explicit WeightCheck(const WeightStore &weights)
      : error(Error::success()), thread([this, &weights] { error = weights.verify(); }) {}
  ~WeightCheck() {
    if (thread.joinable())
      consumeError(wait());
  }
  Error wait() {
    thread.join();
    return std::move(error);
  }

private:
  Error error;
  std::thread thread;
};
} // namespace

static cpu::CodeForm getForm(Stage stage) {
  if (stage == Stage::Llvm)
    return cpu::CodeForm::Llvm;
  return stage == Stage::Asm ? cpu::CodeForm::Assembly : cpu::CodeForm::Object;
}

/// The kernels' files and after them the host's, in the form that options.emit asks for.
static Expected<host::ProgramSpec> emitFiles(mlir::ModuleOp module, const cpu::Target &target, const Options &options,
                                             std::vector<File> &files) {
  cpu::CodeForm form = getForm(options.emit);
  Expected<cpu::KernelCode> code = [&] {
    ScopedTimer timer("kernels", options.verbose);
    setActivity("code generation");
    return cpu::emitKernels(module, target, form);
  }();
  if (!code)
    return code.takeError();

  ScopedTimer timer("tables", options.verbose);
  setActivity("the emission of tables");
  Expected<host::ProgramSpec> program = buildProgram(module, *code, target, sys::path::stem(options.model));
  if (!program)
    return program.takeError();
  LLVMContext context;
  Expected<std::unique_ptr<Module>> host = host::emitHost(*program, context);
  if (!host)
    return host.takeError();
  std::unique_ptr<TargetMachine> machine = cpu::createTargetMachine(target);
  cpu::setUpModule(**host, *machine);
  files = std::move(code->files);
  files.push_back(cpu::writeModule(**host, *machine, form));
  return std::move(*program);
}

/// Text in one piece; objects as an archive, because there are several.
static Error writeFiles(ArrayRef<File> files, const Options &options) {
  if (options.emit != Stage::Obj)
    return writeOutputFile(options.output, [&](raw_ostream &out) {
      for (const File &file : files)
        out << asText(file);
    });
  std::vector<std::string> names;
  for (size_t i = 0; i < files.size(); ++i)
    names.push_back(i + 1 < files.size() ? "kernels" + std::to_string(i) + ".o" : "program.o");
  std::vector<NewArchiveMember> members;
  for (auto [file, name] : zip(files, names))
    members.emplace_back(MemoryBufferRef(asText(file), name));
  Expected<std::unique_ptr<MemoryBuffer>> archive = writeArchiveToBuffer(
      members, SymtabWritingMode::NormalSymtab, object::Archive::K_GNU, /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return archive.takeError();
  return writeOutputFile(options.output, [&](raw_ostream &out) { out << (*archive)->getBuffer(); });
}

static Error linkFiles(ArrayRef<File> files, const host::ProgramSpec &program, const WeightStore &weights,
                       WeightCheck &check, const Options &options) {
  ScopedTimer timer("link", options.verbose);
  setActivity("linking");
  host::WeightLayout layout = host::layoutWeights(program.weights);
  std::vector<link::WeightPiece> pieces;
  for (auto [weight, offset] : zip(program.weights, layout.offsets))
    pieces.push_back({offset, weights.find(weight.key)->bytes});
  llvm::sort(pieces, [](const auto &a, const auto &b) { return a.offset < b.offset; });
  std::vector<StringRef> objects(map_range(files, asText).begin(), map_range(files, asText).end());

  OutputFile output(options.output);
  if (Error error = link::linkModel({objects, pieces}, output.temporary()))
    return error;
  if (Error error = check.wait())
    return error;
  return output.commit();
}

Error emitCode(mlir::ModuleOp module, const WeightStore &weights, const cpu::Target &target, const Options &options) {
  WeightCheck check(weights);
  std::vector<File> files;
  Expected<host::ProgramSpec> program = emitFiles(module, target, options, files);
  if (!program)
    return program.takeError();
  if (options.emit != Stage::So)
    return writeFiles(files, options);
  return linkFiles(files, *program, weights, check, options);
}

} // namespace ptc
