//===- Printed.h - what a program has told its user --------------------------===//
#pragma once

#include <string>
#include <vector>

namespace ptc {

/// What printError and printWarning have printed since the process began, without "ptc: error:".
struct Printed {
  std::vector<std::string> errors, warnings;
};
const Printed &getPrinted();

} // namespace ptc
