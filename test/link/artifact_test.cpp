// The library as a file: what it needs, what it shows, how it is made.
#include "test/link/Loaded.h"
#include "test/link/TestModel.h"

#include "compiler/codegen/host/Host.h"
#include "runtime/CpuFeatures.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstdio>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace ptc::test;
using Catch::Contains;

static std::string contentsOf(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path); // of /proc too
  REQUIRE(buffer);
  return (*buffer)->getBuffer().str();
}

TEST_CASE("the same model gives the same bytes") {
  Models models;
  CHECK(contentsOf(build(models.affine())) == contentsOf(build(models.affine())));
}

TEST_CASE("a model needs the C library alone, and exports the interface alone") {
  Models models;
  std::string path = build(models.affine());
  std::string needed = outputOf("readelf -d " + path + " | grep NEEDED");
  CHECK_THAT(needed, Contains("[libc.so.6]"));
  CHECK(llvm::StringRef(needed).count('\n') == 1);
  std::string symbols = outputOf("nm -D --defined-only " + path);
  llvm::StringRef listed(symbols); // weak are those that libraries of models with states have from another object
  CHECK(listed.count('\n') == listed.count(" T ptc_") + listed.count(" W ptc_"));
  CHECK(llvm::StringRef(symbols).count('\n') == 40);
  CHECK(contentsOf(path).size() < 138 * 1024);
}

TEST_CASE("an undefined function is an error that names it, and the linker can run again") {
  Models models;
  Model broken = models.affine();
  broken.spec.launches[0].kernel = "no_such_kernel";
  CHECK_THROWS_WITH(build(broken), Contains("undefined") && Contains("no_such_kernel"));
  build(models.affine());
}

TEST_CASE("weights are mapped from the file, read-only, and so that huge pages can be") {
  Models models;
  Model large = models.large(8 << 20);
  std::string path = build(large);
  CHECK(contentsOf(path).find(std::string(large.weights["large"].begin(), large.weights["large"].end())) !=
        std::string::npos);
  Loaded model(path);
  Tensor<float> x({2, 8}), y({2, 8});
  REQUIRE(model.call({&x.view}, {&y.view}) == PTC_OK);
  CHECK(y.values[15] == 80);
  bool isFound = false;
  std::string maps = contentsOf("/proc/self/maps");
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(maps).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    auto [begin, rest] = line.split('-');
    uint64_t from = 0, to = 0;
    if (line.ends_with(path) && !begin.getAsInteger(16, from) && !rest.split(' ').first.getAsInteger(16, to) &&
        to - from >= (8u << 20)) {
      auto [access, place] = rest.split(' ').second.split(' ');
      uint64_t offset = 0;
      REQUIRE(!place.split(' ').first.getAsInteger(16, offset));
      isFound = access == "r--p";
      CHECK(from % (2 << 20) == offset % (2 << 20));
    }
  }
  CHECK(isFound);
}

static std::string write(const std::string &path, const std::string &content) {
  std::error_code error;
  llvm::raw_fd_ostream(path, error) << content;
  REQUIRE(!error);
  return path;
}

