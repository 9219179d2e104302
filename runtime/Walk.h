//===- Walk.h - the order in which a call's steps are run -------------------===//
#pragma once

#include "runtime/Frame.h"

#include <algorithm>

namespace ptc::runtime {

/// Runs all launches, then the copies, in pieces between sizes that data define and controls. `runner` is of the CPU or
/// of a device, and a template parameter so that nothing stands between a step and the next one:
///   runSteps(first, last)                  these steps; all of them may be read behind it
///   read(buffer, value, bytes)             what the launches so far have left in a buffer
///   copy(from, to)                         a buffer to another, of that one's size
///   callExternal(external)                 a function of the caller's
///   commit()                               whether steps so far have failed: what comes now changes states
/// Each answers a status.
template <class Runner> ptc_status walk(Frame &frame, Runner &runner, Error &error) {
  const Program &program = *frame.program;
  int32_t defined = 0, control = 0, first = 0;
  while (first < frame.steps.count || defined < program.sizeDefinitionCount || control < program.controlCount) {
    int32_t last = frame.steps.count;
    if (defined < program.sizeDefinitionCount)
      last = std::min(last, program.sizeDefinitions[defined].launch);
    if (control < program.controlCount)
      last = std::min(last, program.controls[control].launch);
    if (first < last)
      if (ptc_status status = runner.runSteps(first, last))
        return status;
    first = last;
    while (defined < program.sizeDefinitionCount && program.sizeDefinitions[defined].launch == last) {
      const SizeDefinitionEntry &definition = program.sizeDefinitions[defined++];
      int64_t value;
      if (ptc_status status = runner.read(definition.buffer, &value, sizeof(value)))
        return status;
      if (ptc_status status = frame.define(definition, value, error))
        return status;
    }
    if (control == program.controlCount || program.controls[control].launch != last)
      continue;
    const ControlEntry &entry = program.controls[control++];
    if (entry.external >= 0)
      if (ptc_status status = runner.callExternal(entry.external))
        return status;
    for (int32_t i = 0; i < entry.copyCount; ++i)
      if (ptc_status status = runner.copy(entry.copies[2 * i], entry.copies[2 * i + 1]))
        return status;
    bool isCommit = entry.external < 0 && entry.copyCount == 0 && entry.condition < 0 && entry.targetLaunch == last &&
                    entry.targetControl == control;
    if (isCommit)
      if (ptc_status status = runner.commit())
        return status;
    char isStaying = 0;
    if (entry.condition >= 0)
      if (ptc_status status = runner.read(entry.condition, &isStaying, sizeof(isStaying)))
        return status;
    if (!isStaying) {
      first = entry.targetLaunch;
      control = entry.targetControl;
    }
  }
  return PTC_OK;
}

} // namespace ptc::runtime
