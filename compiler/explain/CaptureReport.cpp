#include "compiler/explain/CaptureReport.h"

#include "compiler/graph/Decompose.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>
#include <tuple>

using namespace llvm;

namespace ptc {

namespace {
struct Fix {
  StringLiteral part; ///< of the reason or the context
  StringLiteral advice;
};
} // namespace

// The first that fits; the more particular ones come first.
static constexpr Fix kFixes[] = {
    {"Data-dependent branching",
     "compute both and choose by torch.where(condition, a, b), or keep both branches in one graph by "
     "torch.cond(condition, f, g, operands)"},
    {"Tensor.item()", "stay with a tensor of no dimensions instead of a Python number (drop .item(), .tolist(), int(), "
                      "float(), bool()); "
                      "where it must be a number, set torch._dynamo.config.capture_scalar_outputs = True"},
    {"torch.compiler.disable()", "remove the decorator, or return what it needs from the model and call it outside"},
    {"torch._dynamo.disable()", "remove the decorator, or return what it needs from the model and call it outside"},
    {"BuiltinVariable(print)", "print outside of the model what it returns"},
    {"builtin operator `print`", "print outside of the model what it returns"},
    {"copy.deepcopy", "make the copy outside of the model, once"},
    {"ynamic shape operator", "choose by a mask (torch.where, index_fill) so that sizes stay, or set "
                              "torch._dynamo.config.capture_dynamic_output_shape_ops = True"},
    {"Data dependent operator", "replace the question about the data's values by one about shapes, or ask it outside"},
    {"logging.", "log outside of the model, or name the method in torch._dynamo.config.ignore_logger_methods"},
    {"warnings.warn", "warn outside of the model"},
    {"step_unsupported", "let the `with` block end before the statement that breaks, or put it around the whole model"},
    {"ontext manager", "put the `with` around the whole model, or leave it out for inference"},
    {"marked as skipped",
     "call the function outside of the model, or wrap it by torch.library.custom_op so that a graph can hold it"},
    {"torch.* op returned non-Tensor", "compute it outside of the model, or keep the value as a tensor"},
    {"numpy", "use torch's functions on torch's tensors"},
};

std::string suggestFix(const Capture::Break &found) {
  for (const Fix &fix : kFixes)
    if (StringRef(found.reason).contains(fix.part) || StringRef(found.context).contains(fix.part) ||
        StringRef(found.detail).contains(fix.part) || StringRef(found.explanation).contains(fix.part))
      return fix.advice.str();
  // Torch's general ones say how likely it is to change, and nothing to do.
  for (const std::string &hint : found.hints)
    if (!StringRef(hint).starts_with("This graph break "))
      return hint;
  return found.hints.empty() ? "" : found.hints.front();
}

/// The ways from graph to graph that the runs have shown.
static std::vector<Transition> findTransitions(const Capture &capture) {
  std::vector<Transition> transitions;
  std::set<std::tuple<std::optional<unsigned>, std::optional<unsigned>, std::string, std::string>> known;
  auto add = [&](Transition transition) {
    if (known.insert({transition.from, transition.to, transition.branch, transition.end}).second)
      transitions.push_back(std::move(transition));
  };
  for (const Capture::Path &path : capture.paths) {
    Transition next;
    for (const Capture::Step &step : path.steps) {
      if (!step.graph) {
        next.branch += (next.branch.empty() ? "" : ", ") + step.branch + (step.value ? " is true" : " is false");
        next.isForced |= step.isForced;
        continue;
      }
      next.to = step.graph;
      add(next);
      next = Transition();
      next.from = step.graph;
    }
    next.end = path.ends;
    add(next);
  }
  return transitions;
}

CaptureReport explainCapture(CaptureFile file, const Options &options, mlir::MLIRContext &context) {
  CaptureReport report;
  report.model = options.model;
  report.transitions = findTransitions(file.capture);
  for (auto [index, graph] : enumerate(file.capture.graphs)) {
    Expected<ImportedModel> model =
        importGraph(file, index, options.model, {options.weights, findResultTypes}, context);
    Expected<Report> explained = model ? explainImported(std::move(*model), options, context) : model.takeError();
    if (explained) {
      report.graphs.push_back(std::move(*explained));
      continue;
    }
    Report failed;
    failed.model = options.model;
    failed.breaks.push_back({toString(explained.takeError()), "", graph.end.source});
    report.graphs.push_back(std::move(failed));
  }
  report.capture = std::move(file.capture);
  for (Capture::Graph &graph : report.capture.graphs)
    graph.text = ""; // lay in the file
  return report;
}

} // namespace ptc
