#include "compiler/import/Import.h"

#include "compiler/import/BuildAten.h"
#include "compiler/import/Capture.h"
#include "compiler/import/FewBoxes.h"
#include "compiler/import/ForeignFile.h"
#include "compiler/import/GraphText.h"
#include "compiler/import/LoadWeight.h"
#include "compiler/import/Pt2.h"
#include "compiler/import/ReadMlir.h"
#include "compiler/import/Trainable.h"
#include "compiler/import/WeightsFile.h"
#include "compiler/import/onnx/ImportOnnx.h"
#include "compiler/support/InputFile.h"
#include "dialects/aten/AtenDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using llvm::StringRef;

namespace ptc {
namespace {

using import::StoredTensors;

llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }
llvm::Error fail(StringRef where, llvm::Error error) { return fail(where + ": " + llvm::toString(std::move(error))); }

/// NAME.safetensors or model.safetensors beside the model; empty when neither
/// is there.
std::string findSibling(StringRef path) {
  llvm::SmallString<128> sibling(path);
  llvm::sys::path::replace_extension(sibling, "safetensors");
  if (llvm::sys::fs::exists(sibling))
    return sibling.str().str();
  sibling = llvm::sys::path::parent_path(path);
  llvm::sys::path::append(sibling, "model.safetensors");
  return llvm::sys::fs::exists(sibling) ? sibling.str().str() : std::string();
}

/// Where the weights of a model without any of its own come from.
std::string weightsPath(StringRef path, const ImportOptions &options) {
  return options.weights.empty() ? findSibling(path) : options.weights;
}

/// Tensors of `more` that `tensors` lacks.
void addMissing(StoredTensors &tensors, const StoredTensors &more) {
  for (const auto &entry : more)
    tensors.try_emplace(entry.getKey(), entry.getValue());
}

/// The weights of a model without any of its own. A checkpoint is completed with those beside the model.
llvm::Expected<StoredTensors> openWeightsOf(StringRef path, const ImportOptions &options, WeightStore &weights) {
  auto tensors = import::openWeights(weightsPath(path, options), weights);
  if (!tensors || options.weights.empty() || !import::isCheckpoint(*tensors))
    return tensors;
  auto others = import::openWeights(findSibling(path), weights);
  if (!others)
    return others.takeError();
  addMissing(*tensors, *others);
  return tensors;
}

/// Whether a file of weights in place of a `.pt2`'s may lack one: a step of training does not change all, and a state
/// dict has no constants.
bool mayLack(const import::InputSpec &spec, const StoredTensors &given) {
  return spec.kind != import::InputKind::Parameter || import::isCheckpoint(given);
}

llvm::Expected<ImportedModel> importPt2(std::unique_ptr<llvm::MemoryBuffer> file, StringRef path,
                                        const ImportOptions &options, mlir::MLIRContext &context) {
  auto archive = import::Pt2Archive::open(std::move(file));
  if (!archive)
    return fail(path, archive.takeError());
  auto parsed = import::readPt2(**archive);
  if (!parsed)
    return fail(path, parsed.takeError());
  ImportedModel model;
  model.weights.keep(*archive);
  StoredTensors tensors = std::move(parsed->tensors);
  std::string weightsName = path.str();
  bool hasOwn = options.weights.empty();
  if (!options.weights.empty()) {
    auto given = import::openWeights(options.weights, model.weights);
    if (!given)
      return given.takeError();
    StoredTensors own = std::exchange(tensors, *given);
    for (const import::InputSpec &spec : parsed->program.inputs)
      if (auto found = own.find(spec.target); found != own.end() && mayLack(spec, *given))
        hasOwn |= tensors.try_emplace(spec.target, found->second).second;
    weightsName = options.weights;
  }
  if (hasOwn)
    model.weights.addCheck([archive = *archive, path = path.str()] {
      llvm::Error error = import::verifyPt2Tensors(*archive);
      return error ? fail(path, std::move(error)) : llvm::Error::success();
    });
  import::admitFewBoxes(parsed->program);
  auto module = import::buildAten(parsed->program, tensors, model.weights, path, weightsName, options, context);
  if (!module)
    return module.takeError();
  model.module = std::move(*module);
  return model;
}

llvm::Expected<ImportedModel> importGraphText(StringRef text, StringRef path, const ImportOptions &options,
                                              mlir::MLIRContext &context, unsigned firstLine = 1) {
  auto program = import::readGraphText(text, firstLine);
  if (!program) {
    std::string what = llvm::toString(program.takeError());
    if (path.ends_with(".py"))
      what += (" (Python is not run here: export the model, or `ptc capture " + path + ":NAME`)").str();
    return fail(path + ":" + what);
  }
  ImportedModel model;
  std::string weightsName = weightsPath(path, options);
  auto tensors = openWeightsOf(path, options, model.weights);
  if (!tensors)
    return tensors.takeError();
  import::admitFewBoxes(*program);
  auto module = import::buildAten(*program, *tensors, model.weights, path, weightsName, options, context);
  if (!module)
    return module.takeError();
  model.module = std::move(*module);
  return model;
}

/// The first break as an error: why a capture is not one model.
llvm::Error failAtBreak(const Capture &capture, StringRef path) {
  StringRef advice = "compile with --no-fullgraph for a library of each graph; `ptc explain` says what to do";
  if (capture.breaks.empty())
    return fail(path + ": holds " + llvm::Twine(capture.graphs.size()) + " graphs (" + advice + ")");
  const Capture::Break &first = capture.breaks.front();
  return fail((first.place.source.empty() ? path.str() : first.place.source) + ": " + first.reason +
              (first.place.code.empty() ? "" : " at `" + first.place.code + "`") + " breaks the graph, the first of " +
              llvm::Twine(capture.breaks.size()) + (capture.breaks.size() == 1 ? " break (" : " breaks (") + advice +
              ")");
}

llvm::Expected<ImportedModel> importGraph(const Capture &capture, unsigned index, StringRef path,
                                          const ImportOptions &options, mlir::MLIRContext &context) {
  if (index >= capture.graphs.size())
    return fail(path + ": has no graph " + llvm::Twine(index) + " (there are " + llvm::Twine(capture.graphs.size()) +
                ", from 0)");
  const Capture::Graph &graph = capture.graphs[index];
  if (!graph.failure.empty())
    return fail((graph.end.source.empty() ? path.str() : graph.end.source) + ": graph " + llvm::Twine(index) +
                " could not be captured: " + graph.failure);
  return importGraphText(graph.text, path, options, context, graph.line);
}

llvm::Expected<ImportedModel> importCapture(StringRef text, StringRef path, const ImportOptions &options,
                                            mlir::MLIRContext &context) {
  llvm::Expected<Capture> capture = import::readCapture(text);
  if (!capture)
    return fail(path + ":" + llvm::toString(capture.takeError()));
  if (!options.graph && (capture->graphs.size() != 1 || !capture->breaks.empty()))
    return failAtBreak(*capture, path);
  return importGraph(*capture, options.graph.value_or(0), path, options, context);
}

llvm::Expected<ImportedModel> importMlir(std::unique_ptr<llvm::MemoryBuffer> file, StringRef path,
                                         const ImportOptions &options, mlir::MLIRContext &context) {
  ImportedModel model;
  auto module = import::readMlir(std::move(file), path, context);
  if (!module)
    return module.takeError();
  std::string weightsName = weightsPath(path, options);
  auto tensors = openWeightsOf(path, options, model.weights);
  if (!tensors)
    return tensors.takeError();
  if (llvm::Error error = import::loadArguments(**module, *tensors, weightsName, model.weights))
    return fail(path, std::move(error));
  model.module = std::move(*module);
  return model;
}

} // namespace

