//===- MappedTensors.cpp --------------------------------------------------===//
//
// protobuf's wire format: a message is a sequence of (field number and kind,
// value); strings and messages are (length, bytes). Messages that lead to
// tensors are written anew, all else is copied.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/MappedTensors.h"

#include "llvm/ADT/Twine.h"

#include <optional>

using llvm::StringRef;

namespace ptc::import::onnx {
namespace {

enum class Message { Model, Graph, Function, Node, Attribute, Tensor, SparseTensor };
enum Wire { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

constexpr unsigned kRawData = 9, kExternalData = 13, kDataLocation = 14;
/// Shorter ones are constants that the importer wants to see.
constexpr size_t kShort = 4096;
constexpr int kMaxDepth = 90;

/// What message a field holds, if one that leads to tensors.
std::optional<Message> inner(Message message, unsigned field) {
  switch (message) {
  case Message::Model:
    return field == 7 ? std::optional(Message::Graph) : field == 25 ? std::optional(Message::Function) : std::nullopt;
  case Message::Graph:
    return field == 1    ? std::optional(Message::Node)
           : field == 5  ? std::optional(Message::Tensor)
           : field == 15 ? std::optional(Message::SparseTensor)
                         : std::nullopt;
  case Message::Function:
    return field == 7 ? std::optional(Message::Node) : std::nullopt;
  case Message::Node:
    return field == 5 ? std::optional(Message::Attribute) : std::nullopt;
  case Message::Attribute:
    return field == 5 || field == 10   ? std::optional(Message::Tensor)
           : field == 6 || field == 11 ? std::optional(Message::Graph)
                                       : std::nullopt;
  case Message::Tensor:
  case Message::SparseTensor:
    return std::nullopt;
  }
  return std::nullopt;
}

class Detacher {
public:
  explicit Detacher(StringRef file) : file(file) {}

  /// False where the bytes are no message.
  bool copy(StringRef bytes, Message message, int depth, std::string &out);

private:
  static bool readVarint(StringRef &bytes, uint64_t &value);
  static void writeVarint(uint64_t value, std::string &out);
  static void writeBytes(unsigned field, StringRef bytes, std::string &out);
  static void writeEntry(StringRef key, uint64_t value, std::string &out);

  StringRef file;
};

bool Detacher::readVarint(StringRef &bytes, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    uint8_t byte = bytes.front();
    bytes = bytes.drop_front();
    value |= uint64_t(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return true;
  }
  return false;
}

void Detacher::writeVarint(uint64_t value, std::string &out) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(char(value | 0x80));
  out.push_back(char(value));
}

void Detacher::writeBytes(unsigned field, StringRef bytes, std::string &out) {
  writeVarint(field << 3 | Bytes, out);
  writeVarint(bytes.size(), out);
  out.append(bytes.data(), bytes.size());
}

void Detacher::writeEntry(StringRef key, uint64_t value, std::string &out) {
  std::string entry;
  writeBytes(1, key, entry);
  writeBytes(2, std::to_string(value), entry);
  writeBytes(kExternalData, entry, out);
}

bool Detacher::copy(StringRef bytes, Message message, int depth, std::string &out) {
  if (depth > kMaxDepth)
    return false;
  while (!bytes.empty()) {
    StringRef start = bytes;
    uint64_t tag, length = 0;
    if (!readVarint(bytes, tag))
      return false;
    unsigned wire = tag & 7;
    if (wire == Varint && !readVarint(bytes, length))
      return false;
    if (wire == Bytes && !readVarint(bytes, length))
      return false;
    uint64_t skipped = wire == Bytes ? length : wire == Fixed64 ? 8 : wire == Fixed32 ? 4 : 0;
    if ((wire != Varint && wire != Bytes && wire != Fixed64 && wire != Fixed32) || skipped > bytes.size())
      return false;
    StringRef content = bytes.take_front(skipped);
    bytes = bytes.drop_front(skipped);
    uint64_t field = tag >> 3;
    if (wire == Bytes && message == Message::Tensor && field == kRawData && content.size() > kShort) {
      writeEntry(kMappedOffset, content.data() - file.data(), out);
      writeEntry(kMappedLength, content.size(), out);
      writeVarint(kDataLocation << 3 | Varint, out);
      writeVarint(1, out);
    } else if (auto kind = wire == Bytes && field < 100 ? inner(message, field) : std::nullopt) {
      std::string inside;
      if (!copy(content, *kind, depth + 1, inside))
        return false;
      writeBytes(field, inside, out);
    } else {
      out.append(start.data(), bytes.data() - start.data());
    }
  }
  return true;
}

} // namespace

llvm::Expected<std::string> detachRawData(StringRef file) {
  std::string out;
  if (!Detacher(file).copy(file, Message::Model, 0, out))
    return llvm::createStringError("is cut off, or is no ONNX file");
  if (out.size() >= size_t(1) << 31)
    return llvm::createStringError("has more than 2 GiB besides its weights");
  return out;
}

} // namespace ptc::import::onnx
