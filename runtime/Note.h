//===- Note.h - what a library says of itself ------------------------------===//
//
// A note of ELF: three i32 (the owner's length, the text's with the zero behind
// it, a type), the owner, the text, which is JSON. Tools read it from the file;
// in a process it is where ptc_info finds it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>

namespace ptc::runtime {

constexpr char kNoteSection[] = ".note.ptc";
constexpr char kNoteSymbol[] = "ptc_note";
constexpr char kNoteOwner[] = "ptc"; ///< with its zero a multiple of 4, as notes want it
constexpr int kNoteType = 1;
constexpr size_t kNoteTextOffset = 12 + sizeof(kNoteOwner);

} // namespace ptc::runtime
