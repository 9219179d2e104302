//===- Capture.h - several graphs of one Python program, with its breaks ------===//
//
// What `ptc capture` (tools/python/ptc/capture) writes: a head in JSON, then
// each graph in the form that GraphText reads. docs/file-formats.md says what
// the members mean.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace ptc {

/// A line of the user's program.
struct PythonPlace {
  std::string source; ///< "net.py:12"
  std::string function, code;
};

struct Capture {
  struct Graph {
    PythonPlace end; ///< where it ends
    int64_t operators = 0, calls = 0;
    int64_t path = 0;               ///< the run that it was first seen in
    std::optional<unsigned> breaks; ///< the break that ends it
    std::string failure;            ///< why it has no text
    llvm::StringRef text;           ///< of the file's
    unsigned line = 1;              ///< of the file, where the text begins
  };
  struct Break {
    std::string reason, explanation, context, detail;
    std::string python; ///< the statement that Python runs between the graphs
    std::vector<std::string> hints;
    PythonPlace place;
    std::vector<PythonPlace> stack; ///< outermost first
    std::optional<unsigned> graph;  ///< that it ends; nothing: there was none yet
    int64_t times = 1;
    int64_t path = 0;
    bool isSkipped = false; ///< the function around it runs in Python to its end
  };
  struct Guard {
    std::optional<unsigned> graph; ///< nothing: of a function without operators
    std::string kind, text, source;
    int64_t path = 0;
  };
  struct Step {
    std::optional<unsigned> graph; ///< else a branch that data decide
    std::string branch;
    bool value = false, isForced = false;
  };
  struct Path {
    std::vector<Step> steps;
    std::string ends;
  };

  std::string target, torch;
  std::vector<Graph> graphs;
  std::vector<Break> breaks;
  std::vector<Guard> guards;
  std::vector<Path> paths;
};

namespace import {

/// Whether a file is one, by its first line.
bool isCapture(llvm::StringRef text);

/// The graphs' texts are parts of `text`. An error begins with "line:column: ".
llvm::Expected<Capture> readCapture(llvm::StringRef text);

} // namespace import
} // namespace ptc
