// Classifies a batch of handwritten digits, then shows what a wrong size is answered with:
//
//     ptc compile examples/digits/model.pt2 -o digits.so
//     c++ -std=c++17 -Iruntime/include examples/cpp/classify.cpp -o classify -ldl && ./classify ./digits.so
#include <algorithm>
#include <iostream>
#include <ptc/ptc.hpp>

int main(int argc, char **argv) try {
  if (argc != 2)
    throw std::runtime_error("usage: classify ./digits.so");
  ptc::Model model(argv[1]);
  const ptc_signature &signature = model.signature();
  std::cout << signature.model << ": " << signature.inputs[0].name << " ->";
  for (int32_t d = 0; d < signature.outputs[0].ndim; ++d)
    std::cout << ' ' << signature.outputs[0].dims[d].text;
  std::cout << '\n';

  // A one and a seven, drawn with strokes.
  std::vector<float> images(2 * 64);
  for (int row = 0; row < 8; ++row)
    images[row * 8 + 3] = images[row * 8 + 4] = 16;
  for (int column = 1; column < 7; ++column)
    images[64 + column] = images[64 + 8 + column] = 16;
  for (int row = 2; row < 8; ++row)
    images[64 + row * 8 + 6 - row / 2] = images[64 + row * 8 + 5 - row / 2] = 14;
  ptc::Results results = model(ptc::view(images, {2, 1, 8, 8}));
  ptc::Span<float> probabilities = results[0].values<float>();
  for (int image = 0; image < 2; ++image) {
    const float *row = probabilities.data() + image * 10;
    std::cout << "image " << image << " is a " << std::max_element(row, row + 10) - row << '\n';
  }

  try {
    model(ptc::view(images, {2, 1, 4, 16}));
  } catch (const ptc::Error &error) {
    std::cout << "refused: " << error.what() << '\n';
  }
  return 0;
} catch (const std::exception &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
