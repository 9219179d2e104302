#include "compiler/import/onnx/Unsupported.h"

#include "compiler/import/onnx/Graph.h"
#include "compiler/import/onnx/Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <vector>

using llvm::StringRef;

namespace ptc::import::onnx {
namespace {

bool isOwn(StringRef domain) { return domain.empty() || domain == "ai.onnx"; }

/// As the table has it.
std::string fullName(StringRef domain, StringRef type) {
  return isOwn(domain) ? type.str() : (domain + "." + type).str();
}

std::string describeKind(StringRef domain, StringRef type) {
  return (isOwn(domain) ? type : type + " of the domain '" + domain + "'").str();
}

/// What is nearest among the operators that there are; empty where nothing is near.
std::string suggest(StringRef name) {
  unsigned nearest = 1 + name.size() / 5;
  StringRef found;
  for (StringRef candidate : operatorNames()) {
    unsigned distance = name.edit_distance(candidate, /*AllowReplacements=*/true, nearest);
    if (distance < nearest || (distance == nearest && found.empty()))
      found = candidate, nearest = distance;
  }
  return found.empty() ? "" : ("did you mean " + found + "?").str();
}

class Search {
public:
  explicit Search(const Model &model) : model(model) {
    for (StringRef name : operatorNames())
      known.insert(name);
  }

  struct Kind {
    std::string name, firstNode;
    size_t others = 0;
  };

  template <typename Nodes> void visit(const Nodes &nodes) {
    for (const proto::NodeProto &node : nodes) {
      visitNode(node);
      for (const proto::AttributeProto &attribute : node.attribute()) {
        visit(attribute.g().node());
        for (const proto::GraphProto &graph : attribute.graphs())
          visit(graph.node());
      }
    }
  }

  std::vector<Kind> kinds; ///< in the order of their first nodes

private:
  void visitNode(const proto::NodeProto &node) {
    if (const proto::FunctionProto *function = model.function(node.domain(), node.op_type())) {
      if (functions.insert(function).second)
        visit(function->node());
      return;
    }
    std::string name = fullName(node.domain(), node.op_type());
    if (name == "Constant" || known.contains(name))
      return;
    auto [place, isNew] = places.try_emplace(name, kinds.size());
    if (isNew)
      kinds.push_back({describeKind(node.domain(), node.op_type()), describe(node)});
    else
      ++kinds[place->second].others;
  }

  const Model &model;
  llvm::StringSet<> known;
  llvm::SmallPtrSet<const proto::FunctionProto *, 8> functions;
  std::map<std::string, size_t> places;
};

} // namespace

std::string explainUnsupported(StringRef domain, StringRef type, bool mayLeave) {
  std::string hint = domain == "ai.onnx.ml" ? "of classical models, linear ones and ensembles of trees are"
                                            : suggest(fullName(domain, type));
  if (mayLeave)
    hint += (hint.empty() ? "" : hint.back() == '?' ? " " : "; ") + std::string("--fallback leaves it to the caller");
  return "operator " + describeKind(domain, type) + " is not supported" + (hint.empty() ? "" : " (" + hint + ")");
}

std::string listUnsupported(const Model &model) {
  Search search(model);
  search.visit(model.graph().node());
  if (search.kinds.size() < 2)
    return "";
  std::string text = std::to_string(search.kinds.size()) + " operators are not supported: ";
  for (const Search::Kind &kind : search.kinds) {
    text += (&kind == search.kinds.data() ? "" : ", ") + kind.name + " (" + kind.firstNode;
    text += kind.others ? " and " + std::to_string(kind.others) + " more)" : ")";
  }
  return text;
}

} // namespace ptc::import::onnx
