#include "compiler/import/onnx/Model.h"

#include "compiler/import/WeightsFile.h"
#include "compiler/import/onnx/MappedTensors.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <cstring>

using llvm::StringRef;

namespace ptc::import::onnx {

static llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

static void silence(google::protobuf::LogLevel, const char *, int, const std::string &) {}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

std::optional<DType> dtypeOf(int32_t elementType) {
  switch (elementType) {
  case 1:
    return DType::Float32;
  case 2:
    return DType::UInt8;
  case 3:
    return DType::Int8;
  case 4:
    return DType::UInt16;
  case 5:
    return DType::Int16;
  case 6:
    return DType::Int32;
  case 7:
    return DType::Int64;
  case 9:
    return DType::Bool;
  case 10:
    return DType::Float16;
  case 11:
    return DType::Float64;
  case 12:
    return DType::UInt32;
  case 13:
    return DType::UInt64;
  case 14:
    return DType::Complex64;
  case 15:
    return DType::Complex128;
  case 16:
    return DType::BFloat16;
  case 17:
    return DType::Float8E4M3FN;
  case 18:
    return DType::Float8E4M3FNUZ;
  case 19:
    return DType::Float8E5M2;
  case 20:
    return DType::Float8E5M2FNUZ;
  default:
    return std::nullopt;
  }
}

std::string nameOf(int32_t elementType) {
  if (auto dtype = dtypeOf(elementType))
    return toString(*dtype).str();
  static constexpr StringRef kOthers[] = {"uint4", "int4", "float4e2m1", "float8e8m0", "uint2", "int2"};
  if (elementType >= 21 && elementType <= 26)
    return kOthers[elementType - 21].str();
  return elementType == 0 ? "undefined" : elementType == 8 ? "string" : "element type " + std::to_string(elementType);
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

llvm::Expected<std::unique_ptr<Model>> Model::open(std::shared_ptr<llvm::MemoryBuffer> file, StringRef path) {
  // protobuf would print what it finds wrong.
  static google::protobuf::LogHandler *previous = google::protobuf::SetLogHandler(silence);
  (void)previous;
  auto bytes = detachRawData(file->getBuffer());
  if (!bytes)
    return bytes.takeError();
  std::unique_ptr<Model> result(new Model);
  if (!result->model.ParseFromArray(bytes->data(), bytes->size()))
    return fail("is cut off, or is no ONNX file");
  result->file = std::move(file);
  result->path = path.str();
  if (!result->model.has_graph())
    return fail("has no graph");
  result->version = ownOpset(result->model);
  for (const auto &function : result->model.functions())
    result->functions.try_emplace(function.domain() + ":" + function.name(), &function);
  // Without operators of ONNX's own it has none of theirs.
  if (result->model.opset_import_size() == 0 && result->functions.empty())
    return fail("says nothing of the version of ONNX's operators that it uses (opset_import)");
  if (result->version != 0 && (result->version < kFirstOpset || result->version > kLastOpset))
    return fail("uses opset " + llvm::Twine(result->version) + ", but ptc knows " + llvm::Twine(kFirstOpset) + " to " +
                llvm::Twine(kLastOpset) + " (convert it with onnx.version_converter)");
  return result;
}

const proto::FunctionProto *Model::function(StringRef domain, StringRef name) const {
  return functions.lookup((domain + ":" + name).str());
}

std::vector<proto::AttributeProto> Model::defaultAttributes(const proto::FunctionProto &function) {
  constexpr unsigned kAttributeProto = 11;
  std::vector<proto::AttributeProto> result;
  const std::string &bytes = function.unknown_fields();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  using google::protobuf::internal::WireFormatLite;
  while (uint32_t tag = stream.ReadTag()) {
    uint32_t length;
    std::string content;
    if (tag != WireFormatLite::MakeTag(kAttributeProto, WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
      if (!WireFormatLite::SkipField(&stream, tag))
        break;
      continue;
    }
    if (!stream.ReadVarint32(&length) || length > bytes.size() || !stream.ReadString(&content, length) ||
        !result.emplace_back().ParseFromString(content))
      break;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static std::string realFolder(StringRef path) {
  llvm::SmallString<128> folder(llvm::sys::path::parent_path(path)), real;
  return llvm::sys::fs::real_path(folder.empty() ? "." : folder.str(), real) ? std::string() : real.str().str();
}

/// Nothing outside the model's folder is a model's business, and a link does not make it so; but where the model is a
/// link itself, its data may lie where it does.
llvm::Expected<std::string> Model::externalPath(StringRef location) const {
  bool leaves = location.empty() || !llvm::sys::path::root_path(location).empty();
  for (auto part = llvm::sys::path::begin(location); part != llvm::sys::path::end(location); ++part)
    leaves |= *part == "..";
  llvm::SmallString<128> file(llvm::sys::path::parent_path(path)), real, realModel;
  llvm::sys::path::append(file, location);
  if (!leaves && !llvm::sys::fs::is_regular_file(file))
    return fail("has its data in '" + file + "', which is not there");
  auto isIn = [&](StringRef folder) {
    return !folder.empty() && StringRef(real).starts_with(folder) &&
           (folder == "/" || StringRef(real).drop_front(folder.size()).starts_with("/"));
  };
  leaves = leaves || llvm::sys::fs::real_path(file, real) || llvm::sys::fs::real_path(path, realModel) ||
           (!isIn(realFolder(path)) && !isIn(llvm::sys::path::parent_path(realModel)));
  if (leaves)
    return fail("has its data in '" + location + "', which is not in the model's folder");
  return file.str().str();
}

namespace {
/// Every tensor of a file, in graphs inside graphs as well.
struct LocationFinder {
  llvm::StringMap<bool> locations;

  void visit(const proto::TensorProto &tensor) {
    for (const auto &entry : tensor.external_data())
      if (entry.key() == "location")
        locations[entry.value()] = true;
  }
  template <class Nodes> void visitNodes(const Nodes &nodes) {
    for (const proto::NodeProto &node : nodes)
      for (const proto::AttributeProto &attribute : node.attribute()) {
        visit(attribute.t());
        for (const proto::TensorProto &tensor : attribute.tensors())
          visit(tensor);
        visit(attribute.g());
        for (const proto::GraphProto &graph : attribute.graphs())
          visit(graph);
      }
  }
  void visit(const proto::GraphProto &graph) {
    for (const proto::TensorProto &tensor : graph.initializer())
      visit(tensor);
    visitNodes(graph.node());
  }
};
} // namespace

std::vector<std::string> Model::externalPaths() const {
  LocationFinder finder;
  finder.visit(model.graph());
  for (const proto::FunctionProto &function : model.functions())
    finder.visitNodes(function.node());
  std::vector<std::string> paths;
  for (const auto &location : finder.locations) {
    llvm::Expected<std::string> path = externalPath(location.first());
    if (path)
      paths.push_back(std::move(*path));
    else
      llvm::consumeError(path.takeError()); // the import says so
  }
  llvm::sort(paths);
  return paths;
}

llvm::Expected<llvm::ArrayRef<char>> Model::external(const proto::TensorProto &tensor, WeightStore &weights) {
  std::string location;
  uint64_t offset = 0, length = 0;
  bool hasLength = false, isMapped = false;
  for (const auto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    bool isOffset = key == "offset" || key == kMappedOffset, isLength = key == "length" || key == kMappedLength;
    isMapped |= key == kMappedOffset;
    if (key == "location")
      location = value.str();
    else if ((isOffset || isLength) && value.getAsInteger(10, isOffset ? offset : length))
      return fail("has '" + value + "' for the " + key + " of its external data");
    hasLength |= isLength;
  }
  llvm::MemoryBuffer *buffer = file.get();
  if (!isMapped) {
    std::shared_ptr<llvm::MemoryBuffer> &opened = externalFiles[location];
    if (!opened) {
      llvm::Expected<std::string> path = externalPath(location);
      if (!path)
        return path.takeError();
      InputFile input(*path);
      auto mapped = openInput(input);
      if (!mapped)
        return fail("has its data in a file that cannot be read: " + llvm::toString(mapped.takeError()));
      weights.addInput(std::move(input));
      opened = std::move(*mapped);
      weights.keep(opened);
    }
    buffer = opened.get();
  }
  uint64_t size = buffer->getBufferSize();
  if (!hasLength)
    length = offset <= size ? size - offset : 0;
  if (offset > size || length > size - offset)
    return fail("has its data at bytes " + llvm::Twine(offset) + " to " + llvm::Twine(offset + length) +
                " of a file of " + llvm::Twine(size));
  return llvm::ArrayRef(buffer->getBufferStart() + offset, length);
}

/// Fields of one number an element: float_data, int32_data, …
template <class To, class From> static std::vector<char> pack(const From &numbers) {
  std::vector<char> bytes(numbers.size() * sizeof(To));
  for (int i = 0; i < numbers.size(); ++i) {
    To value = To(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
  return bytes;
}

static std::vector<char> packFields(const proto::TensorProto &tensor, DType dtype) {
  switch (dtype) {
  case DType::Float32:
  case DType::Complex64:
    return pack<float>(tensor.float_data());
  case DType::Float64:
  case DType::Complex128:
    return pack<double>(tensor.double_data());
  case DType::Int64:
    return pack<int64_t>(tensor.int64_data());
  case DType::UInt64:
    return pack<uint64_t>(tensor.uint64_data());
  case DType::UInt32:
    return pack<uint32_t>(tensor.uint64_data());
  case DType::Int32:
    return pack<int32_t>(tensor.int32_data());
  default:
    return byteSize(dtype) == 1 ? pack<uint8_t>(tensor.int32_data()) : pack<uint16_t>(tensor.int32_data());
  }
}

namespace {
/// Integers of less than a byte.
struct Narrow {
  unsigned bits;
  DType wide; ///< The byte that holds one.
};
} // namespace

static std::optional<Narrow> narrowOf(int32_t elementType) {
  switch (elementType) {
  case 21:
    return Narrow{4, DType::UInt8};
  case 22:
    return Narrow{4, DType::Int8};
  case 25:
    return Narrow{2, DType::UInt8};
  case 26:
    return Narrow{2, DType::Int8};
  default:
    return std::nullopt;
  }
}

/// Several lie in a byte, the first one in its lowest bits.
static std::vector<char> widen(llvm::ArrayRef<char> bytes, int64_t count, Narrow narrow) {
  unsigned inByte = 8 / narrow.bits, unused = 8 - narrow.bits;
  std::vector<char> result(count);
  for (int64_t i = 0; i < count; ++i) {
    auto high = uint8_t(uint8_t(bytes[i / inByte]) >> i % inByte * narrow.bits << unused);
    result[i] = narrow.wide == DType::Int8 ? char(int8_t(high) >> unused) : char(high >> unused);
  }
  return result;
}

/// Of types that training changes.
static bool isFloating(DType type) {
  return llvm::is_contained({DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}, type);
}

llvm::Error Model::replace(const StoredTensors &given) {
  for (const proto::TensorProto &tensor : model.graph().initializer()) {
    std::optional<DType> dtype = dtypeOf(tensor.data_type());
    auto found = given.find(tensor.name());
    if (found == given.end()) {
      if (dtype && isFloating(*dtype) && !isCheckpoint(given))
        return fail("lacks the weight '" + tensor.name() + "'");
      continue;
    }
    const StoredTensor &stored = found->second;
    if (stored.dtype != dtype || !llvm::equal(stored.sizes, tensor.dims()))
      return fail("weight '" + tensor.name() + "' is of another type or shape than in the model");
    replacements[&tensor] = stored;
  }
  return llvm::Error::success();
}

llvm::Expected<StoredTensor> Model::read(const proto::TensorProto &tensor, WeightStore &weights) {
  if (auto given = replacements.find(&tensor); given != replacements.end())
    return given->second;
  StoredTensor stored;
  stored.dtypeName = nameOf(tensor.data_type());
  stored.dtype = dtypeOf(tensor.data_type());
  auto narrow = narrowOf(tensor.data_type());
  if (narrow)
    stored.dtype = narrow->wide;
  if (!stored.dtype)
    return fail("is a tensor of " + stored.dtypeName + ", which ptc does not support");
  if (tensor.has_segment())
    return fail("is stored in segments, which ptc does not support");
  int64_t count = 1;
  for (int64_t size : tensor.dims()) {
    if (size < 0 || llvm::MulOverflow(count, size, count))
      return fail("has impossible sizes");
    stored.sizes.push_back(size);
  }
  stored.strides.resize(stored.sizes.size());
  int64_t stride = 1;
  for (size_t i = count ? stored.sizes.size() : 0; i-- > 0; stride *= stored.sizes[i])
    stored.strides[i] = stride;

  if (tensor.data_location() == proto::TensorProto::EXTERNAL) {
    auto bytes = external(tensor, weights);
    if (!bytes)
      return bytes.takeError();
    stored.bytes = *bytes;
  } else {
    auto bytes = tensor.has_raw_data()
                     ? std::make_shared<std::vector<char>>(tensor.raw_data().begin(), tensor.raw_data().end())
                     : std::make_shared<std::vector<char>>(packFields(tensor, *stored.dtype));
    stored.bytes = *bytes;
    weights.keep(std::move(bytes));
  }
  int64_t needed, bits = narrow ? narrow->bits : int64_t(byteSize(*stored.dtype)) * 8;
  if (llvm::MulOverflow(count, bits, needed) || llvm::divideCeil(needed, 8) > stored.bytes.size())
    return fail("has " + llvm::Twine(stored.bytes.size()) + " bytes, but " + llvm::Twine(count) + " elements of " +
                stored.dtypeName);
  if (narrow) {
    auto bytes = std::make_shared<std::vector<char>>(widen(stored.bytes, count, *narrow));
    stored.bytes = *bytes;
    weights.keep(std::move(bytes));
  }
  return stored;
}

} // namespace ptc::import::onnx
