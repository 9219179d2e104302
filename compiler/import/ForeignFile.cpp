#include "compiler/import/ForeignFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"

using llvm::StringRef;

namespace ptc::import {
namespace {

/// The advice for all that PyTorch writes.
std::string askForExport(const llvm::Twine &what) {
  return (what + " (in Python: torch.export.save(torch.export.export(model, (example,)), 'model.pt2'))").str();
}

/// A header's size, eight bytes, and a JSON object of that size.
bool isSafetensors(StringRef content) {
  return content.size() > 10 && content[8] == '{' &&
         llvm::support::endian::read64le(content.data()) <= content.size() - 8;
}

} // namespace

std::string describeForeignFile(StringRef content) {
  if (content.starts_with("\x7f"
                          "ELF"))
    return "is a library or a program (ptc run and ptc bench take libraries that ptc compiled)";
  if (isSafetensors(content))
    return askForExport("holds weights without their graph");
  if (content.starts_with("\x80\x02") || content.starts_with("\x80\x04"))
    return askForExport("is a pickle, which Python alone reads");
  if (content.starts_with("GGUF"))
    return "is a GGUF file, which holds weights without their graph (export the model from PyTorch)";
  if (content.starts_with("\x89HDF\r\n"))
    return "is an HDF5 file, as Keras writes it (convert the model to ONNX)";
  if (content.substr(4, 4) == "TFL3")
    return "is a TensorFlow Lite model (convert it to ONNX)";
  if (content.starts_with("version https://git-lfs.github.com/"))
    return "is a pointer of Git LFS in place of the file (git lfs pull fetches it)";
  if (content.ltrim().starts_with_insensitive("<!doctype html") || content.ltrim().starts_with_insensitive("<html"))
    return "is a web page (whatever downloaded it got another answer than the file)";
  return "";
}

std::string describeForeignArchive(const std::vector<std::string> &names) {
  auto has = [&](StringRef start) {
    return llvm::any_of(names, [&](StringRef name) { return name.starts_with(start); });
  };
  if (has("code/") || has("constants.pkl"))
    return askForExport("is a TorchScript archive, which is no export");
  if (has("data.pkl"))
    return askForExport("is what torch.save wrote, weights or a pickled module without a graph");
  return "";
}

} // namespace ptc::import
