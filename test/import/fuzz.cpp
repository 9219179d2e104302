//===- fuzz.cpp - libFuzzer's way into every parser of untrusted bytes --------===//
//
//   bazel build --config=fuzz //test/import:fuzz
//   mkdir corpus && bazel-bin/test/import/fuzz corpus examples/digits
//
// The first byte chooses the parser, so that one corpus serves all. ONNX models
// are changed by what is in them. fuzz_test.cpp runs the same function over
// damaged files in every build.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/Decompose.h"
#include "compiler/import/Capture.h"
#include "compiler/import/GraphText.h"
#include "compiler/import/Pt2.h"
#include "compiler/import/Pt2Json.h"
#include "compiler/import/ReadMlir.h"
#include "compiler/import/Safetensors.h"
#include "compiler/import/onnx/ImportOnnx.h"
#include "dialects/aten/AtenDialect.h"
#include "test/import/MutateOnnx.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <cstdlib>
#include <cstring>

using namespace ptc::import;

template <typename T> static void ignore(llvm::Expected<T> result) {
  if (!result)
    llvm::consumeError(result.takeError());
}

/// With the graphs in it, whose places must lie in the file.
static void parseCapture(llvm::StringRef bytes) {
  auto capture = readCapture(bytes);
  if (!capture)
    return llvm::consumeError(capture.takeError());
  for (const ptc::Capture::Graph &graph : capture->graphs)
    ignore(readGraphText(graph.text, graph.line));
}

static void parseArchive(llvm::StringRef bytes) {
  auto archive = Pt2Archive::open(llvm::MemoryBuffer::getMemBufferCopy(bytes));
  if (!archive)
    return llvm::consumeError(archive.takeError());
  ignore(readPt2(**archive));
  llvm::consumeError(verifyPt2Tensors(**archive));
}

/// In a context of its own: types and names stay in a context for its lifetime.
static void parseMlir(llvm::StringRef bytes) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, ptc::aten::AtenDialect>();
  ignore(readMlir(llvm::MemoryBuffer::getMemBufferCopy(bytes), "fuzz.mlir", context));
}

static void parseOnnx(llvm::StringRef bytes) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, ptc::aten::AtenDialect>();
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto file = llvm::MemoryBuffer::getMemBufferCopy(bytes);
  ignore(importOnnx(std::move(file), "fuzz.onnx", {"", ptc::findResultTypes}, context));
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak));

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  if (size < 2 || data[0] != 'o' || random() % 8 == 0)
    return LLVMFuzzerMutate(data, size, most);
  std::string model = mutateOnnx(std::string(reinterpret_cast<char *>(data) + 1, size - 1), random);
  if (model.size() + 1 > most)
    return size;
  std::memcpy(data + 1, model.data(), model.size());
  return model.size() + 1;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  llvm::StringRef bytes(reinterpret_cast<const char *>(data + 1), size - 1);
  switch (data[0]) {
  case 'g':
    ignore(readGraphText(bytes));
    break;
  case 'c':
    parseCapture(bytes);
    break;
  case 'j':
    ignore(readProgramJson(bytes));
    break;
  case 'w':
    ignore(readPayloadJson(bytes));
    break;
  case 's':
    ignore(readSafetensors({bytes.data(), bytes.size()}));
    break;
  case 'z':
    parseArchive(bytes);
    break;
  case 'e':
    ignore(parseExpression(bytes));
    break;
  case 'm':
    parseMlir(bytes);
    break;
  case 'o':
    parseOnnx(bytes);
    break;
  default:
    break;
  }
  return 0;
}
