//===- Pt2.cpp ------------------------------------------------------------===//
//
//   models/NAME.json                           the program
//   data/weights/NAME_weights_config.json      name of a weight -> its entry
//   data/weights/weight_0 …
//   data/constants/NAME_constants_config.json  likewise for constants
//   data/constants/tensor_0 …
//   byteorder                                  "little"
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Pt2.h"

#include "compiler/import/ForeignFile.h"
#include "compiler/import/Pt2Json.h"
#include "compiler/import/StoredTensor.h"

#include "llvm/ADT/StringSet.h"

using llvm::StringRef;

namespace ptc::import {
namespace {

constexpr llvm::StringLiteral kTensorFolders[] = {"data/weights/", "data/constants/"};

llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

llvm::Expected<StringRef> readText(Pt2Archive &archive, StringRef name) {
  auto bytes = archive.read(name, /*check=*/true);
  if (!bytes)
    return bytes.takeError();
  return StringRef(bytes->data(), bytes->size());
}

llvm::Error checkByteOrder(Pt2Archive &archive) {
  if (!archive.contains("byteorder"))
    return llvm::Error::success();
  auto order = readText(archive, "byteorder");
  if (!order)
    return order.takeError();
  return order->trim() == "little" ? llvm::Error::success() : fail("written on a big-endian machine");
}

llvm::Expected<std::string> findModel(const Pt2Archive &archive) {
  std::string model;
  for (StringRef name : archive.names()) {
    if (!name.consume_front("models/") || !name.consume_back(".json"))
      continue;
    if (!model.empty())
      return fail("holds several models ('" + model + "' and '" + name + "')");
    model = name.str();
  }
  if (!model.empty())
    return model;
  if (archive.contains("serialized_exported_program.json"))
    return fail("written by torch before 2.8, in a format that ptc does not read (export again)");
  std::string foreign = describeForeignArchive(archive.names());
  return fail(foreign.empty() ? "a zip archive without models/NAME.json (is it a torch.export archive?)" : foreign);
}

/// How many bytes of each entry the tensors that the graph takes reach into.
llvm::StringMap<uint64_t> findUsedBytes(llvm::ArrayRef<Payload> payloads, const ExportedProgram &program) {
  llvm::StringSet<> taken;
  for (const InputSpec &input : program.inputs)
    taken.insert(input.target);
  llvm::StringMap<uint64_t> used;
  for (const Payload &payload : payloads)
    if (taken.contains(payload.name))
      used[payload.entry] = std::max(used[payload.entry], bytesReached(payload.tensor));
  return used;
}

llvm::Error readTensors(Pt2Archive &archive, StringRef folder, StringRef config, const ExportedProgram &program,
                        StoredTensors &tensors) {
  if (!archive.contains(config))
    return llvm::Error::success();
  auto text = readText(archive, config);
  if (!text)
    return text.takeError();
  auto payloads = readPayloadJson(*text);
  if (!payloads)
    return fail(config + ": " + llvm::toString(payloads.takeError()));
  llvm::StringMap<uint64_t> used = findUsedBytes(*payloads, program);
  for (Payload &payload : *payloads) {
    // A pickled object has no bytes that could be looked at.
    if (payload.tensor.dtype) {
      auto bytes = archive.read((folder + payload.entry).str(), /*check=*/false, used.lookup(payload.entry));
      if (!bytes)
        return fail("weight '" + payload.name + "': " + llvm::toString(bytes.takeError()));
      payload.tensor.bytes = *bytes;
    }
    if (!tensors.try_emplace(payload.name, std::move(payload.tensor)).second)
      return fail(config + ": weight '" + payload.name + "' occurs twice");
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Pt2Model> readPt2(Pt2Archive &archive) {
  if (llvm::Error error = checkByteOrder(archive))
    return error;
  auto name = findModel(archive);
  if (!name)
    return name.takeError();
  std::string programEntry = "models/" + *name + ".json";
  auto text = readText(archive, programEntry);
  if (!text)
    return text.takeError();
  auto program = readProgramJson(*text);
  if (!program)
    return fail(programEntry + ": " + llvm::toString(program.takeError()));

  Pt2Model model{std::move(*program), {}};
  for (auto [folder, suffix] : {std::pair<StringRef, StringRef>{kTensorFolders[0], "_weights_config.json"},
                                {kTensorFolders[1], "_constants_config.json"}})
    if (llvm::Error error = readTensors(archive, folder, (folder + *name + suffix).str(), model.program, model.tensors))
      return error;
  return model;
}

llvm::Error verifyPt2Tensors(const Pt2Archive &archive) {
  for (StringRef name : archive.names())
    if (name.starts_with(kTensorFolders[0]) || name.starts_with(kTensorFolders[1]))
      if (llvm::Error error = archive.verify(name))
        return error;
  return llvm::Error::success();
}

} // namespace ptc::import
