// A profile tells what threads waited for.
#include <ptc/ptc.h>

#include <catch2/catch.hpp>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {
/// A file that goes with its holder.
struct Trace {
  std::string path = (std::getenv("TEST_TMPDIR") ? std::getenv("TEST_TMPDIR") : "/tmp") + std::string("/trace.json");
  ~Trace() { unlink(path.c_str()); }
  int count(const std::string &what) const {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    std::string all = text.str();
    int found = 0;
    for (size_t at = all.find(what); at != std::string::npos; at = all.find(what, at + 1))
      ++found;
    return found;
  }
};

void call(ptc_context *context, int64_t size) {
  std::vector<int64_t> x(size), y(size);
  std::iota(x.begin(), x.end(), 0);
  DLTensor in{x.data(), {kDLCPU, 0}, 1, {kDLInt, 64, 1}, &size, nullptr, 0}, out = in;
  out.data = y.data();
  const DLTensor *input = &in;
  DLTensor *output = &out;
  if (ptc_call(context, &input, 1, &output, 1) != PTC_OK)
    std::abort();
}
} // namespace

TEST_CASE("a profile has a call's waits for workers, one thread has none") {
  ptc_context *context = nullptr;
  REQUIRE(ptc_context_create(&context) == PTC_OK);
  ptc_set_waiting(context, PTC_WAIT_ACTIVE);
  for (int threads : {1, 2}) {
    Trace trace;
    ptc_set_threads(context, threads);
    ptc_profile_start(context);
    for (int i = 0; i < 3; ++i)
      call(context, 100'000);
    REQUIRE(ptc_profile_stop(context, trace.path.c_str()) == PTC_OK);
    CHECK(trace.count("\"cat\":\"call\"") == 3);
    bool isShared = threads > 1 && sysconf(_SC_NPROCESSORS_ONLN) > 1;
    CHECK(trace.count("\"calls workers\",\"cat\":\"wait\"") == (isShared ? 3 : 0));
    if (!isShared)
      CHECK(trace.count("\"cat\":\"wait\"") == 0);
  }
  ptc_context_destroy(context);
}

TEST_CASE("a profile has the waits for a turn") {
  ptc_context *context = nullptr;
  REQUIRE(ptc_context_create(&context) == PTC_OK);
  ptc_set_threads(context, 1);
  Trace trace;
  ptc_profile_start(context);
  std::vector<std::thread> callers;
  for (long i = 0; i < 4 * sysconf(_SC_NPROCESSORS_ONLN); ++i)
    callers.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        call(context, 1'000'000);
    });
  for (std::thread &caller : callers)
    caller.join();
  REQUIRE(ptc_profile_stop(context, trace.path.c_str()) == PTC_OK);
  CHECK(trace.count("\"waits for its turn\",\"cat\":\"wait\"") > 0);
  ptc_context_destroy(context);
}
