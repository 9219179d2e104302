// Trains the digit classifier of examples/digits from random weights, without Python:
//
//     ptc compile examples/digits/model.pt2 -o step.so --train --loss examples/train/loss.graph
//         --optimizer adamw --optimizer-options lr=2e-3,weight_decay=0.01
//     c++ -std=c++17 -Iruntime/include examples/train/train.cpp -o train -ldl
//     ./train ./step.so examples/train --epochs 30 --seed 0
//
// A call of the library is a whole step: forward, loss, backward, update. Another of its entries, `eval`, is the model
// with what steps have made of its weights. (All three commands are one line each.)
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <numeric>
#include <ptc/ptc.hpp>
#include <random>

namespace {
constexpr size_t kPixels = 64, kClasses = 10, kBatch = 64;
constexpr double kLearningRate = 2e-3, kPi = 3.141592653589793;

/// Images of 8 x 8 numbers of 0..16, and what they show.
struct Digits {
  std::vector<float> images;
  std::vector<int64_t> labels;
  size_t size() const { return labels.size(); }
};

Digits readDigits(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty() || bytes.size() % (kPixels + 1) != 0)
    throw std::runtime_error(path + ": no file of digits");
  Digits digits;
  for (size_t at = 0; at < bytes.size(); at += kPixels + 1) {
    digits.images.insert(digits.images.end(), &bytes[at], &bytes[at + kPixels]);
    digits.labels.push_back(bytes[at + kPixels]);
  }
  return digits;
}

Digits select(const Digits &digits, const std::vector<size_t> &order, size_t begin, size_t end) {
  Digits batch;
  for (size_t i = begin; i < std::min(end, order.size()); ++i) {
    auto image = digits.images.begin() + long(order[i] * kPixels);
    batch.images.insert(batch.images.end(), image, image + kPixels);
    batch.labels.push_back(digits.labels[order[i]]);
  }
  return batch;
}

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// As PyTorch begins: weights and biases of a layer between -1/sqrt(n) and 1/sqrt(n), where n is how many numbers each
/// of its results is made of; norms scale by 1 and shift by 0, and have seen a mean of 0 and a variance of 1.
void makeRandom(ptc::Model &step, std::mt19937_64 &random) {
  std::map<std::string, float> bounds; // of layers
  for (bool isWeights : {true, false})
    for (int32_t i = 0; i < int32_t(step.states().size()); ++i) {
      const ptc_tensor &state = step.states()[size_t(i)];
      std::string name = state.name, layer = name.substr(0, name.rfind('.'));
      if (name.compare(0, 9, "optimizer") == 0 || state.dtype.code != kDLFloat)
        continue; // zeros and options, as they were compiled
      std::vector<int64_t> shape;
      for (int32_t d = 0; d < state.ndim; ++d)
        shape.push_back(state.dims[d].min);
      auto count = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<int64_t>());
      if (isWeights != (shape.size() > 1))
        continue;
      if (isWeights)
        bounds[layer] = 1 / std::sqrt(float(count / shape[0]));
      std::vector<float> values(size_t(count), endsWith(name, "weight") || endsWith(name, "var") ? 1.0f : 0.0f);
      if (bounds.count(layer)) {
        std::uniform_real_distribution<float> uniform(-bounds[layer], bounds[layer]);
        std::generate(values.begin(), values.end(), [&] { return uniform(random); });
      }
      step.setState(i, ptc::view(values, shape));
    }
}

double measureAccuracy(const ptc::Model &model, Digits &test) {
  std::vector<ptc::Tensor> results = model({ptc::view(test.images, {int64_t(test.size()), 1, 8, 8})});
  ptc::Span<float> probabilities = results[0].values<float>();
  size_t right = 0;
  for (size_t i = 0; i < test.size(); ++i) {
    const float *row = probabilities.data() + i * kClasses;
    right += std::max_element(row, row + kClasses) - row == test.labels[i];
  }
  return double(right) / double(test.size());
}

double trainEpoch(const ptc::Model &step, const Digits &training, std::mt19937_64 &random) {
  std::vector<size_t> order(training.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::shuffle(order.begin(), order.end(), random);
  double sum = 0;
  for (size_t begin = 0; begin < order.size(); begin += kBatch) {
    Digits batch = select(training, order, begin, begin + kBatch);
    auto count = int64_t(batch.size());
    std::vector<ptc::Tensor> results = step({ptc::view(batch.images, {count, 1, 8, 8}), ptc::view(batch.labels)});
    sum += results[0].values<float>()[0] * double(count); // the loss comes first
  }
  return sum / double(training.size());
}
} // namespace

int main(int argc, char **argv) try {
  if (argc < 3)
    throw std::runtime_error("usage: train ./step.so FOLDER [--epochs N] [--seed N] [--save FILE]");
  int epochs = 30;
  uint64_t seed = 0;
  std::string checkpoint;
  for (int i = 3; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--epochs")
      epochs = std::atoi(argv[i + 1]);
    else if (std::string(argv[i]) == "--seed")
      seed = std::strtoull(argv[i + 1], nullptr, 10);
    else if (std::string(argv[i]) == "--save")
      checkpoint = argv[i + 1];
  }
  ptc::Model step(argv[1]), eval = step.entry("eval");
  Digits training = readDigits(std::string(argv[2]) + "/training.bytes");
  Digits test = readDigits(std::string(argv[2]) + "/test.bytes");
  std::mt19937_64 random(seed);
  step.seed(seed);
  makeRandom(step, random);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    step.state("optimizer.lr").set(kLearningRate / 2 * (1 + std::cos(kPi * epoch / epochs)));
    double loss = trainEpoch(step, training, random);
    if (epoch % 5 == 4 || epoch + 1 == epochs)
      std::cout << "epoch " << epoch + 1 << ": loss " << loss << ", " << 100 * measureAccuracy(eval, test)
                << " % of the test images are right\n";
  }
  if (!checkpoint.empty())
    step.save(checkpoint); // with which `ptc compile --weights` makes the model for inference
  return 0;
} catch (const std::exception &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
