//===- StatefulModel.h - a model that is all states, and files for them ------===//
//
// One of the files that include this defines `ptc_programs` by `program`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Program.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <ptc/ptc.h>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

//===----------------------------------------------------------------------===//
// A model with states of every size of elements
//===----------------------------------------------------------------------===//

namespace ptc::test {

using namespace runtime;

inline const DimEntry kMatrix[] = {{"2", 2, 2, 0}, {"3", 3, 3, 0}}, kFive[] = {{"5", 5, 5, 0}},
                      kEmpty[] = {{"0", 0, 0, 0}, {"3", 3, 3, 0}}, kLarge[] = {{"1500000", 1500000, 1500000, 0}};
enum : int32_t { Weight, Flags, Step, Moment, Half, Rate, Nothing, Large, StateCount };
inline const TensorEntry kStates[StateCount] = {
    {"linear.weight", kMatrix, 0, 0, 2, kDLFloat, 32, 0},
    {"flags", kFive, 24, 0, 1, 6, 8, 0},
    {"optimizer.step", nullptr, 32, 0, 0, kDLInt, 64, 0},
    {"optimizer/exp_avg/linear.weight", kMatrix, 0, 0, 2, kDLFloat, 32, 0},
    {"\"gr\\\xc3\xb6\xc3\x9f"
     "e\xf0\x9f\x98\x80\n\"",
     kFive, 40, 0, 1, kDLBfloat, 16, 0},
    {"optimizer.lr", nullptr, 56, 0, 0, kDLFloat, 64, 0},
    {"nothing", kEmpty, 0, 0, 2, kDLFloat, 32, 0},
    {"large", kLarge, 64, 0, 1, kDLFloat, 32, 0}, // of several pieces that are hashed
};
inline std::vector<char> makeWeights() {
  std::vector<char> weights(64 + 6000000);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<char>(i < 24 || i >= 32 ? i * 7 + i / 251 : i & 1); // flags are 0 and 1
  return weights;
}
inline const std::vector<char> weights = makeWeights();

inline Program makeProgram() {
  Program program = {};
  program.tablesVersion = kTablesVersion;
  program.name = "stateful";
  program.entry = kOnlyEntry;
  program.compiler = "test";
  program.target = "cpu";
  program.machine = "x86-64";
  program.weights = weights.data();
  program.weightBytes = static_cast<int64_t>(weights.size());
  program.states = kStates;
  program.stateCount = StateCount;
  return program;
}
inline const Program program = makeProgram();

//===----------------------------------------------------------------------===//
// Contexts and files
//===----------------------------------------------------------------------===//

using Bytes = std::string;

struct Context {
  ptc_context *handle = nullptr;
  Context() { REQUIRE(ptc_context_create(&handle) == PTC_OK); }
  ~Context() { ptc_context_destroy(handle); }
  Context(const Context &) = delete;

  std::pair<char *, int64_t> state(int32_t index) const {
    DLTensor live;
    REQUIRE(ptc_state_view(handle, index, &live) == PTC_OK);
    int64_t bytes = live.dtype.bits / 8;
    for (int32_t d = 0; d < live.ndim; ++d)
      bytes *= live.shape[d];
    return {static_cast<char *>(live.data), bytes};
  }
  Bytes all(int32_t count = StateCount) const {
    Bytes bytes;
    for (int32_t i = 0; i < count; ++i)
      bytes.append(state(i).first, state(i).second);
    return bytes;
  }
  void scramble(unsigned seed) {
    std::mt19937 random(seed);
    for (int32_t i = 0; i < StateCount; ++i) {
      auto [data, bytes] = state(i);
      for (int64_t at = 0; at < bytes; ++at)
        data[at] = static_cast<char>(i == Flags ? random() & 1 : random());
    }
  }
  std::string error() const { return ptc_last_error(handle); }
  ptc_status save(const std::string &path) { return ptc_checkpoint_save(handle, path.c_str()); }
  ptc_status load(const std::string &path, uint32_t flags = 0) {
    return ptc_checkpoint_load(handle, path.c_str(), flags);
  }
};

/// A folder of the test's own.
struct Folder {
  std::string path;
  Folder() {
    const char *root = std::getenv("TEST_TMPDIR");
    path = std::string(root ? root : "/tmp") + "/ptc-checkpoint-XXXXXX";
    REQUIRE(mkdtemp(path.data()));
  }
  ~Folder() { REQUIRE(std::system(("rm -rf '" + path + "'").c_str()) == 0); }
  std::string operator/(const std::string &name) const { return path + "/" + name; }
  int files() const {
    FILE *list = popen(("ls -A '" + path + "' | wc -l").c_str(), "r");
    int count = -1;
    REQUIRE(fscanf(list, "%d", &count) == 1);
    pclose(list);
    return count;
  }
};

inline Bytes readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

inline void writeFile(const std::string &path, const Bytes &bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
}

inline Bytes withHeader(std::string header, const Bytes &data) {
  uint64_t length = header.size();
  return Bytes(reinterpret_cast<char *>(&length), 8) + header + data;
}

inline uint64_t headerLength(const Bytes &file) {
  uint64_t length;
  std::memcpy(&length, file.data(), 8);
  return length;
}

inline std::string replaced(std::string text, const std::string &what, const std::string &by) {
  size_t found = text.find(what);
  REQUIRE(found != std::string::npos);
  return text.replace(found, what.size(), by);
}

/// A checkpoint as another program writes it, without a hash; `change` gets its header.
inline Bytes makeForeign(
    const Bytes &checkpoint, const std::function<std::string(std::string)> &change = [](std::string h) { return h; }) {
  std::string header = checkpoint.substr(8, headerLength(checkpoint));
  size_t hash = header.find("\"ptc.hash\"");
  REQUIRE(hash != std::string::npos);
  return withHeader(change(header.replace(hash, 10, "\"no.hash_\"")), checkpoint.substr(8 + headerLength(checkpoint)));
}

} // namespace ptc::test
