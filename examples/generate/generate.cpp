// Generates text with a compiled decoder, always with the likeliest byte. export.py makes the library:
//
//     c++ -std=c++17 -O2 -Iruntime/include examples/generate/generate.cpp -o generate -ldl
//     ./generate ./decoder.so COUNT PROMPT [PROMPT...]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <ptc/ptc.hpp>

namespace {
/// A text, and a model whose cache has the beginning of it. Each `ptc::Model` that opens the library has a context,
/// that is states of its own, while code and weights are in memory once; a copy of a `ptc::Model` shares its states. To
/// use a model for another text, begin at position 0; `resetStates` also forgets the old one.
class Conversation {
public:
  Conversation(const char *library, const char *prompt) : model_(library), text_(prompt) {}
  const std::string &text() const { return text_; }

  /// Gives the model what its cache lacks, which is the prompt at first and then one byte, and adds a byte.
  void grow() {
    std::vector<int64_t> tokens;
    for (unsigned char byte : text_.substr(size_t(cached_)))
      tokens.push_back(byte);
    ptc::Results results = model_({ptc::view(tokens), ptc::scalar(cached_)});
    ptc::Span<float> logits = results[0].values<float>();
    cached_ = int64_t(text_.size());
    text_ += char(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }

private:
  ptc::Model model_;
  std::string text_;
  int64_t cached_ = 0;
};
} // namespace

int main(int argc, char **argv) try {
  if (argc < 4)
    throw std::runtime_error("usage: generate ./decoder.so COUNT PROMPT [PROMPT...]");
  int count = std::atoi(argv[2]);
  std::vector<Conversation> conversations;
  for (int i = 3; i < argc; ++i)
    conversations.emplace_back(argv[1], argv[i]);
  for (Conversation &conversation : conversations)
    conversation.grow();
  auto start = std::chrono::steady_clock::now();
  for (int token = 1; token < count; ++token)
    for (Conversation &conversation : conversations) // in turns: no one's cache is another's
      conversation.grow();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (const Conversation &conversation : conversations)
    std::cout << conversation.text() << '\n';
  std::cerr << double(count - 1) * double(conversations.size()) / seconds.count() << " tokens per second\n";
  return 0;
} catch (const std::exception &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
