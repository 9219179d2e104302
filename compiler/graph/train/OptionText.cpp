#include "compiler/graph/train/OptionText.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using llvm::StringRef;

namespace ptc::train {

llvm::SmallVector<std::pair<StringRef, StringRef>> splitOptions(StringRef text) {
  llvm::SmallVector<StringRef> given;
  text.split(given, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  llvm::SmallVector<std::pair<StringRef, StringRef>> options;
  for (StringRef option : given) {
    auto [name, value] = option.split('=');
    options.push_back({name.trim(), value.trim()});
  }
  return options;
}

llvm::Expected<double> parseNumber(const llvm::Twine &what, StringRef text, double limit) {
  double value;
  if (!text.getAsDouble(value) && std::isfinite(value) && value >= 0 && value < limit)
    return value;
  std::string most = std::isfinite(limit) ? "to below " + llvm::utostr(uint64_t(limit)) : "on";
  return llvm::createStringError(what + " is '" + text + "', and not a number from 0 " + most);
}

} // namespace ptc::train
