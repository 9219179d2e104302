#include "compiler/graph/train/Recipe.h"

#include "compiler/graph/train/OptionText.h"
#include "compiler/support/Options.h"

namespace ptc::train {

/// Nothing where the option was not given.
template <class Value>
static llvm::Error read(std::optional<Value> &value, const std::string &text,
                        llvm::Expected<Value> (*parse)(llvm::StringRef)) {
  if (text.empty())
    return llvm::Error::success();
  llvm::Expected<Value> parsed = parse(text);
  if (!parsed)
    return parsed.takeError();
  value = std::move(*parsed);
  return llvm::Error::success();
}

static llvm::Expected<double> parseLimit(llvm::StringRef option, llvm::StringRef text) {
  llvm::Expected<double> limit = parseNumber(option, text);
  if (limit && *limit == 0)
    return llvm::createStringError(option + " is 0, at which nothing would change");
  return limit;
}

static llvm::Expected<double> parseDecay(llvm::StringRef text) {
  llvm::Expected<double> decay = parseNumber("--ema", text);
  if (decay && *decay > 1)
    return llvm::createStringError("--ema is '" + text + "', and not a number from 0 to 1");
  return decay;
}

llvm::Expected<Recipe> parseRecipe(const Training &training) {
  Recipe recipe;
  auto settings = parseOptimizer(training.optimizer, training.optimizerOptions, training.groups);
  if (!settings)
    return settings.takeError();
  recipe.settings = std::move(*settings);
  auto parseNorm = [](llvm::StringRef text) { return parseLimit("--clip-grad-norm", text); };
  auto parseValue = [](llvm::StringRef text) { return parseLimit("--clip-grad-value", text); };
  if (llvm::Error error = read<LossScale>(recipe.lossScale, training.lossScale, parseLossScale))
    return std::move(error);
  if (llvm::Error error = read<double>(recipe.clipNorm, training.clipGradNorm, parseNorm))
    return std::move(error);
  if (llvm::Error error = read<double>(recipe.clipValue, training.clipGradValue, parseValue))
    return std::move(error);
  if (llvm::Error error = read<Schedule>(recipe.schedule, training.schedule, parseSchedule))
    return std::move(error);
  if (llvm::Error error = read<double>(recipe.decay, training.ema, parseDecay))
    return std::move(error);
  return recipe;
}

} // namespace ptc::train