TEST_CASE("no loader opens a library that is cut off, wherever") {
  Models models;
  for (const Model &model : {models.large(3 << 20), models.neighbours(2, 0)}) {
    std::string path = build(model), whole = contentsOf(path);
    size_t size = whole.size();
    for (size_t kept : {size - 1, size - 200, size - 5000, size / 2, size / 8, size_t(5000), size_t(100), size_t(0)}) {
      std::string cut = write(path + ".cut", whole.substr(0, kept));
      CHECK(dlopen(cut.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr);
      CHECK_THAT(dlerror(), Contains("cannot read file data") || Contains("file too short"));
    }
  }
}

TEST_CASE("a context is created with a check of the library's file on demand") {
  Models models;
  std::string path = build(models.large(3 << 20)), whole = contentsOf(path);
  Loaded model(path);
  auto check = [&](uint32_t flags) {
    ptc_context *context = nullptr;
    ptc_status status = model->context_create_with(flags, &context);
    CHECK((context != nullptr) == (status == PTC_OK));
    model->context_destroy(context);
    return status;
  };
  CHECK(check(PTC_CHECK_FILE) == PTC_OK);
  CHECK(check(6) == PTC_INVALID_ARGUMENT);
  auto finds = [&](const std::string &content, const std::string &message) {
    write(path + ".new", content);
    REQUIRE(rename((path + ".new").c_str(), path.c_str()) == 0);
    CHECK(check(PTC_CHECK_FILE) == PTC_CORRUPT);
    CHECK_THAT(model->last_error(nullptr), Contains(message));
    CHECK(check(0) == PTC_OK);
  };
  for (size_t place : {size_t(20), size_t(3000), whole.size() / 2, whole.size() - 1}) {
    std::string flipped = whole;
    flipped[place] ^= 4;
    finds(flipped, "the library's file was changed");
  }
  finds(whole.substr(0, whole.size() - 1), "the library is cut off: its file has " + std::to_string(whole.size() - 1) +
                                               " of " + std::to_string(whole.size()) + " bytes");
  finds(whole + "x", "the library's file was changed");
  finds(contentsOf(build(models.affine())), "another one than when it was opened");
  unlink(path.c_str());
  CHECK(check(PTC_CHECK_FILE) == PTC_CORRUPT);
  CHECK_THAT(model->last_error(nullptr), Contains("cannot be read: No such file"));
}

/// Every feature that there is a name for: no processor has them all.
static std::vector<std::string> allFeatures() {
  std::vector<std::string> names;
  for (const auto &feature : ptc::runtime::kCpuFeatures)
    names.push_back(feature.name);
  return names;
}

TEST_CASE("of several programs the first that the processor can run is called, and they share weights") {
  Models models;
  Model both = models.large(1 << 20);
  both.better = {both.spec};
  both.better[0].machine = "everything";
  both.better[0].cpuFeatures = allFeatures();
  std::string path = build(both);
  CHECK(contentsOf(path).size() < contentsOf(build(models.large(1 << 20))).size() + 16 * 1024);
  Loaded model(path);
  CHECK(model->machine() == std::string("x86-64"));
  Tensor<float> x({2, 8}), y({2, 8});
  CHECK(model.call({&x.view}, {&y.view}) == PTC_OK);

  both.better[0].cpuFeatures = {};
  CHECK(Loaded(build(both))->machine() == std::string("everything"));
}

TEST_CASE("a processor that can run none is told what it lacks") {
  Models models;
  Model greedy = models.affine();
  greedy.spec.machine = "everything";
  greedy.spec.cpuFeatures = allFeatures();
  void *handle = dlopen(build(greedy).c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle);
  const ptc_api *api = reinterpret_cast<const ptc_api *(*)(uint32_t)>(dlsym(handle, "ptc_get_api"))(PTC_ABI_VERSION);
  ptc_context *context = nullptr;
  CHECK(api->context_create(&context) == PTC_UNSUPPORTED);
  CHECK(context == nullptr);
  CHECK(api->machine() == nullptr);
  CHECK_THAT(api->last_error(nullptr),
             Catch::Matches("this processor lacks [a-z0-9.-]+, which the model was compiled for "
                            "\\(everything\\)"));
  dlclose(handle);
}

TEST_CASE("two models in one process, even with their symbols made global") {
  Models models;
  std::string first = build(models.affine()), second = build(models.lookUp());
  Loaded affine(first), lookUp(second);
  void *global = dlopen(first.c_str(), RTLD_NOW | RTLD_GLOBAL);
  Loaded third(build(models.running()));
  CHECK(std::string(affine->signature()->model) == "affine");
  CHECK(std::string(lookUp->signature()->model) == "look_up");
  CHECK(std::string(third->signature()->model) == "running");
  Tensor<int64_t> index({4}, {1, 2, 3, 4});
  Tensor<float> y({4});
  CHECK(lookUp.call({&index.view}, {&y.view}) == PTC_OK);
  CHECK(y.values == std::vector<float>{1, 2, 3, 4});
  dlclose(global);
}

TEST_CASE("the signature says what the model takes") {
  Models models;
  Loaded model(build(models.derived()));
  const ptc_signature &signature = *model->signature();
  REQUIRE((signature.input_count == 2 && signature.output_count == 1 && signature.symbol_count == 1));
  const ptc_tensor &x = signature.inputs[0];
  CHECK(std::string(x.name) == "x");
  CHECK((x.dtype.code == kDLFloat && x.dtype.bits == 32 && x.ndim == 2 && x.flags == 0));
  CHECK(std::string(x.dims[0].text) == "2*s0 + 1");
  CHECK((x.dims[0].min == 3 && x.dims[0].max == 201 && x.dims[1].min == 8 && x.dims[1].max == 8));
  CHECK(std::string(signature.symbols[0].name) == "s0");
  CHECK(model->abi_version == PTC_ABI_VERSION);
  auto get = reinterpret_cast<const ptc_api *(*)(uint32_t)>(dlsym(model.handle, "ptc_get_api"));
  CHECK(get(PTC_ABI_VERSION + 1) == nullptr);
}

TEST_CASE("a profile names operators and source lines") {
  Models models;
  Loaded model(build(models.affine(1 << 20)));
  Tensor<float> x({4, 8}), y({4, 8});
  model->profile_start(model.context);
  for (int i = 0; i < 3; ++i)
    REQUIRE(model.call({&x.view}, {&y.view}) == PTC_OK);
  std::string path = build(models.affine()) + ".json";
  REQUIRE(model->profile_stop(model.context, path.c_str()) == PTC_OK);
  std::string trace = contentsOf(path);
  CHECK_THAT(trace, Contains("\"name\":\"scale_rows\"") && Contains("\"operators\":\"aten.scale_rows\"") &&
                        Contains("\"source\":\"net.py:7\"") && Contains("\"bytes\":1048576"));
  CHECK(llvm::StringRef(trace).count("\"cat\":\"call\"") == 3);
}

TEST_CASE("specifications that contradict themselves are refused") {
  Models models;
  llvm::LLVMContext context;
  auto errorOf = [&](const Model &model) {
    return llvm::toString(ptc::host::emitHost(model.spec, /*info=*/"", context).takeError());
  };
  Model unbound = models.affine();
  unbound.spec.inputs[0].type = unbound.spec.outputs[0].type =
      models.type({mlir::getAffineSymbolExpr(0, models.get()) * mlir::getAffineSymbolExpr(0, models.get()),
                   mlir::getAffineConstantExpr(8, models.get())},
                  mlir::Float32Type::get(models.get()));
  CHECK_THAT(errorOf(unbound), Contains("s0 does not follow from any input"));
  Model cycle = models.affine();
  cycle.spec.buffers[4].inPlaceOf = 4;
  CHECK_THAT(errorOf(cycle), Contains("in place of"));
  Model swap = models.running();
  swap.spec.copies = {{1, 2}, {2, 1}};
  CHECK_THAT(errorOf(swap), Contains("exchange"));
}

// By hand: bazel-bin/test/link/artifact_test '[speed]'
TEST_CASE("large weights take little more than writing them", "[.][speed]") {
  Models models;
  Model large = models.large(440 << 20);
  for (int i = 0; i < 3; ++i) {
    auto start = std::chrono::steady_clock::now();
    std::string path = build(large);
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    WARN("linked 440 MiB in " << seconds.count() << " s");
    CHECK(seconds.count() < 2);
    unlink(path.c_str());
  }
}

TEST_CASE("more than two gigabytes of weights", "[.][large]") {
  constexpr size_t kBytes = size_t(5) << 29;
  FILE *file = tmpfile();
  REQUIRE(ftruncate(fileno(file), kBytes) == 0);
  void *data = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fileno(file), 0);
  REQUIRE(data != MAP_FAILED);
  Models models;
  std::string path = build(models.withMapped({static_cast<const char *>(data), kBytes}));
  Loaded model(path);
  Tensor<float> x({2, 8}, std::vector<float>(16, 1)), y({2, 8});
  REQUIRE(model.call({&x.view}, {&y.view}) == PTC_OK);
  CHECK(y.values[15] == 88);
  unlink(path.c_str());
  fclose(file);
}
