// States as files: what is written, and what is refused of files that are damaged, or of another model.
#include "test/runtime/StatefulModel.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>

using namespace ptc::test;
using Catch::Contains;

extern "C" const ptc::runtime::Programs ptc_programs = {&program, 1};

//===----------------------------------------------------------------------===//
// What works
//===----------------------------------------------------------------------===//

TEST_CASE("states are found by name, and seen in place") {
  Context context;
  CHECK(ptc_state_find("optimizer.lr") == Rate);
  CHECK(ptc_state_find("optimizer") == -1);
  CHECK(ptc_state_find(nullptr) == -1);
  DLTensor live;
  REQUIRE(ptc_state_view(context.handle, Weight, &live) == PTC_OK);
  CHECK((live.ndim == 2 && live.shape[0] == 2 && live.shape[1] == 3 && live.strides == nullptr));
  CHECK((live.dtype.code == kDLFloat && live.dtype.bits == 32 && live.device.device_type == kDLCPU));
  static_cast<float *>(live.data)[5] = 42;
  float copy[6];
  int64_t sizes[] = {2, 3};
  DLTensor value = {copy, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, sizes, nullptr, 0};
  REQUIRE(ptc_state_get(context.handle, Weight, &value) == PTC_OK);
  CHECK(copy[5] == 42);
  REQUIRE(ptc_state_view(context.handle, Rate, &live) == PTC_OK);
  CHECK(live.ndim == 0);
  CHECK(ptc_state_view(context.handle, StateCount, &live) == PTC_INVALID_ARGUMENT);
  CHECK(ptc_state_view(context.handle, -1, &live) == PTC_INVALID_ARGUMENT);
  CHECK(ptc_state_view(context.handle, 0, nullptr) == PTC_INVALID_ARGUMENT);
}

TEST_CASE("what is saved is loaded, bit for bit") {
  Folder folder;
  Context context, other;
  context.scramble(1);
  REQUIRE(context.save(folder / "a") == PTC_OK);
  CHECK(folder.files() == 1);
  CHECK(other.all() != context.all());
  INFO(other.error());
  REQUIRE(other.load(folder / "a") == PTC_OK);
  CHECK(other.all() == context.all());
  REQUIRE(other.save(folder / "b") == PTC_OK);
  CHECK(readFile(folder / "a") == readFile(folder / "b"));

  // Over a file that is there, and through a link.
  context.scramble(2);
  REQUIRE(symlink("a", (folder / "link").c_str()) == 0);
  REQUIRE(context.save(folder / "link") == PTC_OK);
  struct stat link;
  REQUIRE(lstat((folder / "link").c_str(), &link) == 0);
  CHECK(S_ISLNK(link.st_mode));
  REQUIRE(other.load(folder / "a") == PTC_OK);
  CHECK(other.all() == context.all());
  CHECK(folder.files() == 3);

  // Where the folder is not named.
  char before[4096];
  REQUIRE(getcwd(before, sizeof(before)));
  REQUIRE(chdir(folder.path.c_str()) == 0);
  CHECK(context.save("here") == PTC_OK);
  CHECK(other.load("here") == PTC_OK);
  REQUIRE(chdir(before) == 0);
}

TEST_CASE("tensors of a checkpoint are aligned and without gaps, and its header is plain JSON") {
  Folder folder;
  Context context;
  REQUIRE(context.save(folder / "a") == PTC_OK);
  Bytes file = readFile(folder / "a");
  std::string header = file.substr(8, headerLength(file));
  CHECK((8 + header.size()) % 8 == 0);
  CHECK_THAT(header, Contains("\"linear.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[16,40]}"));
  CHECK_THAT(header, Contains("\"optimizer.step\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}"));
  CHECK_THAT(header, Contains("\"\\\"gr\\\\\xc3\xb6\xc3\x9f"
                              "e\xf0\x9f\x98\x80\\u000a\\\"\":{\"dtype\":\"BF16\""));
  CHECK(file.size() == 8 + header.size() + context.all().size());
}

