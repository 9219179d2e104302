//===- ControlFlow.cpp - operators that take graphs --------------------------------===//

#include "compiler/import/onnx/Graph.h"

using namespace mlir;

namespace ptc::import::onnx {

Values GraphImporter::buildIf(const Node &, Scope &, const Frame &) { return {b.fail("is not supported")}; }
Values GraphImporter::buildLoop(const Node &, Scope &, const Frame &) { return {b.fail("is not supported")}; }
Values GraphImporter::buildScan(const Node &, Scope &, const Frame &) { return {b.fail("is not supported")}; }
Values GraphImporter::buildSequenceMap(const Node &, Scope &, const Frame &) { return {b.fail("is not supported")}; }

} // namespace ptc::import::onnx
