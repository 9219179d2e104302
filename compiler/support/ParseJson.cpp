#include "compiler/support/ParseJson.h"

using namespace llvm;

namespace ptc {

Expected<json::Value> parseJson(StringRef text) {
  constexpr unsigned kMostDepth = 64;
  unsigned depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isString && c == '\\')
      ++i;
    else if (c == '"')
      isString = !isString;
    else if (!isString && (c == '[' || c == '{') && ++depth > kMostDepth)
      return createStringError("it is nested too deeply");
    else if (!isString && (c == ']' || c == '}') && depth)
      --depth;
  }
  return json::parse(text);
}

} // namespace ptc
