//===- Format.h - text for people ------------------------------------------===//
//
// Columns, numbers with a precision, units and padding are written by fmt:
// fmt::format for a string, `print` for a stream of LLVM's. JSON and IR are
// printed by LLVM and MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

#include <string_view>

/// StringRef and StringLiteral.
template <typename T>
struct fmt::formatter<T, std::enable_if_t<std::is_base_of_v<llvm::StringRef, T>, char>>
    : fmt::formatter<std::string_view> {
  auto format(llvm::StringRef text, fmt::format_context &context) const {
    return fmt::formatter<std::string_view>::format(std::string_view(text), context);
  }
};

namespace ptc {

/// fmt::print for LLVM's streams.
template <typename... T> void print(llvm::raw_ostream &out, fmt::format_string<T...> format, T &&...values) {
  fmt::memory_buffer text;
  fmt::vformat_to(fmt::appender(text), format, fmt::make_format_args(values...));
  out << llvm::StringRef(text.data(), text.size());
}

} // namespace ptc