TEST_CASE("files of other programs are taken, in any order and spelling") {
  Folder folder;
  Context context, other;
  context.scramble(3);
  REQUIRE(context.save(folder / "a") == PTC_OK);
  auto loads = [&](const std::function<std::string(std::string)> &change) {
    writeFile(folder / "b", makeForeign(readFile(folder / "a"), change));
    REQUIRE(ptc_state_reset(other.handle) == PTC_OK);
    ptc_status status = other.load(folder / "b");
    INFO(other.error());
    CHECK(status == PTC_OK);
    CHECK(other.all() == context.all());
  };
  loads([](std::string header) { return header; });
  loads([](std::string header) { return header + " \n\t "; });
  loads([](std::string header) { return " " + replaced(header, ":[2,3]", " : [ 2 ,\n3 ] "); });
  loads([](std::string header) { return replaced(header, "optimizer.step", "\\u006fptimizer\\u002estep"); });
  loads([](std::string header) {
    return replaced(header,
                    "gr\\\\\xc3\xb6\xc3\x9f"
                    "e\xf0\x9f\x98\x80\\u000a",
                    "gr\\\\\\u00f6\\u00DFe\\ud83d\\ude00\\n");
  });
  loads([](std::string header) {
    return replaced(header, "\"format\":\"pt\"", "\"x\":{\"y\":[1,-2.5e3,true,null,[],{}]},\"z\":\"\\\"\"");
  });
  loads([](std::string header) { // the metadata behind a tensor
    size_t begin = header.find("\"__metadata__\""), end = header.find("},", begin) + 2;
    std::string metadata = header.substr(begin, end - begin - 1), rest = header.erase(begin, end - begin);
    return rest.insert(rest.rfind('}'), "," + metadata);
  });
}

TEST_CASE("a part of the states can be loaded") {
  Folder folder;
  Context context;
  Bytes before = context.all();
  float numbers[] = {1, 2, 3, 4, 5, 6};
  Bytes data(reinterpret_cast<char *>(numbers), 24);
  writeFile(folder / "a", withHeader("{\"linear.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                                     "\"classifier\":{\"dtype\":\"F4\",\"shape\":[7],\"data_offsets\":[24,28]}}",
                                     data + "????"));
  CHECK(context.load(folder / "a") == PTC_MISMATCH);
  CHECK_THAT(context.error(), Contains("tensor 'classifier' is no state of the model"));
  CHECK(context.all() == before);
  INFO(context.error());
  REQUIRE(context.load(folder / "a", PTC_CHECKPOINT_PARTIAL) == PTC_OK);
  CHECK(context.all() == before.replace(0, 24, data));
  CHECK(context.load(folder / "a", 2) == PTC_INVALID_ARGUMENT);
}

