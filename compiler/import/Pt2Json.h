//===- Pt2Json.h - torch.export's serialized JSON --------------------------===//
//
// The schema is torch/_export/serde/schema.py, major version 8. Keys that ptc
// has no use for are skipped.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"

#include "llvm/Support/Error.h"

namespace ptc::import {

/// models/NAME.json
llvm::Expected<ExportedProgram> readProgramJson(llvm::StringRef json);

/// One row of data/weights/NAME_weights_config.json or its sibling for
/// constants: which tensor (its bytes still missing) lies in which entry.
struct Payload {
  std::string name; ///< "encoder.layer.0.weight"
  std::string entry;
  StoredTensor tensor;
};
llvm::Expected<std::vector<Payload>> readPayloadJson(llvm::StringRef json);

} // namespace ptc::import
