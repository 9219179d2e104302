//===- masked_loads_test.cpp - masked loads of several registers ----------===//
// As they are on a machine without mask registers, whatever this one has.

#include "compiler/codegen/cpu/MaskedLoads.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <array>
#include <catch2/catch.hpp>

using namespace llvm;

namespace {

constexpr unsigned kLanes = 16, kRegisterBits = 256;
using Lanes = std::array<int32_t, kLanes>;
using Mask = std::array<bool, kLanes>;
using Load = void(bool condition, const int32_t *from, const int32_t *otherwise, int32_t *to);

std::string text(const Mask &mask) {
  std::string lanes;
  for (bool lane : mask)
    lanes += (lanes.empty() ? "<i1 " : ", i1 ") + std::string(lane ? "true" : "false");
  return lanes + ">";
}

/// A masked load whose mask is `mask`, made of %c, the vector %s of it, and constants.
std::string function(const std::string &mask) {
  return R"(
    define void @load(i1 zeroext %c, ptr %from, ptr %otherwise, ptr %to) {
      %i = insertelement <16 x i1> poison, i1 %c, i64 0
      %s = shufflevector <16 x i1> %i, <16 x i1> poison, <16 x i32> zeroinitializer
      %m = )" +
         mask + R"(
      %x = load <16 x i32>, ptr %otherwise, align 4
      %y = call <16 x i32> @llvm.masked.load.v16i32.p0(ptr align 4 %from, <16 x i1> %m, <16 x i32> %x)
      store <16 x i32> %y, ptr %to, align 4
      ret void
    })";
}

struct Jit {
  explicit Jit(const std::string &source) {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    auto context = std::make_unique<LLVMContext>();
    SMDiagnostic diagnostic;
    std::unique_ptr<Module> module = parseAssemblyString(source, diagnostic, *context);
    REQUIRE(module);
    ExitOnError check("Jit: ");
    orc::JITTargetMachineBuilder machine{Triple(sys::getProcessTriple())};
    machine.setCPU("x86-64-v3");
    jit = check(orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create());
    module->setDataLayout(jit->getDataLayout());
    ptc::cpu::splitMaskedLoads(*module->getFunction("load"), kRegisterBits);
    check(jit->addIRModule(orc::ThreadSafeModule(std::move(module), std::move(context))));
    load = check(jit->lookup("load")).toPtr<Load>();
  }

  std::unique_ptr<orc::LLJIT> jit;
  Load *load;
};

} // namespace

TEST_CASE("lanes that are known not to be there are not read") {
  if (!sys::getHostCPUFeatures().lookup("avx2"))
    return;
  unsigned begin = GENERATE(0, 3, 8), end = GENERATE(8, 11, 16);
  bool inside = GENERATE(false, true);
  Mask constant, all, none;
  all.fill(true);
  none.fill(false);
  for (unsigned i = 0; i < kLanes; ++i)
    constant[i] = (i >= begin && i < end) == inside;
  auto [mask, where, otherwise] = GENERATE_COPY(
      std::tuple("and <16 x i1> %s, " + text(constant), constant, none),
      std::tuple("select i1 %c, <16 x i1> " + text(constant) + ", <16 x i1> zeroinitializer", constant, none),
      std::tuple("or <16 x i1> %s, " + text(constant), all, constant));
  Jit jit(function(mask));
  Lanes from, unread, to;
  for (unsigned i = 0; i < kLanes; ++i)
    from[i] = 100 + i, unread[i] = 200 + i;
  for (bool condition : {false, true}) {
    jit.load(condition, from.data(), unread.data(), to.data());
    const Mask &expected = condition ? where : otherwise;
    for (unsigned i = 0; i < kLanes; ++i)
      REQUIRE(to[i] == (expected[i] ? from[i] : unread[i]));
  }
}
