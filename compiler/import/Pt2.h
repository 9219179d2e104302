//===- Pt2.h - a torch.export archive => the program and its tensors ---------===//
#pragma once

#include "compiler/import/ExportedProgram.h"
#include "compiler/import/Pt2Archive.h"

namespace ptc::import {

struct Pt2Model {
  ExportedProgram program;
  StoredTensors tensors;
};

llvm::Expected<Pt2Model> readPt2(Pt2Archive &archive);

/// Compares the tensors' bytes with their checksums.
llvm::Error verifyPt2Tensors(const Pt2Archive &archive);

} // namespace ptc::import