ModelKind detectModelKind(StringRef content) {
  if (content.starts_with("PK\x03\x04") || content.starts_with("PK\x05\x06"))
    return ModelKind::Pt2;
  if (import::isCapture(content))
    return ModelKind::Capture;
  // ONNX: field 1 (ir_version, a small number), then field 2 or 7 (a string, the graph).
  if (content.size() > 4 && content[0] == '\x08' && content[1] < 32 &&
      (content[2] == '\x12' || content[2] == '\x3a' || content[2] == '\x1a'))
    return ModelKind::Onnx;
  // Text: what comes first after comments and blank lines tells.
  StringRef rest = content.take_front(1 << 16);
  if (rest.contains('\0'))
    return ModelKind::Unknown;
  while (!(rest = rest.ltrim()).empty()) {
    StringRef line = rest.split('\n').first;
    if (line.starts_with("//") || line.starts_with("#map") || line.starts_with("#set") || line.starts_with("#loc") ||
        line.starts_with("!") || line.starts_with("{-#") || line.starts_with("module") ||
        line.starts_with("builtin.module") || line.starts_with("\"builtin.module\"") || line.starts_with("func.func"))
      if (!line.starts_with("//"))
        return ModelKind::Mlir;
    for (StringRef start : {"ExportedProgram", "class ", "def ", "@", "import ", "from "})
      if (line.starts_with(start))
        return ModelKind::GraphText;
    if (!line.starts_with("#") && !line.starts_with("//"))
      break;
    rest = rest.split('\n').second;
  }
  return ModelKind::Unknown;
}

