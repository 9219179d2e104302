//===- JsonText.cpp -------------------------------------------------------===//

#include "compiler/import/JsonText.h"

using llvm::StringRef;

namespace ptc::import {

/// Brackets outside of strings, opened and not closed.
static int maximalDepth(StringRef text) {
  int depth = 0, maximum = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '"':
      for (++i; i < text.size() && text[i] != '"'; ++i)
        i += text[i] == '\\';
      break;
    case '[':
    case '{':
      maximum = std::max(maximum, ++depth);
      break;
    case ']':
    case '}':
      --depth;
      break;
    default:
      break;
    }
  }
  return maximum;
}

llvm::Expected<llvm::json::Value> parseJson(StringRef text) {
  constexpr int kMaxDepth = 128;
  if (maximalDepth(text) > kMaxDepth)
    return llvm::createStringError("JSON nested more than " + llvm::Twine(kMaxDepth) + " deep");
  return llvm::json::parse(text);
}

} // namespace ptc::import
