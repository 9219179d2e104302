#include "compiler/SourcePaths.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <optional>

using namespace mlir;
namespace path = llvm::sys::path;

namespace ptc {

/// "torchvision/models/resnet.py" of a file in site-packages.
static llvm::StringRef withinPackages(llvm::StringRef file) {
  for (llvm::StringRef folder : {"/site-packages/", "/dist-packages/"})
    if (size_t place = file.rfind(folder); place != llvm::StringRef::npos)
      return file.substr(place + folder.size());
  return {};
}

/// The longest folder that both paths begin with, with its slash.
static llvm::StringRef commonFolder(llvm::StringRef first, llvm::StringRef second) {
  size_t length = std::mismatch(first.begin(), first.begin() + std::min(first.size(), second.size()), second.begin())
                      .first - first.begin();
  return first.take_front(first.take_front(length).rfind('/') + 1);
}

/// The file's path with the first prefix that it has replaced; nothing where it has none. "/a" is one of "/a/b", and
/// not of "/ab".
static std::optional<std::string> replacePrefix(llvm::StringRef file, const Options &options) {
  for (const auto &[from, to] : options.sourcePrefixes) {
    llvm::StringRef rest = file;
    if (rest.consume_front(from) && (rest.empty() || rest.front() == '/' || llvm::StringRef(from).ends_with("/")))
      return to + rest.str();
  }
  return std::nullopt;
}

static std::string findRoot(llvm::ArrayRef<ModuleOp> modules, const Options &options) {
  std::optional<std::string> root;
  AttrTypeReplacer files;
  files.addReplacement([&](FileLineColLoc place) -> std::optional<Attribute> {
    llvm::StringRef file = place.getFilename();
    if (path::is_absolute(file) && file != options.model && withinPackages(file).empty() &&
        !replacePrefix(file, options))
      root = commonFolder(file, root ? llvm::StringRef(*root) : file).str();
    return std::nullopt;
  });
  for (ModuleOp module : modules)
    module.walk([&](Operation *op) { (void)files.replace(Attribute(LocationAttr(op->getLoc()))); });
  return root.value_or("");
}

void rewriteSourcePaths(llvm::ArrayRef<ModuleOp> modules, const Options &options) {
  bool isFull = options.sourcePaths == SourcePaths::Full;
  if (isFull && options.sourcePrefixes.empty())
    return;
  std::string root = isFull ? "" : findRoot(modules, options),
              model = options.name + path::extension(options.model).str();
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FileLineColLoc place) -> std::optional<Attribute> {
    if (options.sourcePaths == SourcePaths::None)
      return LocationAttr(UnknownLoc::get(place.getContext()));
    llvm::StringRef file = place.getFilename(), package = isFull ? "" : withinPackages(file), shown = file;
    std::optional<std::string> replaced = replacePrefix(file, options);
    if (file == options.model && !isFull)
      shown = model;
    else if (replaced)
      shown = *replaced;
    else if (!package.empty())
      shown = package;
    else if (!root.empty())
      shown.consume_front(root);
    return LocationAttr(FileLineColLoc::get(place.getContext(), shown, place.getLine(), place.getColumn()));
  });
  for (ModuleOp module : modules)
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/false, /*replaceLocs=*/true);
}

} // namespace ptc
