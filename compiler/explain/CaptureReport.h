//===- CaptureReport.h - graphs, breaks and guards of a captured program ---===//
#pragma once

#include "compiler/explain/Report.h"
#include "compiler/import/Import.h"

namespace ptc {

/// What follows a graph in a run: a branch that data decide or a plain way on, to a graph or to the end.
struct Transition {
  std::optional<unsigned> from, to; ///< nothing: the program's begin, its end
  std::string branch;               ///< "net.py:4 is true, net.py:9 is false"; empty: no branch between them
  std::string end;                  ///< with no `to`: "returns", "raises ValueError: ..."
  bool isForced = false;            ///< only seen because the branch was answered the other way
};

struct CaptureReport {
  std::string model;
  Capture capture;
  std::vector<Transition> transitions; ///< each once, in the order of the runs
  std::vector<Report> graphs;          ///< one for each of the capture's
};

/// What the author of the code can do about a break; from torch's own hints where we know nothing better.
std::string suggestFix(const Capture::Break &found);

/// A graph that cannot be captured or compiled is part of the report.
CaptureReport explainCapture(CaptureFile file, const Options &options, mlir::MLIRContext &context);

llvm::json::Value toJson(const CaptureReport &report);
void print(const CaptureReport &report, llvm::raw_ostream &out);

} // namespace ptc
