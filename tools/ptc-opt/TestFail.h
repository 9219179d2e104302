//===- TestFail.h - a pass with a defect, to test what ptc makes of one ----===//
#pragma once

namespace ptc {

/// ptc-test-fail{how=silently|signal|fatal}: fails without a diagnostic, crashes, or asks LLVM to end the process.
void registerTestFailPass();

} // namespace ptc
