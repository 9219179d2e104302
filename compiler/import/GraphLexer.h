//===- GraphLexer.h - tokens of printed Python ------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace ptc::import {

struct Token {
  enum Kind : uint8_t { Name, Number, String, Operator, Comment, Newline, End, Error };

  Kind kind = End;
  /// As in the file; a String without its quotes, a Comment without its `#`.
  llvm::StringRef text;
  unsigned line = 1, column = 1;
  /// The first of its line, so that its column is the line's indentation.
  bool isFirst = false;

  bool is(llvm::StringRef spelling) const { return text == spelling && (kind == Name || kind == Operator); }
};

/// Python's tokens, as far as torch prints them. Line ends inside brackets are
/// no tokens; comments are, where they stand on a line of their own.
class GraphLexer {
public:
  GraphLexer(llvm::StringRef text, unsigned firstLine) : rest(text), line(firstLine) {}

  Token next();

  /// "12:5: message"
  static llvm::Error failAt(const Token &token, const llvm::Twine &message);
  /// "12:5: message, but found 'token'"
  static llvm::Error fail(const Token &token, const llvm::Twine &message);

private:
  void advance(size_t count);
  void skipBlanks();
  Token make(Token::Kind kind, size_t length);
  Token string();

  llvm::StringRef rest;
  unsigned line, column = 1, brackets = 0;
  bool atLineStart = true;
};

} // namespace ptc::import
