// What a library says of itself, read from its file: nothing of it runs, and its weights are not read.
#include "tools/ptc/Info.h"

#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "compiler/support/InputFile.h"
#include "compiler/support/ParseJson.h"
#include "runtime/Note.h"
#include "runtime/Seal.h"
#include "tools/ptc/Commands.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace llvm;

namespace ptc {

using Elf = object::ELFFile<object::ELF64LE>;

/// The text of the file's note; fails where there is none.
static Expected<StringRef> findNote(const Elf &file) {
  Expected<Elf::Elf_Shdr_Range> sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const Elf::Elf_Shdr &section : *sections) {
    Expected<StringRef> name = file.getSectionName(section);
    if (!name)
      return name.takeError();
    if (*name != runtime::kNoteSection)
      continue;
    Expected<ArrayRef<uint8_t>> content = file.getSectionContents(section);
    if (!content)
      return content.takeError();
    StringRef note(reinterpret_cast<const char *>(content->data()), content->size());
    return note.substr(runtime::kNoteTextOffset).take_until([](char c) { return c == 0; });
  }
  return createStringError("it does not say what it is: a library of an earlier version, or of something else");
}

Expected<json::Object> readLibraryInfo(StringRef content) {
  if (!content.starts_with(ELF::ElfMagic))
    return createStringError("no shared library (expected one that ptc compile wrote)");
  Expected<Elf> file = Elf::create(content);
  if (!file)
    return file.takeError();
  Expected<StringRef> note = findNote(*file);
  if (!note)
    return note.takeError();
  Expected<json::Value> value = parseJson(*note);
  if (!value)
    return value.takeError();
  json::Object *info = value->getAsObject();
  if (!info)
    return createStringError("its note is not an object");
  runtime::Seal seal;
  if (content.size() >= runtime::kSealOffset + sizeof(seal)) {
    std::memcpy(&seal, content.data() + runtime::kSealOffset, sizeof(seal));
    if (std::memcmp(seal.mark, runtime::kSealMark, sizeof(seal.mark)) == 0) {
      (*info)["file_bytes"] = int64_t(seal.size);
      (*info)["hash"] = utohexstr(seal.hash, /*LowerCase=*/true, /*Width=*/16);
      if (seal.size != content.size())
        return createStringError(
            fmt::format("it has {} bytes and not {}: copy or compile it again", content.size(), seal.size));
    }
  }
  return std::move(*info);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

// Whoever wrote the file: what is missing, or something else than expected, is a question mark.

static const json::Array &getList(const json::Object &object, StringRef name) {
  static const json::Array none;
  const json::Array *list = object.getArray(name);
  return list ? *list : none;
}

static std::string getText(const json::Value &value) {
  if (auto number = value.getAsInteger())
    return std::to_string(*number);
  return value.getAsString().value_or("?").str();
}

static std::string getText(const json::Object &object, StringRef name) {
  const json::Value *value = object.get(name);
  return value ? getText(*value) : "?";
}

static std::vector<std::string> getTexts(const json::Array &list) {
  std::vector<std::string> texts;
  for (const json::Value &value : list)
    texts.push_back(getText(value));
  return texts;
}

static void forObjects(const json::Array &list, function_ref<void(const json::Object &)> visit) {
  for (const json::Value &value : list)
    if (const json::Object *object = value.getAsObject())
      visit(*object);
}

static void printTensors(StringRef title, const json::Array &tensors, raw_ostream &out) {
  forObjects(tensors, [&](const json::Object &tensor) {
    print(out, "{:<9} {}: {}[{}]{}{}\n", title, getText(tensor, "name"), getText(tensor, "dtype"),
          fmt::join(getTexts(getList(tensor, "shape")), ", "),
          tensor.getBoolean("optional").value_or(false) ? ", may be left out" : "",
          tensor.getBoolean("written").value_or(false) ? ", is written" : "");
    title = "";
  });
}

static void printEntry(const json::Object &entry, raw_ostream &out) {
  print(out, "\nentry {}\n", getText(entry, "name"));
  printTensors("inputs", getList(entry, "inputs"), out);
  printTensors("outputs", getList(entry, "outputs"), out);
  forObjects(getList(entry, "symbols"), [&](const json::Object &symbol) {
    std::string most = symbol.get("max") ? " to " + getText(symbol, "max") : " on";
    print(out, "{:<9} {} from {}{}\n", "size", getText(symbol, "name"), getText(symbol, "min"), most);
  });
  for (const std::string &guard : getTexts(getList(entry, "guards")))
    print(out, "{:<9} {}\n", "guard", guard);
  for (const std::string &function : getTexts(getList(entry, "functions")))
    print(out, "{:<9} {}, a function of the caller's\n", "calls", function);
  print(out, "{:<9} {}, {}\n", "kernels", getText(entry, "kernels"),
        entry.get("memory") ? getText(entry, "memory") + " B of memory in a call" : "memory as a call's sizes need");
  if (const json::Object *general = entry.getObject("general_version"))
    print(out, "{:<9} a second one, for calls that break {}; kernels: {}\n", "versions",
          fmt::join(getTexts(getList(*general, "unless")), " or "), getText(*general, "kernels"));
}

static void printInfo(const json::Object &info, raw_ostream &out) {
  print(out, "{}, for {}, by {}\n", getText(info, "name"), getText(info, "target"), getText(info, "compiler"));
  if (info.get("hash"))
    print(out, "{:<9} {} B, hash {}\n", "file", getText(info, "file_bytes"), getText(info, "hash"));
  forObjects(getList(info, "machines"), [&](const json::Object &machine) {
    print(out, "{:<9} {}{}{}\n", "machine", getText(machine, "name"), machine.get("assembler") ? ", by " : "",
          machine.get("assembler") ? getText(machine, "assembler") : "");
  });
  if (const json::Object *options = info.getObject("options"); options && !options->empty())
    print(out, "{:<9} {}\n", "options", formatv("{0}", json::Value(json::Object(*options))).str());
  forObjects(getList(info, "entries"), [&](const json::Object &entry) { printEntry(entry, out); });
  out << '\n';
  printTensors("states", getList(info, "states"), out);
  const json::Array &weights = getList(info, "weights");
  print(out, "{:<9} {}, {} B\n", "weights", weights.size(), getText(info, "weight_bytes"));
  forObjects(weights, [&](const json::Object &weight) {
    print(out, "{:<9} {}: {} B\n", "", getText(weight, "name"), getText(weight, "bytes"));
  });
}

int info(const InfoOptions &options) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = openInput(InputFile(options.library));
  if (!buffer) {
    printError(toString(buffer.takeError()));
    return kModelAtFault;
  }
  Expected<json::Object> found = readLibraryInfo((*buffer)->getBuffer());
  if (!found) {
    printError(options.library + ": " + toString(found.takeError()));
    return kModelAtFault;
  }
  if (options.json) {
    outs() << formatv("{0:2}", json::Value(std::move(*found))) << '\n';
    return kDone;
  }
  PrintableStream out(outs());
  printInfo(*found, out);
  return kDone;
}

} // namespace ptc
