//===- ForeignFile.h - files that are taken for models -----------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace ptc::import {

/// What a file is that has no graph which ptc reads, and what to do about it; empty where its content does not tell.
std::string describeForeignFile(llvm::StringRef content);

/// The same of a zip archive, by the names of its entries without the root folder.
std::string describeForeignArchive(const std::vector<std::string> &names);

} // namespace ptc::import
