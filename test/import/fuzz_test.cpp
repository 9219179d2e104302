//===- fuzz_test.cpp - every parser over damaged files, the same ones each time -===//
//
// That nothing crashes, hangs or (in the sanitizers' build) does what it should
// not is the check; damage_test.cpp checks what is answered.
//
//===----------------------------------------------------------------------===//

#include "test/import/MutateOnnx.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace {

std::string readFile(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  REQUIRE(!text.str().empty());
  return text.str();
}

void parse(char parser, const std::string &content) {
  std::string input = parser + content;
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(input.data()), input.size());
}

/// What has a meaning somewhere: sizes that overflow, brackets, names of another kind.
constexpr const char *kTokens[] = {"-1",  "0",  "9223372036854775807", "99999999999999999999", "1e999", "[[[[[[[[", "]",
                                   "{",   "}",  "\"",                  "\\u0000",              "null",  "%0#4294967295",
                                   "s0*", "//", "(",                   ")",                    "<",     "\n"};

std::string damage(std::string content, std::mt19937 &random) {
  for (int changes = 1 + random() % 3; changes > 0 && !content.empty(); --changes) {
    size_t at = random() % content.size(), length = std::min<size_t>(1 + random() % 16, content.size() - at);
    switch (random() % 5) {
    case 0:
      content[at] ^= 1 << random() % 8;
      break;
    case 1:
      content.erase(at, length);
      break;
    case 2:
      content.insert(at, kTokens[random() % std::size(kTokens)]);
      break;
    case 3:
      content.replace(at, length, kTokens[random() % std::size(kTokens)]);
      break;
    default:
      content.replace(at, length, content.substr(random() % content.size(), length));
    }
  }
  return content;
}

void parseDamaged(char parser, const std::string &content, int rounds) {
  std::mt19937 random(parser);
  parse(parser, content);
  for (int i = 0; i < 50; ++i)
    parse(parser, content.substr(0, content.size() * i / 50));
  for (int i = 0; i < rounds; ++i)
    parse(parser, damage(content, random));
}

const std::string kDigits = "examples/digits/model";

} // namespace

TEST_CASE("printed graphs") { parseDamaged('g', readFile(kDigits + ".graph"), 500); }
TEST_CASE("captures") {
  parseDamaged('c',
               "ptc capture 1\n{\"target\": \"f\", \"graphs\": [{\"ops\": 2, \"ends\": 0}, {}], \"breaks\": "
               "[{\"graph\": 0, \"hints\": [\"a\"], \"stack\": [{\"source\": \"n.py:1\"}]}], \"paths\": [{\"steps\": "
               "[{\"graph\": 1}, {\"branch\": \"n.py:2\"}]}], \"guards\": [{\"graph\": 1}]}\n"
               "=== graph 0\ndef forward(self, x: \"f32[4]\"):\n    return (x,)\n=== graph 1\n=== end\n",
               2000);
}
TEST_CASE("safetensors") { parseDamaged('s', readFile(kDigits + ".safetensors"), 500); }
TEST_CASE("archives") { parseDamaged('z', readFile(kDigits + ".pt2"), 500); }
TEST_CASE("expressions") { parseDamaged('e', "Max(1, ((s0 + 2)*s1)//4) - Mod(s0, 8)**2", 5000); }

TEST_CASE("the JSON inside of archives") {
  // The entries are stored, so that they can be found as they are.
  std::string archive = readFile(kDigits + ".pt2");
  for (auto [parser, start] : {std::pair{'j', "{\"graph_module\""}, std::pair{'w', "{\"config\""}}) {
    size_t begin = archive.find(start);
    REQUIRE(begin != std::string::npos);
    parseDamaged(parser, archive.substr(begin, archive.find("PK\3\4", begin) - begin), 500);
  }
}

TEST_CASE("ONNX models of other operators, attributes and types") {
  std::string sample = readFile("test/onnx/sample.onnx");
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i)
    parse('o', mutateOnnx(sample, random));
}

TEST_CASE("MLIR") {
  parseDamaged(
      'm',
      "#xy = affine_map<()[s0] -> (s0, 8)>\n"
      "module attributes {ptc.symbols = [{name = \"s0\", min = 1 : i64, max = 4096 : i64}], ptc.guards = "
      "[{relation = \"eq\", text = \"even\", value = affine_map<()[s0] -> (s0 mod 2)>}]} {\n"
      "  func.func @forward(%x: tensor<?x8xf32, #xy> {ptc.input = \"x\"}, %n: tensor<i64> {ptc.binds = 0 : i64, "
      "ptc.input = \"n\"}) -> (tensor<?x8xf32, #xy> {ptc.output = \"y\"}) {\n"
      "    %0 = aten.add.Tensor %x, %x {alpha = 2 : i64} : (tensor<?x8xf32, #xy>, tensor<?x8xf32, #xy>) -> "
      "tensor<?x8xf32, #xy> loc(\"a\"(\"net.py\":7:0))\n"
      "    return %0 : tensor<?x8xf32, #xy>\n  }\n}\n",
      1000);
}
