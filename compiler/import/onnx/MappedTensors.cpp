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
  /// One field of a message.
  struct Field {
    uint64_t number, value; ///< of a varint
    unsigned wire;
    StringRef content, whole; ///< of bytes; with its tag
  };
  static bool readField(StringRef &bytes, Field &field);
  bool copyTensor(StringRef bytes, std::string &out);
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

bool Detacher::readField(StringRef &bytes, Field &field) {
  StringRef start = bytes;
  uint64_t tag, length = 0;
  if (!readVarint(bytes, tag))
    return false;
  field.number = tag >> 3;
  field.wire = tag & 7;
  if ((field.wire == Varint || field.wire == Bytes) && !readVarint(bytes, length))
    return false;
  uint64_t skipped = field.wire == Bytes ? length : field.wire == Fixed64 ? 8 : field.wire == Fixed32 ? 4 : 0;
  if ((field.wire != Varint && field.wire != Bytes && field.wire != Fixed64 && field.wire != Fixed32) ||
      skipped > bytes.size())
    return false;
  field.value = length;
  field.content = bytes.take_front(skipped);
  bytes = bytes.drop_front(skipped);
  field.whole = start.drop_back(bytes.size());
  return true;
}

/// Large raw data become a place in the file. What the tensor says of where its data are is then not copied: the last
/// of two values counts, and theirs may come later.
bool Detacher::copyTensor(StringRef bytes, std::string &out) {
  Field field;
  StringRef raw;
  bool isExternal = false;
  for (StringRef rest = bytes; !rest.empty();) {
    if (!readField(rest, field))
      return false;
    if (field.number == kRawData && field.wire == Bytes)
      raw = field.content;
    else if (field.number == kDataLocation && field.wire == Varint)
      isExternal = field.value == 1;
  }
  bool isDetached = raw.size() > kShort && !isExternal;
  while (!bytes.empty()) {
    readField(bytes, field);
    bool isData = field.number == kRawData || field.number == kExternalData || field.number == kDataLocation;
    if (!isDetached || !isData)
      out.append(field.whole.data(), field.whole.size());
  }
  if (isDetached) {
    writeEntry(kMappedOffset, raw.data() - file.data(), out);
    writeEntry(kMappedLength, raw.size(), out);
    writeVarint(kDataLocation << 3 | Varint, out);
    writeVarint(1, out);
  }
  return true;
}

bool Detacher::copy(StringRef bytes, Message message, int depth, std::string &out) {
  if (depth > kMaxDepth)
    return false;
  if (message == Message::Tensor)
    return copyTensor(bytes, out);
  Field field;
  while (!bytes.empty()) {
    if (!readField(bytes, field))
      return false;
    auto kind = field.wire == Bytes && field.number < 100 ? inner(message, field.number) : std::nullopt;
    if (!kind) {
      out.append(field.whole.data(), field.whole.size());
      continue;
    }
    std::string inside;
    if (!copy(field.content, *kind, depth + 1, inside))
      return false;
    writeBytes(field.number, inside, out);
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
