#include "compiler/graph/train/Optimizers.h"

namespace ptc::train {

//===----------------------------------------------------------------------===//
// What rows share
//===----------------------------------------------------------------------===//

T lerp(B &b, T start, T end, T weight) {
  T w = b.to(weight, start.dtype()), isSmall = b.abs(w) < 0.5;
  T base = b.where(isSmall, start, end), factor = b.where(isSmall, w, w - 1.0);
  return base + factor * (end - start);
}

/// Decay as a part of the loss (L2).
static T decayed(Update &u) { return u.gradient + u.number("weight_decay") * u.weight; }

/// Decay of the weight itself, or by the gradient: what the row goes on with.
struct Decayed {
  T weight, gradient;
};
static Decayed decay(Update &u, T lr, bool isDecoupled) {
  if (!isDecoupled)
    return {u.weight, decayed(u)};
  return {u.weight * (1.0 - lr * u.number("weight_decay")), u.gradient};
}

/// The two moments of Adam and its relatives, after this step.
struct Moments {
  T mean, square;
};
static Moments moments(Update &u, T g, T beta1, T beta2) {
  T mean = lerp(u.b, u.moment("exp_avg"), g, 1.0 - beta1);
  T square = u.moment("exp_avg_sq") * beta2;
  square = square + (1.0 - beta2) * g * g;
  u.keep("exp_avg", mean);
  u.keep("exp_avg_sq", square);
  return {mean, square};
}

/// By how much an average over the steps so far falls short of one over endless steps.
static T correction(Update &u, T beta) { return 1.0 - u.b.pow(beta, u.step); }

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static T sgd(Update &u) {
  bool hasMomentum = u.settings.number("momentum") != 0;
  if (u.settings.isOn("nesterov") && (!hasMomentum || u.settings.number("dampening") != 0))
    return u.b.unsupported("nesterov needs a momentum and no dampening");
  T lr = u.number("lr"), g = decayed(u);
  if (hasMomentum) {
    T momentum = u.number("momentum"), dampening = u.number("dampening");
    T buffer = u.moment("momentum_buffer") * momentum;
    buffer = buffer + (1.0 - dampening) * g;
    buffer = u.b.where(u.step == 1, g, buffer); // the first gradient is not dampened
    u.keep("momentum_buffer", buffer);
    g = u.settings.isOn("nesterov") ? g + momentum * buffer : buffer;
  }
  return u.weight - lr * g;
}

static T adam(Update &u, bool isDecoupled) {
  B &b = u.b;
  T lr = u.number("lr"), beta1 = u.number("beta1"), beta2 = u.number("beta2"), eps = u.number("eps");
  auto [w, g] = decay(u, lr, isDecoupled);
  auto [mean, square] = moments(u, g, beta1, beta2);
  if (u.settings.isOn("amsgrad")) {
    square = b.maximum(u.moment("max_exp_avg_sq"), square);
    u.keep("max_exp_avg_sq", square);
  }
  T rate = lr / correction(u, beta1);
  T deviation = b.sqrt(square) / b.sqrt(correction(u, beta2)) + eps;
  return w - rate * mean / deviation;
}

static T adagrad(Update &u) {
  T lr = u.number("lr"), lrDecay = u.number("lr_decay"), eps = u.number("eps"), g = decayed(u);
  T sum = u.moment("sum", u.settings.number("initial_accumulator_value")) + g * g;
  u.keep("sum", sum);
  T rate = lr / (1.0 + (u.step - 1) * lrDecay);
  return u.weight - rate * g / (u.b.sqrt(sum) + eps);
}

static T rmsprop(Update &u) {
  B &b = u.b;
  T lr = u.number("lr"), alpha = u.number("alpha"), eps = u.number("eps"), g = decayed(u);
  T square = u.moment("square_avg") * alpha;
  square = square + (1.0 - alpha) * g * g;
  u.keep("square_avg", square);
  T variance = square;
  if (u.settings.isOn("centered")) {
    T mean = lerp(b, u.moment("grad_avg"), g, 1.0 - alpha);
    u.keep("grad_avg", mean);
    variance = square - mean * mean;
  }
  T deviation = b.sqrt(variance) + eps;
  if (u.settings.number("momentum") == 0)
    return u.weight - lr * g / deviation;
  T momentum = u.number("momentum"), buffer = u.moment("momentum_buffer") * momentum;
  buffer = buffer + g / deviation;
  u.keep("momentum_buffer", buffer);
  return u.weight - lr * buffer;
}

static T adadelta(Update &u) {
  B &b = u.b;
  T lr = u.number("lr"), rho = u.number("rho"), eps = u.number("eps"), g = decayed(u);
  T square = u.moment("square_avg") * rho;
  square = square + (1.0 - rho) * g * g;
  u.keep("square_avg", square);
  T before = u.moment("acc_delta");
  T delta = b.sqrt(before + eps) / b.sqrt(square + eps) * g;
  T after = before * rho;
  u.keep("acc_delta", after + (1.0 - rho) * delta * delta);
  return u.weight - lr * delta;
}

static T adamax(Update &u) {
  B &b = u.b;
  T lr = u.number("lr"), beta1 = u.number("beta1"), beta2 = u.number("beta2"), eps = u.number("eps"), g = decayed(u);
  T mean = lerp(b, u.moment("exp_avg"), g, 1.0 - beta1);
  u.keep("exp_avg", mean);
  T before = u.moment("exp_inf") * beta2;
  T largest = b.maximum(before, b.abs(g) + eps);
  u.keep("exp_inf", largest);
  return u.weight - lr / correction(u, beta1) * mean / largest;
}

static T nadam(Update &u) {
  B &b = u.b;
  T lr = u.number("lr"), beta1 = u.number("beta1"), beta2 = u.number("beta2"), eps = u.number("eps");
  T momentumDecay = u.number("momentum_decay");
  auto [w, g] = decay(u, lr, u.settings.isOn("decoupled_weight_decay"));
  auto mu = [&](T step) { return beta1 * (1.0 - 0.5 * b.pow(0.96, step * momentumDecay)); };
  T now = mu(u.step), next = mu(u.step + 1);
  // PyTorch keeps the product of all mu as a tensor of f32.
  T kept = u.shared("mu_product", 1) * b.to(now, b.f32());
  u.keepShared("mu_product", kept);
  T product = b.to(kept, b.f64());
  auto [mean, square] = moments(u, g, beta1, beta2);
  T deviation = b.sqrt(square / correction(u, beta2)) + eps;
  w = w - lr * (1.0 - now) / (1.0 - product) * g / deviation;
  return w - lr * next / (1.0 - product * next) * mean / deviation;
}

static T radam(Update &u) {
  B &b = u.b;
  T lr = u.number("lr"), beta1 = u.number("beta1"), beta2 = u.number("beta2"), eps = u.number("eps");
  auto [w, g] = decay(u, lr, u.settings.isOn("decoupled_weight_decay"));
  auto [mean, square] = moments(u, g, beta1, beta2);
  T correction2 = correction(u, beta2);
  // The length of a simple moving average that would vary as much: of endless steps, and of those so far. While it is
  // short, what is known of the variance is too little to divide by.
  T endless = 2.0 / (1.0 - beta2) - 1.0;
  T length = endless - 2 * u.step * b.pow(beta2, u.step) / correction2;
  T rectification = b.sqrt((length - 4.0) * (length - 2.0) * endless / ((endless - 4.0) * (endless - 2.0) * length));
  T plain = mean / correction(u, beta1) * lr;
  // A number by a tensor is the tensor's reciprocal times the number, in PyTorch.
  T adaptive = b.reciprocal(b.sqrt(square) + eps) * b.sqrt(correction2);
  return w - b.where(length > 5.0, plain * adaptive * rectification, plain);
}

/// PyTorch has none; as in "Symbolic Discovery of Optimization Algorithms" (Chen et al., 2023; google/automl,
/// lion/lion_pytorch.py).
static T lion(Update &u) {
  T lr = u.number("lr"), beta1 = u.number("beta1"), beta2 = u.number("beta2");
  auto [w, g] = decay(u, lr, /*isDecoupled=*/true);
  T before = u.moment("exp_avg"), direction = before * beta1, after = before * beta2;
  direction = direction + (1.0 - beta1) * g;
  u.keep("exp_avg", after + (1.0 - beta2) * g);
  return w - lr * u.b.sign(direction);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

llvm::ArrayRef<Optimizer> optimizers() {
  constexpr double kBeta = 1; // at which a moment would never change
  static const Optimizer rows[] = {
      {"sgd", {{"lr", 1e-3}, {"momentum", 0}, {"dampening", 0}, {"weight_decay", 0}}, {"nesterov"}, sgd},
      {"adam",
       {{"lr", 1e-3}, {"beta1", 0.9, kBeta}, {"beta2", 0.999, kBeta}, {"eps", 1e-8}, {"weight_decay", 0}},
       {"amsgrad", "decoupled_weight_decay"},
       [](Update &u) { return adam(u, u.settings.isOn("decoupled_weight_decay")); }},
      {"adamw",
       {{"lr", 1e-3}, {"beta1", 0.9, kBeta}, {"beta2", 0.999, kBeta}, {"eps", 1e-8}, {"weight_decay", 1e-2}},
       {"amsgrad"},
       [](Update &u) { return adam(u, /*isDecoupled=*/true); }},
      {"adagrad",
       {{"lr", 1e-2}, {"lr_decay", 0}, {"weight_decay", 0}, {"initial_accumulator_value", 0}, {"eps", 1e-10}},
       {},
       adagrad},
      {"rmsprop",
       {{"lr", 1e-2}, {"alpha", 0.99}, {"eps", 1e-8}, {"weight_decay", 0}, {"momentum", 0}},
       {"centered"},
       rmsprop},
      {"adadelta", {{"lr", 1.0}, {"rho", 0.9}, {"eps", 1e-6}, {"weight_decay", 0}}, {}, adadelta},
      {"adamax",
       {{"lr", 2e-3}, {"beta1", 0.9, kBeta}, {"beta2", 0.999, kBeta}, {"eps", 1e-8}, {"weight_decay", 0}},
       {},
       adamax},
      {"nadam",
       {{"lr", 2e-3},
        {"beta1", 0.9, kBeta},
        {"beta2", 0.999, kBeta},
        {"eps", 1e-8},
        {"weight_decay", 0},
        {"momentum_decay", 4e-3}},
       {"decoupled_weight_decay"},
       nadam},
      {"radam",
       {{"lr", 1e-3}, {"beta1", 0.9, kBeta}, {"beta2", 0.999, kBeta}, {"eps", 1e-8}, {"weight_decay", 0}},
       {"decoupled_weight_decay"},
       radam},
      {"lion", {{"lr", 1e-4}, {"beta1", 0.9, kBeta}, {"beta2", 0.99, kBeta}, {"weight_decay", 0}}, {}, lion},
  };
  return rows;
}

T apply(Update &u) {
  if (u.settings.isOn("maximize"))
    u.gradient = -u.gradient;
  return u.settings.optimizer->update(u);
}

} // namespace ptc::train
