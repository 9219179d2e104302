//===- fuzz.cpp - libFuzzer's way into every parser of untrusted bytes --------===//
//
//   clang++ -std=c++17 -fno-rtti -fno-exceptions -g -O1 -I. -fsanitize=fuzzer,address,undefined \
//     -fno-sanitize=vptr,function test/import/fuzz.cpp <the sources of //compiler/import:parsers> \
//     -lminizip -lz -lLLVM-22 -lMLIR -o fuzz && ./fuzz CORPUS
//
// The first byte chooses the parser, so that one corpus serves all.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/GraphText.h"
#include "compiler/import/Pt2.h"
#include "compiler/import/Pt2Json.h"
#include "compiler/import/Safetensors.h"

#include <cstdlib>

using namespace ptc::import;

template <typename T> static void ignore(llvm::Expected<T> result) {
  if (!result)
    llvm::consumeError(result.takeError());
}

static void parseArchive(llvm::StringRef bytes) {
  auto archive = Pt2Archive::open(llvm::MemoryBuffer::getMemBufferCopy(bytes));
  if (!archive)
    return llvm::consumeError(archive.takeError());
  ignore(readPt2(**archive));
  llvm::consumeError(verifyPt2Tensors(**archive));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  llvm::StringRef bytes(reinterpret_cast<const char *>(data + 1), size - 1);
  switch (data[0]) {
  case 'g':
    ignore(readGraphText(bytes));
    break;
  case 'j':
    ignore(readProgramJson(bytes));
    break;
  case 'w':
    ignore(readPayloadJson(bytes));
    break;
  case 's':
    ignore(readSafetensors({bytes.data(), bytes.size()}));
    break;
  case 'z':
    parseArchive(bytes);
    break;
  case 'e':
    ignore(parseExpression(bytes));
    break;
  default:
    break;
  }
  return 0;
}
