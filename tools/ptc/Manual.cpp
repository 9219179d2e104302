#include "tools/ptc/CommandText.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace ptc {

/// Text as troff leaves it: no request, no escape, and a minus that is one.
static std::string escape(StringRef text) {
  std::string escaped;
  for (char c : text)
    escaped += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
  if (StringRef(escaped).starts_with(".") || StringRef(escaped).starts_with("'"))
    escaped.insert(0, "\\&");
  return escaped;
}

static std::string bold(StringRef text) { return "\\fB" + escape(text) + "\\fR"; }
static std::string italic(StringRef text) { return "\\fI" + escape(text) + "\\fR"; }

static void printOption(const OptionText &option, raw_ostream &out) {
  std::vector<std::string> names;
  for (const std::string &name : option.names)
    names.push_back(bold(name));
  out << ".TP\n"
      << join(names, ", ") << (option.argument.empty() ? "" : " " + italic(option.argument)) << '\n'
      << escape(option.help) << (option.isRequired ? " (required)" : "") << '\n';
}

static void printCommand(const CommandText &command, raw_ostream &out) {
  out << ".SS " << bold("ptc " + command.name);
  for (const OptionText &operand : command.operands)
    out << ' ' << (operand.isRequired ? "" : "[") << italic(operand.names.front()) << (operand.isRequired ? "" : "]");
  out << " [\\fIoptions\\fR]\n" << escape(command.summary) << ".\n";
  for (const OptionText &operand : command.operands)
    printOption(operand, out);
  for (const OptionText &option : command.options)
    printOption(option, out);
  if (command.examples.empty())
    return;
  out << ".PP\nExamples:\n.PP\n.nf\n.RS\n";
  SmallVector<StringRef> lines;
  StringRef(command.examples).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    out << escape(line.trim()) << '\n';
  out << ".RE\n.fi\n";
}

void printManual(const CommandText &program, StringRef version, raw_ostream &out) {
  out << ".TH PTC 1 \"\" \"" << escape(version) << "\" \"User Commands\"\n"
      << ".SH NAME\nptc \\- " << escape(program.summary) << '\n'
      << ".SH SYNOPSIS\n.B ptc\n\\fIcommand\\fR [\\fIoptions\\fR]\n"
      << ".SH DESCRIPTION\nCompiles a model that torch.export or an ONNX exporter wrote to one shared library which "
         "needs no "
         "Python, no libtorch and no compiler where it runs.\n"
      << ".SH OPTIONS\n";
  for (const OptionText &option : program.options)
    printOption(option, out);
  out << ".SH COMMANDS\n";
  for (const CommandText &command : program.commands)
    printCommand(command, out);
  out << ".SH EXIT STATUS\n"
         ".TP\n0\ndone\n.TP\n1\nthe model or another input is at fault\n.TP\n2\nthe command line is at "
         "fault\n.TP\n3\na "
         "defect of ptc itself; the message names a file that repeats it\n"
         ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nNo colour, unless \\fB\\-\\-color always\\fR says otherwise.\n"
         ".TP\n\\fBPTC_PYTHON\\fR\nThe Python of \\fBptc capture\\fR.\n";
}

} // namespace ptc
