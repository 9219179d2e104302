//===- Check.h - compiled against evaluated -------------------------------===//
#pragma once

#include "test/random/Case.h"

#include <string>

namespace ptc::test {

enum class Outcome : char {
  Pass = 'p',
  Unsupported = 'u', ///< the compiler says that it has no code for something
  BadCase = 'b',     ///< the reference cannot evaluate it: a mistake of the generator
  Refused = 'r',     ///< the compiler or the call fails
  Wrong = 'w',       ///< another answer than the reference's
  Crash = 'c',
  Timeout = 't',
};
const char *getName(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::Pass;
  std::string why;
  int call = -1, output = -1; ///< where an answer was wrong

  bool isFailure() const { return outcome != Outcome::Pass && outcome != Outcome::Unsupported; }
};

/// What is asked of a case, with a folder for files. In this process: a crash is one.
using Checker = Verdict (*)(const Case &program, const std::string &folder);

/// Compiles the case, calls it, and compares with the reference.
Verdict check(const Case &program, const std::string &folder);

/// Asks in a process of its own, which may crash and is ended after some time.
Verdict checkApart(const Case &program, const std::string &folder, Checker checker);

} // namespace ptc::test
