//===- ApplyGradients.cpp -------------------------------------------------===//
//
// Rows of optimizers see real tensors with dimensions. So the parts of a complex
// parameter are updated one by one, as PyTorch does (torch.view_as_real); one
// without dimensions is seen as one of a single element, or numbers of f64 would
// be no weaker than it in promotion.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/train/ApplyGradients.h"

#include "compiler/graph/train/ClipGradients.h"
#include "compiler/graph/train/Optimizers.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace ptc::train {

using decompose::B;
using decompose::OptT;
using decompose::T;

namespace {

/// How often parameters are updated, and what of it rows need to know.
struct Progress {
  T step;      ///< 1 in the first step; i64
  OptT factor; ///< of the learning rate
};

/// What an optimizer's row sees of a parameter: all of it, or one part of a complex one.
class PartUpdate : public Update {
public:
  PartUpdate(StepFunction &f, const Gradient &gradient, const Progress &progress, unsigned part)
      : Update(f.b, *gradient.settings, see(gradient.parameter, part), see(gradient.gradient, part), progress.step),
        f(f), of(gradient), progress(progress), part(part) {}

  T number(StringRef name) override {
    T value = f.number(settings.nameHyperparameter(name), b.f64(), settings.number(name));
    return name == "lr" && progress.factor ? value * *progress.factor : value;
  }
  T moment(StringRef name, double first) override {
    auto type = llvm::cast<mlir::RankedTensorType>(of.parameter.tensor().getType());
    return see(f.state(nameMoment(name), type, first), part);
  }
  void keep(StringRef name, T value) override { kept.push_back({nameMoment(name), value}); }
  T shared(StringRef name, double first) override { return f.number(settings.nameShared(name), b.f32(), first); }
  void keepShared(StringRef name, T value) override { f.write(settings.nameShared(name), value); }

  /// The states of the parameter after the step, in the order in which the row has said so.
  llvm::SmallVector<std::pair<std::string, T>> kept;

private:
  static T see(T tensor, unsigned part) {
    T x = getPart(tensor, part);
    return x.rank() ? x : x.builder().reshape(x, {x.builder().size(1)});
  }
  std::string nameMoment(StringRef name) { return ("optimizer/" + name + "/" + of.name).str(); }

  StepFunction &f;
  const Gradient &of;
  const Progress &progress;
  unsigned part;
};

} // namespace

/// From the parts that rows have seen to a tensor as `like`.
static T join(llvm::ArrayRef<T> parts, T like) { return like.builder().reshape(joinParts(parts), like.sizes()); }

/// The parameter after the step; it and what is kept of it are written.
static T update(StepFunction &f, const Gradient &gradient, const Progress &progress) {
  llvm::SmallVector<T, 2> next;
  llvm::SmallVector<llvm::SmallVector<std::pair<std::string, T>>, 2> kept;
  for (unsigned part = 0; part < countParts(gradient.parameter); ++part) {
    PartUpdate u(f, gradient, progress, part);
    next.push_back(apply(u));
    if (f.b.hasFailed())
      return T();
    kept.push_back(std::move(u.kept));
  }
  T result = join(next, gradient.parameter);
  f.write(gradient.name, result);
  for (unsigned i = 0; i < kept.front().size(); ++i) {
    auto parts = llvm::map_to_vector<2>(kept, [&](const auto &ofPart) { return ofPart[i].second; });
    f.write(kept.front()[i].first, join(parts, gradient.parameter));
  }
  return result;
}

/// torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn: the first average is the parameter itself.
static void average(StepFunction &f, double decay, llvm::ArrayRef<Gradient> gradients, llvm::ArrayRef<T> next) {
  B &b = f.b;
  f.startPart("ema");
  T weight = 1.0 - f.number("ema.decay", b.f64(), decay);
  T count = f.number("ema.n_averaged", b.i64(), 0);
  for (auto [gradient, parameter] : llvm::zip_equal(gradients, next)) {
    std::string name = ("ema/" + gradient.name).str();
    T before = f.stateLike(name, gradient.name, llvm::cast<mlir::RankedTensorType>(parameter.tensor().getType()));
    llvm::SmallVector<T, 2> parts;
    for (unsigned part = 0; part < countParts(parameter); ++part) {
      T end = getPart(parameter, part);
      parts.push_back(b.where(count == 0, end, lerp(b, getPart(before, part), end, weight)));
    }
    f.write(name, joinParts(parts));
  }
  f.write("ema.n_averaged", count + 1);
}

/// Gradients as the optimizer sees them. What is written behind this is so only where they are finite.
static llvm::SmallVector<Gradient> treat(StepFunction &f, const Recipe &recipe, llvm::ArrayRef<Gradient> gradients) {
  auto values = llvm::map_to_vector(gradients, [](const Gradient &gradient) { return gradient.gradient; });
  OptT isFinite;
  if (recipe.lossScale) {
    isFinite = unscale(f, *recipe.lossScale, values);
    updateScale(f, *recipe.lossScale, *isFinite);
    f.writeOnlyIf(*isFinite);
  }
  if (recipe.clipNorm)
    clipNorm(f, *recipe.clipNorm, values);
  if (recipe.clipValue)
    clipValue(f, *recipe.clipValue, values);
  llvm::SmallVector<Gradient> treated(gradients);
  // Updates wait until all gradients are known, or next values of all states would lie beside them until then.
  for (auto [gradient, value] : llvm::zip_equal(treated, values))
    gradient.gradient = isFinite ? mapParts(value, [&](T part) { return f.b.where(*isFinite, part, 0.0); }) : value;
  return treated;
}

llvm::Error applyGradients(StepFunction &f, const Recipe &recipe, llvm::ArrayRef<Gradient> given) {
  llvm::SmallVector<Gradient> gradients = treat(f, recipe, given);
  T done = f.number("optimizer.step", f.b.i64(), 0);
  Progress progress{done + 1, std::nullopt};
  if (recipe.schedule)
    progress.factor = computeFactor(f, *recipe.schedule, done);
  StringRef optimizer = recipe.settings.front().optimizer->name;
  f.startPart(optimizer);
  llvm::SmallVector<T> next;
  for (const Gradient &gradient : gradients) {
    next.push_back(update(f, gradient, progress));
    if (f.b.hasFailed())
      return llvm::createStringError(optimizer + ": " + f.b.getHint());
  }
  f.write("optimizer.step", progress.step);
  if (recipe.decay)
    average(f, *recipe.decay, gradients, next);
  if (StringRef name = f.getConflict(); !name.empty())
    return llvm::createStringError("the model has a weight '" + name + "', as a state of the step is named");
  return llvm::Error::success();
}

} // namespace ptc::train
