//===- GraphExpression.h - the expressions of a printed graph ----------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"
#include "compiler/import/GraphLexer.h"

namespace ptc::import {

/// The tokens of a text, with as much lookahead as one likes.
class TokenStream {
public:
  explicit TokenStream(llvm::StringRef text, unsigned firstLine = 1);

  const Token &peek(size_t ahead = 0) const { return tokens[std::min(position + ahead, tokens.size() - 1)]; }
  Token take();
  bool consume(llvm::StringRef spelling);
  void skipLine();
  void skipNewlinesAndComments();
  bool atStatementEnd() const;
  llvm::Error fail(const llvm::Twine &message) const { return GraphLexer::fail(peek(), message); }

private:
  std::vector<Token> tokens; ///< Ends with Token::End.
  size_t position = 0;
};

/// A function's graph while its statements are read.
struct GraphBody {
  /// NAME = self.PATH
  struct Attribute {
    std::string path;
    Definition definition;
    bool isSubgraph = false;
  };

  explicit GraphBody(Graph &graph) : graph(graph) {}

  /// Gives an expression's value a name and a type.
  llvm::Error define(Definition target, const Value &value);
  /// Appends a node whose result has a made-up name until it is defined.
  Value addNode(std::string target, std::vector<NamedValue> inputs);
  /// One of several results of an operator: `topk[1]`.
  llvm::Expected<Value> getItem(const Value &base, const Value &index);

  Graph &graph;
  Source source;
  std::vector<Attribute> attributes;
  llvm::StringMap<Definition> declared;

private:
  Node *findNode(llvm::StringRef name);

  llvm::StringMap<size_t> nodes; ///< Index by the node's name.
  /// Results that no statement has named yet: node and position among its
  /// outputs, by a name that Python could not have.
  llvm::StringMap<std::pair<size_t, size_t>> unnamed;
};

/// Calls and arithmetic become nodes; the value refers to the last one.
llvm::Expected<Value> parseGraphExpression(TokenStream &tokens, GraphBody &body);

} // namespace ptc::import