TEST_CASE("checkpoints while others read and set states") {
  Folder folder;
  Context context;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      double rate = i;
      DLTensor value = {&rate, {kDLCPU, 0}, 0, {kDLFloat, 64, 1}, nullptr, nullptr, 0};
      std::string path = folder / ("of" + std::to_string(i));
      for (int round = 0; round < 5; ++round) {
        if (context.save(path) != PTC_OK || ptc_state_set(context.handle, Rate, &value) != PTC_OK ||
            context.load(path) != PTC_OK)
          std::abort();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(folder.files() == 3);
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

TEST_CASE("files that do not fit or lie are refused, and no state changes") {
  Folder folder;
  Context context;
  REQUIRE(context.save(folder / "a") == PTC_OK);
  context.scramble(4);
  Bytes before = context.all(), good = readFile(folder / "a");
  auto refuses = [&](const Bytes &file, ptc_status status, const std::string &message) {
    writeFile(folder / "b", file);
    CHECK(context.load(folder / "b") == status);
    CHECK_THAT(context.error(), Contains(message) && Contains("/b: "));
    CHECK(context.all() == before);
  };
  auto headerOf = [&](const std::string &what, const std::string &by) {
    return makeForeign(good, [&](std::string header) { return replaced(header, what, by); });
  };
  refuses("", PTC_CORRUPT, "is no safetensors file: it has 0 bytes");
  refuses("PK\x03\x04 something else that is larger", PTC_CORRUPT, "is no safetensors file, or cut off");
  refuses(Bytes(8, '\xff') + "{}", PTC_CORRUPT, "its header would have 18446744073709551615 of 10 bytes");
  refuses(withHeader("", ""), PTC_CORRUPT, "its header is no object, at byte 8");
  refuses(withHeader("{}", ""), PTC_MISMATCH, "lacks the state 'linear.weight', among others");
  refuses(withHeader("[]", ""), PTC_CORRUPT, "its header is no object");
  refuses(withHeader("{\"__metadata__\":{\"a\":" + std::string(100000, '[') + "}", ""), PTC_CORRUPT,
          "nested too deeply");
  refuses(withHeader("{\"__metadata__\":{\"a\":" + std::string(100000, '{') + "}", ""), PTC_CORRUPT,
          "where one must be");
  refuses(withHeader("{\"__metadata__\":{},\"__metadata__\":{}}", ""), PTC_CORRUPT, "has __metadata__ twice");
  refuses(withHeader("{\"__metadata__\":{\"ptc.hash\":\"00\"}}", ""), PTC_CORRUPT, "has a hash that is none");
  refuses(withHeader("{\"__metadata__\":{\"ptc.hash\":0}}", ""), PTC_CORRUPT, "has no string where one must be");
  refuses(headerOf("[2,3]", "[3,2]"), PTC_MISMATCH,
          "tensor 'linear.weight' is F32[3, 2], the model's state is F32[2, 3]");
  refuses(headerOf("[2,3]", "[6]"), PTC_MISMATCH, "is F32[6], the model's state is F32[2, 3]");
  refuses(headerOf("F32", "I32"), PTC_MISMATCH, "is I32[2, 3], the model's state is F32[2, 3]");
  refuses(headerOf("F64", "\\n\xff"), PTC_MISMATCH, "tensor 'optimizer.lr' is \\n?[], the model's state is F64[]");
  refuses(headerOf(
              "[2,3]", "[2,3" +
                           [] {
                             std::string ones;
                             for (int i = 0; i < 63; ++i)
                               ones += ",1";
                             return ones;
                           }() +
                           "]"),
          PTC_CORRUPT, "has a tensor of too many dimensions");
  refuses(headerOf("[2,3]", "[2,-3]"), PTC_CORRUPT, "has no size or offset where one must be");
  refuses(headerOf("[2,3]", "[2,3.0]"), PTC_CORRUPT, "has no size or offset where one must be");
  refuses(headerOf("[2,3]", "[2,99999999999999999999]"), PTC_CORRUPT, "has a number that is too large");
  refuses(headerOf("[16,40]", "[16,36]"), PTC_CORRUPT, "tensor 'linear.weight' has 20 bytes, and its shape needs 24");
  refuses(headerOf("[16,40]", "[20,44]"), PTC_CORRUPT, "its tensors overlap, or leave a gap");
  refuses(headerOf("[16,40]", "[40,16]"), PTC_CORRUPT, "lies outside of the file");
  refuses(headerOf("[16,40]", "[40,64]"), PTC_CORRUPT, "its tensors overlap, or leave a gap");
  refuses(headerOf("[16,40]", "[9223372036854775783,9223372036854775807]"), PTC_CORRUPT, "lies outside of the file");
  refuses(headerOf("[16,40]", "[16]"), PTC_CORRUPT, "has offsets that are no two");
  refuses(headerOf("[16,40]", "[16,40,40]"), PTC_CORRUPT, "has offsets that are no two");
  refuses(headerOf(",\"shape\":[2,3]", ""), PTC_CORRUPT, "without dtype, shape or data_offsets");
  refuses(headerOf(",\"shape\":[2,3]", ",\"shape\":[2,3],\"shape\":[2,3]"), PTC_CORRUPT, "of a tensor twice");
  refuses(headerOf("\"flags\"", "\"fla\""), PTC_MISMATCH, "tensor 'fla' is no state of the model");
  refuses(headerOf("\"optimizer/exp_avg/linear.weight\"", "\"linear.weight\""), PTC_CORRUPT,
          "has 'linear.weight' twice");
  refuses(headerOf("\"flags\"", "\"fla\x01\""), PTC_CORRUPT, "has a control character in a string");
  refuses(headerOf("\"flags\"", "\"fla\\x\""), PTC_CORRUPT, "has an escape that JSON does not know");
  refuses(headerOf("\"flags\"", "\"fla\\u12g4\""), PTC_CORRUPT, "has an escape that JSON does not know");
  refuses(good + "x", PTC_CORRUPT, "its last 1 bytes are no tensor's");
  refuses(makeForeign(good, [](std::string header) { return header + "x"; }), PTC_CORRUPT, "goes on behind its end");
  for (size_t kept : {good.size() - 1, good.size() / 2, 8 + headerLength(good), 8 + headerLength(good) - 1, size_t(100),
                      size_t(9), size_t(8), size_t(7)})
    refuses(good.substr(0, kept), PTC_CORRUPT, "");
  for (size_t place : {8 + headerLength(good), good.size() / 2, good.size() - 1}) {
    Bytes flipped = good;
    flipped[place] ^= 1;
    refuses(flipped, PTC_CORRUPT, "was changed: its bytes do not have the hash that they were written with");
  }
  refuses(replaced(good, "\"format\":\"pt\"", "\"format\":\"pu\""), PTC_CORRUPT, "was changed");
}

TEST_CASE("files that cannot be read or written are errors that say why") {
  Folder folder;
  Context context;
  Bytes before = context.all();
  auto refuses = [&](ptc_status status, ptc_status wanted, const std::string &message) {
    CHECK(status == wanted);
    CHECK_THAT(context.error(), Contains(message));
    CHECK(context.all() == before);
  };
  refuses(context.load(folder / "none"), PTC_IO_ERROR, "cannot read " + (folder / "none") + ": No such file");
  refuses(context.load(folder.path), PTC_IO_ERROR, "it is no regular file");
  refuses(context.load("/dev/zero"), PTC_IO_ERROR, "it is no regular file");
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  refuses(context.load(folder / "fifo"), PTC_IO_ERROR, "it is no regular file");
  refuses(context.save(folder / "fifo"), PTC_IO_ERROR, "no regular file");
  refuses(context.save("/dev/null"), PTC_IO_ERROR, "cannot write /dev/null: it is there, and no regular file");
  refuses(context.save(folder.path), PTC_IO_ERROR, "no regular file");
  refuses(context.save(folder / "none/a"), PTC_IO_ERROR, "No such file or directory");
  refuses(context.save("/proc/a"), PTC_IO_ERROR, "cannot write /proc/a: ");
  refuses(context.save(std::string(5000, 'a')), PTC_IO_ERROR, "cannot write ");
  CHECK(ptc_checkpoint_save(context.handle, nullptr) == PTC_INVALID_ARGUMENT);
  CHECK(ptc_checkpoint_load(context.handle, nullptr, 0) == PTC_INVALID_ARGUMENT);
  CHECK(ptc_checkpoint_load(nullptr, "a", 0) == PTC_INVALID_ARGUMENT);

  // A disk that is full leaves the file that was there, and nothing beside it.
  REQUIRE(context.save(folder / "a") == PTC_OK);
  Bytes good = readFile(folder / "a");
  rlimit unlimited, limit;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  limit = unlimited;
  limit.rlim_cur = 3000000;
  signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  context.scramble(5);
  before = context.all();
  refuses(context.save(folder / "a"), PTC_IO_ERROR, "File too large");
  REQUIRE(setrlimit(RLIMIT_FSIZE, &unlimited) == 0);
  CHECK(readFile(folder / "a") == good);
  CHECK(folder.files() == 2); // and the FIFO
}
