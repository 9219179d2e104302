#include "tools/ptc/CommandText.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace ptc {

std::vector<std::string> OptionText::choices() const {
  std::vector<std::string> words;
  SmallVector<StringRef> parts;
  StringRef(argument).split(parts, '|');
  if (parts.size() > 1)
    for (StringRef part : parts)
      words.push_back(part.str());
  return words;
}

std::string suggest(StringRef word, const std::vector<std::string> &candidates) {
  std::string best;
  unsigned least = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    unsigned distance = word.edit_distance(candidate, /*AllowReplacements=*/true, least);
    // What was only begun counts as near.
    if (word.size() > 3 && StringRef(candidate).starts_with(word))
      distance = 1;
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

/// In single quotes.
static std::string quote(StringRef text) {
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

static std::vector<std::string> namesOf(const CommandText &command) {
  std::vector<std::string> names;
  for (const OptionText &option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

static std::vector<std::string> namesOfCommands(const CommandText &program) {
  std::vector<std::string> names;
  for (const CommandText &command : program.commands)
    names.push_back(command.name);
  return names;
}

static std::vector<std::string> operandChoices(const CommandText &command) {
  for (const OptionText &operand : command.operands)
    if (!operand.choices().empty())
      return operand.choices();
  return {};
}

//===----------------------------------------------------------------------===//
// The shells
//===----------------------------------------------------------------------===//

static void printBash(const CommandText &program, raw_ostream &out) {
  out << "# bash completion of ptc: source <(ptc completion bash)\n"
         "_ptc() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W "
      << quote(join(namesOfCommands(program), " ") + " " + join(namesOf(program), " "))
      << " -- \"$current\"))\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n";
  for (const CommandText &command : program.commands) {
    out << "  " << command.name << ")\n    case $previous in\n";
    for (const OptionText &option : command.options) {
      if (option.argument.empty())
        continue;
      out << "    " << join(option.names, "|") << ") ";
      if (std::vector<std::string> words = option.choices(); !words.empty())
        out << "COMPREPLY=($(compgen -W " << quote(join(words, " ")) << " -- \"$current\")); ";
      else if (option.takesFile())
        out << "COMPREPLY=($(compgen -" << (option.argument == "DIR" ? "d" : "f") << " -- \"$current\")); ";
      out << "return ;;\n";
    }
    out << "    esac\n    words=" << quote(join(namesOf(command), " ")) << '\n';
    if (std::vector<std::string> words = operandChoices(command); !words.empty())
      out << "    [[ $current == -* ]] || { COMPREPLY=($(compgen -W " << quote(join(words, " "))
          << " -- \"$current\")); return; }\n";
    if (command.name == "ops")
      out << "    [[ $current == -* ]] || { COMPREPLY=($(compgen -W \"$(ptc ops)\" -- \"$current\")); return; }\n";
    out << "    ;;\n";
  }
  out << "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _ptc ptc\n";
}

/// What zsh's _arguments reads as its own is escaped.
static std::string escapeZsh(StringRef text) {
  std::string escaped;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\')
      escaped += '\\';
    escaped += c;
  }
  return escaped;
}

static std::string zshAction(const OptionText &option) {
  if (std::vector<std::string> words = option.choices(); !words.empty())
    return "(" + join(words, " ") + ")";
  return option.argument == "DIR" ? "_files -/" : option.takesFile() ? "_files" : "";
}

static void printZsh(const CommandText &program, raw_ostream &out) {
  out << "#compdef ptc\n# zsh completion of ptc: put it on the fpath as _ptc\n"
         "_ptc() {\n"
         "  local -a commands\n"
         "  commands=(\n";
  for (const CommandText &command : program.commands)
    out << "    " << quote(command.name + ":" + escapeZsh(command.summary)) << '\n';
  out << "  )\n"
         "  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
         "  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in\n";
  for (const CommandText &command : program.commands) {
    out << "  " << command.name << ")\n    _arguments";
    for (const OptionText &option : command.options)
      for (const std::string &name : option.names)
        out << " \\\n      "
            << quote(name + "[" + escapeZsh(option.help) + "]" +
                     (option.argument.empty() ? "" : ":" + escapeZsh(option.argument) + ":" + zshAction(option)));
    for (const OptionText &operand : command.operands)
      out << " \\\n      "
          << quote("*:" + operand.names.front() + ":" + (zshAction(operand).empty() ? "_files" : zshAction(operand)));
    out << "\n    ;;\n";
  }
  out << "  esac\n}\n_ptc \"$@\"\n";
}

static void printFish(const CommandText &program, raw_ostream &out) {
  out << "# fish completion of ptc: ptc completion fish > ~/.config/fish/completions/ptc.fish\n";
  for (const CommandText &command : program.commands)
    out << "complete -c ptc -n __fish_use_subcommand -f -a " << command.name << " -d " << quote(command.summary)
        << '\n';
  for (const CommandText &command : program.commands) {
    std::string here = "complete -c ptc -n '__fish_seen_subcommand_from " + command.name + "'";
    if (std::vector<std::string> words = operandChoices(command); !words.empty())
      out << here << " -f -a " << quote(join(words, " ")) << '\n';
    for (const OptionText &option : command.options) {
      out << here;
      for (StringRef name : option.names)
        out << (name.starts_with("--") ? " -l " + name.drop_front(2).str() : " -s " + name.drop_front(1).str());
      if (!option.argument.empty())
        out << (option.takesFile() ? " -r -F" : " -x");
      if (std::vector<std::string> words = option.choices(); !words.empty())
        out << " -a " << quote(join(words, " "));
      out << " -d " << quote(option.help) << '\n';
    }
  }
}

void printCompletion(const CommandText &program, StringRef shell, raw_ostream &out) {
  if (shell == "bash")
    printBash(program, out);
  else if (shell == "zsh")
    printZsh(program, out);
  else
    printFish(program, out);
}

} // namespace ptc
