#include "compiler/import/GraphLexer.h"

#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace ptc::import {

llvm::Error GraphLexer::failAt(const Token &token, const llvm::Twine &message) {
  return llvm::createStringError(llvm::Twine(token.line) + ":" + llvm::Twine(token.column) + ": " + message);
}

llvm::Error GraphLexer::fail(const Token &token, const llvm::Twine &message) {
  std::string found = token.kind == Token::End       ? ", but the text ends here"
                      : token.kind == Token::Newline ? ", but the line ends here"
                      : token.kind == Token::Error   ? ", but found a character that Python has not"
                                                     : ", but found '" + token.text.take_front(40).str() + "'";
  return failAt(token, message + found);
}

void GraphLexer::advance(size_t count) {
  column += count;
  rest = rest.drop_front(count);
}

/// Blanks, and the colours that print_readable(colored=True) adds.
void GraphLexer::skipBlanks() {
  while (!rest.empty()) {
    if (rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r') {
      advance(1);
    } else if (rest.starts_with("\x1b[") && rest.contains('m')) {
      advance(rest.find('m') + 1);
    } else if (rest.starts_with("\\\n") || (brackets && rest[0] == '\n')) {
      advance(rest.find('\n') + 1);
      ++line;
      column = 1;
    } else if (rest[0] == '#' && (brackets || !atLineStart)) {
      advance(std::min(rest.size(), rest.find('\n')));
    } else {
      return;
    }
  }
}

Token GraphLexer::make(Token::Kind kind, size_t length) {
  Token token;
  token.kind = kind;
  token.text = rest.take_front(length);
  token.line = line;
  token.column = column;
  token.isFirst = atLineStart;
  atLineStart = false;
  advance(token.text.size());
  return token;
}

Token GraphLexer::string() {
  char quote = rest[0];
  size_t length = 1;
  while (length < rest.size() && rest[length] != quote && rest[length] != '\n')
    length += rest[length] == '\\' ? 2 : 1;
  if (length >= rest.size() || rest[length] != quote)
    return make(Token::Error, 1);
  Token token = make(Token::String, length + 1);
  token.text = token.text.drop_front().drop_back();
  return token;
}

Token GraphLexer::next() {
  skipBlanks();
  if (rest.empty())
    return make(Token::End, 0);
  char c = rest[0];
  if (c == '\n') {
    Token token = make(Token::Newline, 1);
    ++line;
    column = 1;
    atLineStart = true;
    return token;
  }
  if (c == '#') {
    Token token = make(Token::Comment, std::min(rest.size(), rest.find('\n')));
    token.text = token.text.ltrim("# ").rtrim();
    return token;
  }
  if (c == '"' || c == '\'')
    return string();
  auto isNameChar = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (llvm::isAlpha(c) || c == '_')
    return make(Token::Name, rest.take_while(isNameChar).size());
  if (llvm::isDigit(c) || (c == '.' && rest.size() > 1 && llvm::isDigit(rest[1]))) {
    // 1e-05, 2.5, 3j
    size_t length = 0;
    while (length < rest.size() && (isNameChar(rest[length]) || rest[length] == '.' ||
                                    ((rest[length] == '-' || rest[length] == '+') && (rest[length - 1] | 32) == 'e')))
      ++length;
    return make(Token::Number, length);
  }
  for (StringRef op : {"**", "//", "==", "!=", "<=", ">=", "<<", ">>", "->", ":="})
    if (rest.starts_with(op))
      return make(Token::Operator, 2);
  if (!StringRef("()[]{}.,:;=+-*/%<>&|^~@").contains(c))
    return make(Token::Error, 1);
  if (StringRef("([{").contains(c))
    ++brackets;
  else if (StringRef(")]}").contains(c) && brackets)
    --brackets;
  return make(Token::Operator, 1);
}

} // namespace ptc::import
