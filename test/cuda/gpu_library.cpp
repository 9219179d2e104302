// One of the programs as a library for a GPU, without ptc: LOOP says which, IMAGE is the file with its code.
#include "test/cuda/DevicePrograms.h"

asm(".section .rodata\n"
    "image: .incbin \"" IMAGE "\"\n"
    ".byte 0\n"
    ".text\n");
extern "C" __attribute__((visibility("hidden"))) const char image[];

static ptc::runtime::Program program;
extern "C" const ptc::runtime::Programs ptc_programs = {&program, 1};

__attribute__((constructor)) static void fillTables() {
  program = LOOP ? ptc::test::makeLoopProgram() : ptc::test::makeGatherProgram();
  ptc::test::deviceEntry.image = image;
}
