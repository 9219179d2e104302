//===- damage_test.cpp - files that are cut, changed or lie -------------------===//
//
// Whatever happens to a file, importing it ends in a model or in one line of
// error. That it does not crash is what is checked; the sanitizers' build of
// this test checks the rest.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/Decompose.h"
#include "compiler/import/Import.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <random>

namespace {

std::string readFile(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  REQUIRE(bool(file));
  return (*file)->getBuffer().str();
}

/// A folder with one damaged model and, maybe, its weights.
class Sandbox {
public:
  Sandbox() { REQUIRE(!llvm::sys::fs::createUniqueDirectory("ptc-damage", folder)); }
  ~Sandbox() { (void)llvm::sys::fs::remove_directories(folder); }

  std::string write(llvm::StringRef name, llvm::StringRef content) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << content;
    REQUIRE(!error);
    return path.str().str();
  }

private:
  llvm::SmallString<128> folder;
};

enum class Outcome { Refused, Imported };

Outcome tryImport(const std::string &path) {
  // One context for all: an MLIR context costs more than a small model.
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto model = ptc::importModel(path, {"", ptc::findResultTypes}, context);
  std::string message;
  if (!model)
    message = llvm::toString(model.takeError());
  else if (mlir::failed(mlir::verify(*model->module)))
    FAIL("an imported module does not verify");
  else if (llvm::Error error = model->weights.verify())
    message = llvm::toString(std::move(error));
  else
    return Outcome::Imported;
  CAPTURE(message);
  CHECK(message.find('\n') == std::string::npos);
  CHECK(llvm::StringRef(message).starts_with(llvm::sys::path::parent_path(path)));
  return Outcome::Refused;
}

constexpr const char *kDigits = "examples/digits/model";
/// A loop, a branch, a function, and weights that stay mapped (test/onnx/sample.py).
constexpr const char *kOnnx = "test/onnx/sample.onnx";

} // namespace

TEST_CASE("the undamaged model imports in both forms") {
  CHECK(tryImport(std::string(kDigits) + ".pt2") == Outcome::Imported);
  CHECK(tryImport(std::string(kDigits) + ".graph") == Outcome::Imported);
}

TEST_CASE("ONNX that is undamaged imports, and cut off is refused") {
  CHECK(tryImport(kOnnx) == Outcome::Imported);
  Sandbox sandbox;
  std::string file = readFile(kOnnx);
  for (int i = 0; i < 50; ++i) {
    CAPTURE(i);
    CHECK(tryImport(sandbox.write("a.onnx", file.substr(0, file.size() * i / 50))) == Outcome::Refused);
  }
}

TEST_CASE("changed bytes of ONNX never crash") {
  Sandbox sandbox;
  std::string original = readFile(kOnnx);
  // Weights are most of the file, and damage to them is no damage: half of the changes are elsewhere.
  size_t weights = original.find(std::string(64, '\x3f'));
  std::mt19937 random(13);
  for (int i = 0; i < 1500; ++i) {
    std::string damaged = original;
    for (int changes = 1 + random() % 4; changes > 0; --changes) {
      size_t at = random() % damaged.size();
      if (at > weights && at < weights + 4000)
        at = random() % weights;
      damaged[at] = char(random());
    }
    if (i % 5 == 0)
      damaged.erase(random() % weights, 1 + random() % 8);
    tryImport(sandbox.write("x.onnx", damaged));
  }
}

TEST_CASE("files cut at every 1/50 of their length are refused") {
  Sandbox sandbox;
  std::string archive = readFile(std::string(kDigits) + ".pt2");
  std::string graph = readFile(std::string(kDigits) + ".graph");
  std::string weights = readFile(std::string(kDigits) + ".safetensors");
  for (int i = 0; i < 50; ++i) {
    CAPTURE(i);
    CHECK(tryImport(sandbox.write("a.pt2", archive.substr(0, archive.size() * i / 50))) == Outcome::Refused);
    sandbox.write("b.safetensors", weights);
    CHECK(tryImport(sandbox.write("b.graph", graph.substr(0, graph.size() * i / 50))) == Outcome::Refused);
    sandbox.write("c.safetensors", weights.substr(0, weights.size() * i / 50));
    CHECK(tryImport(sandbox.write("c.graph", graph)) == Outcome::Refused);
  }
}

TEST_CASE("changed bytes never crash") {
  Sandbox sandbox;
  std::mt19937 random(7);
  for (const char *ending : {".pt2", ".graph", ".safetensors"}) {
    std::string original = readFile(std::string(kDigits) + ending);
    for (int i = 0; i < 150; ++i) {
      std::string damaged = original;
      // Half of the changes near the end, where a zip has its directory.
      size_t range = i % 2 ? std::min<size_t>(damaged.size(), 4096) : damaged.size();
      for (int changes = 1 + random() % 3; changes > 0; --changes)
        damaged[damaged.size() - 1 - random() % range] = char(random());
      std::string path = sandbox.write(std::string("x") + ending, damaged);
      if (llvm::StringRef(ending) == ".safetensors")
        path = sandbox.write("x.graph", readFile(std::string(kDigits) + ".graph"));
      else
        sandbox.write("x.safetensors", readFile(std::string(kDigits) + ".safetensors"));
      tryImport(path);
    }
  }
}

TEST_CASE("a changed byte in any weight of an archive is found") {
  Sandbox sandbox;
  std::string archive = readFile(std::string(kDigits) + ".pt2");
  // The first entry is a weight; its bytes begin behind a header of 64 bytes or so.
  size_t inside = archive.find("weight_0") + 512;
  archive[inside] ^= 1;
  CHECK(tryImport(sandbox.write("w.pt2", archive)) == Outcome::Refused);
}

TEST_CASE("text of a graph with tokens taken out never crashes") {
  Sandbox sandbox;
  std::string graph = readFile(std::string(kDigits) + ".graph");
  sandbox.write("t.safetensors", readFile(std::string(kDigits) + ".safetensors"));
  std::mt19937 random(11);
  for (int i = 0; i < 200; ++i) {
    std::string damaged = graph;
    size_t at = random() % damaged.size(), length = 1 + random() % 12;
    if (i % 3 == 0)
      damaged.erase(at, length);
    else if (i % 3 == 1)
      damaged.insert(at, graph.substr(random() % graph.size(), length));
    else
      damaged.replace(at, length, graph.substr(random() % graph.size(), length));
    tryImport(sandbox.write("t.graph", damaged));
  }
}
