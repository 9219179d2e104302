//===- Threading.h - how many threads a call asks for, and whose ----------===//
#pragma once

#include "runtime/Pool.h"

namespace ptc::runtime {

/// Whether calls use the threads of an OpenMP runtime (PTC_THREADS=openmp) in place of the pool's.
bool usesOpenMP();

/// Processors that the calling thread may use, by its affinity and the control group's quota.
int32_t countProcessors();

/// How many calls of threads like the calling one should run at a time: as many as there are processors for them. A
/// thread that has processors of its own does not wait for others.
int32_t callsAtATime();

/// As many as the calling thread's OpenMP runtime would give it, where the process has one; else OMP_NUM_THREADS, else
/// a thread for each of the processors.
int32_t defaultThreads(int32_t processors);

/// PTC_WAIT: passive, adaptive or active.
WaitMode defaultWaitMode();

} // namespace ptc::runtime
