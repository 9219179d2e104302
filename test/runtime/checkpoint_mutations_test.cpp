// Checkpoints that were changed as files are: each is refused whole, or taken whole.
#include "test/runtime/StatefulModel.h"

using namespace ptc::test;
using Catch::Contains;

namespace {

/// One to three changes as they happen to files, mostly where structure is.
Bytes mutate(Bytes file, std::mt19937 &random) {
  static const std::string kWords[] = {"\"",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       ",",
                                       ":",
                                       "\\",
                                       "\\u",
                                       "\\ud800",
                                       "-1",
                                       "0",
                                       "1e9",
                                       "9223372036854775807",
                                       "18446744073709551616",
                                       "null",
                                       "F32",
                                       "I64",
                                       "BF16",
                                       "\"shape\"",
                                       "\"dtype\"",
                                       "\"data_offsets\"",
                                       "\"__metadata__\"",
                                       "\"ptc.hash\":\"0123456789abcdef\""};
  for (int changes = 1 + random() % 3; changes > 0 && !file.empty(); --changes) {
    size_t place = random() % 4 ? random() % std::min<size_t>(file.size(), 900) : random() % file.size();
    switch (random() % 8) {
    case 0:
      file[place] ^= 1 << random() % 8;
      break;
    case 1:
      file[place] = static_cast<char>(random());
      break;
    case 2:
      file.resize(place);
      break;
    case 3:
      file.erase(place, 1 + random() % 40);
      break;
    case 4:
      file.insert(place, kWords[random() % (sizeof(kWords) / sizeof(*kWords))]);
      break;
    case 5:
      file.insert(place, file.substr(random() % std::min<size_t>(file.size(), 900), random() % 100));
      break;
    case 6: { // a digit for another
      size_t digit = file.find_first_of("0123456789", place);
      if (digit < 900)
        file[digit] = static_cast<char>('0' + random() % 10);
      break;
    }
    default: { // the header's length again what it is
      size_t end = file.rfind("}}", 1100);
      uint64_t length = end != std::string::npos && end > 8 ? end + 2 - 8 : random() % 2000;
      if (file.size() > 8)
        std::memcpy(file.data(), &length, 8);
    }
    }
  }
  return file;
}

} // namespace

TEST_CASE("mutated checkpoints are refused whole, or taken whole") {
  Folder folder;
  Context context;
  // Without the large state, so that a round is quick.
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}";
  Bytes data;
  for (int32_t i = 0; i < Large; ++i) {
    static const char *const types[] = {"F32", "BOOL", "I64", "F32", "BF16", "F64", "F32"};
    static const char *const shapes[] = {"2,3", "5", "", "2,3", "5", "", "0,3"};
    std::string begin = std::to_string(data.size());
    data.append(context.state(i).first, context.state(i).second);
    header += ",\"" + (i == Half ? "\\\"gr\\\\\\u00f6\\u00dfe\\ud83d\\ude00\\n\\\"" : std::string(kStates[i].name)) +
              "\":{\"dtype\":\"" + types[i] + "\",\"shape\":[" + shapes[i] + "],\"data_offsets\":[" + begin + "," +
              std::to_string(data.size()) + "]}";
  }
  Bytes good = withHeader(header + "}", data);
  writeFile(folder / "b", good);
  CHECK(context.load(folder / "b") == PTC_MISMATCH);
  CHECK_THAT(context.error(), Contains("lacks the state 'large' (a partial load leaves"));
  ptc_status first = context.load(folder / "b", PTC_CHECKPOINT_PARTIAL);
  INFO(context.error());
  REQUIRE(first == PTC_OK);

  context.scramble(6);
  std::mt19937 random(7);
  Bytes all = context.all(), before = context.all(Large);
  int taken = 0, refused = 0;
  for (int round = 0; round < 2500; ++round) {
    writeFile(folder / "b", mutate(good, random));
    ptc_status status = context.load(folder / "b", random() % 8 ? PTC_CHECKPOINT_PARTIAL : 0);
    if (status == PTC_OK) {
      ++taken;
      before = context.all(Large);
      continue;
    }
    ++refused;
    REQUIRE((status == PTC_CORRUPT || status == PTC_MISMATCH));
    REQUIRE(context.error().size() > 20);
    REQUIRE(context.all(Large) == before);
  }
  CHECK(context.all().substr(before.size()) == all.substr(before.size()));
  CHECK(taken > 20);
  CHECK(refused > 1000);
}
