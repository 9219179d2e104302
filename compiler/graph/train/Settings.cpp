#include "compiler/graph/train/Settings.h"

#include "compiler/graph/train/Optimizers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using llvm::StringRef;

namespace ptc::train {

static llvm::Error fail(const llvm::Twine &message) { return llvm::createStringError(message); }

//===----------------------------------------------------------------------===//
// Names of states
//===----------------------------------------------------------------------===//

static std::string nameState(unsigned group, StringRef name) {
  return "optimizer." + (group ? std::to_string(group) + "." : std::string()) + name.str();
}

std::string Settings::nameHyperparameter(StringRef option) const {
  return nameState(own.contains(option) ? group : 0, option);
}

std::string Settings::nameShared(StringRef number) const { return nameState(group, number); }

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static std::vector<StringRef> flagsOf(const Optimizer &optimizer) {
  std::vector<StringRef> flags(optimizer.flags.begin(), optimizer.flags.end());
  flags.push_back("maximize");
  return flags;
}

static llvm::Error setFlag(Settings &settings, StringRef flag, StringRef text) {
  std::string value = text.lower();
  if (!llvm::is_contained({"", "0", "1", "false", "true"}, StringRef(value)))
    return fail("option '" + flag + "' of " + settings.optimizer->name + " is '" + text + "', and not true or false");
  settings.values[flag] = value != "0" && value != "false";
  return llvm::Error::success();
}

static llvm::Error setOption(Settings &settings, StringRef option, StringRef text) {
  const Optimizer &optimizer = *settings.optimizer;
  std::vector<StringRef> names;
  for (const Number &number : optimizer.numbers) {
    if (number.name == option) {
      llvm::Expected<double> value = parseNumber("option '" + option + "' of " + optimizer.name, text, number.limit);
      if (!value)
        return value.takeError();
      settings.values[option] = *value;
      return llvm::Error::success();
    }
    names.push_back(number.name);
  }
  for (StringRef flag : flagsOf(optimizer)) {
    if (flag == option)
      return setFlag(settings, flag, text);
    names.push_back(flag);
  }
  return fail(optimizer.name + " has no option '" + option + "' (it has " + llvm::join(names, ", ") + ")");
}

/// Those of no group.
static llvm::Expected<Settings> parseDefaults(StringRef name, StringRef options) {
  Settings settings;
  std::vector<StringRef> names;
  for (const Optimizer &optimizer : optimizers()) {
    names.push_back(optimizer.name);
    if (name.equals_insensitive(optimizer.name))
      settings.optimizer = &optimizer;
  }
  if (!settings.optimizer)
    return fail("there is no optimizer '" + name + "' (there are " + llvm::join(names, ", ") + ")");
  for (const Number &number : settings.optimizer->numbers)
    settings.values[number.name] = number.value;
  for (StringRef flag : flagsOf(*settings.optimizer))
    settings.values[flag] = 0;
  for (auto [option, text] : splitOptions(options))
    if (llvm::Error error = setOption(settings, option, text))
      return std::move(error);
  return settings;
}

/// Options have no colon, and expressions may.
static llvm::Expected<Settings> parseGroup(const Settings &defaults, unsigned index, StringRef text) {
  auto [pattern, options] = text.rsplit(':');
  Settings settings = defaults;
  settings.group = index;
  settings.pattern = pattern.trim().str();
  std::string why;
  if (!text.contains(':') || splitOptions(options).empty())
    return fail("--group '" + text + "' says no options (REGEX: NAME=VALUE,...)");
  if (!llvm::Regex(settings.pattern).isValid(why))
    return fail("--group '" + text + "': '" + settings.pattern + "' is no regular expression: " + why);
  for (auto [option, value] : splitOptions(options)) {
    if (llvm::Error error = setOption(settings, option, value))
      return fail("--group '" + text + "': " + llvm::toString(std::move(error)));
    settings.own.insert(option);
  }
  return settings;
}

llvm::Expected<std::vector<Settings>> parseOptimizer(StringRef name, StringRef options,
                                                     llvm::ArrayRef<std::string> groups) {
  llvm::Expected<Settings> defaults = parseDefaults(name, options);
  if (!defaults)
    return defaults.takeError();
  std::vector<Settings> all = {*defaults};
  for (StringRef text : groups) {
    llvm::Expected<Settings> group = parseGroup(*defaults, all.size(), text);
    if (!group)
      return group.takeError();
    all.push_back(std::move(*group));
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Which group a parameter is in
//===----------------------------------------------------------------------===//

llvm::Expected<std::vector<const Settings *>> assignGroups(llvm::ArrayRef<Settings> settings,
                                                           llvm::ArrayRef<StringRef> parameters) {
  std::vector<const Settings *> result(parameters.size(), &settings.front());
  for (const Settings &group : settings.drop_front()) {
    llvm::Regex regex(group.pattern);
    bool isFound = false, isUsed = false;
    for (auto [parameter, chosen] : llvm::zip_equal(parameters, result)) {
      if (!regex.match(parameter))
        continue;
      isFound = true;
      if (chosen->group)
        continue;
      isUsed = true;
      chosen = &group;
    }
    std::string where = "--group '" + group.pattern + "'";
    if (!isFound)
      return fail("no parameter to train has a name that matches " + where + " (such as '" + parameters.front() + "')");
    if (!isUsed)
      return fail("every parameter whose name matches " + where + " is in a group before it");
  }
  return result;
}

} // namespace ptc::train