std::vector<std::string> findWeights(StringRef path, StringRef content, const ImportOptions &options) {
  ModelKind kind = detectModelKind(content);
  std::vector<std::string> files = {options.weights};
  if (kind == ModelKind::Onnx)
    llvm::append_range(files, import::findExternalData(llvm::MemoryBuffer::getMemBuffer(content, path, false), path));
  else if (kind != ModelKind::Pt2)
    files.push_back(findSibling(path));
  llvm::erase(files, "");
  return files;
}

llvm::Expected<std::optional<CaptureFile>> openCapture(StringRef path) {
  auto file = openInput(InputFile(path));
  if (!file)
    return file.takeError();
  if (!import::isCapture((*file)->getBuffer()))
    return std::nullopt;
  llvm::Expected<Capture> capture = import::readCapture((*file)->getBuffer());
  if (!capture)
    return fail(path + ":" + llvm::toString(capture.takeError()));
  return CaptureFile{std::move(*file), std::move(*capture)};
}

llvm::Expected<ImportedModel> importGraph(const CaptureFile &file, unsigned graph, StringRef path,
                                          const ImportOptions &options, mlir::MLIRContext &context) {
  context.loadDialect<mlir::func::FuncDialect, aten::AtenDialect>();
  return importGraph(file.capture, graph, path, options, context);
}

static llvm::Expected<ImportedModel> importFile(std::unique_ptr<llvm::MemoryBuffer> file, StringRef path,
                                                const ImportOptions &options, mlir::MLIRContext &context) {
  StringRef content = file->getBuffer();
  if (content.empty())
    return fail(path + ": is empty");
  ModelKind kind = detectModelKind(content);
  if (options.graph && kind != ModelKind::Capture)
    return fail(path + ": is one model and no capture (leave --graph out)");
  switch (kind) {
  case ModelKind::Pt2:
    return importPt2(std::move(file), path, options, context);
  case ModelKind::GraphText:
    return importGraphText(content, path, options, context);
  case ModelKind::Capture:
    return importCapture(content, path, options, context);
  case ModelKind::Mlir:
    return importMlir(std::move(file), path, options, context);
  case ModelKind::Onnx:
    return import::importOnnx(std::move(file), path, options, context);
  case ModelKind::Unknown:
    break;
  }
  std::string foreign = import::describeForeignFile(content);
  return fail(path + ": " +
              (foreign.empty()
                   ? "is no model that ptc knows (a torch.export archive, the text of an exported graph, ONNX, or MLIR)"
                   : foreign));
}

llvm::Expected<ImportedModel> importModel(StringRef path, const ImportOptions &options, mlir::MLIRContext &context) {
  context.loadDialect<mlir::func::FuncDialect, aten::AtenDialect>();
  InputFile input(path);
  auto file = openInput(input);
  if (!file)
    return file.takeError();
  auto model = importFile(std::move(*file), path, options, context);
  if (llvm::Error changed = input.check()) {
    // What is wrong with it may be only that.
    llvm::consumeError(model.takeError());
    return changed;
  }
  if (!model)
    return model;
  if (options.training)
    if (llvm::Error error = import::settleTrainables(*model->module, options.freeze))
      return fail(path, std::move(error));
  model->weights.addInput(std::move(input));
  return model;
}

} // namespace ptc
