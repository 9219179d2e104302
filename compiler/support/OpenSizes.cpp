#include "compiler/support/OpenSizes.h"
#include "compiler/support/Format.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace llvm;

namespace ptc {
namespace {

struct Choice {
  StringRef name;
  int64_t size;
};

Expected<SmallVector<Choice>> parse(StringRef text) {
  SmallVector<Choice> choices;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, size] = part.rsplit('=');
    int64_t value;
    if (name.empty() || size.getAsInteger(10, value) || value < 0)
      return createStringError("'" + part + "' is not NAME=SIZE");
    if (is_contained(map_range(choices, [](const Choice &c) { return c.name; }), name))
      return createStringError("'" + name + "' is given twice");
    choices.push_back({name, value});
  }
  return choices;
}

std::string describeRange(const OpenSize &symbol) {
  return symbol.max < 0 ? fmt::format("{} and up", symbol.min) : fmt::format("{} to {}", symbol.min, symbol.max);
}

/// "s77 or images.0 (2 to 64), s12 (1 and up)"
std::string describe(ArrayRef<OpenSize> symbols) {
  std::string text;
  for (const OpenSize &symbol : symbols)
    text += fmt::format("{}{}{}{} ({})", text.empty() ? "" : ", ", symbol.name, symbol.places.empty() ? "" : " or ",
                        fmt::join(symbol.places, " or "), describeRange(symbol));
  return text;
}

} // namespace

std::string checkSizes(StringRef chosen) {
  Expected<SmallVector<Choice>> choices = parse(chosen);
  return choices ? "" : toString(choices.takeError());
}

Expected<SmallVector<int64_t>> chooseSizes(ArrayRef<OpenSize> symbols, StringRef chosen) {
  SmallVector<int64_t> sizes;
  for (const OpenSize &symbol : symbols)
    sizes.push_back(symbol.min == 0 && symbol.max != 0 ? 1 : symbol.min);
  if (chosen.empty())
    return sizes;
  Expected<SmallVector<Choice>> choices = parse(chosen);
  if (!choices)
    return choices.takeError();
  SmallVector<StringRef> chosenBy(symbols.size());
  for (const Choice &choice : *choices) {
    const OpenSize *symbol = find_if(
        symbols, [&](const OpenSize &one) { return choice.name == one.name || is_contained(one.places, choice.name); });
    if (symbol == symbols.end())
      return createStringError(
          fmt::format("no size is called '{}' ({})", choice.name.str(),
                      symbols.empty() ? "all sizes of the model are fixed" : "there are " + describe(symbols)));
    if (choice.size < symbol->min || (symbol->max >= 0 && choice.size > symbol->max))
      return createStringError(
          fmt::format("{} is {}, allowed: {}", choice.name.str(), choice.size, describeRange(*symbol)));
    size_t i = symbol - symbols.begin();
    if (!chosenBy[i].empty() && sizes[i] != choice.size)
      return createStringError(fmt::format("{} is {}, but {} is the same size and was given as {}", choice.name.str(),
                                           choice.size, chosenBy[i].str(), sizes[i]));
    chosenBy[i] = choice.name;
    sizes[i] = choice.size;
  }
  return sizes;
}

} // namespace ptc
